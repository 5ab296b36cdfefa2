/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections, errors and calls. No event loop is registered, so libvirtd sends no keepalive pings
 * while a guest is measured; a lost connection shows at the next call. */
#include "guest/hv-libvirt.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/domain-xml.h"
#include "guest/kvm.h"
#include "util/clock.h"
#include "util/error.h"

static const gint64 reconnect_limit_ns = 15 * CLOCK_NS_PER_S;
static const gint64 reconnect_pause_ns = 100 * CLOCK_NS_PER_MS;

/* libvirt prints errors unless told what else to do with them. */
static void keep_quiet(void *data, virErrorPtr wrong)
{
}

char *hv_libvirt_message(const virError *trouble)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;

    if (trouble == NULL || trouble->message == NULL)
        return g_strdup("libvirt told no reason");
    /* QEMU's own words may come on several lines. */
    text = g_strchomp(g_strdup(trouble->message));
    lines = g_strsplit(text, "\n", -1);
    return g_strjoinv("; ", lines);
}

void hv_libvirt_note(Hypervisor *hv)
{
    LibvirtConnection *connection = hv_libvirt_connection(hv);

    if (connection->trouble != NULL)
        virFreeError(connection->trouble);
    connection->trouble = virSaveLastError();
}

static VmErrorCode error_code(int code)
{
    switch (code) {
    case VIR_ERR_NO_CONNECT:
    case VIR_ERR_AUTH_FAILED:
    case VIR_ERR_AUTH_CANCELLED:
    case VIR_ERR_AUTH_UNAVAILABLE:
    case VIR_ERR_ACCESS_DENIED:
    case VIR_ERR_NO_MEMORY:
        return VM_ERROR_ENVIRONMENT;
    case VIR_ERR_NO_SUPPORT:
    case VIR_ERR_CONFIG_UNSUPPORTED:
    case VIR_ERR_ARGUMENT_UNSUPPORTED:
    case VIR_ERR_OPERATION_UNSUPPORTED:
        return VM_ERROR_UNSUPPORTED;
    case VIR_ERR_XML_ERROR:
    case VIR_ERR_XML_DETAIL:
    case VIR_ERR_XML_INVALID_SCHEMA:
        return VM_ERROR_INVALID;
    default:
        return VM_ERROR_FAILED;
    }
}

gboolean hv_libvirt_is_lost(const Hypervisor *hv)
{
    LibvirtConnection *connection = hv_libvirt_connection(hv);

    return connection->handle == NULL || virConnectIsAlive(connection->handle) != 1;
}

gboolean hv_libvirt_fail(const Hypervisor *hv, const char *what, GError **error)
{
    const virError *trouble = hv_libvirt_connection(hv)->trouble;
    g_autofree char *message = hv_libvirt_message(trouble);
    VmErrorCode code = error_code(trouble != NULL ? trouble->code : VIR_ERR_OK);

    if (hv_libvirt_is_lost(hv))
        code = VM_ERROR_HALT;
    g_set_error(error, VM_ERROR, code, "hypervisor %s: %s: %s", hv->config->name, what, message);
    return FALSE;
}

/* A KVM that cannot be used is an error, never a quiet fall-back to emulation. */
static gboolean check_kvm(const Hypervisor *hv, GError **error)
{
    const LibvirtConnection *connection = hv_libvirt_connection(hv);
    g_autofree char *reason = NULL;
    KvmState state;

    if (hv->config->accelerator != ACCELERATOR_KVM || !connection->local)
        return TRUE;
    state = kvm_probe("/dev/kvm", &reason);
    /* The system's libvirt opens the node as another user: it will say itself if it cannot. */
    if (state == KVM_USABLE ||
        (state == KVM_FORBIDDEN && g_str_has_suffix(connection->uri, "/system")))
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                "hypervisor %s: accelerator kvm is asked for, and %s. Emulation is never taken "
                "instead: it must be asked for (accelerator: tcg in the inventory)",
                hv->config->name, reason);
    return FALSE;
}

static gboolean connect_once(Hypervisor *hv)
{
    LibvirtConnection *connection = hv_libvirt_connection(hv);

    connection->handle = virConnectOpen(connection->uri);
    if (connection->handle == NULL)
        hv_libvirt_note(hv);
    return connection->handle != NULL;
}

/* "+UID:+GID" of the security model dac: whom a privileged libvirt runs QEMU as, and gives the
 * image files to. A session has no such model. */
static void find_user(LibvirtConnection *connection)
{
    char *capabilities = virConnectGetCapabilities(connection->handle);
    g_autofree char *label = NULL;

    if (capabilities != NULL)
        label = domain_xml_query(
            capabilities, "/capabilities/host/secmodel[model='dac']/baselabel[@type='qemu']");
    free(capabilities);
    if (label != NULL)
        connection->user = g_strndup(label, strcspn(label, ":"));
}

static gboolean check_type(const Hypervisor *hv, GError **error)
{
    const char *type = virConnectGetType(hv_libvirt_connection(hv)->handle);

    if (g_strcmp0(type, "QEMU") == 0)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                "hypervisor %s: %s is a connection to %s, not to QEMU: use qemu:///system or "
                "qemu:///session",
                hv->config->name, hv_libvirt_connection(hv)->uri, type != NULL ? type : "nothing");
    return FALSE;
}

/* Which URIs have answered in the life of this process: one that does not any more is being
 * restarted, most likely; one that never did is not there. */
static gboolean has_answered(const char *uri, gboolean now)
{
    static GHashTable *answered;

    if (answered == NULL)
        answered = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (now)
        g_hash_table_add(answered, g_strdup(uri));
    return g_hash_table_contains(answered, uri);
}

/* Connect; where that fails, again and again until the wait ends. */
static gboolean connect_within(Hypervisor *hv, const Wait *wait)
{
    while (!connect_once(hv))
        if (wait_left_ns(wait) == 0 || wait_sleep(wait, reconnect_pause_ns) != WAIT_TIMEOUT)
            return FALSE;
    return TRUE;
}

static gboolean connect_first(Hypervisor *hv, const Wait *wait, GError **error)
{
    LibvirtConnection *connection = hv_libvirt_connection(hv);
    gboolean answered = has_answered(connection->uri, FALSE);
    Wait patience = wait_within(wait, answered ? reconnect_limit_ns : 0);
    g_autofree char *message = NULL;

    if (virInitialize() == 0 && connect_within(hv, &patience))
        return has_answered(connection->uri, TRUE);
    if (cancel_is_set(wait->cancel))
        return wait_fail(wait, WAIT_CANCELLED, "libvirt's connection", error);
    message = hv_libvirt_message(connection->trouble);
    g_set_error(error, VM_ERROR, answered ? VM_ERROR_HALT : VM_ERROR_ENVIRONMENT,
                "hypervisor %s (driver %s): libvirt does not open %s: %s. Is it running? "
                "(systemctl start libvirtd; without systemd: virtlogd -d; libvirtd -d)",
                hv->config->name, hv->config->driver, connection->uri, message);
    return FALSE;
}

gboolean hv_libvirt_open(Hypervisor *hv, const Wait *wait, GError **error)
{
    LibvirtConnection *connection = g_new0(LibvirtConnection, 1);

    hv->connection = connection;
    /* Without this a restart of libvirtd kills its clients. */
    signal(SIGPIPE, SIG_IGN);
    virSetErrorFunc(NULL, keep_quiet);
    connection->uri = g_strdup(hv->config->uri);
    if (connection->uri == NULL)
        connection->uri = g_strdup(geteuid() == 0 ? "qemu:///system" : "qemu:///session");
    connection->local = strstr(connection->uri, ":///") != NULL;
    if (cancel_is_set(wait->cancel))
        return wait_fail(wait, WAIT_CANCELLED, "libvirt's connection", error);
    if (!check_kvm(hv, error) || !connect_first(hv, wait, error))
        return FALSE;
    if (!check_type(hv, error))
        return FALSE;
    find_user(connection);
    return TRUE;
}

void hv_libvirt_close(Hypervisor *hv)
{
    LibvirtConnection *connection = hv->connection;

    if (connection == NULL)
        return;
    if (connection->handle != NULL)
        virConnectClose(connection->handle);
    if (connection->trouble != NULL)
        virFreeError(connection->trouble);
    g_free(connection->uri);
    g_free(connection->user);
    g_free(connection);
    hv->connection = NULL;
}

gboolean hv_libvirt_reconnect(Hypervisor *hv, GError **error)
{
    LibvirtConnection *connection = hv_libvirt_connection(hv);
    Wait wait = {.deadline_ns = clock_mono_ns() + reconnect_limit_ns,
                 .guard_fd = -1,
                 .step = "libvirt reconnect"};

    if (connection->handle != NULL)
        virConnectClose(g_steal_pointer(&connection->handle));
    if (!connect_within(hv, &wait))
        return hv_libvirt_fail(hv, "the connection was lost, and cannot be made again", error);
    g_message("hypervisor %s: the connection to %s was lost, and is there again", hv->config->name,
              connection->uri);
    return TRUE;
}

/* Whether the noted failure means that there is nothing left to act upon. The text is not read: it
 * may be in any language. */
static gboolean is_gone(const virError *trouble, virDomainPtr handle)
{
    switch (trouble != NULL ? trouble->code : VIR_ERR_OK) {
    case VIR_ERR_NO_DOMAIN:
        return TRUE;
    case VIR_ERR_OPERATION_INVALID:
        return virDomainIsActive(handle) == 0 || virGetLastErrorCode() == VIR_ERR_NO_DOMAIN;
    default:
        return FALSE;
    }
}

static CallResult call_once(Hypervisor *hv, const HvDomain *domain, DomainCall call, gpointer data)
{
    const LibvirtConnection *connection = hv_libvirt_connection(hv);
    virDomainPtr handle = virDomainLookupByUUIDString(connection->handle, domain->uuid);
    CallResult result = CALL_DONE;

    if (handle == NULL || call(handle, data) < 0) {
        hv_libvirt_note(hv);
        result = is_gone(connection->trouble, handle) ? CALL_GONE : CALL_FAILED;
    }
    if (handle != NULL)
        virDomainFree(handle);
    return result;
}

gboolean hv_libvirt_ask(Hypervisor *hv, const char *what, ConnectionCall call, gpointer data,
                        GError **error)
{
    if (call(hv_libvirt_connection(hv)->handle, data) >= 0)
        return TRUE;
    hv_libvirt_note(hv);
    if (hv_libvirt_is_lost(hv)) {
        if (!hv_libvirt_reconnect(hv, error))
            return FALSE;
        if (call(hv_libvirt_connection(hv)->handle, data) >= 0)
            return TRUE;
        hv_libvirt_note(hv);
    }
    return hv_libvirt_fail(hv, what, error);
}

CallResult hv_libvirt_call(Hypervisor *hv, const HvDomain *domain, const char *what,
                           DomainCall call, gpointer data, GError **error)
{
    CallResult result = call_once(hv, domain, call, data);

    if (result == CALL_FAILED && hv_libvirt_is_lost(hv)) {
        if (!hv_libvirt_reconnect(hv, error))
            return CALL_FAILED;
        result = call_once(hv, domain, call, data);
    }
    if (result == CALL_FAILED)
        hv_libvirt_fail(hv, what, error);
    return result;
}
