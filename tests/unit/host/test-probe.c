/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "host/probe.h"
#include "host/virtualisation.h"
#include "util/cpulist.h"
#include "util/error.h"

typedef struct {
    const char *name, *value; /* value NULL: the fact must be absent */
} Expected;

static void check_facts(const char *tree, const Expected *expected)
{
    g_autofree char *root = g_build_filename(TEST_DATA, tree, NULL);
    g_autoptr(GHashTable) facts = host_facts(root);

    for (; expected->name != NULL; expected++) {
        g_test_message("%s: %s", tree, expected->name);
        g_assert_cmpstr(g_hash_table_lookup(facts, expected->name), ==, expected->value);
    }
}

static void test_intel(void)
{
    static const Expected expected[] = {
        {"host.boot-id", "1b7b1f0c-9a25-4dc0-8a35-1b9f1f5f0001"},
        {"host.name", "lab-intel"},
        {"host.machine-id", NULL},
        {"os.name", "Debian GNU/Linux"},
        {"os.version", "12"},
        {"kernel.release", "6.1.0-18-amd64"},
        {"kernel.cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet"},
        {"cpu.model", "Intel(R) Core(TM) i5-6300U CPU @ 2.40GHz"},
        {"cpu.count", "4"},
        {"cpu.online", "0-3"},
        {"cpu.microcode", "0xf0"},
        {"cpu.flags", "fpu vme tsc msr vmx ept"},
        {"cpu.smt", "on"},
        {"cpu.governor", "performance,powersave"},
        {"cpu.mitigations.meltdown", "Mitigation: PTI"},
        {"cpu.mitigations.mds", "Mitigation: Clear CPU buffers; SMT vulnerable"},
        {"cpu.mitigations.retbleed", "Vulnerable"},
        {"memory.total", "8207478784"},
        {"memory.thp", "madvise"},
        {"clocksource", "tsc"},
        {"virtualisation", "none"},
        {"numa.nodes", "1"},
        {NULL, NULL},
    };

    check_facts("intel", expected);
}

static void test_amd(void)
{
    static const Expected expected[] = {
        {"host.machine-id", NULL},
        {"os.name", "Rocky Linux"},
        {"os.version", "9.3"},
        {"cpu.model", "AMD EPYC 7302 16-Core Processor"},
        {"cpu.count", "4"}, /* present, not online */
        {"cpu.online", "0-1"},
        {"cpu.smt", "off"},
        {"cpu.governor", "schedutil"},
        {"cpu.mitigations.spec_rstack_overflow", "Vulnerable: Safe RET, no microcode"},
        {"memory.total", "270174904320"},
        {"memory.thp", "always"},
        {"clocksource", "hpet"},
        {"virtualisation", "none"},
        {"numa.nodes", "2"},
        {NULL, NULL},
    };

    check_facts("amd", expected);
}

/* A small virtual machine: no cpufreq, no SMT control, no DMI, an empty machine-id. */
static void test_minimal(void)
{
    static const Expected expected[] = {
        {"host.name", "sandbox"},
        {"host.machine-id", NULL},
        {"os.name", "Debian GNU/Linux"},
        {"cpu.count", "2"}, /* counted in cpuinfo */
        {"cpu.online", NULL},
        {"cpu.smt", NULL},
        {"cpu.governor", NULL},
        {"memory.thp", NULL},
        {"numa.nodes", NULL},
        {"virtualisation", "kvm"},
        {NULL, NULL},
    };

    check_facts("minimal", expected);
}

static void test_other(void)
{
    static const Expected arm[] = {
        {"cpu.count", "2"}, {"cpu.flags", "fp asimd"}, {"cpu.model", NULL},
        {"os.name", NULL},  {"virtualisation", NULL},  {NULL, NULL},
    };
    static const Expected vbox[] = {{"virtualisation", "vbox"}, {NULL, NULL}};
    static const Expected hyperv[] = {{"virtualisation", "hyperv"}, {NULL, NULL}};
    static const Expected secretive[] = {{"virtualisation", "unknown"}, {NULL, NULL}};

    check_facts("arm", arm);
    check_facts("vbox", vbox);
    check_facts("hyperv", hyperv);
    check_facts("secretive", secretive);
}

static const Expected xeon[] = {
    {"cpu.vendor", "GenuineIntel"},
    {"cpu.model", "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"},
    {"cpu.signature", "6-106-6"},
    {"cpu.microcode", "0xd0003d1"},
    {"cpu.sockets", "2"},
    {"cpu.cores", "4"},
    {"cpu.threads-per-core", "2"},
    {"cpu.isolated", "2-3"},
    {"cpu.nohz-full", "2-3"},
    {"cpu.offline", NULL},
    {"cpu.driver", "intel_pstate"},
    {"cpu.governor", "powersave"},
    {"cpu.epp", "balance_performance,performance"},
    {"cpu.boost", "on"},
    {"cpu.pstate", "active"},
    {"cpu.mhz-min", "800"},
    {"cpu.mhz-max", "3200"},
    {"cpu.idle.driver", "intel_idle"},
    {"cpu.idle.governor", "menu"},
    {"cpu.idle.states", "POLL (0 us), C1 (1 us), C1E (4 us), C6 (170 us, disabled)"},
    {"cpu.cache.l1d", "4 x 48 KiB, one for 2 CPUs"},
    {"cpu.cache.l1i", "4 x 32 KiB, one for 2 CPUs"},
    {"cpu.cache.l2", "4 x 1280 KiB, one for 2 CPUs"},
    {"cpu.cache.l3", "2 x 48 MiB, one for 4 CPUs"},
    {"numa.nodes", "2"},
    {"numa.node1.cpus", "2-3,6-7"},
    {"numa.node1.distance", "20 10"},
    {"numa.node1.memory", "134217728000"},
    {"numa.balancing", "1"},
    {"memory.swap", "8589930496"},
    {"memory.modules", "8 x 32 GiB DDR4, 2933 MT/s"},
    {"memory.thp-defrag", "madvise"},
    {"memory.ksm", "0"},
    {"memory.hugepages", "1048576kB: 4, 2048kB: 16"},
    {"os.name", "Fedora Linux"},
    {"kernel.version", "#1 SMP PREEMPT_DYNAMIC Thu Jan  9 16:05:40 UTC 2025"},
    {"kernel.cmdline",
     "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.12.9-200.fc41.x86_64 root=UUID=(hidden) ro isolcpus=2-3 "
     "nohz_full=2-3 ip=10.0.0.2::10.0.0.1:255.255.255.0::eno1:off ifname=eno1:(hidden)"},
    {"kernel.lockdown", "none"},
    {"clocksource.available", "tsc hpet acpi_pm"},
    {"machine.vendor", "Dell Inc."},
    {"machine.model", "PowerEdge R750"},
    {"machine.board", "0PJ80M"},
    {"firmware.kind", "UEFI"},
    {"firmware.vendor", "Dell Inc."},
    {"firmware.version", "1.13.2"},
    {"firmware.date", "12/19/2023"},
    {"kvm.device", "usable"},
    {"kvm.nested", "Y"},
    {"kvm.halt-poll-ns", "200000"},
    {"disk.nvme0n1.model", "Dell Ent NVMe P5600 MU U.2 1.6TB"},
    {"disk.nvme0n1.size", "1920383410176"},
    {"disk.nvme0n1.kind", "solid state"},
    {"disk.nvme0n1.scheduler", "none"},
    {"disk.nvme0n1.write-cache", "write through"},
    {"disk.sda.model", "SEAGATE ST16000NM006J"},
    {"disk.sda.kind", "rotating"},
    {"disk.sda.scheduler", "mq-deadline"},
    {"disk.loop0.size", NULL},
    {"disk.sr0.size", NULL},
    {"net.eno1.driver", "ice"},
    {"net.eno1.mbits", "25000"},
    {"net.eno1.state", "up"},
    {"net.eno2.mbits", NULL},
    {"net.eno2.mtu", "9000"},
    {"net.virbr0.state", NULL},
    {"sysctl.kernel.randomize_va_space", "2"},
    {"sysctl.kernel.perf_event_paranoid", "2"},
    {"sysctl.vm.swappiness", "60"},
    {"cgroup.version", "2"},
    {"cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc"},
    {"psi", "cpu,io,memory"},
    {"schedstat", "per task"},
    {"entropy.source", "tpm-rng-0"},
    {"time.service", "chrony"},
    {"virtualisation", "none"},
    {NULL, NULL},
};

static void test_xeon(void)
{
    check_facts("xeon", xeon);
}

static void test_epyc(void)
{
    static const Expected expected[] = {
        {"cpu.driver", "amd-pstate-epp"},
        {"cpu.pstate", "active"},
        {"cpu.boost", "off"},
        {"cpu.epp", "performance"},
        {"cpu.mhz-max", "3799"},
        {"cpu.smt", "forceoff"},
        {"cpu.threads-per-core", "1"},
        {"cpu.cache.l3", "2 x 32 MiB, one for 2 CPUs"},
        {"cpu.idle.driver", "acpi_idle"},
        {"cpu.idle.governor", "menu"},
        {"cpu.idle.states", NULL},
        {"memory.modules", NULL},
        {"memory.swap", "0"},
        {"firmware.kind", "BIOS"},
        {"kvm.nested", "1"},
        {"time.service", "systemd-timesyncd"},
        {NULL, NULL},
    };

    check_facts("epyc", expected);
}

static void test_board(void)
{
    static const Expected expected[] = {
        {"machine.model", "Radxa ROCK Pi 4B"},
        {"machine.vendor", NULL},
        {"firmware.kind", "device tree"},
        {"cpu.count", "4"},
        {"cpu.model", NULL},
        {"cpu.signature", "0x41-0xd03-4"},
        {"cpu.sockets", NULL},
        {"cpu.governor", NULL},
        {"kernel.cmdline", "root=PARTUUID=(hidden) androidboot.serialno=(hidden) rw "
                           "console=ttyS2,1500000"},
        {"disk.mmcblk0.model", "SD32G"},
        {"disk.mmcblk0.size", "31268536320"},
        {"clocksource", "arch_sys_counter"},
        {"kvm.device", NULL},
        {NULL, NULL},
    };

    check_facts("board", expected);
}

static void test_container(void)
{
    g_autoptr(GHashTable) facts = host_facts(TEST_DATA "/container");

    g_assert_cmpstr(g_hash_table_lookup(facts, "kernel.release"), ==, "6.8.0");
    g_assert_cmpstr(g_hash_table_lookup(facts, "memory.total"), ==, "2147483648");
    g_assert_cmpuint(g_hash_table_size(facts), ==, 2);
}

/* Nothing that names one machine or one piece of it, from whatever file. */
static void test_secrets(void)
{
    static const char *const trees[] = {"/xeon", "/epyc", "/board", "/intel", "/amd"};
    static const char *const secrets[] = {"SECRET",   "3c:fd:fe",  "0f3cbb5e", "4c4c4544",
                                          "614e0000", "deadbeef",  "fedcba98", "0123456789abcdef",
                                          "eui.",     "0x1234abcd"};

    for (gsize i = 0; i < G_N_ELEMENTS(trees); i++) {
        g_autofree char *root = g_strconcat(TEST_DATA, trees[i], NULL);
        g_autoptr(GHashTable) facts = host_facts(root);
        GHashTableIter iter;
        gpointer name, value;

        host_facts_filesystem(root, "images", "/srv/My Images/debian12.qcow2", facts);
        g_hash_table_iter_init(&iter, facts);
        while (g_hash_table_iter_next(&iter, &name, &value))
            for (gsize j = 0; j < G_N_ELEMENTS(secrets); j++)
                if (strstr(value, secrets[j]) != NULL)
                    g_error("%s: %s is %s", trees[i], (char *)name, (char *)value);
    }
}

static void expect_filesystem(const char *path, const char *type, const char *device,
                              const char *options)
{
    g_autoptr(GHashTable) facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

    host_facts_filesystem(TEST_DATA "/xeon", "x", path, facts);
    g_assert_cmpstr(g_hash_table_lookup(facts, "filesystem.x.type"), ==, type);
    g_assert_cmpstr(g_hash_table_lookup(facts, "filesystem.x.device"), ==, device);
    g_assert_cmpstr(g_hash_table_lookup(facts, "filesystem.x.options"), ==, options);
}

static void test_filesystem(void)
{
    g_autoptr(GHashTable) none = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

    expect_filesystem("/var/lib/vmatrix/vmatrix.db", "btrfs", "/dev/sda2",
                      "rw,relatime; rw,compress=zstd:1,space_cache=v2");
    expect_filesystem("/var/lib/vmatrix", "btrfs", "/dev/sda2",
                      "rw,relatime; rw,compress=zstd:1,space_cache=v2");
    expect_filesystem("/var/lib/vmatrix2/x", "xfs", "/dev/nvme0n1p2",
                      "rw,relatime; rw,attr2,inode64,logbufs=8");
    expect_filesystem("/srv/My Images/a.qcow2", "ext4", "/dev/disk/by-uuid/(hidden)",
                      "rw,noatime; rw");
    host_facts_filesystem(TEST_DATA "/empty", "x", "/", none);
    g_assert_cmpuint(g_hash_table_size(none), ==, 0);
}

static void test_empty(void)
{
    g_autoptr(GHashTable) facts = host_facts(TEST_DATA "/empty");

    g_assert_cmpuint(g_hash_table_size(facts), ==, 0);
}

static void test_no_fact_is_empty(void)
{
    static const char *const trees[] = {TEST_DATA "/intel", TEST_DATA "/amd", TEST_DATA "/minimal",
                                        ""};

    for (gsize i = 0; i < G_N_ELEMENTS(trees); i++) {
        g_autoptr(GHashTable) facts = host_facts(trees[i]);
        GHashTableIter iter;
        gpointer name, value;

        g_assert_true(g_hash_table_contains(facts, "host.boot-id"));
        g_hash_table_iter_init(&iter, facts);
        while (g_hash_table_iter_next(&iter, &name, &value))
            g_assert_cmpstr(value, !=, "");
    }
}

static void test_signatures(void)
{
    g_assert_cmpstr(virtualisation_signature("KVMKVMKVM\0\0\0"), ==, "kvm");
    g_assert_cmpstr(virtualisation_signature("TCGTCGTCGTCG"), ==, "tcg");
    g_assert_cmpstr(virtualisation_signature("VMwareVMware"), ==, "vmware");
    g_assert_null(virtualisation_signature("GenuineIntel"));
}

static void check_list(const char *text, const char *expected)
{
    g_autoptr(GArray) list = cpulist_parse(text);
    g_autoptr(GString) back = g_string_new(NULL);

    g_assert_nonnull(list);
    for (guint i = 0; i < list->len; i++)
        g_string_append_printf(back, "%u ", g_array_index(list, guint, i));
    g_assert_cmpstr(back->str, ==, expected);
}

static void test_cpu_list(void)
{
    static const char *const bad[] = {"", "a", "1-", "-1", "3-1", "1,,2", "0-99999999", "1 2"};

    check_list("0", "0 ");
    check_list("0-2,5,7-8", "0 1 2 5 7 8 ");
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GArray) list = cpulist_parse(bad[i]);

        g_assert_null(list);
    }
}

static void test_affinity(void)
{
    g_autofree char *all = host_cpus_allowed();
    g_auto(GStrv) cpus = g_strsplit(all, ",", -1);
    guint n = g_strv_length(cpus);
    cpu_set_t set;

    g_assert_cmpint(sched_getaffinity(0, sizeof set, &set), ==, 0);
    g_assert_cmpuint(n, ==, (guint)CPU_COUNT(&set));
    for (guint i = 0; i < n; i++)
        g_assert_true(CPU_ISSET(atoi(cpus[i]), &set));
}

static void test_free_space(void)
{
    g_autoptr(GError) error = NULL;
    guint64 here = 0, below = 0;

    g_assert_true(host_free_space(TEST_DATA, &here, &error));
    g_assert_true(host_free_space(TEST_DATA "/not/there/yet", &below, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(here, >, 0);
    g_assert_cmpuint(below, >, 0);
    g_assert_false(host_free_space("/proc/version/below", &here, &error));
    g_assert_true(vm_error_is(error, VM_ERROR_ENVIRONMENT));
    g_assert_nonnull(strstr(error->message, "/proc/version"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/probe/intel", test_intel);
    g_test_add_func("/probe/amd", test_amd);
    g_test_add_func("/probe/minimal", test_minimal);
    g_test_add_func("/probe/other", test_other);
    g_test_add_func("/probe/xeon", test_xeon);
    g_test_add_func("/probe/epyc", test_epyc);
    g_test_add_func("/probe/board", test_board);
    g_test_add_func("/probe/container", test_container);
    g_test_add_func("/probe/secrets", test_secrets);
    g_test_add_func("/probe/filesystem", test_filesystem);
    g_test_add_func("/probe/empty", test_empty);
    g_test_add_func("/probe/no-fact-is-empty", test_no_fact_is_empty);
    g_test_add_func("/probe/signatures", test_signatures);
    g_test_add_func("/probe/cpu-list", test_cpu_list);
    g_test_add_func("/probe/affinity", test_affinity);
    g_test_add_func("/probe/free-space", test_free_space);
    return g_test_run();
}
