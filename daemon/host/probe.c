/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/probe.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/statvfs.h>

#include "host/tree.h"
#include "host/virtualisation.h"
#include "util/error.h"
#include "util/text.h"

#define SYS_CPU "/sys/devices/system/cpu"

/* Takes value; NULL is a fact the machine does not have. */
static void add(GHashTable *facts, const char *name, char *value)
{
    if (value != NULL)
        g_hash_table_insert(facts, g_strdup(name), value);
}

/* Facts that are one file each. */
static void add_files(GHashTable *facts, const char *root)
{
    static const struct {
        const char *name, *path;
    } files[] = {
        {"host.boot-id", "/proc/sys/kernel/random/boot_id"},
        {"host.name", "/proc/sys/kernel/hostname"},
        {"host.machine-id", "/etc/machine-id"},
        {"kernel.release", "/proc/sys/kernel/osrelease"},
        {"kernel.cmdline", "/proc/cmdline"},
        {"cpu.online", SYS_CPU "/online"},
        {"cpu.smt", SYS_CPU "/smt/control"},
        {"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
        add(facts, files[i].name, tree_read(root, files[i].path));
}

static void add_os(GHashTable *facts, const char *root)
{
    g_autofree char *release = tree_read(root, "/etc/os-release");

    if (release == NULL)
        release = tree_read(root, "/usr/lib/os-release");
    if (release == NULL)
        return;
    add(facts, "os.name", tree_field(release, "NAME", '='));
    add(facts, "os.version", tree_field(release, "VERSION_ID", '='));
}

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
    g_autoptr(GArray) list = text != NULL ? tree_cpu_list(text) : NULL;

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

static void add_cpu(GHashTable *facts, const char *root)
{
    static const char *const model[] = {"model name", "cpu model", "Processor", "cpu", NULL};
    static const char *const flags[] = {"flags", "Features", "features", NULL};
    g_autofree char *cpuinfo = tree_read(root, "/proc/cpuinfo");

    add(facts, "cpu.count", count_list(root, SYS_CPU "/present"));
    if (cpuinfo == NULL)
        return;
    if (!g_hash_table_contains(facts, "cpu.count"))
        add(facts, "cpu.count", count_processors(cpuinfo));
    add(facts, "cpu.model", cpuinfo_field(cpuinfo, model));
    add(facts, "cpu.flags", cpuinfo_field(cpuinfo, flags));
    add(facts, "cpu.microcode", tree_field(cpuinfo, "microcode", ':'));
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names in the folder below root, sorted; empty when there is no such folder. */
static GPtrArray *list_folder(const char *root, const char *path)
{
    g_autofree char *full = g_strconcat(root, path, NULL);
    g_autoptr(GDir) dir = g_dir_open(full, 0, NULL);
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    const char *name;

    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL)
        g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, compare_names);
    return names;
}

/* All governors in use, each once: "performance", or "performance,powersave" where they differ. */
static void add_governor(GHashTable *facts, const char *root)
{
    g_autoptr(GPtrArray) cpus = list_folder(root, SYS_CPU);
    g_autoptr(GPtrArray) seen = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < cpus->len; i++) {
        const char *cpu = g_ptr_array_index(cpus, i);
        g_autofree char *path = g_strdup_printf(SYS_CPU "/%s/cpufreq/scaling_governor", cpu);
        g_autofree char *governor = g_str_has_prefix(cpu, "cpu") ? tree_read(root, path) : NULL;

        if (governor != NULL &&
            !g_ptr_array_find_with_equal_func(seen, governor, g_str_equal, NULL))
            g_ptr_array_add(seen, g_steal_pointer(&governor));
    }
    if (seen->len == 0)
        return;
    g_ptr_array_sort(seen, compare_names);
    g_ptr_array_add(seen, NULL);
    add(facts, "cpu.governor", g_strjoinv(",", (char **)seen->pdata));
}

static void add_mitigations(GHashTable *facts, const char *root)
{
    g_autoptr(GPtrArray) names = list_folder(root, SYS_CPU "/vulnerabilities");

    for (guint i = 0; i < names->len; i++) {
        const char *name = g_ptr_array_index(names, i);
        g_autofree char *fact = g_strconcat("cpu.mitigations.", name, NULL);
        g_autofree char *path = g_strconcat(SYS_CPU "/vulnerabilities/", name, NULL);

        add(facts, fact, tree_read(root, path));
    }
}

/* "always [madvise] never": the word in brackets. */
static char *bracketed(const char *text)
{
    const char *open = strchr(text, '[');
    const char *close = open != NULL ? strchr(open, ']') : NULL;

    return close != NULL ? g_strndup(open + 1, (gsize)(close - open - 1)) : NULL;
}

static void add_memory(GHashTable *facts, const char *root)
{
    g_autofree char *meminfo = tree_read(root, "/proc/meminfo");
    g_autofree char *thp = tree_read(root, "/sys/kernel/mm/transparent_hugepage/enabled");
    g_autofree char *total = meminfo != NULL ? tree_field(meminfo, "MemTotal", ':') : NULL;
    guint64 kib;

    if (total != NULL) {
        g_auto(GStrv) words = g_strsplit(total, " ", 2);

        if (text_parse_uint(words[0], &kib))
            add(facts, "memory.total", g_strdup_printf("%" G_GUINT64_FORMAT, kib * 1024));
    }
    if (thp != NULL)
        add(facts, "memory.thp", bracketed(thp));
    add(facts, "numa.nodes", count_list(root, "/sys/devices/system/node/online"));
}

GHashTable *host_facts(const char *root)
{
    GHashTable *facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

    add_files(facts, root);
    add_os(facts, root);
    add_cpu(facts, root);
    add_governor(facts, root);
    add_mitigations(facts, root);
    add_memory(facts, root);
    add(facts, "virtualisation", g_strdup(virtualisation_detect(root)));
    return facts;
}

/* The affinity mask of this process; *ret_size in bytes. The kernel refuses a mask smaller than its
 * own with EINVAL, so it is grown until it fits. Transfer full (CPU_FREE). */
static cpu_set_t *read_affinity(gsize *ret_size)
{
    for (int cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        gsize size = CPU_ALLOC_SIZE((size_t)cpus);

        if (sched_getaffinity(0, size, set) == 0) {
            *ret_size = size;
            return set;
        }
        CPU_FREE(set);
        if (errno != EINVAL)
            break;
    }
    return NULL;
}

/* The first n allowed CPUs as a list; *ret_found says how many there were. */
static char *list_cpus(guint n, guint *ret_found)
{
    GString *list = g_string_new(NULL);
    guint found = 0;
    gsize size = 0;
    cpu_set_t *set = read_affinity(&size);

    for (guint cpu = 0; cpu < size * 8 && found < n; cpu++) {
        if (!CPU_ISSET_S(cpu, size, set))
            continue;
        g_string_append_printf(list, found > 0 ? ",%u" : "%u", cpu);
        found++;
    }
    if (set != NULL)
        CPU_FREE(set);
    *ret_found = found;
    return g_string_free(list, FALSE);
}

char *host_cpus_allowed(void)
{
    guint found;

    return list_cpus(G_MAXUINT, &found);
}

char *host_cpus_first(guint n)
{
    guint found;
    g_autofree char *list = list_cpus(n, &found);

    return found == n ? g_steal_pointer(&list) : NULL;
}

gboolean host_free_space(const char *path, guint64 *ret_bytes, GError **error)
{
    g_autofree char *at = g_strdup(path);
    struct statvfs fs;

    while (statvfs(at, &fs) != 0) {
        g_autofree char *parent = g_path_get_dirname(at);

        if (errno != ENOENT || g_str_equal(parent, at)) {
            g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                        "%s: cannot ask for the free space: %s", at, g_strerror(errno));
            return FALSE;
        }
        g_free(at);
        at = g_steal_pointer(&parent);
    }
    *ret_bytes = (guint64)fs.f_bavail * fs.f_frsize;
    return TRUE;
}
