/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/tune.h"

#include <string.h>

#include "util/error.h"
#include "util/text.h"

/* What wakes up by itself and takes CPU or disk, or writes what is tuned here. */
#define STOP_DEFAULT                                                                               \
    "apt-daily.timer,apt-daily-upgrade.timer,unattended-upgrades.service,dnf-makecache.timer,"     \
    "dnf-automatic.timer,packagekit.service,fwupd-refresh.timer,man-db.timer,logrotate.timer,"     \
    "plocate-updatedb.timer,updatedb.timer,fstrim.timer,e2scrub_all.timer,"                        \
    "systemd-tmpfiles-clean.timer,irqbalance.service,power-profiles-daemon.service,"               \
    "ksmtuned.service"

#define UNIT "[A-Za-z0-9:_.\\\\@-]{1,240}\\.(service|timer|socket|path|target)"
#define ON_OFF "on|off"

/* One row a key. pattern: of a whole value, as in schema/plan.schema.json. */
static const struct {
    const char *name;
    const char *pattern;
    const char *forms;   /* for people */
    const char *measure; /* of the preset "measure"; NULL: leave */
    gboolean list;       /* in YAML a list; its items are what pattern is for */
} rows[TUNE_KEYS] = {
    [TUNE_SMT] = {"smt", ON_OFF, "on or off", NULL, FALSE},
    [TUNE_GOVERNOR] = {"governor", "[a-z_]{1,32}", "a governor's name, such as performance",
                       "performance", FALSE},
    [TUNE_ENERGY] = {"energy", "[a-z_]{1,32}", "a preference's name, such as performance",
                     "performance", FALSE},
    [TUNE_BOOST] = {"boost", ON_OFF, "on or off", "off", FALSE},
    [TUNE_IDLE_LATENCY] = {"idle-latency", "(0|[1-9][0-9]{0,5})us", "0us to 999999us", "3us",
                           FALSE},
    [TUNE_NUMA_BALANCING] = {"numa-balancing", ON_OFF, "on or off", "off", FALSE},
    [TUNE_THP] = {"thp", "always|madvise|never", "always, madvise or never", NULL, FALSE},
    [TUNE_THP_DEFRAG] = {"thp-defrag", "always|defer|defer\\+madvise|madvise|never",
                         "always, defer, defer+madvise, madvise or never", NULL, FALSE},
    [TUNE_KSM] = {"ksm", ON_OFF, "on or off", "off", FALSE},
    [TUNE_SWAPPINESS] = {"swappiness", "0|[1-9][0-9]?|1[0-9][0-9]|200", "0 to 200", "1", FALSE},
    [TUNE_PERF_PARANOID] = {"perf-paranoid", "-1|[0-4]", "-1 to 4", NULL, FALSE},
    [TUNE_PERF_CPU] = {"perf-cpu", "0|[1-9][0-9]?|100", "0 to 100", NULL, FALSE},
    [TUNE_ASLR] = {"aslr", "[0-2]", "0, 1 or 2", NULL, FALSE},
    [TUNE_WATCHDOG] = {"watchdog", ON_OFF, "on or off", "off", FALSE},
    [TUNE_CPUS] = {"cpus", "[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*",
                   "a list of CPUs, such as 2-3", NULL, FALSE},
    [TUNE_STOP] = {"stop", UNIT, "default, or a list of units such as [cron.service]", STOP_DEFAULT,
                   TRUE},
    [TUNE_SLEEP] = {"sleep", "inhibit", "inhibit", "inhibit", FALSE},
    [TUNE_IRQ] = {"irq", "away", "away", "away", FALSE},
    [TUNE_ISOLATE] = {"isolate", "on", "on", NULL, FALSE},
};

static const char preset_key[] = "preset";

void tune_wants_clear(TuneWants *wants)
{
    for (guint i = 0; i < TUNE_KEYS; i++)
        g_clear_pointer(&wants->values[i], g_free);
}

gboolean tune_wants_any(const TuneWants *wants)
{
    for (guint i = 0; i < TUNE_KEYS; i++)
        if (wants->values[i] != NULL && i != TUNE_CPUS)
            return TRUE;
    return FALSE;
}

const char *tune_key_name(TuneKey key)
{
    return rows[key].name;
}

/* ---- one value ---- */

static void put(TuneWants *wants, guint key, const char *value)
{
    g_free(wants->values[key]);
    wants->values[key] = g_strdup(value);
}

/* "off" or "measure". FALSE: it is neither. */
static gboolean put_preset(TuneWants *wants, const char *name)
{
    gboolean measure = strcmp(name, "measure") == 0;

    if (!measure && strcmp(name, "off") != 0)
        return FALSE;
    for (guint i = 0; i < TUNE_KEYS; i++)
        put(wants, i, measure ? rows[i].measure : NULL);
    return TRUE;
}

static gboolean fits(guint key, const char *value)
{
    g_autofree char *whole = g_strdup_printf("^(%s)\\z", rows[key].pattern);

    return g_regex_match_simple(whole, value, G_REGEX_DOLLAR_ENDONLY, 0);
}

/* A word, or (with list) words with commas. FALSE: not in the form of its row. */
static gboolean put_value(TuneWants *wants, guint key, const char *value)
{
    g_auto(GStrv) parts = rows[key].list ? g_strsplit(value, ",", -1) : NULL;

    if (strcmp(value, "leave") == 0) {
        put(wants, key, NULL);
        return TRUE;
    }
    if (rows[key].list && strcmp(value, "default") == 0) {
        put(wants, key, rows[key].measure);
        return TRUE;
    }
    if (rows[key].list && parts[0] == NULL)
        return FALSE;
    for (char **part = parts; part != NULL && *part != NULL; part++)
        if (!fits(key, *part))
            return FALSE;
    if (!rows[key].list && !fits(key, value))
        return FALSE;
    put(wants, key, value);
    return TRUE;
}

/* TUNE_KEYS when there is none. */
static guint find_key(const char *name)
{
    guint key = 0;

    while (key < TUNE_KEYS && strcmp(rows[key].name, name) != 0)
        key++;
    return key;
}

/* All that may stand there, NULL-terminated; the caller frees the array alone. */
static const char **key_names(void)
{
    const char **names = g_new0(const char *, TUNE_KEYS + 2);

    names[0] = preset_key;
    for (guint i = 0; i < TUNE_KEYS; i++)
        names[i + 1] = rows[i].name;
    return names;
}

/* ---- the command line ---- */

static gboolean fail_set(const char *key, const char *value, const char *forms, GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "--set %s: \"%s\" is not %s%s", key, value,
                forms, strcmp(key, preset_key) == 0 ? "" : ", or leave");
    return FALSE;
}

static gboolean fail_key(const char *name, GError **error)
{
    g_autofree const char **names = key_names();
    const char *near = text_nearest(name, names);
    g_autofree char *all = g_strjoinv(", ", (char **)names);

    g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "--set: unknown setting \"%s\"; %s%s%s", name,
                near != NULL ? "did you mean \"" : "there are: ", near != NULL ? near : all,
                near != NULL ? "\"?" : "");
    return FALSE;
}

gboolean tune_wants_set(TuneWants *wants, const char *assignment, GError **error)
{
    const char *mark = strchr(assignment, '=');
    g_autofree char *name = mark != NULL ? g_strndup(assignment, (gsize)(mark - assignment)) : NULL;
    guint key;

    if (mark == NULL) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "--set: \"%s\" is no assignment: write KEY=VALUE, such as governor=performance",
                    assignment);
        return FALSE;
    }
    if (strcmp(name, preset_key) == 0)
        return put_preset(wants, mark + 1) || fail_set(name, mark + 1, "off or measure", error);
    key = find_key(name);
    if (key == TUNE_KEYS)
        return fail_key(name, error);
    return put_value(wants, key, mark + 1) || fail_set(name, mark + 1, rows[key].forms, error);
}

/* ---- the plan ---- */

static gboolean read_list(const Node *value, guint key, TuneWants *wants, GError **error)
{
    g_autoptr(GString) joined = g_string_new(NULL);

    for (guint i = 0; i < value->items->len; i++) {
        const Node *item = g_ptr_array_index(value->items, i);

        if (!node_expect(item, NODE_SCALAR, rows[key].name, error))
            return FALSE;
        if (!fits(key, item->text))
            return node_fail(item, error, "tune: %s: \"%s\" is not the name of a unit",
                             rows[key].name, item->text);
        g_string_append_printf(joined, "%s%s", i > 0 ? "," : "", item->text);
    }
    put(wants, key, joined->len > 0 ? joined->str : NULL);
    return TRUE;
}

static gboolean read_key(const Node *name, const Node *value, TuneWants *wants, GError **error)
{
    guint key = find_key(name->text);

    if (strcmp(name->text, preset_key) == 0)
        return TRUE; /* read first, wherever it stands */
    if (key == TUNE_KEYS) {
        g_autofree const char **names = key_names();
        g_autofree char *hint = node_suggest(name->text, names, "known keys");
        g_autofree char *quoted = node_quote(name);

        return node_fail(name, error, "tune: unknown key %s%s", quoted, hint);
    }
    if (rows[key].list && value->kind == NODE_LIST)
        return read_list(value, key, wants, error);
    if (!node_expect(value, NODE_SCALAR, rows[key].name, error))
        return FALSE;
    g_autofree char *quoted = node_quote(value);

    /* Several units in one scalar would be a second way to write a list. */
    if ((rows[key].list && strcmp(value->text, "default") != 0 &&
         strcmp(value->text, "leave") != 0) ||
        !put_value(wants, key, value->text))
        return node_fail(value, error, "tune: %s: %s is not %s, or leave", rows[key].name, quoted,
                         rows[key].forms);
    return TRUE;
}

static gboolean read_preset(const Node *value, TuneWants *wants, GError **error)
{
    if (!node_expect(value, NODE_SCALAR, preset_key, error))
        return FALSE;
    return put_preset(wants, value->text) ||
           node_fail(value, error, "tune: preset: must be off or measure");
}

gboolean tune_wants_read(const Node *value, const NodeField *field, gpointer member, GError **error)
{
    TuneWants *wants = member;
    const Node *preset = value->kind == NODE_MAP ? node_get(value, preset_key) : NULL;

    if (value->kind == NODE_SCALAR && put_preset(wants, value->text))
        return TRUE;
    if (value->kind != NODE_MAP)
        return node_fail(value, error, "tune: must be off, measure, or a mapping");
    if (preset != NULL && !read_preset(preset, wants, error))
        return FALSE;
    for (guint i = 0; i < value->keys->len; i++)
        if (!read_key(g_ptr_array_index(value->keys, i), g_ptr_array_index(value->items, i), wants,
                      error))
            return FALSE;
    return TRUE;
}
