/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts: how fast the processor may run, and how deep it sleeps. */
#include <string.h>

#include "host/facts.h"
#include "host/tree.h"
#include "util/text.h"

#define SYS_CPU "/sys/devices/system/cpu"

/* intel_pstate says what is off, the others what is on. */
static char *read_boost(const char *root)
{
    g_autofree char *no_turbo = tree_read(root, SYS_CPU "/intel_pstate/no_turbo");
    g_autofree char *boost = tree_read(root, SYS_CPU "/cpufreq/boost");

    if (no_turbo != NULL)
        return g_strdup(g_str_equal(no_turbo, "0") ? "on" : "off");
    if (boost != NULL)
        return g_strdup(g_str_equal(boost, "0") ? "off" : "on");
    return NULL;
}

/* "800000" (kHz) of all CPUs: the least of the lowest, the most of the highest, in MHz. */
static char *read_mhz(const char *root, const char *file, gboolean most)
{
    g_autofree char *text = fact_of_cpus(root, file);
    g_auto(GStrv) values = g_strsplit(text != NULL ? text : "", ",", -1);
    guint64 found = 0, khz;

    for (char **value = values; *value != NULL; value++)
        if (text_parse_uint(*value, &khz) && (found == 0 || (most ? khz > found : khz < found)))
            found = khz;
    return found > 0 ? g_strdup_printf("%" G_GUINT64_FORMAT, found / 1000) : NULL;
}

/* "POLL, C1 (1 us), C6 (170 us, disabled)" of the first CPU. */
static char *read_states(const char *root)
{
    const char *folder = SYS_CPU "/cpu0/cpuidle";
    g_autoptr(GPtrArray) states = fact_folder(root, folder);
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = 0; i < states->len; i++) {
        g_autofree char *state = g_build_filename(folder, g_ptr_array_index(states, i), NULL);
        g_autofree char *name_path = g_strconcat(state, "/name", NULL);
        g_autofree char *latency_path = g_strconcat(state, "/latency", NULL);
        g_autofree char *disable_path = g_strconcat(state, "/disable", NULL);
        g_autofree char *name = tree_read(root, name_path);
        g_autofree char *latency = tree_read(root, latency_path);
        g_autofree char *disable = tree_read(root, disable_path);

        if (name == NULL)
            continue;
        g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", name);
        if (latency != NULL)
            g_string_append_printf(text, " (%s us%s)", latency,
                                   g_strcmp0(disable, "1") == 0 ? ", disabled" : "");
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

void facts_power(GHashTable *facts, const char *root)
{
    static const FactFile files[] = {
        {"cpu.pstate", SYS_CPU "/intel_pstate/status"},
        {"cpu.pstate", SYS_CPU "/amd_pstate/status"},
        {"cpu.idle.driver", SYS_CPU "/cpuidle/current_driver"},
        {"cpu.idle.governor", SYS_CPU "/cpuidle/current_governor_ro"},
        {"cpu.idle.governor", SYS_CPU "/cpuidle/current_governor"},
    };

    fact_add(facts, "cpu.driver", fact_of_cpus(root, "cpufreq/scaling_driver"));
    fact_add(facts, "cpu.governor", fact_of_cpus(root, "cpufreq/scaling_governor"));
    fact_add(facts, "cpu.epp", fact_of_cpus(root, "cpufreq/energy_performance_preference"));
    fact_add(facts, "cpu.boost", read_boost(root));
    fact_add(facts, "cpu.mhz-min", read_mhz(root, "cpufreq/cpuinfo_min_freq", FALSE));
    fact_add(facts, "cpu.mhz-max", read_mhz(root, "cpufreq/cpuinfo_max_freq", TRUE));
    fact_add(facts, "cpu.mhz-limit", read_mhz(root, "cpufreq/scaling_max_freq", TRUE));
    fact_add_files(facts, root, files, G_N_ELEMENTS(files));
    fact_add(facts, "cpu.idle.states", read_states(root));
}
