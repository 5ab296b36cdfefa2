/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/estimate.h"

#include "util/clock.h"

/* A small guest under emulation boots, is logged into and is shut down in about this time; a bare
 * run starts a process. */
static const double default_boot_s = 20;
static const double default_process_s = 0.5;
/* Set-up, calibration and clock checks around one invocation, and one sample where the plan leaves
 * its length to the agent. */
static const double default_invocation_s = 0.5;
static const double default_sample_s = 0.05;

/* What the database knows of one pair of hypervisor and guest. */
typedef struct {
    char *hypervisor, *guest;
    guint64 runs;
    double run_s, invocation_s;
} Known;

static void known_free(gpointer data)
{
    Known *known = data;

    g_free(known->hypervisor);
    g_free(known->guest);
    g_free(known);
}

/* Only the latest runs: machines and guests change, and old databases are large. */
static const char known_sql[] =
    "WITH latest AS (SELECT r.id, r.ended_ns - r.started_ns AS ns, c.hypervisor, c.guest"
    "  FROM run r JOIN cell c ON c.id = r.cell_id"
    "  WHERE r.state = 'done' AND r.verdict IN ('clean', 'contaminated')"
    "  ORDER BY r.id DESC LIMIT 500),"
    " work AS (SELECT run_id, sum(ifnull(host_ns, 0) + ifnull(prepare_ns, 0)) AS ns, count(*) AS n"
    "  FROM invocation WHERE run_id IN (SELECT id FROM latest) GROUP BY run_id),"
    " gate AS (SELECT run_id, sum(duration_ns) AS ns FROM phase"
    "  WHERE name = 'gate' AND run_id IN (SELECT id FROM latest) GROUP BY run_id)"
    " SELECT hypervisor, guest, count(*),"
    "  median((latest.ns - ifnull(gate.ns, 0) - work.ns) / 1e9),"
    "  sum(work.ns) / 1e9 / sum(work.n)"
    " FROM latest JOIN work ON work.run_id = latest.id LEFT JOIN gate ON gate.run_id = latest.id"
    " GROUP BY 1, 2";

static GPtrArray *load_known(Store *store, GError **error)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(known_free);
    g_autoptr(StoreQuery) query = NULL;
    StoreStep step = STORE_END;

    if (store == NULL)
        return g_steal_pointer(&list);
    query = store_query_new(store, known_sql, error);
    if (query == NULL || !store_query_step(query, &step, error))
        return NULL;
    while (step == STORE_ROW) {
        Known *known = g_new0(Known, 1);

        known->hypervisor = g_strdup(store_query_text(query, 0));
        known->guest = g_strdup(store_query_text(query, 1));
        known->runs = (guint64)store_query_int(query, 2);
        known->run_s = MAX(0, store_query_real(query, 3));
        known->invocation_s = store_query_real(query, 4);
        g_ptr_array_add(list, known);
        if (!store_query_step(query, &step, error))
            return NULL;
    }
    return g_steal_pointer(&list);
}

/* The same pair, else any guest of the same hypervisor. */
static const Known *find_known(const GPtrArray *list, const char *hypervisor, const char *guest)
{
    const Known *near = NULL;

    for (guint i = 0; i < list->len; i++) {
        const Known *known = g_ptr_array_index(list, i);

        if (g_strcmp0(known->hypervisor, hypervisor) != 0)
            continue;
        if (g_strcmp0(known->guest, guest) == 0)
            return known;
        near = near != NULL ? near : known;
    }
    return near;
}

double estimate_default_run(gboolean bare)
{
    return bare ? default_process_s : default_boot_s;
}

double estimate_default_invocation(const Plan *plan)
{
    double sample = plan->repeat.sample_ns > 0
                        ? (double)plan->repeat.sample_ns / (double)CLOCK_NS_PER_S
                        : default_sample_s;

    return default_invocation_s + sample * (plan->repeat.samples + plan->repeat.warmup);
}

static const char *level_name(const Matrix *matrix, guint cell, const char *axis)
{
    const PlanLevel *level = matrix_level_named(matrix, cell, axis);

    return level != NULL ? level->name : NULL;
}

static gboolean is_bare(const Inventory *inventory, const char *hypervisor)
{
    const InventoryHypervisor *config =
        inventory != NULL ? inventory_hypervisor(inventory, hypervisor) : NULL;

    return g_str_equal(config != NULL ? config->driver : hypervisor, "bare");
}

typedef struct {
    const Matrix *matrix;
    const Inventory *inventory;
    const GPtrArray *known;
    guint runs;        /* of one cell in one block */
    guint invocations; /* the same */
} Rates;

static double cell_seconds(const Rates *rates, guint cell, gboolean *ret_measured)
{
    const char *hypervisor = level_name(rates->matrix, cell, "hypervisor");
    const char *guest = level_name(rates->matrix, cell, "guest");
    const char *driver = hypervisor != NULL ? hypervisor : "bare";
    const Known *known = find_known(rates->known, driver, guest);

    *ret_measured = known != NULL;
    if (known != NULL)
        return rates->runs * known->run_s + rates->invocations * known->invocation_s;
    return rates->runs * estimate_default_run(is_bare(rates->inventory, driver)) +
           rates->invocations * estimate_default_invocation(rates->matrix->plan);
}

gboolean estimate_make(const Matrix *matrix, const Inventory *inventory, Store *store,
                       guint workloads, gboolean expanded, Estimate *ret_estimate, GError **error)
{
    const Plan *plan = matrix->plan;
    g_autoptr(GPtrArray) known = load_known(store, error);
    Rates rates = {.matrix = matrix,
                   .inventory = inventory,
                   .known = known,
                   .runs = plan->repeat.boot_per == BOOT_PER_WORKLOAD ? workloads : 1,
                   .invocations = workloads * plan->repeat.invocations};
    Estimate estimate = {.workloads = workloads, .expanded = expanded};
    double block = 0;

    if (known == NULL)
        return FALSE;
    for (guint cell = 0; cell < matrix->n_cells; cell++) {
        gboolean measured;

        block += cell_seconds(&rates, cell, &measured);
        estimate.cells_measured += measured;
    }
    for (guint i = 0; estimate.cells_measured > 0 && i < known->len; i++)
        estimate.earlier_runs += ((const Known *)g_ptr_array_index(known, i))->runs;
    estimate.runs = (guint64)matrix->n_blocks * matrix->n_cells * rates.runs;
    estimate.invocations = (guint64)matrix->n_blocks * matrix->n_cells * rates.invocations;
    estimate.seconds = block * matrix->n_blocks;
    if (plan->idle.gate)
        estimate.seconds += (double)estimate.runs * (double)plan->idle.settle_ns / 1e9;
    *ret_estimate = estimate;
    return TRUE;
}

static char *defaults_text(const Plan *plan)
{
    return g_strdup_printf("stated defaults: %.1f s a boot, %.1f s a bare process, "
                           "%.2f s an invocation",
                           estimate_default_run(FALSE), estimate_default_run(TRUE),
                           estimate_default_invocation(plan));
}

char *estimate_text(const Estimate *estimate, const Matrix *matrix)
{
    const Plan *plan = matrix->plan;
    g_autofree char *whole = clock_format_duration((gint64)(estimate->seconds * 1e9));
    g_autofree char *settle = clock_format_duration(plan->idle.gate ? plan->idle.settle_ns : 0);
    g_autofree char *defaults = defaults_text(plan);
    GString *text = g_string_new(NULL);

    g_string_append_printf(
        text,
        "estimate: %s\n  runs: %" G_GUINT64_FORMAT ", each after %s of settling; %s in a run: %u\n",
        whole, estimate->runs, settle,
        estimate->expanded ? "benchmarks" : "workloads (no agent was found to list them)",
        estimate->workloads);
    if (estimate->cells_measured == matrix->n_cells)
        g_string_append_printf(text,
                               "  times from %" G_GUINT64_FORMAT " earlier runs in the database\n",
                               estimate->earlier_runs);
    else if (estimate->cells_measured > 0)
        g_string_append_printf(text,
                               "  times of %u cells from %" G_GUINT64_FORMAT " earlier runs in the "
                               "database, of %u\n  from %s\n",
                               estimate->cells_measured, estimate->earlier_runs,
                               matrix->n_cells - estimate->cells_measured, defaults);
    else
        g_string_append_printf(text, "  times from %s\n", defaults);
    return g_string_free(text, FALSE);
}
