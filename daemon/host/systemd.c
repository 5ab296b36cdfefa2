/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/systemd.h"

#include <gio/gio.h>
#include <gio/gunixfdlist.h>
#include <string.h>

#include "util/clock.h"
#include "util/cpulist.h"
#include "util/error.h"
#include "util/wait.h"

#define SYSTEMD "org.freedesktop.systemd1"
#define MANAGER "org.freedesktop.systemd1.Manager"
#define LOGIND "org.freedesktop.login1"

enum { CALL_MS = 30000, LOOK_MS = 20, CPUS_MAX = 8192 };

struct Systemd {
    GDBusConnection *bus;
};

/* D-Bus says what happened, and where is said here. */
static gboolean fail(GError *cause, const char *what, const char *unit, GError **error)
{
    g_dbus_error_strip_remote_error(cause);
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: %s: %s", unit, what, cause->message);
    g_error_free(cause);
    return FALSE;
}

static GVariant *call(Systemd *systemd, const char *name, const char *path, const char *interface,
                      const char *method, GVariant *arguments, const char *reply, GError **error)
{
    return g_dbus_connection_call_sync(systemd->bus, name, path, interface, method, arguments,
                                       reply != NULL ? G_VARIANT_TYPE(reply) : NULL,
                                       G_DBUS_CALL_FLAGS_NONE, CALL_MS, NULL, error);
}

static GVariant *call_manager(Systemd *systemd, const char *method, GVariant *arguments,
                              const char *reply, GError **error)
{
    return call(systemd, SYSTEMD, "/org/freedesktop/systemd1", MANAGER, method, arguments, reply,
                error);
}

/* ---- the connection ---- */

static gboolean has_systemd(GDBusConnection *bus, GError **error)
{
    g_autoptr(GVariant) reply = g_dbus_connection_call_sync(
        bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
        "NameHasOwner", g_variant_new("(s)", SYSTEMD), G_VARIANT_TYPE("(b)"),
        G_DBUS_CALL_FLAGS_NONE, CALL_MS, NULL, error);
    gboolean has = FALSE;

    if (reply != NULL)
        g_variant_get(reply, "(b)", &has);
    return has;
}

Systemd *systemd_new(char **ret_why)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *address = g_dbus_address_get_for_bus_sync(G_BUS_TYPE_SYSTEM, NULL, &error);
    g_autoptr(GDBusConnection) bus = NULL;

    /* Not g_bus_get(): that one is shared, and ends the process when the bus goes away. */
    if (address != NULL)
        bus = g_dbus_connection_new_for_address_sync(
            address,
            G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
            NULL, NULL, &error);
    if (bus == NULL || !has_systemd(bus, &error)) {
        *ret_why = error != NULL ? g_strdup_printf("no system bus: %s", error->message)
                                 : g_strdup("no systemd on the system bus");
        return NULL;
    }
    Systemd *systemd = g_new0(Systemd, 1);

    systemd->bus = g_steal_pointer(&bus);
    return systemd;
}

void systemd_free(Systemd *systemd)
{
    if (systemd == NULL)
        return;
    g_dbus_connection_close_sync(systemd->bus, NULL, NULL);
    g_object_unref(systemd->bus);
    g_free(systemd);
}

/* ---- units ---- */

/* *ret_value: a property of the object, or NULL with error. */
static GVariant *get_property(Systemd *systemd, const char *path, const char *interface,
                              const char *name, GError **error)
{
    g_autoptr(GVariant) reply = call(systemd, SYSTEMD, path, "org.freedesktop.DBus.Properties",
                                     "Get", g_variant_new("(ss)", interface, name), "(v)", error);
    GVariant *value = NULL;

    if (reply != NULL)
        g_variant_get(reply, "(v)", &value);
    return value;
}

static char *get_text(Systemd *systemd, const char *path, const char *name, GError **error)
{
    g_autoptr(GVariant) value = get_property(systemd, path, SYSTEMD ".Unit", name, error);

    return value != NULL && g_variant_is_of_type(value, G_VARIANT_TYPE_STRING)
               ? g_variant_dup_string(value, NULL)
               : NULL;
}

/* The unit's object, also where it is not active and systemd has forgotten it meanwhile. */
static char *load_unit(Systemd *systemd, const char *unit, GError **error)
{
    g_autoptr(GVariant) reply =
        call_manager(systemd, "LoadUnit", g_variant_new("(s)", unit), "(o)", error);
    char *path = NULL;

    if (reply != NULL)
        g_variant_get(reply, "(o)", &path);
    return path;
}

gboolean systemd_unit_state(Systemd *systemd, const char *unit, char **ret_state, GError **error)
{
    GError *cause = NULL;
    g_autofree char *path = load_unit(systemd, unit, &cause);
    g_autofree char *loaded = path != NULL ? get_text(systemd, path, "LoadState", &cause) : NULL;
    g_autofree char *state = loaded != NULL ? get_text(systemd, path, "ActiveState", &cause) : NULL;

    if (cause != NULL)
        return fail(cause, "its state", unit, error);
    /* "not-found" and "masked" are no units to start or stop. */
    *ret_state = g_strcmp0(loaded, "loaded") == 0 ? g_steal_pointer(&state) : NULL;
    return TRUE;
}

/* Looked at again and again: a bounded wait of some 20 ms, before anything is measured; to be told
 * would need a main loop. */
static gboolean wait_for(Systemd *systemd, const char *unit, gboolean run, GError **error)
{
    Wait wait = {
        .deadline_ns = clock_mono_ns() + CALL_MS * CLOCK_NS_PER_MS, .guard_fd = -1, .step = "tune"};

    for (;;) {
        g_autofree char *state = NULL;

        if (!systemd_unit_state(systemd, unit, &state, error))
            return FALSE;
        if (run ? g_strcmp0(state, "active") == 0
                : state == NULL || strcmp(state, "inactive") == 0 || strcmp(state, "failed") == 0)
            return TRUE;
        if (wait_left_ns(&wait) == 0 || (run && g_strcmp0(state, "failed") == 0)) {
            g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                        "%s: it is %s, and should be %s; \"systemctl status %s\" says why", unit,
                        state, run ? "active" : "inactive", unit);
            return FALSE;
        }
        wait_sleep(&wait, LOOK_MS * CLOCK_NS_PER_MS);
    }
}

gboolean systemd_unit_run(Systemd *systemd, const char *unit, gboolean run, GError **error)
{
    GError *cause = NULL;
    g_autoptr(GVariant) reply = call_manager(systemd, run ? "StartUnit" : "StopUnit",
                                             g_variant_new("(ss)", unit, "replace"), "(o)", &cause);

    if (reply == NULL)
        return fail(cause, run ? "start" : "stop", unit, error);
    return wait_for(systemd, unit, run, error);
}

/* ---- AllowedCPUs: bytes, the lowest bit of the first one is CPU 0 ---- */

static char *cpus_from_bits(const guint8 *bits, gsize length)
{
    g_autoptr(GArray) cpus = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint cpu = 0; cpu < length * 8; cpu++)
        if ((bits[cpu / 8] >> (cpu % 8) & 1) != 0)
            g_array_append_val(cpus, cpu);
    return cpus->len > 0 ? cpulist_text(cpus) : g_strdup("");
}

static GVariant *cpus_to_bits(const char *cpus)
{
    g_autoptr(GArray) list = *cpus != '\0' ? cpulist_parse(cpus) : NULL;
    guint8 bits[CPUS_MAX / 8] = {0};
    gsize length = 0;

    for (guint i = 0; list != NULL && i < list->len; i++) {
        guint cpu = g_array_index(list, guint, i);

        if (cpu >= CPUS_MAX)
            continue;
        bits[cpu / 8] |= (guint8)(1 << (cpu % 8));
        length = MAX(length, cpu / 8 + 1);
    }
    return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bits, length, 1);
}

gboolean systemd_cpus_get(Systemd *systemd, const char *unit, char **ret_cpus, GError **error)
{
    const char *interface = g_str_has_suffix(unit, ".scope") ? SYSTEMD ".Scope" : SYSTEMD ".Slice";
    g_autofree char *state = NULL;
    g_autofree char *path = NULL;
    GError *cause = NULL;
    g_autoptr(GVariant) value = NULL;
    gsize length = 0;

    if (!systemd_unit_state(systemd, unit, &state, error))
        return FALSE;
    path = state != NULL ? load_unit(systemd, unit, &cause) : NULL;
    value = path != NULL ? get_property(systemd, path, interface, "AllowedCPUs", &cause) : NULL;
    if (cause != NULL && g_error_matches(cause, G_DBUS_ERROR, G_DBUS_ERROR_UNKNOWN_PROPERTY))
        g_clear_error(&cause);
    if (cause != NULL)
        return fail(cause, "AllowedCPUs", unit, error);
    *ret_cpus = NULL;
    if (value != NULL && g_variant_is_of_type(value, G_VARIANT_TYPE_BYTESTRING)) {
        const guint8 *bits = g_variant_get_fixed_array(value, &length, 1);

        *ret_cpus = cpus_from_bits(bits, length);
    }
    return TRUE;
}

gboolean systemd_cpus_set(Systemd *systemd, const char *unit, const char *cpus, GError **error)
{
    GVariantBuilder properties;
    GError *cause = NULL;

    g_variant_builder_init(&properties, G_VARIANT_TYPE("a(sv)"));
    g_variant_builder_add(&properties, "(sv)", "AllowedCPUs", cpus_to_bits(cpus));
    g_autoptr(GVariant) reply =
        call_manager(systemd, "SetUnitProperties",
                     g_variant_new("(sba(sv))", unit, TRUE, &properties), "()", &cause);

    return reply != NULL || fail(cause, "AllowedCPUs", unit, error);
}

/* ---- sleep ---- */

int systemd_inhibit_sleep(Systemd *systemd, const char *why, GError **error)
{
    GError *cause = NULL;
    g_autoptr(GUnixFDList) fds = NULL;
    g_autoptr(GVariant) reply = g_dbus_connection_call_with_unix_fd_list_sync(
        systemd->bus, LOGIND, "/org/freedesktop/login1", LOGIND ".Manager", "Inhibit",
        g_variant_new("(ssss)", "sleep:idle", "vmatrix", why, "block"), G_VARIANT_TYPE("(h)"),
        G_DBUS_CALL_FLAGS_NONE, CALL_MS, NULL, &fds, NULL, &cause);
    gint32 index = -1;
    int fd = -1;

    if (reply != NULL) {
        g_variant_get(reply, "(h)", &index);
        fd = g_unix_fd_list_get(fds, index, &cause);
    }
    if (fd < 0)
        fail(cause, "Inhibit", LOGIND, error);
    return fd;
}
