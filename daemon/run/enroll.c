/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/enroll.h"

#include "run/attempt.h"
#include "run/engine.h"
#include "run/lock.h"
#include "run/recover.h"
#include "util/clock.h"
#include "util/error.h"

/* What a plan would say: no gate, 3 minutes to boot. */
static const char enroll_plan[] = "version: 1\n"
                                  "plan: enroll\n"
                                  "axes:\n"
                                  "  hypervisor: [bare]\n"
                                  "workloads: [enroll]\n"
                                  "idle: off\n";

static const InventoryGuest *find_guest(const Inventory *inventory, const char *name,
                                        GError **error)
{
    const InventoryGuest *guest = inventory_guest(inventory, name);

    if (guest == NULL)
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "%s: there is no guest \"%s\"; \"vmatrix guest list\" shows those there are",
                    inventory->path, name);
    return guest;
}

static const InventoryHypervisor *first_usable(const Inventory *inventory, const Wait *wait,
                                               GError **error)
{
    for (guint i = 0; i < inventory->hypervisors->len; i++) {
        const InventoryHypervisor *config = g_ptr_array_index(inventory->hypervisors, i);
        const struct hypervisor_ops *ops = hypervisor_driver(config->driver);
        g_autoptr(Hypervisor) hv = NULL;

        if (ops == NULL || !ops->has_domain)
            continue;
        g_clear_error(error);
        hv = hypervisor_open(config, wait, error);
        if (hv != NULL)
            return config;
    }
    if (error != NULL && *error == NULL)
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "%s: no hypervisor that could boot a guest; add one under hypervisors:",
                    inventory->path);
    return NULL;
}

static const InventoryHypervisor *find_hypervisor(const Inventory *inventory, const char *name,
                                                  const Wait *wait, GError **error)
{
    const InventoryHypervisor *config;

    if (name == NULL)
        return first_usable(inventory, wait, error);
    config = inventory_hypervisor(inventory, name);
    if (config == NULL)
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "%s: there is no hypervisor \"%s\"",
                    inventory->path, name);
    return config;
}

/* Boot, log in, note the key, take down. */
static gboolean boot_once(const AttemptSpec *spec, char **ret_key, GError **error)
{
    g_autoptr(Attempt) attempt = attempt_new(spec);
    g_autofree char *key = NULL;

    if (!attempt_start(attempt, ATTEMPT_AT_SSH, error))
        return FALSE;
    key = g_strdup(attempt->host_key);
    if (!attempt_end(attempt, NULL, error))
        return FALSE;
    *ret_key = g_steal_pointer(&key);
    return TRUE;
}

gboolean enroll_guest(Store *store, const Inventory *inventory, const char *guest,
                      const char *hypervisor, const char *work, Cancel *cancel, char **ret_key,
                      GError **error)
{
    Wait wait = {.deadline_ns = clock_mono_ns() + 60 * CLOCK_NS_PER_S,
                 .cancel = cancel,
                 .guard_fd = -1,
                 .step = "enroll"};
    g_autoptr(HostLock) lock = NULL;
    g_autoptr(Plan) plan = plan_parse("(enroll)", enroll_plan, -1, error);
    g_autofree char *folder = engine_work_folder(store, work);
    g_autofree char *owner = recover_owner("enroll", 0);
    g_autofree char *key = NULL;
    AttemptSpec spec = {.plan = plan,
                        .vcpus = 1,
                        .name = "vmatrix-enroll",
                        .owner = owner,
                        .work = folder,
                        .cancel = cancel};

    spec.guest = plan != NULL ? find_guest(inventory, guest, error) : NULL;
    spec.hypervisor =
        spec.guest != NULL ? find_hypervisor(inventory, hypervisor, &wait, error) : NULL;
    if (spec.hypervisor == NULL)
        return FALSE;
    lock = host_lock_new(error);
    if (lock == NULL || !engine_make_work(folder, error) || !boot_once(&spec, &key, error) ||
        !store_host_key_set(store, guest, key, error))
        return FALSE;
    *ret_key = g_steal_pointer(&key);
    return TRUE;
}
