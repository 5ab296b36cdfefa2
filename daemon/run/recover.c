/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/recover.h"

#include "run/lock.h"
#include "run/place.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/io.h"

static const gint64 recover_limit_ns = 60 * CLOCK_NS_PER_S;

char *recover_owner(const char *campaign_uuid, gint64 run)
{
    return g_strdup_printf("%s %s %" G_GINT64_FORMAT, host_lock_name(), campaign_uuid, run);
}

static gboolean is_ours(const HvOrphan *orphan)
{
    g_auto(GStrv) words = g_strsplit(orphan->owner, " ", 2);

    return g_strcmp0(words[0], host_lock_name()) == 0;
}

static gboolean destroy_orphans(Hypervisor *hv, const Wait *wait, GError **error)
{
    g_autoptr(GPtrArray) orphans = hv->ops->orphans(hv, error);

    if (orphans == NULL)
        return FALSE;
    for (guint i = 0; i < orphans->len; i++) {
        const HvOrphan *orphan = g_ptr_array_index(orphans, i);
        g_autoptr(HvDomain) domain = hv_domain_new();

        if (!is_ours(orphan))
            continue;
        domain->uuid = g_strdup(orphan->uuid);
        domain->name = g_strdup(orphan->name);
        domain->started = TRUE;
        g_message("destroying %s, left behind by an earlier run (%s)", orphan->name, orphan->owner);
        if (!hv->ops->destroy(hv, domain, wait, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean recover_hypervisor(const Engine *engine, const InventoryHypervisor *config,
                                   GError **error)
{
    Wait wait = {.deadline_ns = clock_mono_ns() + recover_limit_ns,
                 .cancel = engine->stop,
                 .guard_fd = -1,
                 .step = "recover"};
    const struct hypervisor_ops *ops = hypervisor_driver(config->driver);
    g_autoptr(Hypervisor) hv = NULL;

    if (ops == NULL || !ops->has_domain)
        return TRUE;
    hv = hypervisor_open(config, &wait, error);
    return hv != NULL && destroy_orphans(hv, &wait, error);
}

static gboolean recover_folder(const char *path, GError **error)
{
    Wait wait = {
        .deadline_ns = clock_mono_ns() + recover_limit_ns, .guard_fd = -1, .step = "recover"};
    g_autofree char *overlay = g_build_filename(path, "overlay.qcow2", NULL);

    if (!place_recover(path, error))
        return FALSE;
    if (g_file_test(overlay, G_FILE_TEST_EXISTS) && !overlay_remove(&wait, overlay, error))
        return FALSE;
    return io_remove_tree(path, error);
}

static gboolean recover_folders(const Engine *engine, GError **error)
{
    g_autoptr(GDir) dir = g_dir_open(engine->work, 0, error);
    const char *name;

    if (dir == NULL)
        return FALSE;
    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(engine->work, name, NULL);
        g_autoptr(GError) local = NULL;

        if (g_str_has_prefix(name, "vmatrix-") && !recover_folder(path, &local))
            g_warning("recover: %s", local->message);
    }
    return TRUE;
}

/* A hypervisor that does not answer is for its own cells to report, unless a guest of ours may live
 * on there: nothing is measured beside that. */
static gboolean orphans_bearable(gboolean claimed, GError **local, GError **error)
{
    if (!claimed && !vm_error_is(*local, VM_ERROR_HALT) &&
        !vm_error_is(*local, VM_ERROR_CANCELLED)) {
        g_warning("recover: %s", (*local)->message);
        return TRUE;
    }
    if (vm_error_is(*local, VM_ERROR_ENVIRONMENT))
        (*local)->code = VM_ERROR_HALT;
    g_propagate_prefixed_error(error, g_steal_pointer(local),
                               "a guest of an earlier start may still run: ");
    return FALSE;
}

/* Each hypervisor that the matrix uses, once. */
static gboolean recover_domains(const Engine *engine, gboolean claimed, GError **error)
{
    int axis = plan_axis_index(engine->plan, "hypervisor");
    const PlanAxis *levels = axis >= 0 ? g_ptr_array_index(engine->plan->axes, axis) : NULL;

    for (guint i = 0; levels != NULL && i < levels->levels->len; i++) {
        const PlanLevel *level = g_ptr_array_index(levels->levels, i);
        const InventoryHypervisor *config = inventory_hypervisor(engine->inventory, level->name);
        g_autoptr(GError) local = NULL;

        if (config != NULL && !recover_hypervisor(engine, config, &local) &&
            !orphans_bearable(claimed, &local, error))
            return FALSE;
    }
    return TRUE;
}

/* Whether an earlier life left a run in flight. */
static gboolean count_claims(const Engine *engine, gint64 *ret_count, GError **error)
{
    g_autoptr(StoreQuery) query = store_query_new(
        engine->store, "SELECT count(*) FROM run WHERE campaign_id = :c AND state = 'running'",
        error);
    StoreStep step;

    if (query == NULL || !store_query_bind_int(query, ":c", engine->campaign.id) ||
        !store_query_step(query, &step, error))
        return FALSE;
    *ret_count = store_query_int(query, 0);
    return TRUE;
}

gboolean recover_all(Engine *engine, GError **error)
{
    gint64 claimed = 0;
    guint claims = 0;

    if (!count_claims(engine, &claimed, error) || !recover_domains(engine, claimed > 0, error) ||
        !recover_folders(engine, error) ||
        !store_recover_claims(engine->store, engine->campaign.id, &claims, error))
        return FALSE;
    if (claims > 0)
        g_message("%u run%s of an earlier start %s interrupted and queued again", claims,
                  claims == 1 ? "" : "s", claims == 1 ? "was" : "were");
    return TRUE;
}
