/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/knob.h"

#include <string.h>

#include "util/cpulist.h"

#define CPU "/sys/devices/system/cpu"
#define KERNEL "/proc/sys/kernel"
#define THP "/sys/kernel/mm/transparent_hugepage"

/* ---- what is wanted ---- */

static char *want_same(const KnobHost *host, const char *value, const char *now)
{
    return g_strdup(value);
}

static char *want_one(const KnobHost *host, const char *value, const char *now)
{
    return g_strdup(strcmp(value, "on") == 0 ? "1" : "0");
}

static char *want_zero(const KnobHost *host, const char *value, const char *now)
{
    return g_strdup(strcmp(value, "on") == 0 ? "0" : "1");
}

/* NUMA balancing has a second mode (2: memory tiers), which counts as on. */
static char *want_numa(const KnobHost *host, const char *value, const char *now)
{
    gboolean on = strcmp(value, "on") == 0;

    return on && *now != '0' ? NULL : g_strdup(on ? "1" : "0");
}

/* "3us": "3" */
static char *want_latency(const KnobHost *host, const char *value, const char *now)
{
    return g_strndup(value, strspn(value, "0123456789"));
}

static char *want_inactive(const KnobHost *host, const char *value, const char *now)
{
    return strcmp(now, "active") == 0 || strcmp(now, "activating") == 0 ||
                   strcmp(now, "reloading") == 0
               ? g_strdup("inactive")
               : NULL;
}

static char *want_housekeeping(const KnobHost *host, const char *value, const char *now)
{
    return g_strdup(host->housekeeping);
}

/* An interrupt that may go to other CPUs already stays with those of them; else it goes to the
 * housekeeping ones. One that does not meet the subject's CPUs is of no concern. */
static char *away(const KnobHost *host, const GArray *now)
{
    g_autoptr(GArray) cpus = host->cpus != NULL ? cpulist_parse(host->cpus) : NULL;
    g_autoptr(GArray) rest = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint i = 0; cpus != NULL && i < now->len; i++)
        if (!cpulist_has(cpus, g_array_index(now, guint, i)))
            g_array_append_val(rest, g_array_index(now, guint, i));
    if (cpus == NULL || rest->len == now->len)
        return NULL;
    return rest->len > 0 ? cpulist_text(rest) : g_strdup(host->housekeeping);
}

static char *want_list_away(const KnobHost *host, const char *value, const char *now)
{
    g_autofree char *text = g_strstrip(g_strdup(now));
    g_autoptr(GArray) list = cpulist_parse(text);

    return list != NULL ? away(host, list) : NULL;
}

/* ---- masks: groups of 32 bits, the highest first ("00000000,0000000f") ---- */

enum { GROUP_DIGITS = 8, MASK_DIGITS_MAX = 65536 / 4 };

static guint digit_at(const char *digits, gsize length, guint place)
{
    return place < length ? (guint)g_ascii_xdigit_value(digits[length - 1 - place]) : 0;
}

/* The hexadecimal digits alone, without leading zeros. */
static char *mask_digits(const char *mask)
{
    GString *digits = g_string_new(NULL);

    for (; *mask != '\0' && digits->len < MASK_DIGITS_MAX; mask++)
        if (g_ascii_isxdigit(*mask) && (digits->len > 0 || *mask != '0'))
            g_string_append_c(digits, g_ascii_tolower(*mask));
    return g_string_free(digits, FALSE);
}

static GArray *mask_cpus(const char *mask)
{
    g_autofree char *digits = mask_digits(mask);
    GArray *cpus = g_array_new(FALSE, FALSE, sizeof(guint));
    gsize length = strlen(digits);

    for (guint cpu = 0; cpu < length * 4; cpu++)
        if ((digit_at(digits, length, cpu / 4) >> (cpu % 4) & 1) != 0)
            g_array_append_val(cpus, cpu);
    return cpus;
}

static char *mask_text(const GArray *cpus)
{
    guint highest = 0;
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < cpus->len; i++)
        highest = MAX(highest, g_array_index(cpus, guint, i));
    for (guint place = highest / 4 + 1; place-- > 0;) {
        guint digit = 0;

        for (guint bit = 0; bit < 4; bit++)
            digit |= (guint)cpulist_has(cpus, place * 4 + bit) << bit;
        g_string_append_printf(text, "%x%s", digit,
                               place % GROUP_DIGITS == 0 && place > 0 ? "," : "");
    }
    return g_string_free(text, FALSE);
}

static char *want_mask_away(const KnobHost *host, const char *value, const char *now)
{
    g_autoptr(GArray) list = mask_cpus(now);
    g_autofree char *left = away(host, list);
    g_autoptr(GArray) cpus = left != NULL ? cpulist_parse(left) : NULL;

    return cpus != NULL ? mask_text(cpus) : NULL;
}

/* ---- the table ---- */

/* The order matters: threads first, for they take other files away; the energy preference before
 * the governor, for with the governor "performance" intel_pstate refuses another one (so in
 * reverse, the governor goes back first); both watchdogs before the switch of both, which is then
 * left alone: switched back on, it would start one that was off. */
static const Knob table[] = {
    {.name = "smt",
     .key = TUNE_SMT,
     .kind = &knob_file,
     .path = CPU "/smt/control",
     .want = want_same,
     .none = "notsupported notimplemented forceoff"},
    {.name = "energy",
     .key = TUNE_ENERGY,
     .kind = &knob_file,
     .path = CPU "/cpufreq/policy*/energy_performance_preference",
     .want = want_same},
    {.name = "governor",
     .key = TUNE_GOVERNOR,
     .kind = &knob_file,
     .path = CPU "/cpufreq/policy*/scaling_governor",
     .want = want_same},
    {.name = "boost",
     .key = TUNE_BOOST,
     .kind = &knob_file,
     .path = CPU "/cpufreq/boost",
     .want = want_one},
    {.name = "boost-intel",
     .key = TUNE_BOOST,
     .kind = &knob_file,
     .path = CPU "/intel_pstate/no_turbo",
     .want = want_zero},
    {.name = "idle-latency",
     .key = TUNE_IDLE_LATENCY,
     .kind = &knob_latency,
     .path = "/dev/cpu_dma_latency",
     .want = want_latency},
    {.name = "numa-balancing",
     .key = TUNE_NUMA_BALANCING,
     .kind = &knob_file,
     .path = KERNEL "/numa_balancing",
     .want = want_numa},
    {.name = "thp",
     .key = TUNE_THP,
     .kind = &knob_file,
     .path = THP "/enabled",
     .form = KNOB_CHOICE,
     .want = want_same},
    {.name = "thp-defrag",
     .key = TUNE_THP_DEFRAG,
     .kind = &knob_file,
     .path = THP "/defrag",
     .form = KNOB_CHOICE,
     .want = want_same},
    {.name = "ksm",
     .key = TUNE_KSM,
     .kind = &knob_file,
     .path = "/sys/kernel/mm/ksm/run",
     .want = want_one},
    {.name = "swappiness",
     .key = TUNE_SWAPPINESS,
     .kind = &knob_file,
     .path = "/proc/sys/vm/swappiness",
     .want = want_same},
    {.name = "perf-paranoid",
     .key = TUNE_PERF_PARANOID,
     .kind = &knob_file,
     .path = KERNEL "/perf_event_paranoid",
     .want = want_same},
    {.name = "perf-cpu",
     .key = TUNE_PERF_CPU,
     .kind = &knob_file,
     .path = KERNEL "/perf_cpu_time_max_percent",
     .want = want_same},
    {.name = "aslr",
     .key = TUNE_ASLR,
     .kind = &knob_file,
     .path = KERNEL "/randomize_va_space",
     .want = want_same},
    {.name = "watchdog-nmi",
     .key = TUNE_WATCHDOG,
     .kind = &knob_file,
     .path = KERNEL "/nmi_watchdog",
     .want = want_one},
    {.name = "watchdog-soft",
     .key = TUNE_WATCHDOG,
     .kind = &knob_file,
     .path = KERNEL "/soft_watchdog",
     .want = want_one},
    {.name = "watchdog",
     .key = TUNE_WATCHDOG,
     .kind = &knob_file,
     .path = KERNEL "/watchdog",
     .want = want_one},
    {.name = "stop",
     .key = TUNE_STOP,
     .kind = &knob_unit,
     .form = KNOB_ACTIVE,
     .want = want_inactive},
    {.name = "sleep", .key = TUNE_SLEEP, .kind = &knob_sleep, .want = want_same},
    {.name = "irq-default",
     .key = TUNE_IRQ,
     .kind = &knob_file,
     .path = "/proc/irq/default_smp_affinity",
     .form = KNOB_MASK,
     .want = want_mask_away},
    {.name = "irq",
     .key = TUNE_IRQ,
     .kind = &knob_file,
     .path = "/proc/irq/*/smp_affinity_list",
     .form = KNOB_LIST,
     .want = want_list_away,
     .often_fixed = TRUE},
    {.name = "isolate-slice",
     .key = TUNE_ISOLATE,
     .kind = &knob_slice,
     .path = "system.slice user.slice init.scope",
     .form = KNOB_LIST,
     .want = want_housekeeping},
    {.name = "isolate-cpuset",
     .key = TUNE_ISOLATE,
     .kind = &knob_cpuset,
     .form = KNOB_LIST,
     .want = want_housekeeping},
};

const Knob *knob_table(gsize *ret_n)
{
    *ret_n = G_N_ELEMENTS(table);
    return table;
}

const Knob *knob_find(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

/* ---- comparing ---- */

/* The word in brackets; text itself where there are none. */
static char *chosen(const char *text)
{
    const char *open = strchr(text, '[');
    const char *close = open != NULL ? strchr(open, ']') : NULL;

    return close != NULL ? g_strndup(open + 1, (gsize)(close - open - 1)) : g_strdup(text);
}

/* "0-2" as "0,1,2"; text itself where it is no list. */
static char *list_canonical(const char *text)
{
    g_autoptr(GArray) list = cpulist_parse(text);

    return list != NULL && list->len > 0 ? cpulist_text(list) : g_strdup(text);
}

char *knob_canonical(const Knob *knob, const char *text)
{
    g_autofree char *stripped = g_strstrip(g_strdup(text));

    switch (knob->form) {
    case KNOB_CHOICE:
        return chosen(stripped);
    case KNOB_LIST:
        return list_canonical(stripped);
    case KNOB_MASK:
        return mask_digits(stripped);
    case KNOB_ACTIVE: {
        g_autofree char *stop = want_inactive(NULL, NULL, stripped);

        return g_strdup(stop != NULL ? "active" : "inactive");
    }
    case KNOB_WORD:
        break;
    }
    return g_steal_pointer(&stripped);
}

gboolean knob_same(const Knob *knob, const char *a, const char *b)
{
    g_autofree char *left = knob_canonical(knob, a);
    g_autofree char *right = knob_canonical(knob, b);

    return strcmp(left, right) == 0;
}

char *knob_rewrite(const Knob *knob, const char *text)
{
    gboolean as_is = knob->form != KNOB_CHOICE && knob->form != KNOB_ACTIVE;

    return as_is ? g_strdup(text) : knob_canonical(knob, text);
}
