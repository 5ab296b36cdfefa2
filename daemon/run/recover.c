/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/recover.h"

#include "run/lock.h"
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

static void recover_hypervisor(const Engine *engine, const InventoryHypervisor *config)
{
    Wait wait = {.deadline_ns = clock_mono_ns() + recover_limit_ns,
                 .cancel = engine->stop,
                 .guard_fd = -1,
                 .step = "recover"};
    const struct hypervisor_ops *ops = hypervisor_driver(config->driver);
    g_autoptr(GError) error = NULL;
    g_autoptr(Hypervisor) hv = NULL;

    if (ops == NULL || !ops->has_domain)
        return;
    hv = hypervisor_open(config, &wait, &error);
    if (hv == NULL || !destroy_orphans(hv, &wait, &error))
        g_warning("recover: hypervisor %s: %s", config->name, error->message);
}

static gboolean recover_folder(const char *path, GError **error)
{
    Wait wait = {
        .deadline_ns = clock_mono_ns() + recover_limit_ns, .guard_fd = -1, .step = "recover"};
    g_autofree char *overlay = g_build_filename(path, "overlay.qcow2", NULL);

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

/* Each hypervisor that the matrix uses, once. */
static void recover_domains(const Engine *engine)
{
    int axis = plan_axis_index(engine->plan, "hypervisor");
    const PlanAxis *levels = axis >= 0 ? g_ptr_array_index(engine->plan->axes, axis) : NULL;

    for (guint i = 0; levels != NULL && i < levels->levels->len; i++) {
        const PlanLevel *level = g_ptr_array_index(levels->levels, i);
        const InventoryHypervisor *config = inventory_hypervisor(engine->inventory, level->name);

        if (config != NULL)
            recover_hypervisor(engine, config);
    }
}

gboolean recover_all(Engine *engine, GError **error)
{
    guint claims = 0;

    recover_domains(engine);
    if (!recover_folders(engine, error) ||
        !store_recover_claims(engine->store, engine->campaign.id, &claims, error))
        return FALSE;
    if (claims > 0)
        g_message("%u run%s of an earlier start %s interrupted and queued again", claims,
                  claims == 1 ? "" : "s", claims == 1 ? "was" : "were");
    return TRUE;
}
