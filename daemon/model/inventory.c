/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/inventory.h"

#include <gio/gio.h>
#include <string.h>

#include "model/yaml.h"
#include "util/io.h"

/* What differs between drivers as far as an inventory is concerned. */
typedef struct {
    const char *name;
    const char *uri_example; /* NULL: has no URI */
    Accelerator accelerator; /* where the inventory names none; NONE with a URI: it must */
    gboolean boots_kernel;   /* can start a kernel and initramfs without a disk */
} Driver;

static const Driver drivers[] = {
    {"bare", NULL, ACCELERATOR_NONE, FALSE},
    {"qemu", "qemu:///system or qemu:///session", ACCELERATOR_NONE, TRUE},
    {"vbox", "vbox:///session", ACCELERATOR_NATIVE, FALSE},
    {"vmware", "vmwareplayer:///session or vmwarews:///session", ACCELERATOR_NATIVE, FALSE},
    {"xen", "xen:///system", ACCELERATOR_NATIVE, TRUE},
    {"lxc", "lxc:///system", ACCELERATOR_NATIVE, FALSE},
    {"esx", "esx://HOST/", ACCELERATOR_NATIVE, FALSE},
    {"bhyve", "bhyve:///system", ACCELERATOR_NATIVE, FALSE},
    {"hyperv", "hyperv://HOST/", ACCELERATOR_NATIVE, FALSE},
};

static const char *const driver_names[] = {"bare", "qemu", "vbox",  "vmware", "xen",
                                           "lxc",  "esx",  "bhyve", "hyperv", NULL};
static const char *const accelerators[] = {"none", "kvm", "tcg", "native", NULL};
static const char *const formats[] = {"qcow2", "raw", "vdi", "vmdk", "vhdx", NULL};
static const char *const firmwares[] = {"bios", "uefi", NULL};
static const char *const addresses[] = {"forward", "lease", "agent", "arp", "fixed", "auto", NULL};
static const char *const shutdowns[] = {"acpi", "destroy", NULL};

const char *accelerator_name(Accelerator accelerator)
{
    return accelerators[accelerator];
}

const char *address_method_name(AddressMethod method)
{
    return addresses[method];
}

static const Driver *find_driver(const char *name)
{
    for (guint i = 0; i < G_N_ELEMENTS(drivers); i++) {
        if (strcmp(drivers[i].name, name) == 0)
            return &drivers[i];
    }
    return NULL;
}

/* ---- readers of single values ---- */

/* One of field->choices, kept as text. */
static gboolean read_word(const Node *value, const NodeField *field, gpointer member,
                          GError **error)
{
    guint index;

    if (!node_read_choice(value, field, &index, error))
        return FALSE;
    g_free(*(char **)member);
    *(char **)member = g_strdup(field->choices[index]);
    return TRUE;
}

/* A path on this machine: "~/" is the home folder, a relative one belongs to the inventory's. */
static gboolean read_path(const Node *value, const NodeField *field, gpointer member,
                          GError **error)
{
    char **path = member;

    if (!node_read_string(value, field, member, error))
        return FALSE;
    g_autofree char *written = g_steal_pointer(path);
    g_autofree char *file = g_canonicalize_filename(value->path, NULL);
    g_autofree char *folder = g_path_get_dirname(file);

    if (g_str_has_prefix(written, "~/"))
        *path = g_build_filename(g_get_home_dir(), written + 2, NULL);
    else if (g_path_is_absolute(written))
        *path = g_steal_pointer(&written);
    else
        *path = g_build_filename(folder, written, NULL);
    return TRUE;
}

static gboolean read_address(const Node *value, const NodeField *field, gpointer member,
                             GError **error)
{
    if (!node_read_string(value, field, member, error))
        return FALSE;
    return g_hostname_is_ip_address(value->text) ||
           node_fail(value, error, "%s: \"%s\" is not a numeric IPv4 or IPv6 address", field->key,
                     value->text);
}

/* Whether the base64 text is a public key of that type: it begins with the type's name, preceded by
 * its length in four bytes (RFC 4253, 6.6). */
static gboolean is_key_of(const char *type, const char *base64)
{
    gsize length = strlen(type), size;
    g_autofree guchar *blob = g_base64_decode(base64, &size);

    return size > length + 4 && blob[0] == 0 && blob[1] == 0 && blob[2] == 0 &&
           blob[3] == (guchar)length && memcmp(blob + 4, type, length) == 0;
}

static gboolean read_host_key(const Node *value, const NodeField *field, gpointer member,
                              GError **error)
{
    static const char *const types[] = {"ssh-ed25519",
                                        "ecdsa-sha2-nistp256",
                                        "ecdsa-sha2-nistp384",
                                        "ecdsa-sha2-nistp521",
                                        "ssh-rsa",
                                        NULL};
    InventoryGuest *guest = member;

    if (!node_expect(value, NODE_SCALAR, field->key, error))
        return FALSE;
    if (strcmp(value->text, "enrolled") == 0) {
        guest->host_key = HOST_KEY_ENROLLED;
        return TRUE;
    }
    if (strcmp(value->text, "accept-new-per-boot") == 0) {
        guest->host_key = HOST_KEY_PER_BOOT;
        return TRUE;
    }
    g_auto(GStrv) words = g_strsplit(value->text, " ", 3); /* the third is a comment */

    if (g_strv_length(words) < 2 || !g_strv_contains(types, words[0]) ||
        !is_key_of(words[0], words[1]))
        return node_fail(value, error,
                         "host-key: must be enrolled, accept-new-per-boot, or a public key such as "
                         "\"ssh-ed25519 AAAA…\" (the guest's /etc/ssh/ssh_host_ed25519_key.pub)");
    guest->host_key = HOST_KEY_LITERAL;
    g_free(guest->host_key_literal);
    guest->host_key_literal = g_strdup_printf("%s %s", words[0], words[1]);
    return TRUE;
}

/* ---- hypervisors ---- */

static const NodeField hypervisor_fields[] = {
    {.key = "driver",
     .read = read_word,
     .offset = offsetof(InventoryHypervisor, driver),
     .required = TRUE,
     .choices = driver_names},
    {.key = "uri", .read = node_read_string, .offset = offsetof(InventoryHypervisor, uri)},
    {.key = "accelerator",
     .read = node_read_choice,
     .offset = offsetof(InventoryHypervisor, accelerator),
     .choices = accelerators + ACCELERATOR_KVM, /* none is bare's, and is not written */
     .min = ACCELERATOR_KVM},
    {.key = "machine", .read = node_read_name, .offset = offsetof(InventoryHypervisor, machine)},
    {.key = "domain", .read = read_path, .offset = offsetof(InventoryHypervisor, domain_template)},
    {NULL},
};

static void hypervisor_free(gpointer data)
{
    InventoryHypervisor *hypervisor = data;

    g_free(hypervisor->name);
    g_free(hypervisor->driver);
    g_free(hypervisor->uri);
    g_free(hypervisor->machine);
    g_free(hypervisor->domain_template);
    g_free(hypervisor);
}

static gboolean check_bare(const InventoryHypervisor *hypervisor, const Node *map, GError **error)
{
    static const char *const meaningless[] = {"uri", "accelerator", "machine", "domain"};

    for (guint i = 0; i < G_N_ELEMENTS(meaningless); i++) {
        const Node *value = node_get(map, meaningless[i]);

        if (value != NULL)
            return node_fail(value, error,
                             "hypervisor %s: \"%s\" means nothing to driver bare: take it out",
                             hypervisor->name, meaningless[i]);
    }
    return TRUE;
}

static gboolean check_qemu(const InventoryHypervisor *hypervisor, const Node *map, GError **error)
{
    const Node *value = node_get(map, "accelerator");

    if (value == NULL)
        return node_fail(
            map, error,
            "hypervisor %s: the key \"accelerator\" is missing: driver qemu needs kvm, "
            "or tcg (emulation, slow; never taken by itself)",
            hypervisor->name);
    if (hypervisor->accelerator != ACCELERATOR_KVM && hypervisor->accelerator != ACCELERATOR_TCG)
        return node_fail(value, error,
                         "hypervisor %s: accelerator \"%s\" is not for driver qemu: kvm or tcg",
                         hypervisor->name, value->text);
    return TRUE;
}

static gboolean check_native(const InventoryHypervisor *hypervisor, const Node *map, GError **error)
{
    const Node *value = node_get(map, "accelerator");

    if (value != NULL && hypervisor->accelerator != ACCELERATOR_NATIVE)
        return node_fail(value, error,
                         "hypervisor %s: accelerator \"%s\" is not for driver %s, which has its "
                         "own: write native, or nothing",
                         hypervisor->name, value->text, hypervisor->driver);
    return TRUE;
}

static gboolean check_hypervisor(InventoryHypervisor *hypervisor, const Node *map, GError **error)
{
    const Driver *driver = find_driver(hypervisor->driver);

    if (driver->uri_example == NULL)
        return check_bare(hypervisor, map, error);
    if (hypervisor->uri == NULL)
        return node_fail(
            map, error, "hypervisor %s: the key \"uri\" is missing: for driver %s it is such as %s",
            hypervisor->name, driver->name, driver->uri_example);
    if (strcmp(driver->name, "qemu") == 0)
        return check_qemu(hypervisor, map, error);
    if (!check_native(hypervisor, map, error))
        return FALSE;
    hypervisor->accelerator = driver->accelerator;
    return TRUE;
}

static InventoryHypervisor *add_hypervisor(Inventory *inventory, const char *name)
{
    InventoryHypervisor *hypervisor = g_new0(InventoryHypervisor, 1);

    hypervisor->name = g_strdup(name);
    g_ptr_array_add(inventory->hypervisors, hypervisor);
    return hypervisor;
}

static gboolean read_hypervisor(Inventory *inventory, const Node *key, const Node *value,
                                GError **error)
{
    g_autofree char *what = g_strdup_printf("hypervisor %s", key->text);

    if (strcmp(key->text, "bare") == 0)
        return node_fail(key, error, "hypervisor bare is built in: take another name, or none");
    InventoryHypervisor *hypervisor = add_hypervisor(inventory, key->text);

    hypervisor->line = key->line;
    hypervisor->column = key->column;
    return node_read_fields(value, what, hypervisor_fields, hypervisor, error) &&
           check_hypervisor(hypervisor, value, error);
}

/* ---- guests ---- */

static const NodeField guest_fields[] = {
    {.key = "disk", .read = read_path, .offset = offsetof(InventoryGuest, disk)},
    {.key = "format",
     .read = read_word,
     .offset = offsetof(InventoryGuest, disk_format),
     .choices = formats},
    {.key = "kernel", .read = read_path, .offset = offsetof(InventoryGuest, kernel)},
    {.key = "initrd", .read = read_path, .offset = offsetof(InventoryGuest, initrd)},
    {.key = "cmdline", .read = node_read_text, .offset = offsetof(InventoryGuest, cmdline)},
    {.key = "firmware",
     .read = read_word,
     .offset = offsetof(InventoryGuest, firmware),
     .choices = firmwares},
    {.key = "address",
     .read = node_read_choice,
     .offset = offsetof(InventoryGuest, address),
     .choices = addresses},
    {.key = "network", .read = node_read_string, .offset = offsetof(InventoryGuest, network)},
    {.key = "fixed-address",
     .read = read_address,
     .offset = offsetof(InventoryGuest, fixed_address)},
    {.key = "port",
     .read = node_read_uint,
     .offset = offsetof(InventoryGuest, port),
     .min = 1,
     .max = 65535},
    {.key = "user", .read = node_read_string, .offset = offsetof(InventoryGuest, user)},
    {.key = "key", .read = read_path, .offset = offsetof(InventoryGuest, key), .required = TRUE},
    {.key = "host-key", .read = read_host_key},
    {.key = "shutdown",
     .read = node_read_choice,
     .offset = offsetof(InventoryGuest, shutdown),
     .choices = shutdowns},
    {.key = "agent", .read = read_path, .offset = offsetof(InventoryGuest, agent)},
    {.key = "folder", .read = node_read_string, .offset = offsetof(InventoryGuest, folder)},
    {NULL},
};

static void guest_free(gpointer data)
{
    InventoryGuest *guest = data;

    g_free(guest->name);
    g_free(guest->disk);
    g_free(guest->disk_format);
    g_free(guest->kernel);
    g_free(guest->initrd);
    g_free(guest->cmdline);
    g_free(guest->firmware);
    g_free(guest->network);
    g_free(guest->fixed_address);
    g_free(guest->user);
    g_free(guest->key);
    g_free(guest->host_key_literal);
    g_free(guest->agent);
    g_free(guest->folder);
    g_free(guest);
}

static gboolean check_boot(const InventoryGuest *guest, const Node *map, GError **error)
{
    /* A key that means nothing without another one. */
    static const struct {
        const char *key, *needs;
    } pairs[] = {{"format", "disk"}, {"initrd", "kernel"}, {"cmdline", "kernel"}};

    if (guest->disk == NULL && guest->kernel == NULL)
        return node_fail(map, error, "guest %s: nothing to boot: give it a disk or a kernel",
                         guest->name);
    for (guint i = 0; i < G_N_ELEMENTS(pairs); i++) {
        const Node *value = node_get(map, pairs[i].key);

        if (value != NULL && node_get(map, pairs[i].needs) == NULL)
            return node_fail(value, error, "guest %s: \"%s\" means nothing without \"%s\"",
                             guest->name, pairs[i].key, pairs[i].needs);
    }
    return TRUE;
}

static gboolean check_address(const InventoryGuest *guest, const Node *map, GError **error)
{
    gboolean fixed = guest->address == ADDRESS_FIXED, forward = guest->address == ADDRESS_FORWARD;
    const char *method = address_method_name(guest->address);

    if (forward && guest->network != NULL)
        return node_fail(node_get(map, "network"), error,
                         "guest %s: address forward takes no network: take it out, or write "
                         "address: auto",
                         guest->name);
    if (!forward && guest->network == NULL)
        return node_fail(map, error,
                         "guest %s: the key \"network\" is missing: address %s needs the name of a "
                         "libvirt network or bridge",
                         guest->name, method);
    if (fixed && guest->fixed_address == NULL)
        return node_fail(map, error,
                         "guest %s: the key \"fixed-address\" is missing: address fixed needs it",
                         guest->name);
    if (!fixed && guest->fixed_address != NULL)
        return node_fail(node_get(map, "fixed-address"), error,
                         "guest %s: fixed-address means nothing with address %s: write address: "
                         "fixed",
                         guest->name, method);
    return TRUE;
}

static InventoryGuest *add_guest(Inventory *inventory, const Node *key)
{
    InventoryGuest *guest = g_new0(InventoryGuest, 1);

    guest->name = g_strdup(key->text);
    guest->firmware = g_strdup("bios");
    guest->address = ADDRESS_FORWARD;
    guest->port = 22;
    guest->user = g_strdup("root");
    guest->host_key = HOST_KEY_ENROLLED;
    guest->shutdown = SHUTDOWN_ACPI;
    guest->line = key->line;
    guest->column = key->column;
    g_ptr_array_add(inventory->guests, guest);
    return guest;
}

/* host-key is read into the whole guest: its field has offset 0. */
static gboolean read_guest(Inventory *inventory, const Node *key, const Node *value, GError **error)
{
    g_autofree char *what = g_strdup_printf("guest %s", key->text);
    InventoryGuest *guest = add_guest(inventory, key);

    return node_read_fields(value, what, guest_fields, guest, error) &&
           check_boot(guest, value, error) && check_address(guest, value, error);
}

/* ---- the file ---- */

typedef gboolean (*EntryReader)(Inventory *inventory, const Node *key, const Node *value,
                                GError **error);

/* A mapping from names to entries. */
static gboolean read_entries(const Node *map, const NodeField *field, Inventory *inventory,
                             EntryReader read, GError **error)
{
    if (!node_expect(map, NODE_MAP, field->key, error))
        return FALSE;
    for (guint i = 0; i < map->keys->len; i++) {
        const Node *key = g_ptr_array_index(map->keys, i);
        g_autofree char *name = NULL;

        if (!node_read_name(key, field, &name, error) ||
            !read(inventory, key, g_ptr_array_index(map->items, i), error))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_hypervisors(const Node *value, const NodeField *field, gpointer member,
                                 GError **error)
{
    return read_entries(value, field, member, read_hypervisor, error);
}

static gboolean read_guests(const Node *value, const NodeField *field, gpointer member,
                            GError **error)
{
    return read_entries(value, field, member, read_guest, error);
}

static const NodeField inventory_fields[] = {
    {.key = "version", .read = node_read_version, .required = TRUE},
    {.key = "hypervisors", .read = read_hypervisors},
    {.key = "guests", .read = read_guests},
    {NULL},
};

static Inventory *inventory_new(const char *path, const char *text, gsize length)
{
    Inventory *inventory = g_new0(Inventory, 1);

    inventory->path = g_strdup(path);
    inventory->text = g_strndup(text, length);
    inventory->digest =
        g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text, length);
    inventory->hypervisors = g_ptr_array_new_with_free_func(hypervisor_free);
    inventory->guests = g_ptr_array_new_with_free_func(guest_free);
    add_hypervisor(inventory, "bare")->driver = g_strdup("bare");
    return inventory;
}

Inventory *inventory_parse(const char *path, const char *text, gssize length, GError **error)
{
    gsize size = length < 0 ? strlen(text) : (gsize)length;
    g_autoptr(NodeTree) tree = node_tree_parse(path, text, size, error);

    if (tree == NULL)
        return NULL;
    g_autoptr(Inventory) inventory = inventory_new(path, text, size);

    if (!node_read_fields(tree->root, "the inventory", inventory_fields, inventory, error))
        return NULL;
    return g_steal_pointer(&inventory);
}

Inventory *inventory_load(const char *path, GError **error)
{
    gsize length;
    g_autofree char *text = io_read_file(path, YAML_BYTES_MAX, &length, error);

    return text == NULL ? NULL : inventory_parse(path, text, (gssize)length, error);
}

void inventory_free(Inventory *inventory)
{
    if (inventory == NULL)
        return;
    g_free(inventory->path);
    g_free(inventory->text);
    g_free(inventory->digest);
    g_clear_pointer(&inventory->hypervisors, g_ptr_array_unref);
    g_clear_pointer(&inventory->guests, g_ptr_array_unref);
    g_free(inventory);
}

const InventoryHypervisor *inventory_hypervisor(const Inventory *inventory, const char *name)
{
    for (guint i = 0; i < inventory->hypervisors->len; i++) {
        const InventoryHypervisor *hypervisor = g_ptr_array_index(inventory->hypervisors, i);

        if (strcmp(hypervisor->name, name) == 0)
            return hypervisor;
    }
    return NULL;
}

const InventoryGuest *inventory_guest(const Inventory *inventory, const char *name)
{
    for (guint i = 0; i < inventory->guests->len; i++) {
        const InventoryGuest *guest = g_ptr_array_index(inventory->guests, i);

        if (strcmp(guest->name, name) == 0)
            return guest;
    }
    return NULL;
}

gboolean inventory_boots_kernel(const InventoryHypervisor *hypervisor)
{
    return find_driver(hypervisor->driver)->boots_kernel;
}
