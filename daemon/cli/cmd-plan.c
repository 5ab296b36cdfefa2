/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix plan: what would be run, in which order, and for how long. */
#include <unistd.h>

#include "cli/command.h"
#include "cli/estimate.h"
#include "cli/output.h"
#include "cli/plan-writer.h"
#include "model/matrix.h"
#include "run/submit.h"
#include "util/clock.h"
#include "util/error.h"

static const OptionSpec options[] = {
    {.name = "no-estimate",
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(Settings, no_estimate),
     .help = "cells and order only"},
    {0},
};

/* How many benchmarks the plan's workloads are: by the agent's catalogue, or, where there is no
 * agent, as many as are written. An unknown name is an error. */
static gboolean count_workloads(const Plan *plan, guint *ret_count, gboolean *ret_expanded,
                                GError **error)
{
    Wait wait = {
        .deadline_ns = clock_mono_ns() + 30 * CLOCK_NS_PER_S, .guard_fd = -1, .step = "agent list"};
    g_autoptr(GError) local = NULL;
    g_autoptr(BenchCatalogue) catalogue = submit_catalogue(NULL, &wait, &local);
    g_autoptr(GPtrArray) names = NULL;

    if (catalogue == NULL) {
        g_info("no catalogue: %s", local->message);
        *ret_count = plan->workloads->len;
        *ret_expanded = FALSE;
        return TRUE;
    }
    names =
        bench_catalogue_expand(catalogue, plan->workloads, plan->path, plan->workload_lines, error);
    if (names == NULL)
        return FALSE;
    *ret_count = names->len;
    *ret_expanded = TRUE;
    return TRUE;
}

static gboolean make_estimate(const Settings *settings, const Matrix *matrix,
                              const Inventory *inventory, Estimate *ret_estimate, GError **error)
{
    g_autoptr(Store) store = NULL;
    guint workloads;
    gboolean expanded;

    if (!count_workloads(matrix->plan, &workloads, &expanded, error) ||
        !settings_open_existing(settings, &store, error))
        return FALSE;
    return estimate_make(matrix, inventory, store, workloads, expanded, ret_estimate, error);
}

static gboolean write_plan(const Settings *settings, const Matrix *matrix, const Estimate *estimate,
                           GError **error)
{
    g_auto(Output) output = {0};
    gboolean terminal = settings->output == NULL;

    if (!output_open(settings, &output, error))
        return FALSE;
    plan_write(output.stream, matrix, estimate, settings_format(settings, FORMAT_TABLE),
               terminal ? output_width(STDOUT_FILENO) : 0,
               terminal && output_colour(settings, STDOUT_FILENO));
    return output_close(&output, error);
}

static int run_plan(const Settings *settings, char **words, GError **error)
{
    g_autoptr(Plan) plan = plan_load(words[0], error);
    g_autoptr(Inventory) inventory = NULL;
    g_autoptr(Matrix) matrix = NULL;
    Estimate estimate;
    gboolean estimated = !settings->no_estimate;

    if (plan == NULL)
        return VM_EXIT_INVALID;
    /* A plan is portable: it is held against a site only when one is named. */
    if (settings->inventory != NULL) {
        inventory = settings_load_inventory(settings, error);
        if (inventory == NULL || !plan_check(plan, inventory, error))
            return VM_EXIT_INVALID;
    }
    matrix = matrix_new(plan, error);
    if (matrix == NULL ||
        (estimated && !make_estimate(settings, matrix, inventory, &estimate, error)))
        return VM_EXIT_INVALID;
    return write_plan(settings, matrix, estimated ? &estimate : NULL, error) ? VM_EXIT_DONE
                                                                             : VM_EXIT_ENVIRONMENT;
}

const Command command_plan = {
    .name = "plan",
    .arguments = "PLAN",
    .group = "Before a run",
    .summary = "show cells, order and an estimate of time",
    .about = "Shows the plan's cells, the order in which each block runs them, and how long\n"
             "that will take: from times in the database where there are any, else from stated\n"
             "defaults. The same plan gives the same cells and order on every machine; another\n"
             "seed changes only the order.\n",
    .example = "vmatrix plan night.yaml --json --no-estimate",
    .min_words = 1,
    .max_words = 1,
    .options = options,
    .run = run_plan,
};
