/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A guest's address: forwarded, fixed, or asked for. Sources are asked in turn at a stated
 * interval; there is nothing to wait on. This is before SSH, so no measurement is disturbed. */
#include "guest/hv-libvirt.h"

#include <stdlib.h>

#include "guest/address.h"
#include "guest/domain-xml.h"
#include "util/clock.h"
#include "util/error.h"

static const gint64 poll_interval_ns = 200 * CLOCK_NS_PER_MS;

typedef struct {
    AddressMethod method;
    const char *name;
    unsigned int source; /* virDomainInterfaceAddressesSource */
} AddressSource;

/* In the order of preference. */
static const AddressSource sources[] = {
    {ADDRESS_LEASE, "lease", VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_LEASE},
    {ADDRESS_AGENT, "agent", VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_AGENT},
    {ADDRESS_ARP, "arp", VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_ARP},
};

typedef struct {
    unsigned int source;
    AddressAnswer *answer;
} Question;

static int ask(virDomainPtr handle, gpointer data)
{
    Question *question = data;
    virDomainInterfacePtr *interfaces = NULL;
    int n = virDomainInterfaceAddresses(handle, &interfaces, question->source, 0);

    if (n < 0) {
        /* Mostly the source's failure, not the domain's: its agent is not there yet. */
        virErrorPtr trouble = virSaveLastError();

        question->answer->failure = hv_libvirt_message(trouble);
        if (trouble != NULL)
            virFreeError(trouble);
        return virDomainIsActive(handle) == 1 ? 0 : -1;
    }
    for (int i = 0; i < n; i++) {
        for (unsigned int j = 0; j < interfaces[i]->naddrs; j++)
            address_answer_add(question->answer, interfaces[i]->addrs[j].addr,
                               interfaces[i]->hwaddr);
        virDomainInterfaceFree(interfaces[i]);
    }
    free(interfaces);
    return 0;
}

/* All leases of the domain's network: they show an address given to two MACs. */
static void add_network_leases(const Hypervisor *hv, const HvDomain *domain, AddressAnswer *answer)
{
    virNetworkPtr network =
        virNetworkLookupByName(hv_libvirt_connection(hv)->handle, domain->network);
    virNetworkDHCPLeasePtr *leases = NULL;
    int n = network != NULL ? virNetworkGetDHCPLeases(network, NULL, &leases, 0) : -1;

    for (int i = 0; i < n; i++) {
        if (leases[i]->expirytime * CLOCK_NS_PER_S > clock_wall_ns())
            address_answer_add(answer, leases[i]->ipaddr, leases[i]->mac);
        virNetworkDHCPLeaseFree(leases[i]);
    }
    free(leases);
    if (network != NULL)
        virNetworkFree(network);
}

static gboolean ask_source(Hypervisor *hv, const HvDomain *domain, const AddressSource *source,
                           GPtrArray *answers, GError **error)
{
    Question question = {.source = source->source, .answer = address_answer_new(source->name)};

    g_ptr_array_add(answers, question.answer);
    switch (hv_libvirt_call(hv, domain, "address", ask, &question, error)) {
    case CALL_DONE:
        break;
    case CALL_GONE:
        g_set_error(error, VM_ERROR, VM_ERROR_GUEST_DIED,
                    "hypervisor %s: domain %s ended before it had an address (see console.log)",
                    hv->config->name, domain->name);
        return FALSE;
    case CALL_FAILED:
        return FALSE;
    }
    return TRUE;
}

static GPtrArray *ask_all(Hypervisor *hv, const HvDomain *domain, GError **error)
{
    g_autoptr(GPtrArray) answers =
        g_ptr_array_new_with_free_func((GDestroyNotify)address_answer_free);

    for (gsize i = 0; i < G_N_ELEMENTS(sources); i++)
        if ((domain->address_method == ADDRESS_AUTO ||
             domain->address_method == sources[i].method) &&
            !ask_source(hv, domain, &sources[i], answers, error))
            return NULL;
    return g_steal_pointer(&answers);
}

/* Two guests cloned with one machine-id ask as one DHCP client, and get one address. */
static gboolean check_single(const Hypervisor *hv, const HvDomain *domain, const char *host,
                             const GPtrArray *macs, GError **error)
{
    g_autoptr(GPtrArray) leases =
        g_ptr_array_new_with_free_func((GDestroyNotify)address_answer_free);
    const char *other;

    if (domain->network == NULL)
        return TRUE;
    g_ptr_array_add(leases, address_answer_new("leases"));
    add_network_leases(hv, domain, g_ptr_array_index(leases, 0));
    other = address_other_holder(leases, host, macs);
    if (other == NULL)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_FAILED,
                "domain %s: network %s leased %s to this guest and to the one with MAC %s: both "
                "were cloned with one machine-id/DUID; empty /etc/machine-id in the base image",
                domain->name, domain->network, host, other);
    return FALSE;
}

static gboolean give(HvAddress *ret_address, char *host, guint port, const char *source)
{
    ret_address->host = host;
    ret_address->port = port;
    ret_address->source = g_strdup(source);
    return TRUE;
}

static gboolean time_out(const Wait *wait, WaitResult result, const HvDomain *domain,
                         const GPtrArray *answers, GError **error)
{
    g_autofree char *report = address_report(answers);

    wait_fail(wait, result, "address of the guest", error);
    if (result == WAIT_TIMEOUT && error != NULL)
        g_prefix_error(error, "domain %s: asked last, %s: ", domain->name, report);
    return FALSE;
}

static gboolean poll_sources(Hypervisor *hv, const HvDomain *domain, const Wait *wait,
                             HvAddress *ret_address, GError **error)
{
    g_autoptr(GPtrArray) macs =
        domain_xml_query_all(domain->xml, "/domain/devices/interface/mac/@address");

    for (;;) {
        g_autoptr(GPtrArray) answers = ask_all(hv, domain, error);
        const char *source = NULL;
        g_autofree char *host = answers != NULL ? address_choose(answers, macs, &source) : NULL;
        WaitResult result;

        if (answers == NULL || (host != NULL && !check_single(hv, domain, host, macs, error)))
            return FALSE;
        if (host != NULL)
            return give(ret_address, g_steal_pointer(&host), domain->port, source);
        result = wait_sleep(wait, poll_interval_ns);
        if (result != WAIT_TIMEOUT || wait_left_ns(wait) == 0)
            return time_out(wait, result, domain, answers, error);
    }
}

gboolean hv_libvirt_address(Hypervisor *hv, HvDomain *domain, const Wait *wait,
                            HvAddress *ret_address, GError **error)
{
    switch (domain->address_method) {
    case ADDRESS_FORWARD:
        return give(ret_address, g_strdup("127.0.0.1"), domain->forward_port, "forward");
    case ADDRESS_FIXED:
        return give(ret_address, g_strdup(domain->fixed_address), domain->port, "fixed");
    case ADDRESS_LEASE:
    case ADDRESS_AGENT:
    case ADDRESS_ARP:
    case ADDRESS_AUTO:
        break;
    }
    return poll_sources(hv, domain, wait, ret_address, error);
}
