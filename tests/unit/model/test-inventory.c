/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "model/inventory.h"
#include "util/error.h"

static Inventory *parse(const char *path, const char *text)
{
    g_autoptr(GError) error = NULL;
    Inventory *inventory = inventory_parse(path, text, -1, &error);

    g_assert_no_error(error);
    g_assert_nonnull(inventory);
    return inventory;
}

static void test_bare(void)
{
    g_autoptr(Inventory) inventory = parse("i.yaml", "version: 1\n");
    const InventoryHypervisor *bare = inventory_hypervisor(inventory, "bare");

    g_assert_cmpuint(inventory->hypervisors->len, ==, 1);
    g_assert_cmpstr(bare->driver, ==, "bare");
    g_assert_cmpint(bare->accelerator, ==, ACCELERATOR_NONE);
    g_assert_null(bare->uri);
    g_assert_null(inventory_hypervisor(inventory, "kvm"));
    g_assert_null(inventory_guest(inventory, "bare"));
}

static void test_hypervisors(void)
{
    g_autoptr(Inventory) inventory =
        parse("/etc/v/i.yaml", "version: 1\n"
                               "hypervisors:\n"
                               "  emulated: {driver: qemu, uri: \"qemu:///session\", accelerator: "
                               "tcg, machine: q35, domain: t/q.xml}\n"
                               "  vb: {driver: vbox, uri: \"vbox:///session\"}\n"
                               "  metal: {driver: bare}\n");
    const InventoryHypervisor *emulated = inventory_hypervisor(inventory, "emulated");
    const InventoryHypervisor *vb = inventory_hypervisor(inventory, "vb");

    g_assert_cmpstr(emulated->uri, ==, "qemu:///session");
    g_assert_cmpint(emulated->accelerator, ==, ACCELERATOR_TCG);
    g_assert_cmpstr(emulated->machine, ==, "q35");
    g_assert_cmpstr(emulated->domain_template, ==, "/etc/v/t/q.xml");
    g_assert_cmpuint(emulated->line, ==, 3);
    g_assert_cmpuint(emulated->column, ==, 3);
    g_assert_true(inventory_boots_kernel(emulated));
    g_assert_cmpint(vb->accelerator, ==, ACCELERATOR_NATIVE);
    g_assert_false(inventory_boots_kernel(vb));
    g_assert_cmpint(inventory_hypervisor(inventory, "metal")->accelerator, ==, ACCELERATOR_NONE);
}

static void test_guest_defaults(void)
{
    g_autoptr(Inventory) inventory =
        parse("/etc/v/i.yaml", "version: 1\nguests: {no: {disk: /d.img, key: ~/k}}\n");
    const InventoryGuest *guest = inventory_guest(inventory, "no");
    g_autofree char *key = g_build_filename(g_get_home_dir(), "k", NULL);

    g_assert_cmpstr(guest->disk, ==, "/d.img");
    g_assert_cmpstr(guest->key, ==, key);
    g_assert_null(guest->disk_format);
    g_assert_null(guest->kernel);
    g_assert_null(guest->cmdline);
    g_assert_cmpstr(guest->firmware, ==, "bios");
    g_assert_cmpint(guest->address, ==, ADDRESS_FORWARD);
    g_assert_cmpuint(guest->port, ==, 22);
    g_assert_cmpstr(guest->user, ==, "root");
    g_assert_cmpint(guest->host_key, ==, HOST_KEY_ENROLLED);
    g_assert_cmpint(guest->shutdown, ==, SHUTDOWN_ACPI);
    g_assert_null(guest->agent);
    g_assert_null(guest->folder);
}

static void test_guest_fields(void)
{
    g_autoptr(Inventory) inventory =
        parse("site/i.yaml",
              "version: 1\nguests:\n  g:\n    disk: d\n    format: raw\n    kernel: ../k\n"
              "    initrd: i\n    cmdline: a b\n    firmware: uefi\n    address: fixed\n"
              "    network: br0\n    fixed-address: \"2001:db8::7\"\n    port: 2222\n    user: me\n"
              "    key: k\n    host-key: ssh-ed25519 "
              "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f a comment\n"
              "    shutdown: destroy\n    agent: a\n    folder: /var/tmp\n");
    const InventoryGuest *guest = inventory_guest(inventory, "g");
    g_autofree char *here = g_get_current_dir();
    g_autofree char *disk = g_build_filename(here, "site", "d", NULL);
    g_autofree char *kernel = g_build_filename(here, "site", "../k", NULL);

    g_assert_cmpstr(guest->disk, ==, disk);
    g_assert_cmpstr(guest->kernel, ==, kernel);
    g_assert_cmpstr(guest->disk_format, ==, "raw");
    g_assert_cmpstr(guest->cmdline, ==, "a b");
    g_assert_cmpstr(guest->firmware, ==, "uefi");
    g_assert_cmpint(guest->address, ==, ADDRESS_FIXED);
    g_assert_cmpstr(guest->network, ==, "br0");
    g_assert_cmpstr(guest->fixed_address, ==, "2001:db8::7");
    g_assert_cmpuint(guest->port, ==, 2222);
    g_assert_cmpint(guest->host_key, ==, HOST_KEY_LITERAL);
    g_assert_cmpstr(guest->host_key_literal, ==,
                    "ssh-ed25519 "
                    "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f");
    g_assert_cmpint(guest->shutdown, ==, SHUTDOWN_DESTROY);
    g_assert_cmpstr(guest->folder, ==, "/var/tmp"); /* the guest's, not resolved here */
}

static void test_names(void)
{
    g_assert_cmpstr(accelerator_name(ACCELERATOR_NONE), ==, "none");
    g_assert_cmpstr(accelerator_name(ACCELERATOR_KVM), ==, "kvm");
    g_assert_cmpstr(accelerator_name(ACCELERATOR_TCG), ==, "tcg");
    g_assert_cmpstr(accelerator_name(ACCELERATOR_NATIVE), ==, "native");
    g_assert_cmpstr(address_method_name(ADDRESS_FORWARD), ==, "forward");
    g_assert_cmpstr(address_method_name(ADDRESS_FIXED), ==, "fixed");
    g_assert_cmpstr(address_method_name(ADDRESS_AUTO), ==, "auto");
}

static void test_missing_file(void)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(inventory_load("/nonexistent/i.yaml", &error));
    g_assert_true(vm_error_is(error, VM_ERROR_ENVIRONMENT));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/inventory/bare", test_bare);
    g_test_add_func("/inventory/hypervisors", test_hypervisors);
    g_test_add_func("/inventory/guest-defaults", test_guest_defaults);
    g_test_add_func("/inventory/guest-fields", test_guest_fields);
    g_test_add_func("/inventory/names", test_names);
    g_test_add_func("/inventory/missing-file", test_missing_file);
    return g_test_run();
}
