/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host itself as a subject: nothing to start. The agent runs as a local process. */
#include "guest/hv-drivers.h"
#include "util/error.h"

static gboolean bare_open(Hypervisor *hv, const Wait *wait, GError **error)
{
    return TRUE;
}

static void bare_close(Hypervisor *hv)
{
}

static gboolean refuse(const Hypervisor *hv, const char *what, GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_UNSUPPORTED,
                "hypervisor %s: the bare host has no domain to %s", hv->config->name, what);
    return FALSE;
}

static gboolean bare_define(Hypervisor *hv, const HvSpec *spec, HvDomain *domain, GError **error)
{
    return refuse(hv, "define", error);
}

static gboolean bare_start(Hypervisor *hv, HvDomain *domain, const Wait *wait, GError **error)
{
    return refuse(hv, "start", error);
}

static gboolean bare_address(Hypervisor *hv, HvDomain *domain, const Wait *wait,
                             HvAddress *ret_address, GError **error)
{
    return refuse(hv, "find the address of", error);
}

static gboolean bare_state(Hypervisor *hv, HvDomain *domain, HvState *ret_state, GError **error)
{
    return refuse(hv, "ask the state of", error);
}

static gboolean bare_shutdown(Hypervisor *hv, HvDomain *domain, const Wait *wait,
                              gboolean *ret_forced, GError **error)
{
    return refuse(hv, "shut down", error);
}

static gboolean bare_destroy(Hypervisor *hv, HvDomain *domain, const Wait *wait, GError **error)
{
    return refuse(hv, "destroy", error);
}

static gboolean bare_undefine(Hypervisor *hv, HvDomain *domain, GError **error)
{
    return refuse(hv, "undefine", error);
}

static gboolean bare_facts(Hypervisor *hv, HvDomain *domain, GHashTable *facts, GError **error)
{
    g_hash_table_insert(facts, g_strdup("accelerator"), g_strdup("none"));
    return TRUE;
}

static GPtrArray *bare_orphans(Hypervisor *hv, GError **error)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)hv_orphan_free);
}

const struct hypervisor_ops hv_bare_ops = {
    .driver = "bare",
    .has_domain = FALSE,
    .open = bare_open,
    .close = bare_close,
    .define = bare_define,
    .start = bare_start,
    .address = bare_address,
    .state = bare_state,
    .shutdown = bare_shutdown,
    .destroy = bare_destroy,
    .undefine = bare_undefine,
    .facts = bare_facts,
    .orphans = bare_orphans,
};
