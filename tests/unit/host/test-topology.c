/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/topology.h"

#include <string.h>

#include "host/probe.h"
#include "util/cpulist.h"

typedef struct {
    const char *name;
    guint nodes, cores, threads; /* each of the one before; CPU numbers as Linux gives them */
} Machine;

/* First threads of all cores come first, node by node; then the second threads. */
static GArray *machine_new(const Machine *machine)
{
    GArray *topology = g_array_new(FALSE, FALSE, sizeof(TopologyCpu));
    guint cores = machine->nodes * machine->cores;

    for (guint i = 0; i < cores * machine->threads; i++) {
        TopologyCpu cpu = {
            .cpu = i, .core = i % cores, .node = i % cores / machine->cores, .capacity = 1024};

        g_array_append_val(topology, cpu);
    }
    return topology;
}

static const Machine one_node = {"one node, no SMT", 1, 4, 1};
static const Machine smt = {"one node, SMT", 1, 4, 2};
static const Machine big = {"two nodes, SMT", 2, 4, 2};
static const Machine two = {"two CPUs", 1, 2, 1};
static const Machine laptop = {"two cores, SMT", 1, 2, 2};

static const struct {
    const Machine *machine;
    guint n;
    CpuOrder order;
    const char *cpus, *housekeeping, *quiet, *nodes;
    gboolean shared;
} cases[] = {
    {&one_node, 1, CPU_ORDER_CORES, "1", "0,2,3", NULL, "0", FALSE},
    {&one_node, 2, CPU_ORDER_CORES, "1,2", "0,3", NULL, "0", FALSE},
    {&one_node, 4, CPU_ORDER_CORES, "0,1,2,3", NULL, NULL, "0", FALSE},
    {&two, 1, CPU_ORDER_CORES, "1", "0", NULL, "0", FALSE},
    {&two, 2, CPU_ORDER_CORES, "0,1", NULL, NULL, "0", FALSE},
    {&smt, 2, CPU_ORDER_CORES, "1,2", "0,3,4,7", "5,6", "0", FALSE},
    {&smt, 2, CPU_ORDER_SIBLINGS, "1,5", "0,2,3,4,6,7", NULL, "0", FALSE},
    {&smt, 3, CPU_ORDER_SIBLINGS, "1,5,2", "0,3,4,7", "6", "0", FALSE},
    /* More vCPUs than cores: a second thread of some. */
    {&smt, 5, CPU_ORDER_CORES, "0,1,2,3,5", "4,6,7", NULL, "0", TRUE},
    {&laptop, 2, CPU_ORDER_CORES, "0,1", "2,3", NULL, "0", TRUE},
    {&laptop, 2, CPU_ORDER_SIBLINGS, "1,3", "0,2", NULL, "0", FALSE},
    /* Away from the node where interrupts go, and all on one node. */
    {&big, 1, CPU_ORDER_CORES, "4", "0,1,2,3,5,6,7,8,9,10,11,13,14,15", "12", "1", FALSE},
    {&big, 4, CPU_ORDER_CORES, "4,5,6,7", "0,1,2,3,8,9,10,11", "12,13,14,15", "1", FALSE},
    {&big, 6, CPU_ORDER_CORES, "4,5,6,7,12,13", "0,1,2,3,8,9,10,11", "14,15", "1", FALSE},
    {&big, 4, CPU_ORDER_SIBLINGS, "4,12,5,13", "0,1,2,3,6,7,8,9,10,11,14,15", NULL, "1", FALSE},
    /* No node holds it: one, and a part of the other. */
    {&big, 9, CPU_ORDER_CORES, "1,4,5,6,7,12,13,14,15", "0,2,3,8,10,11", "9", "0,1", FALSE},
};

static void test_pick(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GArray) topology = machine_new(cases[i].machine);
        g_auto(CpuPick) pick = {0};

        g_test_message("%s, %u", cases[i].machine->name, cases[i].n);
        g_assert_true(cpu_pick(topology, cases[i].n, cases[i].order, &pick));
        g_assert_cmpstr(pick.cpus, ==, cases[i].cpus);
        g_assert_cmpstr(pick.housekeeping, ==, cases[i].housekeeping);
        g_assert_cmpstr(pick.quiet, ==, cases[i].quiet);
        g_assert_cmpstr(pick.nodes, ==, cases[i].nodes);
        g_assert_cmpint(pick.shared, ==, cases[i].shared);
    }
}

static void test_too_many(void)
{
    g_autoptr(GArray) topology = machine_new(&smt);
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(TopologyCpu));
    g_auto(CpuPick) pick = {0};

    g_assert_false(cpu_pick(topology, 9, CPU_ORDER_CORES, &pick));
    g_assert_false(cpu_pick(topology, 0, CPU_ORDER_CORES, &pick));
    g_assert_false(cpu_pick(none, 1, CPU_ORDER_CORES, &pick));
    g_assert_null(pick.cpus);
}

/* Whatever has fewer vCPUs runs on a part of what has more, and nothing is given out twice. */
static void test_parts(void)
{
    static const Machine *const machines[] = {&one_node, &smt, &two};

    for (gsize m = 0; m < G_N_ELEMENTS(machines); m++) {
        g_autoptr(GArray) topology = machine_new(machines[m]);
        g_autoptr(GArray) before = g_array_new(FALSE, FALSE, sizeof(guint));

        for (guint n = 1; n <= topology->len; n++) {
            g_auto(CpuPick) pick = {0};
            GArray *now;

            g_assert_true(cpu_pick(topology, n, CPU_ORDER_CORES, &pick));
            now = cpulist_parse(pick.cpus);
            g_assert_cmpuint(now->len, ==, n);
            for (guint i = 0; i < before->len; i++) {
                gboolean kept = FALSE;

                for (guint j = 0; j < now->len; j++)
                    kept |= g_array_index(now, guint, j) == g_array_index(before, guint, i);
                g_assert_true(kept);
            }
            g_array_unref(before);
            before = now;
        }
    }
}

/* The fast cores before the slow ones, whose number is lower. */
static void test_kinds(void)
{
    static const TopologyCpu cpus[] = {
        {0, 0, 0, 446}, {1, 1, 0, 446}, {2, 2, 0, 1024}, {3, 3, 0, 1024}};
    g_autoptr(GArray) topology = g_array_new(FALSE, FALSE, sizeof(TopologyCpu));
    g_auto(CpuPick) fast = {0}, mixed = {0};

    g_array_append_vals(topology, cpus, G_N_ELEMENTS(cpus));
    g_assert_true(cpu_pick(topology, 2, CPU_ORDER_CORES, &fast));
    g_assert_cmpstr(fast.cpus, ==, "2,3");
    g_assert_cmpstr(fast.housekeeping, ==, "0,1");
    g_assert_true(cpu_pick(topology, 3, CPU_ORDER_CORES, &mixed));
    g_assert_cmpstr(mixed.cpus, ==, "1,2,3");
}

static const TopologyCpu *cpu_at(const GArray *topology, guint i)
{
    return &g_array_index(topology, TopologyCpu, i);
}

static void test_trees(void)
{
    g_autoptr(GArray) xeon = topology_read(TEST_DATA "/xeon", NULL);
    g_autoptr(GArray) some = topology_read(TEST_DATA "/xeon", "1-2,5");
    g_autoptr(GArray) board = topology_read(TEST_DATA "/board", NULL);
    g_autoptr(GArray) empty = topology_read(TEST_DATA "/empty", NULL);
    g_autoptr(GArray) told = topology_read(TEST_DATA "/empty", "0-1");

    g_assert_cmpuint(xeon->len, ==, 8);
    g_assert_cmpuint(cpu_at(xeon, 6)->core, ==, 2);
    g_assert_cmpuint(cpu_at(xeon, 6)->node, ==, 1);
    g_assert_cmpuint(cpu_at(xeon, 1)->node, ==, 0);
    g_assert_cmpuint(some->len, ==, 3);
    g_assert_cmpuint(cpu_at(some, 2)->cpu, ==, 5);
    g_assert_cmpuint(cpu_at(some, 2)->core, ==, 1);
    g_assert_cmpuint(board->len, ==, 4);
    g_assert_cmpuint(cpu_at(board, 0)->capacity, ==, 446);
    g_assert_cmpuint(cpu_at(board, 3)->capacity, ==, 1024);
    g_assert_cmpuint(empty->len, ==, 0);
    g_assert_cmpuint(told->len, ==, 2);
    g_assert_cmpuint(cpu_at(told, 1)->core, ==, 1);
}

static void test_here(void)
{
    g_autofree char *allowed = host_cpus_allowed();
    g_autoptr(GArray) list = cpulist_parse(allowed);
    g_auto(CpuPick) all = {0}, more = {0};

    g_assert_true(cpu_pick_here(list->len, CPU_ORDER_CORES, &all));
    g_assert_cmpstr(all.cpus, ==, allowed);
    g_assert_null(all.housekeeping);
    g_assert_false(cpu_pick_here(list->len + 1, CPU_ORDER_CORES, &more));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/host/topology/pick", test_pick);
    g_test_add_func("/host/topology/too-many", test_too_many);
    g_test_add_func("/host/topology/parts", test_parts);
    g_test_add_func("/host/topology/kinds", test_kinds);
    g_test_add_func("/host/topology/trees", test_trees);
    g_test_add_func("/host/topology/here", test_here);
    return g_test_run();
}
