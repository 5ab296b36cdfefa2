/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix agent list, vmatrix workload list: what can be measured. */
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "run/submit.h"
#include "util/clock.h"
#include "util/error.h"

static BenchCatalogue *load_catalogue(GError **error)
{
    Wait wait = {
        .deadline_ns = clock_mono_ns() + 30 * CLOCK_NS_PER_S, .guard_fd = -1, .step = "agent list"};

    return submit_catalogue(NULL, &wait, error);
}

/* A row a metric. */
static void add_bench(Table *table, const BenchInfo *bench)
{
    for (guint i = 0; i < bench->metrics->len; i++) {
        const BenchMetric *metric = g_ptr_array_index(bench->metrics, i);

        table_row(table);
        table_text(table, bench->name);
        table_text(table, bench->groups);
        table_text(table, metric->name);
        table_text(table, metric->unit);
        table_text(table, metric->direction);
        table_text(table, bench->os);
        table_text(table, bench->summary);
    }
}

static int run_agent_list(const Settings *settings, char **words, GError **error)
{
    g_autoptr(BenchCatalogue) catalogue = load_catalogue(error);
    g_autoptr(Table) table = table_new();

    if (catalogue == NULL)
        return VM_EXIT_ENVIRONMENT;
    table_column(table, "name", "benchmark", COLUMN_TEXT);
    table_column(table, "groups", "groups", COLUMN_TEXT);
    table_rank(table, 1);
    table_column(table, "metric", "metric", COLUMN_TEXT);
    table_column(table, "unit", "unit", COLUMN_TEXT);
    table_column(table, "direction", "better", COLUMN_TEXT);
    table_rank(table, 2);
    table_column(table, "os", "OS", COLUMN_TEXT);
    table_rank(table, 3);
    table_column(table, "summary", "what it measures", COLUMN_TEXT);
    for (guint i = 0; i < catalogue->benches->len; i++)
        add_bench(table, g_ptr_array_index(catalogue->benches, i));
    return output_table(settings, table, error) ? VM_EXIT_DONE : VM_EXIT_ENVIRONMENT;
}

const Command command_agent_list = {
    .name = "agent list",
    .arguments = "",
    .group = "What can be measured",
    .summary = "the agent's benchmarks: groups, unit, what, OS",
    .about = "Lists every benchmark of the agent: its groups, its metrics with unit and\n"
             "direction (a row each), the operating systems it runs on, and what it\n"
             "measures.\n",
    .example = "vmatrix agent list --format markdown",
    .run = run_agent_list,
};

/* ---- workload list ---- */

static void add_workload(Table *table, const char *name, const char *kind, guint members,
                         const char *summary)
{
    table_row(table);
    table_text(table, name);
    table_text(table, kind);
    table_int(table, members);
    table_text(table, summary);
}

static void count_group(GHashTable *counts, GPtrArray *order, const char *group)
{
    guint count = GPOINTER_TO_UINT(g_hash_table_lookup(counts, group));

    if (*group == '\0')
        return;
    if (count == 0)
        g_ptr_array_add(order, g_strdup(group));
    g_hash_table_replace(counts, g_strdup(group), GUINT_TO_POINTER(count + 1));
}

/* Group -> how many benchmarks it has; names in the order of first mention in ret_order. A
 * benchmark's family ("ops" of "ops.int32-add") is a group too, listed or not. */
static GHashTable *count_groups(const BenchCatalogue *catalogue, GPtrArray *ret_order)
{
    GHashTable *counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    for (guint i = 0; i < catalogue->benches->len; i++) {
        const BenchInfo *bench = g_ptr_array_index(catalogue->benches, i);
        g_autofree char *family = g_strndup(bench->name, strcspn(bench->name, "."));
        g_auto(GStrv) groups = g_strsplit(bench->groups, " ", -1);

        if (!g_strv_contains((const char *const *)groups, family))
            count_group(counts, ret_order, family);
        for (char **group = groups; *group != NULL; group++)
            count_group(counts, ret_order, *group);
    }
    return counts;
}

static int run_workload_list(const Settings *settings, char **words, GError **error)
{
    g_autoptr(BenchCatalogue) catalogue = load_catalogue(error);
    g_autoptr(GPtrArray) groups = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) counts = NULL;
    g_autoptr(Table) table = table_new();

    if (catalogue == NULL)
        return VM_EXIT_ENVIRONMENT;
    counts = count_groups(catalogue, groups);
    table_column(table, "name", "workload", COLUMN_TEXT);
    table_column(table, "kind", "kind", COLUMN_TEXT);
    table_column(table, "members", "benchmarks", COLUMN_NUMBER);
    table_column(table, "summary", "what it measures", COLUMN_TEXT);
    for (guint i = 0; i < groups->len; i++) {
        const char *name = g_ptr_array_index(groups, i);

        add_workload(table, name, "group", GPOINTER_TO_UINT(g_hash_table_lookup(counts, name)),
                     NULL);
    }
    for (guint i = 0; i < catalogue->benches->len; i++) {
        const BenchInfo *bench = g_ptr_array_index(catalogue->benches, i);

        add_workload(table, bench->name, "benchmark", 1, bench->summary);
    }
    return output_table(settings, table, error) ? VM_EXIT_DONE : VM_EXIT_ENVIRONMENT;
}

const Command command_workload_list = {
    .name = "workload list",
    .arguments = "",
    .group = "What can be measured",
    .summary = "names that a plan's workloads may have",
    .about = "Lists the names that may stand under \"workloads:\" in a plan: groups of\n"
             "benchmarks, and single benchmarks.\n",
    .example = "vmatrix workload list --json",
    .run = run_workload_list,
};
