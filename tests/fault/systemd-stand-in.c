/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stands for systemd and logind on a private bus: systemd-stand-in FOLDER
 *
 * FOLDER/UNIT          its ActiveState; a unit without a file is not found
 * FOLDER/UNIT.cpus     AllowedCPUs of a slice or scope, as bytes in hex
 * FOLDER/log           a line for each thing that was asked for, and for each lock let go
 *
 * A unit takes SETTLE_MS to start or stop. "stubborn.service" is not stopped for anybody. The bus
 * is $DBUS_SYSTEM_BUS_ADDRESS; "ready" goes to standard output once both names are there. */
#include <fcntl.h>
#include <gio/gio.h>
#include <gio/gunixfdlist.h>
#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNITS "/org/freedesktop/systemd1/unit/"

enum { SETTLE_MS = 60 };

static const char *folder;

static char *file_of(const char *name, const char *suffix)
{
    g_autofree char *whole = g_strconcat(name, suffix, NULL);

    return g_build_filename(folder, whole, NULL);
}

static char *get(const char *name, const char *suffix)
{
    g_autofree char *path = file_of(name, suffix);
    char *text = NULL;

    if (g_file_get_contents(path, &text, NULL, NULL))
        g_strstrip(text);
    return text;
}

static void put(const char *name, const char *suffix, const char *text)
{
    g_autofree char *path = file_of(name, suffix);
    g_autofree char *line = g_strconcat(text, "\n", NULL);

    g_file_set_contents(path, line, -1, NULL);
}

static void note(const char *what, const char *about)
{
    g_autofree char *path = file_of("log", "");
    FILE *stream = fopen(path, "a");

    if (stream == NULL)
        return;
    fprintf(stream, "%s %s\n", what, about);
    fclose(stream);
}

/* ---- paths of units: what is no letter or digit is "_" and two hex digits ---- */

static char *path_of(const char *unit)
{
    GString *path = g_string_new(UNITS);

    for (; *unit != '\0'; unit++)
        if (g_ascii_isalnum(*unit))
            g_string_append_c(path, *unit);
        else
            g_string_append_printf(path, "_%02x", (guint)(guchar)*unit);
    return g_string_free(path, FALSE);
}

static char *unit_of(const char *path)
{
    GString *unit = g_string_new(NULL);

    for (path += strlen(UNITS); *path != '\0'; path++)
        if (*path == '_' && g_ascii_isxdigit(path[1]) && g_ascii_isxdigit(path[2])) {
            g_string_append_c(
                unit, (char)(g_ascii_xdigit_value(path[1]) * 16 + g_ascii_xdigit_value(path[2])));
            path += 2;
        } else {
            g_string_append_c(unit, *path);
        }
    return g_string_free(unit, FALSE);
}

/* ---- the manager ---- */

typedef struct {
    char *unit;
    const char *state;
} Settling;

static gboolean settled(gpointer data)
{
    Settling *settling = data;

    put(settling->unit, "", settling->state);
    g_free(settling->unit);
    g_free(settling);
    return G_SOURCE_REMOVE;
}

static void run_unit(GVariant *arguments, GDBusMethodInvocation *call, gboolean run)
{
    const char *unit, *mode;
    Settling *settling;

    g_variant_get(arguments, "(&s&s)", &unit, &mode);
    note(run ? "start" : "stop", unit);
    if (!run && strcmp(unit, "stubborn.service") == 0) {
        g_dbus_method_invocation_return_dbus_error(call, "org.freedesktop.DBus.Error.AccessDenied",
                                                   "it is not stopped for anybody");
        return;
    }
    put(unit, "", run ? "activating" : "deactivating");
    settling = g_new0(Settling, 1);
    settling->unit = g_strdup(unit);
    settling->state = run ? "active" : "inactive";
    g_timeout_add(SETTLE_MS, settled, settling);
    g_dbus_method_invocation_return_value(call,
                                          g_variant_new("(o)", "/org/freedesktop/systemd1/job/1"));
}

static void set_properties(GVariant *arguments, GDBusMethodInvocation *call)
{
    const char *unit;
    gboolean runtime;
    g_autoptr(GVariant) list = NULL;
    g_autoptr(GVariant) value = NULL;
    const char *name;
    g_autoptr(GString) hex = g_string_new(NULL);
    gsize length = 0;

    g_variant_get(arguments, "(&sb@a(sv))", &unit, &runtime, &list);
    g_variant_get_child(list, 0, "(&sv)", &name, &value);
    const guint8 *bits = g_variant_get_fixed_array(value, &length, 1);

    for (gsize i = 0; i < length; i++)
        g_string_append_printf(hex, "%02x", bits[i]);
    if (!runtime || strcmp(name, "AllowedCPUs") != 0) {
        g_dbus_method_invocation_return_dbus_error(call, "org.freedesktop.DBus.Error.InvalidArgs",
                                                   "not this");
        return;
    }
    note("cpus", unit);
    put(unit, ".cpus", hex->str);
    g_dbus_method_invocation_return_value(call, NULL);
}

static void on_manager(GDBusConnection *bus, const char *sender, const char *path,
                       const char *interface, const char *method, GVariant *arguments,
                       GDBusMethodInvocation *call, gpointer data)
{
    if (strcmp(method, "LoadUnit") == 0) {
        const char *unit;

        g_variant_get(arguments, "(&s)", &unit);
        g_autofree char *object = path_of(unit);

        g_dbus_method_invocation_return_value(call, g_variant_new("(o)", object));
    } else if (strcmp(method, "SetUnitProperties") == 0) {
        set_properties(arguments, call);
    } else {
        run_unit(arguments, call, strcmp(method, "StartUnit") == 0);
    }
}

/* ---- units: their properties ---- */

static GVariant *cpus_value(const char *unit)
{
    g_autofree char *hex = get(unit, ".cpus");
    g_autoptr(GByteArray) bits = g_byte_array_new();

    for (const char *at = hex; at != NULL && at[0] != '\0' && at[1] != '\0'; at += 2) {
        guint8 byte = (guint8)(g_ascii_xdigit_value(at[0]) * 16 + g_ascii_xdigit_value(at[1]));

        g_byte_array_append(bits, &byte, 1);
    }
    return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bits->data, bits->len, 1);
}

static GVariant *get_unit_property(GDBusConnection *bus, const char *sender, const char *path,
                                   const char *interface, const char *name, GError **error,
                                   gpointer data)
{
    g_autofree char *unit = unit_of(path);
    g_autofree char *state = get(unit, "");

    if (strcmp(name, "AllowedCPUs") == 0)
        return cpus_value(unit);
    if (strcmp(name, "LoadState") == 0)
        return g_variant_new_string(state != NULL ? "loaded" : "not-found");
    return g_variant_new_string(state != NULL ? state : "inactive");
}

/* ---- logind ---- */

/* The other end was closed: by its holder, or by the kernel when that was killed. */
static gboolean let_go(int fd, GIOCondition condition, gpointer data)
{
    note("released", "sleep");
    close(fd);
    return G_SOURCE_REMOVE;
}

static void on_logind(GDBusConnection *bus, const char *sender, const char *path,
                      const char *interface, const char *method, GVariant *arguments,
                      GDBusMethodInvocation *call, gpointer data)
{
    g_autoptr(GUnixFDList) fds = g_unix_fd_list_new();
    const char *what, *who, *why, *mode;
    int ends[2];

    g_variant_get(arguments, "(&s&s&s&s)", &what, &who, &why, &mode);
    g_autofree char *about = g_strdup_printf("%s %s %s", what, who, mode);

    note("inhibit", about);
    if (pipe2(ends, O_CLOEXEC) != 0)
        g_error("pipe");
    g_unix_fd_list_append(fds, ends[1], NULL);
    close(ends[1]);
    g_unix_fd_add(ends[0], G_IO_HUP, let_go, NULL);
    g_dbus_method_invocation_return_value_with_unix_fd_list(call, g_variant_new("(h)", 0), fds);
}

/* ---- the bus ---- */

static const char xml[] =
    "<node><interface name='org.freedesktop.systemd1.Manager'>"
    "<method name='LoadUnit'><arg type='s' direction='in'/><arg type='o' direction='out'/></method>"
    "<method name='StartUnit'><arg type='s' direction='in'/><arg type='s' direction='in'/>"
    "<arg type='o' direction='out'/></method>"
    "<method name='StopUnit'><arg type='s' direction='in'/><arg type='s' direction='in'/>"
    "<arg type='o' direction='out'/></method>"
    "<method name='SetUnitProperties'><arg type='s' direction='in'/><arg type='b' direction='in'/>"
    "<arg type='a(sv)' direction='in'/></method></interface>"
    "<interface name='org.freedesktop.systemd1.Unit'>"
    "<property name='LoadState' type='s' access='read'/>"
    "<property name='ActiveState' type='s' access='read'/></interface>"
    "<interface name='org.freedesktop.systemd1.Slice'>"
    "<property name='AllowedCPUs' type='ay' access='read'/></interface>"
    "<interface name='org.freedesktop.systemd1.Scope'>"
    "<property name='AllowedCPUs' type='ay' access='read'/></interface>"
    "<interface name='org.freedesktop.login1.Manager'>"
    "<method name='Inhibit'><arg type='s' direction='in'/><arg type='s' direction='in'/>"
    "<arg type='s' direction='in'/><arg type='s' direction='in'/>"
    "<arg type='h' direction='out'/></method></interface></node>";

static GDBusNodeInfo *node;
static const GDBusInterfaceVTable manager_table = {.method_call = on_manager};
static const GDBusInterfaceVTable logind_table = {.method_call = on_logind};
static const GDBusInterfaceVTable unit_table = {.get_property = get_unit_property};

/* Every unit that anybody asks for has an object, as LoadUnit promised. */
static GDBusInterfaceInfo **introspect(GDBusConnection *bus, const char *sender, const char *path,
                                       const char *unit, gpointer data)
{
    GDBusInterfaceInfo **list = g_new0(GDBusInterfaceInfo *, 4);

    for (guint i = 0; i < 3; i++)
        list[i] = g_dbus_interface_info_ref(node->interfaces[i + 1]);
    return list;
}

static char **enumerate(GDBusConnection *bus, const char *sender, const char *path, gpointer data)
{
    return g_new0(char *, 1);
}

static const GDBusInterfaceVTable *dispatch(GDBusConnection *bus, const char *sender,
                                            const char *path, const char *interface,
                                            const char *unit, gpointer *ret_data, gpointer data)
{
    return &unit_table;
}

static const GDBusSubtreeVTable units_table = {
    .enumerate = enumerate, .introspect = introspect, .dispatch = dispatch};

static void on_name(GDBusConnection *bus, const char *name, gpointer data)
{
    static int names;

    if (++names == 2) {
        puts("ready");
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
    g_autoptr(GError) error = NULL;
    g_autoptr(GDBusConnection) bus = g_bus_get_sync(G_BUS_TYPE_SYSTEM, NULL, &error);

    if (bus == NULL || argc != 2)
        g_error("systemd-stand-in FOLDER: %s", error != NULL ? error->message : "no folder");
    folder = argv[1];
    node = g_dbus_node_info_new_for_xml(xml, &error);
    g_assert_no_error(error);
    g_dbus_connection_register_object(bus, "/org/freedesktop/systemd1", node->interfaces[0],
                                      &manager_table, NULL, NULL, &error);
    g_assert_no_error(error);
    g_dbus_connection_register_object(bus, "/org/freedesktop/login1", node->interfaces[4],
                                      &logind_table, NULL, NULL, &error);
    g_assert_no_error(error);
    g_dbus_connection_register_subtree(bus, "/org/freedesktop/systemd1/unit", &units_table,
                                       G_DBUS_SUBTREE_FLAGS_DISPATCH_TO_UNENUMERATED_NODES, NULL,
                                       NULL, &error);
    g_assert_no_error(error);
    g_bus_own_name_on_connection(bus, "org.freedesktop.systemd1", G_BUS_NAME_OWNER_FLAGS_NONE,
                                 on_name, NULL, NULL, NULL);
    g_bus_own_name_on_connection(bus, "org.freedesktop.login1", G_BUS_NAME_OWNER_FLAGS_NONE,
                                 on_name, NULL, NULL, NULL);
    g_main_loop_run(loop);
    return 0;
}
