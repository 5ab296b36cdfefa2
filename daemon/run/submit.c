/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/submit.h"

#include <string.h>
#include <unistd.h>

#include "guest/hypervisor.h"
#include "run/engine.h"
#include "run/place.h"
#include "run/reader.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/spawn.h"

static const gint64 submit_limit_ns = 60 * CLOCK_NS_PER_S;

BenchCatalogue *submit_catalogue(const char *agent, const Wait *wait, GError **error)
{
    g_autofree char *path = agent != NULL ? g_strdup(agent) : engine_agent_find(error);
    const char *argv[] = {path, "list", "--json", NULL};
    g_autofree char *json = NULL;

    if (path == NULL || !spawn_check(wait, argv, &json, error))
        return NULL;
    return bench_catalogue_parse(json, strlen(json), error);
}

/* ---- what cannot run here ---- */

/* Reason of one hypervisor level: level name -> reason ("" when it works); asked once a level. */
static const char *hypervisor_reason(GHashTable *known, const InventoryHypervisor *config,
                                     const Wait *wait)
{
    const char *reason = g_hash_table_lookup(known, config->name);
    g_autoptr(GError) error = NULL;
    g_autoptr(Hypervisor) hv = NULL;

    if (reason != NULL)
        return reason;
    hv = hypervisor_open(config, wait, &error);
    g_hash_table_insert(known, g_strdup(config->name), g_strdup(hv != NULL ? "" : error->message));
    return g_hash_table_lookup(known, config->name);
}

static char *image_reason(const InventoryGuest *guest)
{
    const char *const paths[] = {guest->disk, guest->kernel, guest->initrd, guest->key};

    for (guint i = 0; i < G_N_ELEMENTS(paths); i++)
        if (paths[i] != NULL && access(paths[i], R_OK) != 0)
            return g_strdup_printf("guest %s: %s cannot be read; build or copy it, or correct the "
                                   "inventory",
                                   guest->name, paths[i]);
    return NULL;
}

static char *cell_reason(const Matrix *matrix, guint cell, const Inventory *inventory,
                         GHashTable *hypervisors, GHashTable *rooms, const Wait *wait)
{
    const PlanLevel *hv_level = matrix_level_named(matrix, cell, "hypervisor");
    const PlanLevel *guest_level = matrix_level_named(matrix, cell, "guest");
    const InventoryHypervisor *config =
        inventory_hypervisor(inventory, hv_level != NULL ? hv_level->name : "bare");
    g_autofree char *refusal = reader_refusal(config, matrix->plan);
    const char *reason = refusal != NULL ? refusal : hypervisor_reason(hypervisors, config, wait);
    gboolean bare = !hypervisor_driver(config->driver)->has_domain;
    char *room;

    if (*reason != '\0')
        return g_strdup(reason);
    room = place_refusal(rooms, matrix->plan, matrix_vcpus(matrix, cell), bare,
                         matrix_emulator(matrix, cell));
    if (room != NULL || bare)
        return room;
    return image_reason(inventory_guest(inventory, guest_level->name));
}

GPtrArray *submit_skip_reasons(const Matrix *matrix, const Inventory *inventory, const Wait *wait)
{
    GPtrArray *reasons = g_ptr_array_new_full(matrix->n_cells, g_free);
    g_autoptr(GHashTable) hypervisors =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GHashTable) rooms = place_memo_new();

    for (guint cell = 0; cell < matrix->n_cells; cell++)
        g_ptr_array_add(reasons, cell_reason(matrix, cell, inventory, hypervisors, rooms, wait));
    return reasons;
}

/* ---- submitting ---- */

static guint count_reasons(const GPtrArray *reasons, const char **ret_first)
{
    guint count = 0;

    for (guint i = 0; i < reasons->len; i++) {
        const char *reason = g_ptr_array_index(reasons, i);

        if (reason == NULL)
            continue;
        if (count++ == 0)
            *ret_first = reason;
    }
    return count;
}

static GPtrArray *expand_workloads(const Plan *plan, const SubmitRequest *request, const Wait *wait,
                                   GError **error)
{
    g_autoptr(BenchCatalogue) catalogue = submit_catalogue(request->agent, wait, error);

    if (catalogue == NULL)
        return NULL;
    return bench_catalogue_expand(catalogue, plan->workloads, plan->path, plan->workload_lines,
                                  error);
}

gboolean submit_campaign(Store *store, const SubmitRequest *request, gint64 *ret_campaign,
                         guint *ret_cells, guint *ret_skipped, GError **error)
{
    Wait wait = {.deadline_ns = clock_mono_ns() + submit_limit_ns,
                 .cancel = request->cancel,
                 .guard_fd = -1,
                 .step = "submit"};
    g_autoptr(Plan) plan = plan_load(request->plan_path, error);
    g_autoptr(Inventory) inventory =
        plan != NULL ? inventory_load(request->inventory_path, error) : NULL;
    g_autoptr(Matrix) matrix = NULL;
    g_autoptr(GPtrArray) workloads = NULL;
    g_autoptr(GPtrArray) reasons = NULL;
    const char *first = NULL;

    if (inventory == NULL || !plan_check(plan, inventory, error))
        return FALSE;
    matrix = matrix_new(plan, error);
    workloads = matrix != NULL ? expand_workloads(plan, request, &wait, error) : NULL;
    if (workloads == NULL)
        return FALSE;
    reasons = submit_skip_reasons(matrix, inventory, &wait);
    *ret_skipped = count_reasons(reasons, &first);
    *ret_cells = matrix->n_cells;
    if (*ret_skipped == matrix->n_cells) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                    "%s: none of the %u cells can run here: %s", plan->path, matrix->n_cells,
                    first);
        return FALSE;
    }
    return store_campaign_submit(store, matrix, inventory, workloads,
                                 (const char *const *)reasons->pdata, request->schedule,
                                 ret_campaign, error);
}
