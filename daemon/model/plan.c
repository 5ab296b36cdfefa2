/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/plan.h"

#include <string.h>

#include "model/plan-evidence.h"
#include "model/yaml.h"
#include "model/workload.h"
#include "util/clock.h"
#include "util/io.h"

#define MINUTE_NS (60 * CLOCK_NS_PER_S)
#define DAY_NS (MINUTE_NS * 60 * 24)

enum { AXES_MAX = 32, LEVELS_MAX = 4096, VCPUS_MAX = 1024, XPATH_MAX = 1024, CMDLINE_MAX = 2048 };
#define MEMORY_MIN (G_GUINT64_CONSTANT(1) << 20)
#define MEMORY_MAX (G_GUINT64_CONSTANT(16) << 40)

/* ---- axes ---- */

static const char *const emulator_names[] = {"subject", "housekeeping", NULL};

static gboolean read_emulator_level(const Node *value, const NodeField *field, gpointer member,
                                    GError **error)
{
    NodeField choice = {.key = field->key, .choices = emulator_names, .min = 1};
    guint place = 0;

    if (!node_read_choice(value, &choice, &place, error))
        return FALSE;
    *(guint64 *)member = place;
    return TRUE;
}

/* Axes whose levels mean something by themselves. number: the level's value, or NULL. */
static const struct well_known {
    const char *name;
    NodeReader number;
    guint64 min, max;
} well_known_axes[] = {
    {"emulator", read_emulator_level, 0, 1},
    {"guest", NULL, 0, 0},
    {"hypervisor", NULL, 0, 0},
    {"memory", node_read_size, MEMORY_MIN, MEMORY_MAX},
    {"vcpus", NULL, 1, VCPUS_MAX},
};

static const struct well_known *find_well_known(const char *name)
{
    for (guint i = 0; i < G_N_ELEMENTS(well_known_axes); i++) {
        if (strcmp(well_known_axes[i].name, name) == 0)
            return &well_known_axes[i];
    }
    return NULL;
}

static void edit_free(gpointer data)
{
    DomainEdit *edit = data;

    g_free(edit->xpath);
    g_free(edit->value);
    g_free(edit);
}

static void level_free(gpointer data)
{
    PlanLevel *level = data;

    g_free(level->name);
    g_free(level->cmdline);
    g_clear_pointer(&level->edits, g_ptr_array_unref);
    g_free(level);
}

static void axis_free(gpointer data)
{
    PlanAxis *axis = data;

    g_free(axis->name);
    g_clear_pointer(&axis->levels, g_ptr_array_unref);
    g_free(axis);
}

static int level_index(const PlanAxis *axis, const char *name)
{
    for (guint i = 0; i < axis->levels->len; i++) {
        const PlanLevel *level = g_ptr_array_index(axis->levels, i);

        if (strcmp(level->name, name) == 0)
            return (int)i;
    }
    return -1;
}

static gboolean read_number(const PlanAxis *axis, const Node *name, guint64 *ret_number,
                            GError **error)
{
    const struct well_known *known = find_well_known(axis->name);

    if (known == NULL || known->max == 0)
        return TRUE;
    NodeField field = {.key = axis->name, .min = known->min, .max = known->max};
    NodeReader read = known->number != NULL ? known->number : node_read_uint64;

    return read(name, &field, ret_number, error);
}

/* Two levels of one value ("1GiB" and "1024MiB") would be the same cell twice. */
static gboolean check_distinct(const PlanAxis *axis, const Node *name, guint64 number,
                               GError **error)
{
    for (guint i = 0; i < axis->levels->len; i++) {
        const PlanLevel *level = g_ptr_array_index(axis->levels, i);

        if (strcmp(level->name, name->text) == 0)
            return node_fail(name, error,
                             "axis %s: duplicate level \"%s\": it stands in line %u "
                             "already",
                             axis->name, name->text, level->line);
        if (number != 0 && level->number == number)
            return node_fail(name, error, "axis %s: level \"%s\" is the same as \"%s\" in line %u",
                             axis->name, name->text, level->name, level->line);
    }
    return TRUE;
}

/* Check the name of a level and add it; NULL with error set. The axis owns it. */
static PlanLevel *add_level(PlanAxis *axis, const Node *name, GError **error)
{
    NodeField field = {.key = axis->name};
    g_autofree char *text = NULL;
    guint64 number = 0;

    if (!node_read_name(name, &field, &text, error) || !read_number(axis, name, &number, error) ||
        !check_distinct(axis, name, number, error))
        return NULL;
    PlanLevel *level = g_new0(PlanLevel, 1);

    level->name = g_steal_pointer(&text);
    level->edits = g_ptr_array_new_with_free_func(edit_free);
    level->number = number;
    level->line = name->line;
    level->column = name->column;
    g_ptr_array_add(axis->levels, level);
    return level;
}

static gboolean read_xpath(const Node *key, DomainEdit *edit, GError **error)
{
    static const NodeField field = {.key = "domain"};

    if (!node_read_string(key, &field, &edit->xpath, error))
        return FALSE;
    if (strlen(edit->xpath) > XPATH_MAX)
        return node_fail(key, error, "domain: an XPath of more than %d characters", XPATH_MAX);
    if (edit->xpath[0] == '/')
        return node_fail(key, error,
                         "domain: \"%s\" is not relative: an XPath begins below <domain>, such as "
                         "devices/disk/driver/@cache",
                         edit->xpath);
    return TRUE;
}

/* domain: {XPATH: VALUE, …} */
static gboolean read_edits(const Node *value, const NodeField *field, gpointer member,
                           GError **error)
{
    PlanLevel *level = member;

    if (!node_expect(value, NODE_MAP, field->key, error))
        return FALSE;
    if (value->keys->len == 0)
        return node_fail(value, error, "domain: no edit in it: write XPATH: VALUE");
    for (guint i = 0; i < value->keys->len; i++) {
        const Node *xpath = g_ptr_array_index(value->keys, i);
        NodeField text = {.key = xpath->text};
        DomainEdit *edit = g_new0(DomainEdit, 1);

        g_ptr_array_add(level->edits, edit);
        if (!read_xpath(xpath, edit, error) ||
            !node_read_text(g_ptr_array_index(value->items, i), &text, &edit->value, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_cmdline(const Node *value, const NodeField *field, gpointer member,
                             GError **error)
{
    PlanLevel *level = member;

    if (!node_read_text(value, field, &level->cmdline, error))
        return FALSE;
    return strlen(level->cmdline) <= CMDLINE_MAX ||
           node_fail(value, error, "cmdline: more than %d characters", CMDLINE_MAX);
}

static const NodeField level_fields[] = {
    {.key = "domain", .read = read_edits},
    {.key = "cmdline", .read = read_cmdline},
    {NULL},
};

/* NAME: {domain: {…}, cmdline: …} */
static gboolean read_level(PlanAxis *axis, const Node *name, const Node *value, GError **error)
{
    PlanLevel *level = add_level(axis, name, error);

    if (level == NULL)
        return FALSE;
    g_autofree char *what = g_strdup_printf("axis %s, level %s", axis->name, level->name);

    if (!node_read_fields(value, what, level_fields, level, error))
        return FALSE;
    if (value->keys->len == 0 && find_well_known(axis->name) == NULL)
        return node_fail(value, error,
                         "%s: it has no effect: give it domain: {XPATH: VALUE} or cmdline: TEXT "
                         "(cmdline: \"\" for a level that changes nothing)",
                         what);
    return TRUE;
}

static gboolean fail_plain_list(const PlanAxis *axis, const Node *value, GError **error)
{
    static const char *const names[] = {"hypervisor", "guest", "vcpus", "memory", "emulator", NULL};
    g_autofree char *hint = node_suggest(axis->name, names, "axes that can be lists");

    return node_fail(value, error,
                     "axis %s: a plain list says nothing of what its levels do: write each level "
                     "as LEVEL: {domain: {XPATH: VALUE}} or LEVEL: {cmdline: TEXT}%s",
                     axis->name, hint);
}

static gboolean read_levels(PlanAxis *axis, const Node *value, GError **error)
{
    if (value->kind == NODE_SCALAR)
        return node_fail(value, error, "axis %s: must be a list or a mapping of levels",
                         axis->name);
    if (value->items->len == 0)
        return node_fail(value, error, "axis %s: no level: it needs at least one", axis->name);
    if (value->items->len > LEVELS_MAX)
        return node_fail(value, error, "axis %s: more than %d levels", axis->name, LEVELS_MAX);
    if (value->kind == NODE_LIST && find_well_known(axis->name) == NULL)
        return fail_plain_list(axis, value, error);
    for (guint i = 0; i < value->items->len; i++) {
        const Node *item = g_ptr_array_index(value->items, i);

        if (value->kind == NODE_LIST
                ? add_level(axis, item, error) == NULL
                : !read_level(axis, g_ptr_array_index(value->keys, i), item, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean is_axis_name(const char *text)
{
    gsize length = strlen(text);

    return length >= 1 && length <= 64 && g_ascii_islower(text[0]) &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

static gboolean read_axis(Plan *plan, const Node *name, const Node *value, GError **error)
{
    if (!is_axis_name(name->text))
        return node_fail(name, error,
                         "axes: not a name for an axis: up to 64 small letters, digits and \"-\" "
                         "with a letter first");
    PlanAxis *axis = g_new0(PlanAxis, 1);

    axis->name = g_strdup(name->text);
    axis->levels = g_ptr_array_new_with_free_func(level_free);
    axis->line = name->line;
    axis->column = name->column;
    g_ptr_array_add(plan->axes, axis);
    return read_levels(axis, value, error);
}

static gint compare_axes(gconstpointer a, gconstpointer b)
{
    const PlanAxis *const *left = a, *const *right = b;

    return strcmp((*left)->name, (*right)->name);
}

static gboolean check_product(const Plan *plan, const Node *axes, GError **error)
{
    guint64 cells = 1;

    for (guint i = 0; i < plan->axes->len; i++) {
        const PlanAxis *axis = g_ptr_array_index(plan->axes, i);

        cells *= axis->levels->len; /* at most 4096 times the bound below: fits */
        if (cells > PLAN_CELLS_MAX)
            return node_fail(axes, error, "axes: more than %u cells, counted before exclude",
                             PLAN_CELLS_MAX);
    }
    return TRUE;
}

static gboolean read_axes(const Node *value, const NodeField *field, gpointer member,
                          GError **error)
{
    Plan *plan = member;

    if (!node_expect(value, NODE_MAP, field->key, error))
        return FALSE;
    if (value->keys->len > AXES_MAX)
        return node_fail(value, error, "axes: more than %d axes", AXES_MAX);
    for (guint i = 0; i < value->keys->len; i++) {
        if (!read_axis(plan, g_ptr_array_index(value->keys, i), g_ptr_array_index(value->items, i),
                       error))
            return FALSE;
    }
    g_ptr_array_sort(plan->axes, compare_axes);
    if (plan_axis_index(plan, "hypervisor") < 0)
        return node_fail(value, error,
                         "axes: the axis \"hypervisor\" is missing: name at least one, such as "
                         "hypervisor: [bare]");
    return check_product(plan, value, error);
}

/* ---- exclude, include, baseline ---- */

static PlanMatch *match_new(const Node *at)
{
    PlanMatch *match = g_new0(PlanMatch, 1);

    match->axis = g_array_new(FALSE, FALSE, sizeof(guint));
    match->level = g_array_new(FALSE, FALSE, sizeof(guint));
    match->line = at->line;
    match->column = at->column;
    return match;
}

static void match_free(gpointer data)
{
    PlanMatch *match = data;

    if (match == NULL)
        return;
    g_array_unref(match->axis);
    g_array_unref(match->level);
    g_free(match);
}

static gboolean fail_unknown_axis(const Plan *plan, const char *what, const Node *key,
                                  GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (guint i = 0; i < plan->axes->len; i++)
        g_ptr_array_add(names, ((const PlanAxis *)g_ptr_array_index(plan->axes, i))->name);
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = node_suggest(key->text, (const char *const *)names->pdata, "axes");

    g_autofree char *name = node_quote(key);

    return node_fail(key, error, "%s: the plan has no axis %s%s", what, name, hint);
}

static gboolean fail_unknown_level(const PlanAxis *axis, const char *what, const Node *value,
                                   GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (guint i = 0; i < axis->levels->len; i++)
        g_ptr_array_add(names, ((const PlanLevel *)g_ptr_array_index(axis->levels, i))->name);
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = node_suggest(value->text, (const char *const *)names->pdata, "levels");

    return node_fail(value, error, "%s: axis %s has no level \"%s\"%s", what, axis->name,
                     value->text, hint);
}

static gboolean read_pair(const Plan *plan, const char *what, const Node *key, const Node *value,
                          PlanMatch *match, GError **error)
{
    NodeField field = {.key = key->text};
    g_autofree char *name = NULL;
    int axis = plan_axis_index(plan, key->text);

    if (axis < 0)
        return fail_unknown_axis(plan, what, key, error);
    if (!node_read_name(value, &field, &name, error))
        return FALSE;
    int level = level_index(g_ptr_array_index(plan->axes, (guint)axis), name);

    if (level < 0)
        return fail_unknown_level(g_ptr_array_index(plan->axes, (guint)axis), what, value, error);
    guint pair[] = {(guint)axis, (guint)level};

    g_array_append_val(match->axis, pair[0]);
    g_array_append_val(match->level, pair[1]);
    return TRUE;
}

static gboolean fill_match(const Plan *plan, const char *what, const Node *map, PlanMatch *match,
                           GError **error)
{
    if (!node_expect(map, NODE_MAP, what, error))
        return FALSE;
    if (map->keys->len == 0)
        return node_fail(map, error, "%s: an empty mapping: write AXIS: LEVEL", what);
    for (guint i = 0; i < map->keys->len; i++) {
        if (!read_pair(plan, what, g_ptr_array_index(map->keys, i),
                       g_ptr_array_index(map->items, i), match, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean fill_matches(const Plan *plan, const char *what, const Node *list,
                             GPtrArray *matches, GError **error)
{
    if (!node_expect(list, NODE_LIST, what, error))
        return FALSE;
    for (guint i = 0; i < list->items->len; i++) {
        const Node *item = g_ptr_array_index(list->items, i);
        PlanMatch *match = match_new(item);

        g_ptr_array_add(matches, match);
        if (!fill_match(plan, what, item, match, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_exclude(const Node *value, const NodeField *field, gpointer member,
                             GError **error)
{
    Plan *plan = member;

    return fill_matches(plan, field->key, value, plan->exclude, error);
}

static gboolean read_include(const Node *value, const NodeField *field, gpointer member,
                             GError **error)
{
    Plan *plan = member;

    return fill_matches(plan, field->key, value, plan->include, error);
}

static gboolean read_baseline(const Node *value, const NodeField *field, gpointer member,
                              GError **error)
{
    Plan *plan = member;

    plan->baseline = match_new(value);
    return fill_match(plan, field->key, value, plan->baseline, error);
}

/* ---- the rest ---- */

static gboolean read_workloads(const Node *value, const NodeField *field, gpointer member,
                               GError **error)
{
    const Plan *plan = member;
    const WorkloadList list = {plan->workloads, plan->workload_lines};

    if (!node_expect(value, NODE_LIST, field->key, error))
        return FALSE;
    if (value->items->len == 0)
        return node_fail(value, error, "workloads: none: name at least one, such as [ops]");
    for (guint i = 0; i < value->items->len; i++) {
        if (!workload_read(g_ptr_array_index(value->items, i), &list, error))
            return FALSE;
    }
    return TRUE;
}

/* memory: SIZE stands for an axis of one level, so both together contradict each other. */
static gboolean read_memory(const Node *value, const NodeField *field, gpointer member,
                            GError **error)
{
    Plan *plan = member;

    if (plan_axis_index(plan, "memory") >= 0)
        return node_fail(value, error, "memory: it is an axis of this plan too: keep one of them");
    return node_read_size(value, field, &plan->memory, error);
}

/* The same holds for where emulators run. */
static gboolean read_emulator(const Node *value, const NodeField *field, gpointer member,
                              GError **error)
{
    Plan *plan = member;

    if (plan_axis_index(plan, "emulator") >= 0)
        return node_fail(value, error,
                         "subject.emulator: it is an axis of this plan too: keep one of them");
    return node_read_choice(value, field, &plan->subject.emulator, error);
}

static const char *const smt_names[] = {"cores", "siblings", NULL};
static const char *const boot_per_names[] = {"cell", "workload", NULL};
static const char *const cache_names[] = {"leave", "warm", "cold", NULL};

#define PLAN_UINT(name, member, least, most)                                                       \
    {                                                                                              \
        .key = (name), .read = node_read_uint, .offset = offsetof(Plan, member), .min = (least),   \
        .max = (most)                                                                              \
    }
#define PLAN_DURATION(name, member, least, most)                                                   \
    {                                                                                              \
        .key = (name), .read = node_read_duration, .offset = offsetof(Plan, member),               \
        .min = (least), .max = (most)                                                              \
    }
#define PLAN_CHOICE(name, member, names)                                                           \
    {                                                                                              \
        .key = (name), .read = node_read_choice, .offset = offsetof(Plan, member),                 \
        .choices = (names)                                                                         \
    }

static const NodeField repeat_fields[] = {
    PLAN_UINT("boots", repeat.boots, 1, 1000),
    PLAN_CHOICE("boot-per", repeat.boot_per, boot_per_names),
    PLAN_UINT("invocations", repeat.invocations, 1, 1000),
    PLAN_UINT("samples", repeat.samples, 1, 100000),
    PLAN_UINT("warmup", repeat.warmup, 0, 100000),
    PLAN_DURATION("sample-time", repeat.sample_ns, 1000, 60 * MINUTE_NS),
    {NULL},
};

static const NodeField order_fields[] = {
    {.key = "seed", .read = node_read_uint64, .offset = offsetof(Plan, seed)},
    {NULL},
};

static const NodeField cache_fields[] = {
    PLAN_CHOICE("host", cache.host, cache_names),
    PLAN_CHOICE("guest", cache.guest, cache_names),
    {NULL},
};

static const NodeField subject_fields[] = {
    {.key = "emulator", .read = read_emulator, .choices = emulator_names},
    PLAN_CHOICE("smt", subject.smt, smt_names),
    {NULL},
};

static const NodeField limits_fields[] = {
    PLAN_DURATION("boot", limits.boot_ns, CLOCK_NS_PER_S, DAY_NS),
    PLAN_DURATION("invocation", limits.invocation_ns, CLOCK_NS_PER_S, 7 * DAY_NS),
    PLAN_UINT("attempts", limits.attempts, 1, 100),
    {.key = "stop-by", .read = node_read_minute, .offset = offsetof(Plan, limits.stop_by_minute)},
    {.key = "drift", .read = node_read_ppm, .offset = offsetof(Plan, limits.drift_ppm)},
    {NULL},
};

/* axes first: what follows names them. */
static const NodeField plan_fields[] = {
    {.key = "version", .read = node_read_version, .required = TRUE},
    {.key = "plan", .read = node_read_name, .offset = offsetof(Plan, name), .required = TRUE},
    {.key = "axes", .read = read_axes, .required = TRUE},
    {.key = "memory", .read = read_memory, .min = MEMORY_MIN, .max = MEMORY_MAX},
    {.key = "exclude", .read = read_exclude},
    {.key = "include", .read = read_include},
    {.key = "baseline", .read = read_baseline},
    {.key = "workloads", .read = read_workloads, .required = TRUE},
    {.key = "repeat", .read = node_read_nested, .fields = repeat_fields},
    {.key = "order", .read = node_read_nested, .fields = order_fields},
    {.key = "cache", .read = node_read_nested, .fields = cache_fields},
    {.key = "subject", .read = node_read_nested, .fields = subject_fields},
    {.key = "idle", .read = plan_idle_read, .offset = offsetof(Plan, idle)},
    {.key = "tune", .read = tune_wants_read, .offset = offsetof(Plan, tune)},
    {.key = "evidence", .read = plan_evidence_read, .offset = offsetof(Plan, evidence)},
    {.key = "limits", .read = node_read_nested, .fields = limits_fields},
    {NULL},
};

static void set_defaults(Plan *plan)
{
    plan->repeat.boots = 3;
    plan->repeat.invocations = 1;
    plan->repeat.samples = 11;
    plan->repeat.warmup = 1;
    plan->seed = 1;
    plan_idle_defaults(&plan->idle);
    evidence_limits_init(&plan->evidence);
    plan->limits.boot_ns = 3 * MINUTE_NS;
    plan->limits.invocation_ns = 30 * MINUTE_NS;
    plan->limits.attempts = 3;
    plan->limits.stop_by_minute = -1;
    plan->limits.drift_ppm = 500;
}

static Plan *plan_new(const char *path, const char *text, gsize length)
{
    Plan *plan = g_new0(Plan, 1);

    plan->path = g_strdup(path);
    plan->text = g_strndup(text, length);
    plan->digest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text, length);
    plan->axes = g_ptr_array_new_with_free_func(axis_free);
    plan->exclude = g_ptr_array_new_with_free_func(match_free);
    plan->include = g_ptr_array_new_with_free_func(match_free);
    plan->workloads = g_ptr_array_new_with_free_func(g_free);
    plan->workload_lines = g_array_new(FALSE, FALSE, sizeof(NodePlace));
    set_defaults(plan);
    return plan;
}

void plan_free(Plan *plan)
{
    if (plan == NULL)
        return;
    g_free(plan->path);
    g_free(plan->text);
    g_free(plan->digest);
    g_free(plan->name);
    g_clear_pointer(&plan->axes, g_ptr_array_unref);
    g_clear_pointer(&plan->exclude, g_ptr_array_unref);
    g_clear_pointer(&plan->include, g_ptr_array_unref);
    match_free(plan->baseline);
    tune_wants_clear(&plan->tune);
    g_clear_pointer(&plan->workloads, g_ptr_array_unref);
    g_clear_pointer(&plan->workload_lines, g_array_unref);
    g_free(plan);
}

Plan *plan_parse(const char *path, const char *text, gssize length, GError **error)
{
    gsize size = length < 0 ? strlen(text) : (gsize)length;
    g_autoptr(NodeTree) tree = node_tree_parse(path, text, size, error);

    if (tree == NULL)
        return NULL;
    g_autoptr(Plan) plan = plan_new(path, text, size);

    if (!node_read_fields(tree->root, "the plan", plan_fields, plan, error))
        return NULL;
    return g_steal_pointer(&plan);
}

Plan *plan_load(const char *path, GError **error)
{
    gsize length;
    g_autofree char *text = io_read_file(path, YAML_BYTES_MAX, &length, error);

    return text == NULL ? NULL : plan_parse(path, text, (gssize)length, error);
}

int plan_axis_index(const Plan *plan, const char *name)
{
    for (guint i = 0; i < plan->axes->len; i++) {
        const PlanAxis *axis = g_ptr_array_index(plan->axes, i);

        if (strcmp(axis->name, name) == 0)
            return (int)i;
    }
    return -1;
}

static gboolean matches(const PlanMatch *match, const guint16 *levels)
{
    for (guint i = 0; i < match->axis->len; i++) {
        if (levels[g_array_index(match->axis, guint, i)] != g_array_index(match->level, guint, i))
            return FALSE;
    }
    return TRUE;
}

static gboolean any_matches(const GPtrArray *list, const guint16 *levels)
{
    for (guint i = 0; i < list->len; i++) {
        if (matches(g_ptr_array_index(list, i), levels))
            return TRUE;
    }
    return FALSE;
}

gboolean plan_keeps(const Plan *plan, const guint16 *levels)
{
    return !any_matches(plan->exclude, levels) || any_matches(plan->include, levels);
}

gboolean plan_next(const Plan *plan, const gboolean *pinned, guint16 *levels)
{
    for (guint i = plan->axes->len; i-- > 0;) {
        const PlanAxis *axis = g_ptr_array_index(plan->axes, i);

        if (pinned != NULL && pinned[i])
            continue;
        if (++levels[i] < axis->levels->len)
            return TRUE;
        levels[i] = 0;
    }
    return FALSE;
}
