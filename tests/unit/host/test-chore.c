/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "fake-tree.h"
#include "host/chore.h"

/* Everything found, in words, a line each. */
static char *find_all(const char *root)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ProcessTable) table = process_table_read(root, &error);
    g_autoptr(GString) text = g_string_new(NULL);

    g_assert_no_error(error);
    g_autoptr(GPtrArray) found = chore_find(root, table);

    for (guint i = 0; i < found->len; i++) {
        g_autofree char *line = chore_format(g_ptr_array_index(found, i));

        g_string_append_printf(text, "%s\n", line);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* words: with NULs between; its own trailing NUL counts. */
#define PUT_COMMAND(root, pid, words)                                                              \
    fake_tree_put_bytes((root), "/proc/" #pid "/cmdline", (words), sizeof(words))

static void test_guests(void)
{
    char *root = fake_tree_new();
    g_autofree char *found = NULL;

    fake_tree_process(root, 10, "qemu-system-x86", 'S', 0, 0);
    PUT_COMMAND(root, 10, "/usr/bin/qemu-system-x86_64\0-name\0guest=mint,debug-threads=on\0-S");
    fake_tree_process(root, 11, "qemu-kvm", 'S', 0, 0);
    PUT_COMMAND(root, 11, "/usr/libexec/qemu-kvm\0-m\0001024");
    fake_tree_process(root, 12, "VBoxHeadless", 'S', 0, 0);
    PUT_COMMAND(root, 12, "/usr/lib/virtualbox/VBoxHeadless\0--comment\0old xp\0--startvm\0u-u");
    fake_tree_process(root, 13, "vmware-vmx", 'S', 0, 0);
    PUT_COMMAND(root, 13, "/usr/lib/vmware/bin/vmware-vmx\0-s\0/vm/w.vmx");
    fake_tree_process(root, 14, "libvirt_lxc", 'S', 0, 0);
    PUT_COMMAND(root, 14, "/usr/libexec/libvirt_lxc\0--name\0box\0--console\00021");
    /* It has ended, and nobody has collected it yet. */
    fake_tree_process(root, 15, "qemu-system-arm", 'Z', 0, 0);
    fake_tree_process(root, 16, "qemu-img", 'R', 0, 0);
    fake_tree_process(root, 17, "libvirtd", 'S', 0, 0);
    found = find_all(root);
    g_assert_cmpstr(found, ==,
                    "guest mint (qemu-system-x86_64, pid 10)\n"
                    "guest qemu-kvm (pid 11)\n"
                    "guest old xp (VBoxHeadless, pid 12)\n"
                    "guest /vm/w.vmx (vmware-vmx, pid 13)\n"
                    "guest box (libvirt_lxc, pid 14)\n");
    fake_tree_free(root);
}

static void test_programs(void)
{
    char *root = fake_tree_new();
    g_autofree char *found = NULL;

    fake_tree_process(root, 20, "apt-get", 'S', 0, 0);
    PUT_COMMAND(root, 20, "apt-get\0upgrade");
    fake_tree_process(root, 21, "unattended-upgr", 'S', 0, 0);
    PUT_COMMAND(root, 21, "/usr/bin/python3\0/usr/bin/unattended-upgrade\0-v");
    /* Sits there for ever, and does nothing until the machine goes down. */
    fake_tree_process(root, 22, "unattended-upgr", 'S', 0, 0);
    PUT_COMMAND(root, 22,
                "/usr/bin/python3\0/usr/share/unattended-upgrades/unattended-upgrade-shutdown\0"
                "--wait-for-signal");
    fake_tree_process(root, 23, "restic", 'S', 0, 0);
    fake_tree_process(root, 24, "md127_resync", 'S', 0, 0);
    fake_tree_process(root, 25, "updatedb.plocat", 'D', 0, 0);
    PUT_COMMAND(root, 25, "/usr/sbin/updatedb.plocate");
    fake_tree_process(root, 26, "packagekitd", 'S', 0, 0);
    fake_tree_process(root, 27, "aptd-helper", 'S', 0, 0);
    fake_tree_process(root, 28, "tar", 'S', 0, 0);
    found = find_all(root);
    g_assert_cmpstr(found, ==,
                    "package manager apt-get (pid 20)\n"
                    "package manager unattended-upgr (pid 21)\n"
                    "backup restic (pid 23)\n"
                    "upkeep md127_resync (pid 24)\n"
                    "upkeep updatedb.plocate (pid 25)\n");
    fake_tree_free(root);
}

static void test_units(void)
{
    char *root = fake_tree_new();
    g_autofree char *found = NULL;

    fake_tree_process(root, 1, "systemd", 'S', 0, 0);
    fake_tree_put(root, "/sys/fs/cgroup/system.slice/apt-daily.service/cgroup.events",
                  "populated 1\nfrozen 0\n");
    fake_tree_put(root, "/sys/fs/cgroup/system.slice/man-db.service/cgroup.events",
                  "populated 0\nfrozen 0\n");
    fake_tree_put(root, "/sys/fs/cgroup/systemd/system.slice/fstrim.service/tasks", "77\n");
    fake_tree_put(root, "/sys/fs/cgroup/system.slice/ssh.service/cgroup.events", "populated 1\n");
    found = find_all(root);
    g_assert_cmpstr(found, ==, "package manager apt-daily.service\nupkeep fstrim.service\n");
    fake_tree_free(root);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/chore/guests", test_guests);
    g_test_add_func("/chore/programs", test_programs);
    g_test_add_func("/chore/units", test_units);
    return g_test_run();
}
