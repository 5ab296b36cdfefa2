/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/topology.h"

#include "host/probe.h"
#include "host/tree.h"
#include "util/cpulist.h"
#include "util/text.h"

#define SYS_CPU "/sys/devices/system/cpu"
#define SYS_NODE "/sys/devices/system/node"

enum { CAPACITY_FULL = 1024, CAPACITY_SMALL = 512 };

/* ---- reading ---- */

static GArray *read_list(const char *root, const char *path)
{
    g_autofree char *text = tree_read(root, path);

    return text != NULL ? cpulist_parse(text) : NULL;
}

static guint read_core(const char *root, guint cpu)
{
    static const char *const names[] = {"core_cpus_list", "thread_siblings_list"};

    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_strdup_printf(SYS_CPU "/cpu%u/topology/%s", cpu, names[i]);
        g_autoptr(GArray) siblings = read_list(root, path);

        if (siblings != NULL)
            return MIN(cpu, g_array_index(siblings, guint, 0));
    }
    return cpu;
}

/* Arm tells a core's capacity; x86 with two kinds of cores has one device a kind. */
static guint read_capacity(const char *root, guint cpu, const GArray *small)
{
    g_autofree char *path = g_strdup_printf(SYS_CPU "/cpu%u/cpu_capacity", cpu);
    g_autofree char *text = tree_read(root, path);
    guint64 capacity;

    if (text != NULL && text_parse_uint(text, &capacity) && capacity <= G_MAXUINT)
        return (guint)capacity;
    for (guint i = 0; small != NULL && i < small->len; i++)
        if (g_array_index(small, guint, i) == cpu)
            return CAPACITY_SMALL;
    return CAPACITY_FULL;
}

static void set_node(GArray *topology, guint node, const GArray *members)
{
    for (guint i = 0; i < topology->len; i++) {
        TopologyCpu *cpu = &g_array_index(topology, TopologyCpu, i);

        for (guint j = 0; j < members->len; j++)
            if (g_array_index(members, guint, j) == cpu->cpu)
                cpu->node = node;
    }
}

static void read_nodes(const char *root, GArray *topology)
{
    g_autoptr(GArray) nodes = read_list(root, SYS_NODE "/online");

    for (guint i = 0; nodes != NULL && i < nodes->len; i++) {
        guint node = g_array_index(nodes, guint, i);
        g_autofree char *path = g_strdup_printf(SYS_NODE "/node%u/cpulist", node);
        g_autoptr(GArray) members = read_list(root, path);

        if (members != NULL)
            set_node(topology, node, members);
    }
}

GArray *topology_read(const char *root, const char *allowed)
{
    GArray *topology = g_array_new(FALSE, FALSE, sizeof(TopologyCpu));
    g_autoptr(GArray) cpus =
        allowed != NULL ? cpulist_parse(allowed) : read_list(root, SYS_CPU "/online");
    g_autoptr(GArray) small = read_list(root, "/sys/devices/cpu_atom/cpus");

    for (guint i = 0; cpus != NULL && i < cpus->len; i++) {
        guint number = g_array_index(cpus, guint, i);
        TopologyCpu cpu = {.cpu = number,
                           .core = read_core(root, number),
                           .capacity = read_capacity(root, number, small)};

        g_array_append_val(topology, cpu);
    }
    read_nodes(root, topology);
    return topology;
}

/* ---- choosing ---- */

void cpu_pick_clear(CpuPick *pick)
{
    g_clear_pointer(&pick->cpus, g_free);
    g_clear_pointer(&pick->housekeeping, g_free);
    g_clear_pointer(&pick->quiet, g_free);
    g_clear_pointer(&pick->nodes, g_free);
}

/* One CPU with what it is ordered by. */
typedef struct {
    TopologyCpu at;
    gboolean boot;   /* its core holds the lowest-numbered CPU */
    guint thread;    /* how many CPUs of its core come before it */
    guint peers;     /* CPUs of its node and kind */
    guint cores;     /* cores of its node and kind */
    gboolean hosted; /* its node and kind hold the boot CPU */
} Candidate;

static gboolean same_group(const TopologyCpu *a, const TopologyCpu *b)
{
    return a->node == b->node && a->capacity == b->capacity;
}

static GArray *candidates_new(const GArray *topology)
{
    GArray *all = g_array_new(FALSE, TRUE, sizeof(Candidate));

    for (guint i = 0; i < topology->len; i++) {
        const TopologyCpu *cpu = &g_array_index(topology, TopologyCpu, i);
        const TopologyCpu *first = &g_array_index(topology, TopologyCpu, 0);
        Candidate one = {
            .at = *cpu, .boot = cpu->core == first->core, .hosted = same_group(cpu, first)};

        for (guint j = 0; j < topology->len; j++) {
            const TopologyCpu *other = &g_array_index(topology, TopologyCpu, j);

            one.thread += j < i && other->core == cpu->core;
            one.peers += same_group(cpu, other);
        }
        g_array_append_val(all, one);
    }
    return all;
}

static void count_cores(GArray *all)
{
    for (guint i = 0; i < all->len; i++) {
        Candidate *one = &g_array_index(all, Candidate, i);

        for (guint j = 0; j < all->len; j++) {
            const Candidate *other = &g_array_index(all, Candidate, j);

            one->cores += other->thread == 0 && same_group(&one->at, &other->at);
        }
    }
}

typedef struct {
    guint n;
    CpuOrder order;
} Wanted;

/* How well the candidate's node and kind hold the whole subject: 2 with a core for each vCPU, 1
 * with a thread for each. */
static int fit(const Candidate *one, const Wanted *wanted)
{
    if (wanted->order == CPU_ORDER_CORES && one->cores >= wanted->n)
        return 2;
    return one->peers >= wanted->n ? 1 : 0;
}

static gint by(gint64 a, gint64 b)
{
    return (a > b) - (a < b);
}

/* The first difference decides. */
static gint compare_candidates(gconstpointer left, gconstpointer right, gpointer data)
{
    const Candidate *a = left, *b = right;
    const Wanted *wanted = data;
    gboolean cores = wanted->order == CPU_ORDER_CORES;
    const gint differences[] = {
        by(fit(b, wanted) > 0, fit(a, wanted) > 0),
        by(b->at.capacity, a->at.capacity),
        by(fit(b, wanted), fit(a, wanted)),
        by(a->hosted, b->hosted),
        by(a->at.node, b->at.node),
        cores ? by(a->thread, b->thread) : 0,
        by(a->boot, b->boot),
        by(a->at.core, b->at.core),
        by(a->at.cpu, b->at.cpu),
    };

    for (gsize i = 0; i < G_N_ELEMENTS(differences); i++)
        if (differences[i] != 0)
            return differences[i];
    return 0;
}

static gint compare_numbers(gconstpointer left, gconstpointer right)
{
    const guint *a = left, *b = right;

    return by(*a, *b);
}

static void add_once(GArray *numbers, guint number)
{
    if (!cpulist_has(numbers, number))
        g_array_append_val(numbers, number);
}

static void fill_rest(const GArray *topology, const GArray *cpus, const GArray *cores,
                      CpuPick *pick)
{
    g_autoptr(GArray) free_cores = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GArray) siblings = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint i = 0; i < topology->len; i++) {
        const TopologyCpu *cpu = &g_array_index(topology, TopologyCpu, i);

        if (!cpulist_has(cpus, cpu->cpu))
            add_once(cpulist_has(cores, cpu->core) ? siblings : free_cores, cpu->cpu);
    }
    pick->shared = free_cores->len == 0 && siblings->len > 0;
    pick->housekeeping = cpulist_text(pick->shared ? siblings : free_cores);
    pick->quiet = pick->shared ? NULL : cpulist_text(siblings);
}

gboolean cpu_pick(const GArray *topology, guint n, CpuOrder order, CpuPick *ret_pick)
{
    g_autoptr(GArray) cpus = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GArray) cores = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GArray) all = candidates_new(topology);
    Wanted wanted = {.n = n, .order = order};

    if (n == 0 || n > topology->len)
        return FALSE;
    count_cores(all);
    g_array_sort_with_data(all, compare_candidates, &wanted);
    for (guint i = 0; i < n; i++) {
        const TopologyCpu *cpu = &g_array_index(all, Candidate, i).at;

        add_once(cpus, cpu->cpu);
        add_once(cores, cpu->core);
        add_once(nodes, cpu->node);
    }
    /* With siblings side by side vCPUs 0 and 1 are one core; else the order says nothing. */
    if (order == CPU_ORDER_CORES)
        g_array_sort(cpus, compare_numbers);
    g_array_sort(nodes, compare_numbers);
    *ret_pick = (CpuPick){.cpus = cpulist_text(cpus), .nodes = cpulist_text(nodes)};
    fill_rest(topology, cpus, cores, ret_pick);
    return TRUE;
}

gboolean cpu_pick_here(guint n, CpuOrder order, CpuPick *ret_pick)
{
    g_autofree char *allowed = host_cpus_allowed();
    g_autoptr(GArray) topology = topology_read("", allowed);

    return cpu_pick(topology, n, order, ret_pick);
}
