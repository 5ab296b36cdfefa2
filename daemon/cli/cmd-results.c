/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix results: what a campaign measured. */
#include "cli/command.h"
#include "cli/output.h"
#include "report/summary.h"
#include "util/error.h"

static const OptionSpec options[] = {
    {.name = "where",
     .kind = OPTION_LIST,
     .offset = G_STRUCT_OFFSET(Settings, where),
     .value = "AXIS=LEVEL",
     .help = "only these cells; may be repeated"},
    {.name = "metric",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(Settings, metric),
     .value = "GLOB",
     .help = "only these workloads or metrics"},
    {0},
};

static int run_results(const Settings *settings, char **words, GError **error)
{
    SummarySelect select = {
        .campaign = words[0] != NULL ? words[0] : "latest",
        .where = settings->where != NULL ? (const char *const *)settings->where->pdata : NULL,
        .metric = settings->metric,
    };
    g_autoptr(Store) store = settings_open_store(settings, STORE_READ_ONLY, error);
    g_autoptr(Table) table = NULL;
    g_autofree char *notes = NULL;

    if (store == NULL)
        return VM_EXIT_ENVIRONMENT;
    table = summary_results(store, &select, error);
    if (table == NULL)
        return VM_EXIT_INVALID;
    notes = summary_notes(store, &select, error);
    if (notes == NULL)
        return VM_EXIT_ENVIRONMENT;
    return output_report(settings, table, notes, error) ? VM_EXIT_DONE : VM_EXIT_ENVIRONMENT;
}

const Command command_results = {
    .name = "results",
    .arguments = "[CAMPAIGN]",
    .group = "Results",
    .summary = "what a campaign measured, cell by cell",
    .about = "Prints a row a cell and metric: median and mean of the boots, the interval\n"
             "across boots, n, and the ratio to the baseline. CAMPAIGN is \"latest\" (the\n"
             "default), its number, or the beginning of its UUID.\n",
    .example = "vmatrix results --where hypervisor=kvm --format csv -o kvm.csv",
    .max_words = 1,
    .options = options,
    .run = run_results,
};
