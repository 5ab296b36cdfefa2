/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver qemu (KVM and emulation) through libvirt. Domains are transient and never AUTODESTROY:
 * a restart of libvirtd must not kill a guest. libvirt's calls cannot be cancelled; the cancel
 * token is looked at before each, and all waiting between them is ours. */
#include "guest/hv-libvirt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/access.h"
#include "guest/domain-xml.h"
#include "guest/forward.h"
#include "guest/hv-drivers.h"
#include "guest/kvm.h"
#include "guest/qemu-process.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/io.h"
#include "util/text.h"

static const gint64 acpi_resend_ns = 3 * CLOCK_NS_PER_S;
static const gint64 poll_interval_ns = 200 * CLOCK_NS_PER_MS;
/* libvirt itself waits up to 15 s for a process that takes its time to die. */
static const gint64 destroy_grace_ns = 30 * CLOCK_NS_PER_S;
static const gint64 settle_grace_ns = 15 * CLOCK_NS_PER_S;
static const gint64 exit_grace_ns = 5 * CLOCK_NS_PER_S;

static gboolean not_cancelled(const Wait *wait, const char *what, GError **error)
{
    return !cancel_is_set(wait->cancel) || wait_fail(wait, WAIT_CANCELLED, what, error);
}

/* ---- define ---- */

/* A file that libvirt opens for QEMU: where it changes owners, folders alone can be in the way. */
static gboolean check_access(const Hypervisor *hv, const HvSpec *spec, const char *path,
                             gboolean owned, GError **error)
{
    const LibvirtConnection *connection = hv_libvirt_connection(hv);
    g_autofree char *blocked = NULL;

    if (path != NULL && connection->local)
        blocked =
            access_blocked_by(path, connection->user,
                              connection->user != NULL && owned ? ACCESS_SEARCH : ACCESS_READ);
    if (blocked == NULL)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "hypervisor %s, guest %s: %s",
                hv->config->name, spec->guest->name, blocked);
    return FALSE;
}

static gboolean check_files(const Hypervisor *hv, const HvSpec *spec, GError **error)
{
    if (!check_access(hv, spec, spec->guest->kernel, TRUE, error) ||
        !check_access(hv, spec, spec->guest->initrd, TRUE, error) ||
        !check_access(hv, spec, spec->overlay, TRUE, error))
        return FALSE;
    for (guint i = 0; spec->base != NULL && i < spec->base->chain->len; i++)
        if (!check_access(hv, spec, g_ptr_array_index(spec->base->chain, i), FALSE, error))
            return FALSE;
    return TRUE;
}

/* virtlogd appends to a file that is there: made by us it stays readable to us. */
static gboolean make_console(const HvSpec *spec, GError **error)
{
    g_autofree char *path = g_build_filename(spec->folder, "console.log", NULL);
    autofd fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd >= 0)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: cannot be made: %s", path,
                g_strerror(errno));
    return FALSE;
}

static gboolean is_bridge(const char *name)
{
    g_autofree char *path = g_build_filename("/sys/class/net", name, "bridge", NULL);

    return g_file_test(path, G_FILE_TEST_IS_DIR);
}

typedef struct {
    const char *name;
    gboolean known, active;
} NetworkQuestion;

/* A network that libvirt does not know (or a libvirt without networks) is an answer too. */
static int ask_network(virConnectPtr handle, gpointer data)
{
    NetworkQuestion *question = data;
    virNetworkPtr network = virNetworkLookupByName(handle, question->name);

    question->known = network != NULL;
    if (network == NULL)
        return virConnectIsAlive(handle) == 1 ? 0 : -1;
    question->active = virNetworkIsActive(network) == 1;
    virNetworkFree(network);
    return 0;
}

/* A libvirt network that is active, or a bridge of the host. */
static gboolean check_network(Hypervisor *hv, const char *name, gboolean *ret_bridge,
                              GError **error)
{
    const LibvirtConnection *connection = hv_libvirt_connection(hv);
    NetworkQuestion question = {.name = name};

    if (!hv_libvirt_ask(hv, "network", ask_network, &question, error))
        return FALSE;
    *ret_bridge = !question.known && is_bridge(name);
    if (question.active || *ret_bridge)
        return TRUE;
    if (question.known)
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                    "hypervisor %s: network %s of %s is not active: virsh -c %s net-start %s",
                    hv->config->name, name, connection->uri, connection->uri, name);
    else
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                    "hypervisor %s: %s has no network %s, and this host no bridge of that name: "
                    "see virsh -c %s net-list --all, or use address: forward",
                    hv->config->name, connection->uri, name, connection->uri);
    return FALSE;
}

static const char *cpu_mode(const Hypervisor *hv)
{
    /* TCG's richest model; a guest under emulation is compared with itself, not with bare. */
    if (hv->config->accelerator != ACCELERATOR_KVM)
        return "maximum";
    return kvm_host_is_tcg() ? NULL : "host-passthrough";
}

static void fill_domain(HvDomain *domain, const HvSpec *spec)
{
    const InventoryGuest *guest = spec->guest;

    g_free(domain->name);
    domain->name = g_strdup(spec->name);
    g_free(domain->uuid);
    domain->uuid = g_strdup(spec->uuid);
    domain->address_method = guest->address;
    g_free(domain->fixed_address);
    domain->fixed_address = g_strdup(guest->fixed_address);
    g_free(domain->network);
    domain->network = g_strdup(guest->network);
    domain->port = guest->port;
    domain->forward_port = spec->forward_port;
    domain->shutdown_method = guest->shutdown;
}

static gboolean qemu_preflight(Hypervisor *hv, const InventoryGuest *guest, const OverlayBase *base,
                               GError **error)
{
    HvSpec spec = {.hypervisor = hv->config, .guest = guest, .base = base};
    gboolean bridge;

    return check_files(hv, &spec, error) &&
           (guest->network == NULL || guest->address == ADDRESS_FORWARD ||
            check_network(hv, guest->network, &bridge, error));
}

static gboolean qemu_define(Hypervisor *hv, const HvSpec *spec, HvDomain *domain, GError **error)
{
    const LibvirtConnection *connection = hv_libvirt_connection(hv);
    const char *path = hv->config->domain_template;
    DomainXmlInput input = {.spec = spec,
                            .template_name = path != NULL ? path : "built-in:qemu.xml",
                            .cpu_mode = cpu_mode(hv),
                            .keep_owner = connection->user != NULL};
    g_autofree char *text = domain_xml_template(path, error);
    char *xml;

    if (text == NULL || !check_files(hv, spec, error) || !make_console(spec, error))
        return FALSE;
    if (spec->guest->network != NULL && spec->guest->address != ADDRESS_FORWARD &&
        !check_network(hv, spec->guest->network, &input.bridge, error))
        return FALSE;
    input.template_text = text;
    xml = domain_xml_build(&input, error);
    if (xml == NULL)
        return FALSE;
    fill_domain(domain, spec);
    g_free(domain->xml);
    domain->xml = xml;
    return TRUE;
}

/* ---- start ---- */

static int do_nothing(virDomainPtr handle, gpointer data)
{
    return 0;
}

static gboolean create_once(Hypervisor *hv, const HvDomain *domain)
{
    virDomainPtr handle =
        virDomainCreateXML(hv_libvirt_connection(hv)->handle, domain->xml, VIR_DOMAIN_NONE);

    if (handle != NULL)
        virDomainFree(handle);
    else
        hv_libvirt_note(hv);
    return handle != NULL;
}

/* After a lost connection nobody knows whether the guest was started: look before trying again. */
static gboolean create_again(Hypervisor *hv, const HvDomain *domain, GError **error)
{
    if (!hv_libvirt_reconnect(hv, error))
        return FALSE;
    switch (hv_libvirt_call(hv, domain, "start", do_nothing, NULL, error)) {
    case CALL_DONE:
        return TRUE;
    case CALL_GONE:
        return create_once(hv, domain) || hv_libvirt_fail(hv, "start", error);
    case CALL_FAILED:
        break;
    }
    return FALSE;
}

/* Another domain with our name, of whatever state and language. */
static char *namesake(const Hypervisor *hv, const HvDomain *domain)
{
    virDomainPtr handle = virDomainLookupByName(hv_libvirt_connection(hv)->handle, domain->name);
    char uuid[VIR_UUID_STRING_BUFLEN] = "";

    if (handle == NULL)
        return NULL;
    virDomainGetUUIDString(handle, uuid);
    virDomainFree(handle);
    return g_ascii_strcasecmp(uuid, domain->uuid) != 0 ? g_strdup(uuid) : NULL;
}

static gboolean start_fail(Hypervisor *hv, const HvDomain *domain, GError **error)
{
    g_autofree char *message = hv_libvirt_message(hv_libvirt_connection(hv)->trouble);
    g_autofree char *what = g_strdup_printf("start of %s", domain->name);
    g_autofree char *other = NULL;

    if (domain->address_method == ADDRESS_FORWARD && forward_port_taken(domain->forward_port)) {
        g_set_error(error, VM_ERROR, VM_ERROR_BUSY,
                    "hypervisor %s: %s: port %u of 127.0.0.1 was taken meanwhile by another "
                    "process: %s",
                    hv->config->name, what, domain->forward_port, message);
        return FALSE;
    }
    hv_libvirt_fail(hv, what, error);
    other = namesake(hv, domain);
    if (other != NULL && error != NULL)
        g_prefix_error(error,
                       "domain %s is there already with UUID %s (not this run's: end it with "
                       "virsh -c %s destroy %s, if nobody needs it): ",
                       domain->name, other, hv_libvirt_connection(hv)->uri, domain->name);
    return FALSE;
}

/* ---- state ---- */

static HvState map_state(int state)
{
    switch (state) {
    case VIR_DOMAIN_PAUSED:
    case VIR_DOMAIN_PMSUSPENDED:
        return HV_STATE_PAUSED;
    case VIR_DOMAIN_SHUTOFF:
        return HV_STATE_OFF;
    case VIR_DOMAIN_CRASHED:
        return HV_STATE_CRASHED;
    default: /* RUNNING, BLOCKED, SHUTDOWN (still about it), NOSTATE */
        return HV_STATE_RUNNING;
    }
}

static int get_state(virDomainPtr handle, gpointer data)
{
    int *state = data;

    return virDomainGetState(handle, state, NULL, 0);
}

static gboolean qemu_state(Hypervisor *hv, HvDomain *domain, HvState *ret_state, GError **error)
{
    int state = 0;

    /* Before libvirt has noticed, and while init has not reaped it. */
    if (qemu_process_ended(domain->pidfd)) {
        *ret_state = HV_STATE_GONE;
        return TRUE;
    }
    switch (hv_libvirt_call(hv, domain, "state", get_state, &state, error)) {
    case CALL_DONE:
        *ret_state = map_state(state);
        return TRUE;
    case CALL_GONE:
        *ret_state = HV_STATE_GONE;
        return TRUE;
    case CALL_FAILED:
        break;
    }
    return FALSE;
}

/* ---- end ---- */

static int do_destroy(virDomainPtr handle, gpointer data)
{
    return virDomainDestroyFlags(handle, VIR_DOMAIN_DESTROY_DEFAULT);
}

/* Wait until the process behind the domain has ended: a pidfd tells at once. */
static WaitResult wait_exit(const HvDomain *domain, const Wait *wait, gint64 span_ns)
{
    Wait nap = wait_within(wait, span_ns);

    nap.guard_fd = -1; /* it may be the same pidfd, and its end is what we wait for */
    if (domain->pidfd >= 0)
        return wait_fd(&nap, domain->pidfd, POLLIN);
    return wait_sleep(&nap, span_ns);
}

/* libvirt no longer knows the domain: its QEMU must not live on (it holds the overlay's lock and
 * the CPUs of the next run). The pidfd cannot mean another process. */
static void end_process(const HvDomain *domain)
{
    Wait wait = {.deadline_ns = WAIT_FOREVER, .guard_fd = -1, .step = "destroy"};

    if (domain->pidfd < 0 || wait_exit(domain, &wait, exit_grace_ns) == WAIT_READY)
        return;
    g_warning("domain %s: libvirt has let go of it, and its QEMU (pid %d) still runs: killed",
              domain->name, (int)domain->pid);
    if (pidfd_send_signal(domain->pidfd, SIGKILL, NULL, 0) == 0)
        wait_exit(domain, &wait, exit_grace_ns);
}

/* libvirt has gone, and does not come back: the guest must not live on beside other measurements.
 * What a later libvirtd finds is a domain without a process. */
static gboolean end_without_libvirt(HvDomain *domain)
{
    end_process(domain);
    if (!qemu_process_ended(domain->pidfd))
        return FALSE;
    domain->started = FALSE;
    return TRUE;
}

/* libvirt's destroy fails where QEMU's zombie is reaped late; it succeeds some time after. */
static gboolean destroy_within(Hypervisor *hv, HvDomain *domain, const Wait *wait, GError **error)
{
    for (;;) {
        g_autoptr(GError) local = NULL;
        CallResult result = hv_libvirt_call(hv, domain, "destroy", do_destroy, NULL, &local);

        if (result != CALL_FAILED) {
            end_process(domain);
            domain->started = FALSE;
            return TRUE;
        }
        if (vm_error_is(local, VM_ERROR_HALT) && end_without_libvirt(domain))
            return TRUE;
        if (vm_error_is(local, VM_ERROR_HALT) ||
            wait_sleep(wait, poll_interval_ns) != WAIT_TIMEOUT || wait_left_ns(wait) == 0) {
            g_propagate_prefixed_error(error, g_steal_pointer(&local), "domain %s: ", domain->name);
            return FALSE;
        }
    }
}

/* Ending a guest is never cut short by the deadline or the token that made it necessary. */
static gboolean destroy_now(Hypervisor *hv, HvDomain *domain, const char *step, GError **error)
{
    Wait wait = {.deadline_ns = clock_mono_ns() + destroy_grace_ns, .guard_fd = -1, .step = step};

    return destroy_within(hv, domain, &wait, error);
}

static gboolean qemu_destroy(Hypervisor *hv, HvDomain *domain, const Wait *wait, GError **error)
{
    return destroy_now(hv, domain, wait->step, error);
}

/* ---- start ---- */

/* Where the process can be seen, hold on to it; TRUE when it is held, or cannot be seen from here.
 */
static gboolean hold_process(Hypervisor *hv, HvDomain *domain)
{
    if (!hv_libvirt_connection(hv)->local || domain->pidfd >= 0)
        return TRUE;
    return qemu_process_find(domain->name, domain->uuid, &domain->pid, &domain->pidfd);
}

/* A libvirtd that comes back ends the guests whose start it had not finished: what was found must
 * be seen running before it is believed. */
static gboolean settled(Hypervisor *hv, HvDomain *domain, const Wait *wait)
{
    Wait grace = wait_within(wait, settle_grace_ns);

    do {
        HvState state;

        if (!qemu_state(hv, domain, &state, NULL) ||
            (state != HV_STATE_RUNNING && state != HV_STATE_PAUSED))
            return FALSE;
        if (state == HV_STATE_RUNNING && hold_process(hv, domain))
            return TRUE;
    } while (wait_sleep(&grace, poll_interval_ns) == WAIT_TIMEOUT && wait_left_ns(&grace) > 0);
    return FALSE;
}

/* The connection was lost while the guest was started. */
static gboolean start_again(Hypervisor *hv, HvDomain *domain, const Wait *wait, GError **error)
{
    if (!create_again(hv, domain, error))
        return FALSE;
    if (settled(hv, domain, wait))
        return TRUE;
    /* Half started, or gone: away with it, and once more from the beginning. */
    domain->started = TRUE;
    if (!destroy_now(hv, domain, "start", error))
        return FALSE;
    if (domain->pidfd >= 0)
        close(domain->pidfd);
    domain->pidfd = -1;
    return create_once(hv, domain) || hv_libvirt_fail(hv, "start", error);
}

static gboolean qemu_start(Hypervisor *hv, HvDomain *domain, const Wait *wait, GError **error)
{
    HvState state = HV_STATE_RUNNING;

    if (!not_cancelled(wait, "the guest's start", error))
        return FALSE;
    if (!create_once(hv, domain)) {
        if (!hv_libvirt_is_lost(hv))
            return start_fail(hv, domain, error);
        if (!start_again(hv, domain, wait, error))
            return FALSE;
    }
    domain->started = TRUE;
    if (hold_process(hv, domain))
        return TRUE;
    /* Nothing would tell of its end: so it must not have come already. */
    if (!qemu_state(hv, domain, &state, error))
        return FALSE;
    if (state == HV_STATE_RUNNING || state == HV_STATE_PAUSED)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_GUEST_DIED,
                "hypervisor %s: %s ended as soon as it was started; see its log under "
                "/var/log/libvirt",
                hv->config->name, domain->name);
    return FALSE;
}

static int press_button(virDomainPtr handle, gpointer data)
{
    return virDomainShutdownFlags(handle, VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN);
}

/* Press the power button every few seconds: a guest that boots loses it, one that ends ignores it.
 * FALSE: the guest is still there when the wait ends. */
static gboolean ask_to_end(Hypervisor *hv, HvDomain *domain, const Wait *wait)
{
    for (;;) {
        g_autoptr(GError) error = NULL;
        gint64 resend = clock_mono_ns() + acpi_resend_ns;
        WaitResult result = WAIT_TIMEOUT;

        if (hv_libvirt_call(hv, domain, "shutdown", press_button, NULL, &error) == CALL_GONE)
            return TRUE;
        if (error != NULL)
            g_debug("domain %s: %s", domain->name, error->message);
        if (vm_error_is(error, VM_ERROR_HALT))
            return FALSE;
        while (result == WAIT_TIMEOUT && clock_mono_ns() < resend && wait_left_ns(wait) > 0) {
            HvState state = HV_STATE_RUNNING;

            result =
                wait_exit(domain, wait, domain->pidfd >= 0 ? acpi_resend_ns : poll_interval_ns);
            if (result == WAIT_READY)
                return TRUE;
            if (domain->pidfd < 0 && qemu_state(hv, domain, &state, NULL) && state == HV_STATE_GONE)
                return TRUE;
        }
        if (result == WAIT_CANCELLED || wait_left_ns(wait) == 0)
            return FALSE;
    }
}

static gboolean qemu_shutdown(Hypervisor *hv, HvDomain *domain, const Wait *wait,
                              gboolean *ret_forced, GError **error)
{
    gboolean ended = domain->shutdown_method == SHUTDOWN_ACPI && ask_to_end(hv, domain, wait);

    /* Also after a clean end: libvirt may not have noticed yet, and the name must be free. */
    if (!destroy_now(hv, domain, wait->step, error))
        return FALSE;
    *ret_forced = domain->shutdown_method == SHUTDOWN_ACPI && !ended;
    return TRUE;
}

static gboolean qemu_undefine(Hypervisor *hv, HvDomain *domain, GError **error)
{
    return TRUE; /* transient: gone with its process */
}

/* ---- facts and orphans ---- */

static void add_fact(GHashTable *facts, const char *name, char *value)
{
    if (value != NULL)
        g_hash_table_insert(facts, g_strdup(name), value);
}

/* libvirt packs a version into one number. */
static char *version_text(unsigned long version)
{
    return g_strdup_printf("%lu.%lu.%lu", version / 1000000, version / 1000 % 1000, version % 1000);
}

typedef struct {
    unsigned long libvirt, hypervisor;
} Versions;

static int get_versions(virConnectPtr handle, gpointer data)
{
    Versions *versions = data;

    if (virConnectGetLibVersion(handle, &versions->libvirt) < 0)
        return -1;
    return virConnectGetVersion(handle, &versions->hypervisor);
}

static gboolean connection_facts(Hypervisor *hv, GHashTable *facts, GError **error)
{
    const LibvirtConnection *connection = hv_libvirt_connection(hv);
    Versions versions = {0};

    if (!hv_libvirt_ask(hv, "versions", get_versions, &versions, error))
        return FALSE;
    add_fact(facts, "libvirt.version", version_text(versions.libvirt));
    add_fact(facts, "libvirt.uri", g_strdup(connection->uri));
    add_fact(facts, "hypervisor.version", version_text(versions.hypervisor));
    add_fact(facts, "hypervisor.user", g_strdup(connection->user));
    return TRUE;
}

static int get_xml(virDomainPtr handle, gpointer data)
{
    char **xml = data;

    *xml = virDomainGetXMLDesc(handle, 0);
    return *xml != NULL ? 0 : -1;
}

/* What runs, not what was asked for. */
static void domain_facts(const char *xml, GHashTable *facts)
{
    g_autofree char *type = domain_xml_query(xml, "/domain/@type");
    char *model = domain_xml_query(xml, "/domain/cpu/model");

    add_fact(facts, "domain.xml", g_strdup(xml));
    add_fact(facts, "accelerator", g_strdup(g_strcmp0(type, "kvm") == 0 ? "kvm" : "tcg"));
    add_fact(facts, "machine", domain_xml_query(xml, "/domain/os/type/@machine"));
    add_fact(facts, "cpu.mode", domain_xml_query(xml, "/domain/cpu/@mode"));
    add_fact(facts, "cpu.model", model);
    add_fact(facts, "disk.cache",
             domain_xml_query(xml, "/domain/devices/disk[@device='disk']/driver/@cache"));
}

static gboolean qemu_facts(Hypervisor *hv, HvDomain *domain, GHashTable *facts, GError **error)
{
    char *xml = NULL;

    if (!connection_facts(hv, facts, error))
        return FALSE;
    if (domain == NULL)
        return TRUE;
    switch (hv_libvirt_call(hv, domain, "live XML", get_xml, &xml, error)) {
    case CALL_DONE:
        domain_facts(xml, facts);
        free(xml);
        return TRUE;
    case CALL_GONE:
        g_set_error(error, VM_ERROR, VM_ERROR_GUEST_DIED,
                    "hypervisor %s: domain %s has ended (see its console.log)", hv->config->name,
                    domain->name);
        break;
    case CALL_FAILED:
        break;
    }
    return FALSE;
}

/* The owner in the domain's metadata, or NULL when it is none of ours. */
static HvOrphan *read_orphan(virDomainPtr handle)
{
    char *xml = virDomainGetMetadata(handle, VIR_DOMAIN_METADATA_ELEMENT, HV_METADATA_URI, 0);
    char uuid[VIR_UUID_STRING_BUFLEN] = "";
    HvOrphan *orphan;

    if (xml == NULL)
        return NULL;
    virDomainGetUUIDString(handle, uuid);
    orphan = g_new0(HvOrphan, 1);
    orphan->uuid = g_strdup(uuid);
    orphan->name = g_strdup(virDomainGetName(handle));
    orphan->owner = domain_xml_query(xml, "/*");
    if (orphan->owner == NULL)
        orphan->owner = g_strdup("");
    free(xml);
    return orphan;
}

enum { NAME_SHOWN_MAX = 64 };

typedef struct {
    virDomainPtr *handles;
    int n;
    unsigned flags; /* which: VIR_CONNECT_LIST_DOMAINS_…, 0: all */
} DomainList;

static int list_domains(virConnectPtr handle, gpointer data)
{
    DomainList *list = data;

    list->n = virConnectListAllDomains(handle, &list->handles, list->flags);
    return list->n;
}

static GPtrArray *qemu_orphans(Hypervisor *hv, GError **error)
{
    g_autoptr(GPtrArray) orphans = g_ptr_array_new_with_free_func((GDestroyNotify)hv_orphan_free);
    DomainList list = {0};

    if (!hv_libvirt_ask(hv, "list of domains", list_domains, &list, error))
        return NULL;
    for (int i = 0; i < list.n; i++) {
        HvOrphan *orphan = read_orphan(list.handles[i]);

        if (orphan != NULL)
            g_ptr_array_add(orphans, orphan);
        virDomainFree(list.handles[i]);
    }
    free(list.handles);
    return g_steal_pointer(&orphans);
}

static GPtrArray *qemu_running(Hypervisor *hv, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    DomainList list = {.flags = VIR_CONNECT_LIST_DOMAINS_ACTIVE};

    if (!hv_libvirt_ask(hv, "list of running domains", list_domains, &list, error))
        return NULL;
    for (int i = 0; i < list.n; i++) {
        g_ptr_array_add(names, text_escape(virDomainGetName(list.handles[i]), -1, NAME_SHOWN_MAX));
        virDomainFree(list.handles[i]);
    }
    free(list.handles);
    return g_steal_pointer(&names);
}

const struct hypervisor_ops hv_libvirt_qemu_ops = {
    .driver = "qemu",
    .has_domain = TRUE,
    .open = hv_libvirt_open,
    .close = hv_libvirt_close,
    .preflight = qemu_preflight,
    .define = qemu_define,
    .start = qemu_start,
    .address = hv_libvirt_address,
    .state = qemu_state,
    .shutdown = qemu_shutdown,
    .destroy = qemu_destroy,
    .undefine = qemu_undefine,
    .facts = qemu_facts,
    .orphans = qemu_orphans,
    .running = qemu_running,
};
