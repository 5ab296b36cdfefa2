/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/hypervisor.h"

#include <unistd.h>

#include "guest/hv-drivers.h"
#include "util/error.h"

static const struct hypervisor_ops *const drivers[] = {
    &hv_libvirt_qemu_ops,
    &hv_bare_ops,
};

void hv_address_clear(HvAddress *address)
{
    g_clear_pointer(&address->host, g_free);
    g_clear_pointer(&address->source, g_free);
    address->port = 0;
}

void hv_orphan_free(HvOrphan *orphan)
{
    if (orphan == NULL)
        return;
    g_free(orphan->uuid);
    g_free(orphan->name);
    g_free(orphan->owner);
    g_free(orphan);
}

HvDomain *hv_domain_new(void)
{
    HvDomain *domain = g_new0(HvDomain, 1);

    domain->pidfd = -1;
    return domain;
}

void hv_domain_free(HvDomain *domain)
{
    if (domain == NULL)
        return;
    if (domain->pidfd >= 0)
        close(domain->pidfd);
    g_free(domain->name);
    g_free(domain->uuid);
    g_free(domain->xml);
    g_free(domain->fixed_address);
    g_free(domain->network);
    g_free(domain);
}

const struct hypervisor_ops *hypervisor_driver(const char *driver)
{
    for (gsize i = 0; i < G_N_ELEMENTS(drivers); i++)
        if (g_strcmp0(drivers[i]->driver, driver) == 0)
            return drivers[i];
    return NULL;
}

/* "qemu, bare" */
static char *driver_names(void)
{
    GString *names = g_string_new(NULL);

    for (gsize i = 0; i < G_N_ELEMENTS(drivers); i++)
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", drivers[i]->driver);
    return g_string_free(names, FALSE);
}

Hypervisor *hypervisor_open(const InventoryHypervisor *config, const Wait *wait, GError **error)
{
    const struct hypervisor_ops *ops = hypervisor_driver(config->driver);
    g_autoptr(Hypervisor) hv = NULL;

    if (ops == NULL) {
        g_autofree char *names = driver_names();

        g_set_error(error, VM_ERROR, VM_ERROR_UNSUPPORTED,
                    "hypervisor %s: this build has no driver \"%s\" (it has %s)", config->name,
                    config->driver, names);
        return NULL;
    }
    hv = g_new0(Hypervisor, 1);
    hv->ops = ops;
    hv->config = config;
    if (!ops->open(hv, wait, error))
        return NULL;
    return g_steal_pointer(&hv);
}

void hypervisor_free(Hypervisor *hv)
{
    if (hv == NULL)
        return;
    hv->ops->close(hv);
    g_free(hv);
}
