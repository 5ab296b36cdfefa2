/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/tuning.h"

#include <string.h>
#include <unistd.h>

#include "host/probe.h"
#include "host/topology.h"
#include "host/tune.h"
#include "util/cpulist.h"
#include "util/error.h"
#include "util/io.h"

#define STEP "tune"

struct Tuning {
    GArray *held; /* int: descriptors */
};

const char *tuning_root(void)
{
    const char *root = g_getenv("VMATRIX_HOST_ROOT");

    return root != NULL ? root : "";
}

gboolean tuning_permitted(GError **error)
{
    /* A tree of a test's own is judged by its own permissions. */
    if (geteuid() == 0 || *tuning_root() != '\0')
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                "the host's settings can be changed by root alone, and this is user %u: run it as "
                "root, or let vmatrixd do it; measuring works without",
                (guint)geteuid());
    return FALSE;
}

static void close_held(gpointer data)
{
    io_clear_fd(data);
}

static Tuning *tuning_new(void)
{
    Tuning *tuning = g_new0(Tuning, 1);

    tuning->held = g_array_new(FALSE, FALSE, sizeof(int));
    g_array_set_clear_func(tuning->held, close_held);
    return tuning;
}

void tuning_free(Tuning *tuning)
{
    if (tuning == NULL)
        return;
    g_array_unref(tuning->held);
    g_free(tuning);
}

/* ---- the journal ---- */

typedef struct {
    Store *store;
    gint64 campaign;
    gint64 first; /* the first row written, or 0 */
} Journal;

static GBytes *to_bytes(const char *text)
{
    return text != NULL ? g_bytes_new(text, strlen(text)) : NULL;
}

/* As a NUL-terminated text; transfer full. */
static char *to_text(GBytes *bytes)
{
    gsize length = 0;
    const char *data = bytes != NULL ? g_bytes_get_data(bytes, &length) : NULL;

    return bytes != NULL ? g_strndup(data != NULL ? data : "", length) : NULL;
}

static gboolean journal_add(void *data, const TuneChange *change, gint64 *ret_id, GError **error)
{
    Journal *journal = data;
    g_autoptr(GBytes) old = to_bytes(change->old);
    g_autoptr(GBytes) got = to_bytes(change->got);
    const StoreUndo undo = {.campaign = journal->campaign,
                            .boot_id = (char *)change->boot_id,
                            .knob = (char *)change->knob,
                            .target = (char *)change->target,
                            .old = old,
                            .wanted = (char *)change->wanted,
                            .got = got,
                            .state = (char *)tune_state_name(change->state),
                            .reason = (char *)change->reason};
    gint64 id;

    if (!store_undo_add(journal->store, &undo, &id, error))
        return FALSE;
    if (journal->first == 0)
        journal->first = id;
    *ret_id = id;
    return TRUE;
}

static gboolean journal_note(void *data, gint64 id, TuneState state, const char *got,
                             const char *reason, GError **error)
{
    Journal *journal = data;
    g_autoptr(GBytes) bytes = to_bytes(got);

    return store_undo_set(journal->store, id, tune_state_name(state), bytes, reason, error);
}

static TuneJournal journal_of(Journal *journal)
{
    return (TuneJournal){.add = journal_add, .note = journal_note, .data = journal};
}

/* ---- the host ---- */

/* systemd, unless this is a test's tree that has no bus of its own. */
static Systemd *connect_systemd(char **ret_why)
{
    if (*tuning_root() == '\0' || g_getenv("DBUS_SYSTEM_BUS_ADDRESS") != NULL)
        return systemd_new(ret_why);
    *ret_why = g_strdup("no system bus");
    return NULL;
}

typedef struct {
    KnobHost knobs;
    Systemd *systemd;
    char *no_systemd;
    char *cpus, *housekeeping;
} Host;

static void host_init(Host *host, GArray *held)
{
    *host = (Host){0};
    host->systemd = connect_systemd(&host->no_systemd);
    host->knobs = (KnobHost){.root = tuning_root(),
                             .systemd = host->systemd,
                             .no_systemd = host->no_systemd,
                             .held = held};
}

static void host_finish(Host *host)
{
    systemd_free(host->systemd);
    g_free(host->no_systemd);
    g_free(host->cpus);
    g_free(host->housekeeping);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Host, host_finish)

static guint vcpus_max(const Plan *plan)
{
    int index = plan_axis_index(plan, "vcpus");
    const PlanAxis *axis = index >= 0 ? g_ptr_array_index(plan->axes, index) : NULL;
    guint64 most = 1;

    for (guint i = 0; axis != NULL && i < axis->levels->len; i++)
        most = MAX(most, ((const PlanLevel *)g_ptr_array_index(axis->levels, i))->number);
    return (guint)most;
}

/* All that are online, but those. NULL: none. */
static char *all_but(const GArray *topology, const char *cpus)
{
    g_autoptr(GArray) taken = cpulist_parse(cpus);
    g_autoptr(GArray) rest = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint i = 0; i < topology->len; i++) {
        guint cpu = g_array_index(topology, TopologyCpu, i).cpu;

        if (taken == NULL || !cpulist_has(taken, cpu))
            g_array_append_val(rest, cpu);
    }
    return cpulist_text(rest);
}

/* The CPUs that are to be kept free: told, or those that the plan's largest cell gets. */
static void host_pick_cpus(Host *host, const TuneWants *wants, const Plan *plan)
{
    g_autofree char *allowed = *tuning_root() == '\0' ? host_cpus_allowed() : NULL;
    g_autoptr(GArray) usable = topology_read(tuning_root(), allowed);
    g_autoptr(GArray) online = topology_read(tuning_root(), NULL);
    g_auto(CpuPick) pick = {0};

    if (wants->values[TUNE_CPUS] != NULL)
        host->cpus = g_strdup(wants->values[TUNE_CPUS]);
    else if (plan != NULL && cpu_pick(usable, vcpus_max(plan), plan->subject.smt, &pick))
        host->cpus = g_strdup(pick.cpus);
    if (host->cpus != NULL && pick.housekeeping != NULL)
        host->housekeeping = g_strdup(pick.housekeeping);
    else if (host->cpus != NULL)
        host->housekeeping = all_but(online, host->cpus);
    host->knobs.cpus = host->cpus;
    host->knobs.housekeeping = host->housekeeping;
}

/* Threads of cores first: which CPUs there are, and so which the subject gets, depends on it. */
static gboolean apply(Host *host, const TuneWants *wants, const Plan *plan, Journal *journal,
                      GError **error)
{
    const TuneJournal table = journal_of(journal);
    TuneWants first = {.values[TUNE_SMT] = wants->values[TUNE_SMT]};
    TuneWants rest = *wants; /* borrows */

    rest.values[TUNE_SMT] = NULL;
    if (!tune_apply(&host->knobs, &first, &table, error))
        return FALSE;
    host_pick_cpus(host, wants, plan);
    return tune_apply(&host->knobs, &rest, &table, error);
}

/* ---- what came of it, as facts ---- */

/* "performance", "absent", "refused: why"; transfer full. */
static char *row_text(const StoreUndo *undo)
{
    const Knob *knob = knob_find(undo->knob);
    g_autofree char *got = to_text(undo->got);
    TuneState state = tune_state_of(undo->state);

    if (state == TUNE_REFUSED)
        return g_strdup_printf("refused: %s", undo->reason);
    if (state == TUNE_ABSENT || knob == NULL)
        return g_strdup("absent");
    return got != NULL ? knob_canonical(knob, got) : g_strdup("unknown");
}

/* What the rows of one knob say, each text once with its number: "performance", or
 * "7 x 0, 2 x refused: …". */
static char *knob_text(const GPtrArray *rows, const char *knob)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) counts = g_array_new(FALSE, TRUE, sizeof(guint));
    g_autoptr(GString) all = g_string_new(NULL);

    for (guint i = 0; i < rows->len; i++) {
        const StoreUndo *undo = g_ptr_array_index(rows, i);
        g_autofree char *text = strcmp(undo->knob, knob) == 0 ? row_text(undo) : NULL;
        guint at = 0;

        if (text == NULL)
            continue;
        if (!g_ptr_array_find_with_equal_func(texts, text, g_str_equal, &at)) {
            at = texts->len;
            g_ptr_array_add(texts, g_steal_pointer(&text));
            g_array_set_size(counts, texts->len);
        }
        g_array_index(counts, guint, at)++;
    }
    for (guint i = 0; i < texts->len; i++) {
        g_string_append(all, i > 0 ? ", " : "");
        if (texts->len > 1)
            g_string_append_printf(all, "%u x ", g_array_index(counts, guint, i));
        g_string_append(all, g_ptr_array_index(texts, i));
    }
    return g_string_free(g_steal_pointer(&all), FALSE);
}

static void add_facts(const GPtrArray *rows, GHashTable *facts)
{
    for (guint i = 0; i < rows->len; i++) {
        const StoreUndo *undo = g_ptr_array_index(rows, i);
        g_autofree char *name = g_strdup_printf("tune.%s", undo->knob);

        if (!g_hash_table_contains(facts, name))
            g_hash_table_insert(facts, g_steal_pointer(&name), knob_text(rows, undo->knob));
    }
}

static guint count_state(const GPtrArray *rows, TuneState state)
{
    guint count = 0;

    for (guint i = 0; i < rows->len; i++)
        count += tune_state_of(((const StoreUndo *)g_ptr_array_index(rows, i))->state) == state;
    return count;
}

gboolean tuning_is_refusal(const StoreUndo *undo)
{
    const Knob *knob = knob_find(undo->knob);

    return tune_state_of(undo->state) == TUNE_REFUSED && knob != NULL && !knob->often_fixed &&
           !knob->kind->held;
}

static gboolean any_refusal(const GPtrArray *rows)
{
    for (guint i = 0; i < rows->len; i++)
        if (tuning_is_refusal(g_ptr_array_index(rows, i)))
            return TRUE;
    return FALSE;
}

/* What is as the plan wants it, and what is not. */
static gboolean tell(Store *store, gint64 campaign, const GPtrArray *rows, GError **error)
{
    g_autofree char *text = g_strdup_printf(
        "settings of the host: %u changed, %u held, %u as wanted, %u refused, %u not on this host",
        count_state(rows, TUNE_SET), count_state(rows, TUNE_HELD), count_state(rows, TUNE_SAME),
        count_state(rows, TUNE_REFUSED), count_state(rows, TUNE_ABSENT));

    g_message("%s", text);
    return store_event_add(store, campaign, 0, any_refusal(rows) ? "warning" : "info", STEP, text,
                           error);
}

/* ---- beginning ---- */

static gboolean refuse(Store *store, gint64 campaign, GHashTable *facts, const char *why,
                       GError **error)
{
    g_autofree char *text = g_strdup_printf("nothing is tuned: %s", why);

    g_warning("%s", text);
    g_hash_table_replace(facts, g_strdup("tune"), g_strdup("refused: not root"));
    return store_event_add(store, campaign, 0, "warning", STEP, text, error);
}

static gboolean begin(Store *store, gint64 campaign, const Plan *plan, GHashTable *facts,
                      Tuning *tuning, GError **error)
{
    Journal journal = {.store = store, .campaign = campaign};
    g_auto(Host) host = {0};
    g_autoptr(GPtrArray) rows = NULL;

    host_init(&host, tuning->held);
    if (!apply(&host, &plan->tune, plan, &journal, error))
        return FALSE;
    rows = store_undo_list(store, campaign, journal.first - 1, error);
    if (rows == NULL)
        return FALSE;
    add_facts(rows, facts);
    return tell(store, campaign, rows, error);
}

gboolean tuning_begin(Store *store, gint64 campaign, const Plan *plan, GHashTable *facts,
                      Tuning **ret_tuning, GError **error)
{
    g_autoptr(Tuning) tuning = tuning_new();
    g_autoptr(GError) refusal = NULL;

    if (!tune_wants_any(&plan->tune) || !tuning_permitted(&refusal)) {
        *ret_tuning = NULL;
        return refusal == NULL || refuse(store, campaign, facts, refusal->message, error);
    }
    if (!begin(store, campaign, plan, facts, tuning, error)) {
        GPtrArray *outcomes = tuning_restore(store, TUNING_OF_CAMPAIGNS, NULL);

        g_clear_pointer(&outcomes, g_ptr_array_unref);
        return FALSE;
    }
    *ret_tuning = g_steal_pointer(&tuning);
    return TRUE;
}

gboolean tuning_by_hand(Store *store, const TuneWants *wants, const Plan *plan, gint64 *ret_since,
                        GError **error)
{
    Journal journal = {.store = store};
    g_auto(Host) host = {0};

    if (!tuning_permitted(error))
        return FALSE;
    host_init(&host, NULL);
    if (!apply(&host, wants, plan, &journal, error))
        return FALSE;
    *ret_since = journal.first - 1;
    return TRUE;
}

/* ---- giving back ---- */

static void outcome_free(gpointer data)
{
    TuningOutcome *outcome = data;

    g_free(outcome->knob);
    g_free(outcome->target);
    g_free(outcome->state);
    g_free(outcome->reason);
    g_free(outcome);
}

/* What a person should know: a warning each, and in the campaign's log. */
static gboolean report(Store *store, const StoreUndo *undo, const TuningOutcome *outcome,
                       TuneState state, GError **error)
{
    g_autofree char *text = NULL;

    if (state != TUNE_LEFT && state != TUNE_STUCK)
        return TRUE;
    text = g_strdup_printf(
        "%s of the host was not given back: %s: %s%s", undo->knob, undo->target, outcome->reason,
        state == TUNE_STUCK ? "; set it yourself, or try again with \"vmatrix host restore\""
                            : "; it is left as it is");
    g_warning("%s", text);
    /* What is stuck is told at each start, but stands in the log once. */
    if (undo->campaign == 0 || strcmp(undo->state, "stuck") == 0)
        return TRUE;
    return store_event_add(store, undo->campaign, 0, "warning", STEP, text, error);
}

static gboolean restore_row(Store *store, const KnobHost *host, const StoreUndo *undo,
                            GPtrArray *outcomes, GError **error)
{
    Journal journal = {.store = store};
    const TuneJournal table = journal_of(&journal);
    g_autofree char *old = to_text(undo->old);
    g_autofree char *got = to_text(undo->got);
    const TuneChange change = {.id = undo->id,
                               .boot_id = undo->boot_id,
                               .knob = undo->knob,
                               .target = undo->target,
                               .old = old,
                               .wanted = undo->wanted,
                               .got = got,
                               .state = tune_state_of(undo->state)};
    TuningOutcome *outcome = g_new0(TuningOutcome, 1);
    TuneState state = TUNE_STUCK;

    g_ptr_array_add(outcomes, outcome);
    if (!tune_restore(host, &change, &table, &state, &outcome->reason, error))
        return FALSE;
    outcome->id = undo->id;
    outcome->knob = g_strdup(undo->knob);
    outcome->target = g_strdup(undo->target);
    outcome->state = g_strdup(tune_state_name(state));
    return report(store, undo, outcome, state, error);
}

/* What was set by hand stays, unless giving it back was tried and failed. */
static gboolean in_scope(const StoreUndo *undo, TuningScope scope)
{
    return scope == TUNING_ALL || undo->campaign != 0 || strcmp(undo->state, "stuck") == 0;
}

static void tell_given_back(const GPtrArray *outcomes, guint by_hand)
{
    guint restored = 0;

    for (guint i = 0; i < outcomes->len; i++)
        restored +=
            strcmp(((const TuningOutcome *)g_ptr_array_index(outcomes, i))->state, "restored") == 0;
    if (restored > 0)
        g_message("%u setting%s of the host %s given back", restored, restored == 1 ? "" : "s",
                  restored == 1 ? "was" : "were");
    if (by_hand > 0)
        g_message("%u setting%s of the host made by \"vmatrix host tune\" stand%s; \"vmatrix host "
                  "restore\" gives back",
                  by_hand, by_hand == 1 ? "" : "s", by_hand == 1 ? "s" : "");
}

static gboolean restore_rows(Store *store, const GPtrArray *open, TuningScope scope,
                             GPtrArray *outcomes, GError **error)
{
    g_auto(Host) host = {0};
    guint by_hand = 0;

    for (guint i = 0; i < open->len; i++) {
        const StoreUndo *undo = g_ptr_array_index(open, i);

        if (!in_scope(undo, scope)) {
            by_hand++;
            continue;
        }
        if (host.knobs.root == NULL)
            host_init(&host, NULL);
        if (!restore_row(store, &host.knobs, undo, outcomes, error))
            return FALSE;
    }
    tell_given_back(outcomes, by_hand);
    return TRUE;
}

GPtrArray *tuning_restore(Store *store, TuningScope scope, GError **error)
{
    g_autoptr(GPtrArray) open = store_undo_open(store, error);
    g_autoptr(GPtrArray) outcomes = g_ptr_array_new_with_free_func(outcome_free);

    if (open == NULL || !restore_rows(store, open, scope, outcomes, error))
        return NULL;
    return g_steal_pointer(&outcomes);
}
