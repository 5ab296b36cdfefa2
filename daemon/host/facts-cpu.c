/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts: the processor, its topology and caches, and what it is kept from by mitigations. */
#include <string.h>

#include "host/facts.h"
#include "host/topology.h"
#include "host/tree.h"
#include "util/cpulist.h"
#include "util/text.h"

#define SYS_CPU "/sys/devices/system/cpu"
#define SYS_NODE "/sys/devices/system/node"

/* First of the keys that cpuinfo has: the names differ from one architecture to the next. */
static char *cpuinfo_field(const char *cpuinfo, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        char *value = tree_field(cpuinfo, *keys, ':');

        if (value != NULL)
            return value;
    }
    return NULL;
}

/* Number of CPUs (or nodes) in a file such as "0-3", as text; NULL when there is none. */
static char *count_list(const char *root, const char *path)
{
    g_autofree char *text = tree_read(root, path);
    g_autoptr(GArray) list = text != NULL ? cpulist_parse(text) : NULL;

    return list != NULL ? g_strdup_printf("%u", list->len) : NULL;
}

static char *count_processors(const char *cpuinfo)
{
    guint count = 0;

    for (const char *at = cpuinfo; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        count += g_str_has_prefix(at, "processor");
    }
    return count > 0 ? g_strdup_printf("%u", count) : NULL;
}

/* "6-106-6": family, model and stepping, which say more than a marketing name; Arm has "0x41-0xd08"
 * (implementer and part). */
static char *signature(const char *cpuinfo)
{
    static const char *const keys[][3] = {{"cpu family", "model", "stepping"},
                                          {"CPU implementer", "CPU part", "CPU revision"}};

    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        g_autofree char *first = tree_field(cpuinfo, keys[i][0], ':');
        g_autofree char *second = tree_field(cpuinfo, keys[i][1], ':');
        g_autofree char *third = tree_field(cpuinfo, keys[i][2], ':');

        if (first != NULL && second != NULL && third != NULL)
            return g_strdup_printf("%s-%s-%s", first, second, third);
    }
    return NULL;
}

static void add_cpuinfo(GHashTable *facts, const char *root)
{
    static const char *const model[] = {"model name", "cpu model", "Processor", "cpu", NULL};
    static const char *const flags[] = {"flags", "Features", "features", NULL};
    static const char *const vendor[] = {"vendor_id", NULL};
    g_autofree char *cpuinfo = tree_read(root, "/proc/cpuinfo");

    fact_add(facts, "cpu.count", count_list(root, SYS_CPU "/present"));
    if (cpuinfo == NULL)
        return;
    if (!g_hash_table_contains(facts, "cpu.count"))
        fact_add(facts, "cpu.count", count_processors(cpuinfo));
    fact_add(facts, "cpu.vendor", cpuinfo_field(cpuinfo, vendor));
    fact_add(facts, "cpu.model", cpuinfo_field(cpuinfo, model));
    fact_add(facts, "cpu.signature", signature(cpuinfo));
    fact_add(facts, "cpu.flags", cpuinfo_field(cpuinfo, flags));
    fact_add(facts, "cpu.microcode", tree_field(cpuinfo, "microcode", ':'));
}

/* ---- sockets, cores, threads ---- */

static void add_once(GArray *numbers, guint number)
{
    if (!cpulist_has(numbers, number))
        g_array_append_val(numbers, number);
}

static void add_count(GHashTable *facts, const char *name, guint count)
{
    fact_add(facts, name, g_strdup_printf("%u", count));
}

static void add_shape(GHashTable *facts, const char *root)
{
    g_autoptr(GArray) topology = topology_read(root, NULL);
    g_autoptr(GArray) sockets = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GArray) cores = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint i = 0; i < topology->len; i++) {
        const TopologyCpu *cpu = &g_array_index(topology, TopologyCpu, i);
        g_autofree char *path =
            g_strdup_printf(SYS_CPU "/cpu%u/topology/physical_package_id", cpu->cpu);
        g_autofree char *text = tree_read(root, path);
        guint64 socket;

        if (text == NULL || !text_parse_uint(text, &socket))
            continue;
        add_once(sockets, (guint)socket);
        add_once(cores, cpu->core);
    }
    if (sockets->len == 0)
        return;
    add_count(facts, "cpu.sockets", sockets->len);
    add_count(facts, "cpu.cores", cores->len);
    if (topology->len % cores->len == 0)
        add_count(facts, "cpu.threads-per-core", topology->len / cores->len);
}

/* ---- caches ---- */

typedef struct {
    char *name, *size;
    GPtrArray *groups; /* char*: CPU lists that share one, each once */
    guint cpus;        /* of the first group */
} Cache;

static void cache_free(gpointer data)
{
    Cache *cache = data;

    g_free(cache->name);
    g_free(cache->size);
    g_ptr_array_unref(cache->groups);
    g_free(cache);
}

/* "l1d", "l1i", "l2": level and type. */
static char *cache_name(const char *root, const char *folder)
{
    g_autofree char *level_path = g_strconcat(folder, "/level", NULL);
    g_autofree char *type_path = g_strconcat(folder, "/type", NULL);
    g_autofree char *level = tree_read(root, level_path);
    g_autofree char *type = tree_read(root, type_path);
    gboolean unified = g_strcmp0(type, "Unified") == 0;

    if (level == NULL || type == NULL)
        return NULL;
    return g_strdup_printf("l%s%.*s", level, unified ? 0 : 1, type[0] == 'I' ? "i" : "d");
}

/* Cores of several kinds have several sizes of one name: those are told apart. */
static Cache *find_cache(GPtrArray *caches, const char *name, const char *size)
{
    Cache *cache;

    for (guint i = 0; i < caches->len; i++) {
        cache = g_ptr_array_index(caches, i);
        if (g_str_equal(cache->name, name) && g_str_equal(cache->size, size))
            return cache;
    }
    cache = g_new0(Cache, 1);
    cache->name = g_strdup(name);
    cache->size = g_strdup(size);
    cache->groups = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(caches, cache);
    return cache;
}

static void read_cache(GPtrArray *caches, const char *root, const char *folder)
{
    g_autofree char *size_path = g_strconcat(folder, "/size", NULL);
    g_autofree char *shared_path = g_strconcat(folder, "/shared_cpu_list", NULL);
    g_autofree char *name = cache_name(root, folder);
    g_autofree char *size = tree_read(root, size_path);
    g_autofree char *shared = tree_read(root, shared_path);
    g_autoptr(GArray) cpus = shared != NULL ? cpulist_parse(shared) : NULL;
    Cache *cache;

    if (name == NULL || size == NULL || cpus == NULL)
        return;
    cache = find_cache(caches, name, size);
    if (cache->groups->len == 0)
        cache->cpus = cpus->len;
    if (!g_ptr_array_find_with_equal_func(cache->groups, shared, g_str_equal, NULL))
        g_ptr_array_add(cache->groups, g_steal_pointer(&shared));
}

/* "48K" as the kernel has it, for people, and exact. */
static char *cache_size(const char *size)
{
    guint64 kib = g_ascii_strtoull(size, NULL, 10);

    if (!g_str_has_suffix(size, "K"))
        return g_strdup(size);
    return kib % 1024 == 0 ? g_strdup_printf("%" G_GUINT64_FORMAT " MiB", kib / 1024)
                           : g_strdup_printf("%" G_GUINT64_FORMAT " KiB", kib);
}

static void add_cache(GHashTable *facts, const Cache *cache)
{
    g_autofree char *name = g_strconcat("cpu.cache.", cache->name, NULL);
    g_autofree char *size = cache_size(cache->size);
    const char *before = g_hash_table_lookup(facts, name);
    char *text = g_strdup_printf("%s%s%u x %s, one for %u CPU%s", before != NULL ? before : "",
                                 before != NULL ? "; " : "", cache->groups->len, size, cache->cpus,
                                 cache->cpus == 1 ? "" : "s");

    fact_add(facts, name, text);
}

static void add_caches(GHashTable *facts, const char *root)
{
    g_autoptr(GArray) topology = topology_read(root, NULL);
    g_autoptr(GPtrArray) caches = g_ptr_array_new_with_free_func(cache_free);

    for (guint i = 0; i < topology->len; i++) {
        guint cpu = g_array_index(topology, TopologyCpu, i).cpu;
        g_autofree char *folder = g_strdup_printf(SYS_CPU "/cpu%u/cache", cpu);
        g_autoptr(GPtrArray) names = fact_folder(root, folder);

        for (guint j = 0; j < names->len; j++) {
            const char *name = g_ptr_array_index(names, j);
            g_autofree char *cache = g_build_filename(folder, name, NULL);

            if (g_str_has_prefix(name, "index"))
                read_cache(caches, root, cache);
        }
    }
    for (guint i = 0; i < caches->len; i++)
        add_cache(facts, g_ptr_array_index(caches, i));
}

/* ---- the rest ---- */

static void add_mitigations(GHashTable *facts, const char *root)
{
    g_autoptr(GPtrArray) names = fact_folder(root, SYS_CPU "/vulnerabilities");

    for (guint i = 0; i < names->len; i++) {
        const char *name = g_ptr_array_index(names, i);
        g_autofree char *fact = g_strconcat("cpu.mitigations.", name, NULL);
        g_autofree char *path = g_strconcat(SYS_CPU "/vulnerabilities/", name, NULL);

        fact_add(facts, fact, tree_read(root, path));
    }
}

static void add_node(GHashTable *facts, const char *root, guint node)
{
    g_autofree char *folder = g_strdup_printf(SYS_NODE "/node%u", node);
    g_autofree char *cpus_path = g_strconcat(folder, "/cpulist", NULL);
    g_autofree char *distance_path = g_strconcat(folder, "/distance", NULL);
    g_autofree char *meminfo_path = g_strconcat(folder, "/meminfo", NULL);
    g_autofree char *key = g_strdup_printf("Node %u MemTotal", node);
    g_autofree char *cpus = g_strdup_printf("numa.node%u.cpus", node);
    g_autofree char *distance = g_strdup_printf("numa.node%u.distance", node);
    g_autofree char *memory = g_strdup_printf("numa.node%u.memory", node);
    g_autofree char *meminfo = tree_read(root, meminfo_path);

    fact_add(facts, cpus, tree_read(root, cpus_path));
    fact_add(facts, distance, tree_read(root, distance_path));
    fact_add(facts, memory, fact_kib(meminfo, key));
}

static void add_nodes(GHashTable *facts, const char *root)
{
    g_autofree char *text = tree_read(root, SYS_NODE "/online");
    g_autoptr(GArray) nodes = text != NULL ? cpulist_parse(text) : NULL;

    fact_add(facts, "numa.nodes", count_list(root, SYS_NODE "/online"));
    for (guint i = 0; nodes != NULL && i < nodes->len; i++)
        add_node(facts, root, g_array_index(nodes, guint, i));
}

void facts_cpu(GHashTable *facts, const char *root)
{
    static const FactFile files[] = {
        {"cpu.online", SYS_CPU "/online"},     {"cpu.offline", SYS_CPU "/offline"},
        {"cpu.isolated", SYS_CPU "/isolated"}, {"cpu.nohz-full", SYS_CPU "/nohz_full"},
        {"cpu.smt", SYS_CPU "/smt/control"},
    };

    add_cpuinfo(facts, root);
    fact_add_files(facts, root, files, G_N_ELEMENTS(files));
    add_shape(facts, root);
    add_caches(facts, root);
    add_mitigations(facts, root);
    add_nodes(facts, root);
}
