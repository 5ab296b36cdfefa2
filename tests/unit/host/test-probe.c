/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <sched.h>
#include <string.h>

#include "host/probe.h"
#include "host/tree.h"
#include "host/virtualisation.h"
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
        {"host.machine-id", "0123456789abcdef0123456789abcdef"},
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
    g_autoptr(GArray) list = tree_cpu_list(text);
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
        g_autoptr(GArray) list = tree_cpu_list(bad[i]);

        g_assert_null(list);
    }
}

static void test_affinity(void)
{
    g_autofree char *all = host_cpus_allowed();
    g_auto(GStrv) cpus = g_strsplit(all, ",", -1);
    guint n = g_strv_length(cpus);
    g_autofree char *one = host_cpus_first(1);
    g_autofree char *every = host_cpus_first(n);
    g_autofree char *more = host_cpus_first(n + 1);
    cpu_set_t set;

    g_assert_cmpint(sched_getaffinity(0, sizeof set, &set), ==, 0);
    g_assert_cmpuint(n, ==, (guint)CPU_COUNT(&set));
    g_assert_cmpstr(one, ==, cpus[0]);
    g_assert_cmpstr(every, ==, all);
    g_assert_null(more);
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
    g_test_add_func("/probe/empty", test_empty);
    g_test_add_func("/probe/no-fact-is-empty", test_no_fact_is_empty);
    g_test_add_func("/probe/signatures", test_signatures);
    g_test_add_func("/probe/cpu-list", test_cpu_list);
    g_test_add_func("/probe/affinity", test_affinity);
    g_test_add_func("/probe/free-space", test_free_space);
    return g_test_run();
}
