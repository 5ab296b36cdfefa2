/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/probe.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/statvfs.h>

#include "host/facts.h"
#include "host/tree.h"
#include "util/error.h"

/* The boot's id tells boots of one host apart, which statistics need; it is drawn anew at each. */
static gboolean is_plain(const char *name)
{
    return g_str_equal(name, "host.boot-id");
}

/* Whatever a fact holds that names a single machine or piece of it: "root=UUID=…" of the kernel's
 * command line above all. */
static void conceal(GHashTable *facts)
{
    GHashTableIter iter;
    gpointer name, value;

    g_hash_table_iter_init(&iter, facts);
    while (g_hash_table_iter_next(&iter, &name, &value))
        if (!is_plain(name))
            g_hash_table_iter_replace(&iter, fact_conceal(value));
}

GHashTable *host_facts(const char *root)
{
    GHashTable *facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

    facts_system(facts, root);
    facts_cpu(facts, root);
    facts_power(facts, root);
    facts_memory(facts, root);
    facts_devices(facts, root);
    conceal(facts);
    return facts;
}

/* ---- file systems ---- */

/* One line of mountinfo: "36 35 98:0 / MOUNT-POINT OPTIONS … - TYPE SOURCE SUPER-OPTIONS". */
static gboolean parse_mount(char **words, guint *ret_dash)
{
    guint n = g_strv_length(words), dash = 6;

    while (dash < n && !g_str_equal(words[dash], "-"))
        dash++;
    *ret_dash = dash;
    return dash + 3 < n;
}

static gboolean is_below(const char *path, const char *point)
{
    gsize length = g_str_equal(point, "/") ? 0 : strlen(point);

    return strncmp(path, point, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* The last mount of the longest mount point wins: what is mounted over another hides it. */
static char **find_mount(const char *root, const char *path, guint *ret_dash)
{
    g_autofree char *text = tree_read(root, "/proc/self/mountinfo");
    g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);
    char **found = NULL;
    gsize longest = 0;

    for (char **line = lines; *line != NULL; line++) {
        char **words = g_strsplit(*line, " ", -1);
        g_autofree char *point = NULL;
        guint dash;

        if (parse_mount(words, &dash))
            point = g_strcompress(words[4]);
        if (point == NULL || !is_below(path, point) || strlen(point) < longest) {
            g_strfreev(words);
            continue;
        }
        longest = strlen(point);
        *ret_dash = dash;
        g_strfreev(found);
        found = words;
    }
    return found;
}

static void add_filesystem(GHashTable *facts, const char *role, const char *name, const char *value)
{
    g_autofree char *fact = g_strdup_printf("filesystem.%s.%s", role, name);

    fact_add(facts, fact, fact_conceal(value));
}

void host_facts_filesystem(const char *root, const char *role, const char *path, GHashTable *facts)
{
    g_autofree char *whole = g_canonicalize_filename(path, NULL);
    g_autofree char *options = NULL;
    guint dash;
    g_auto(GStrv) words = find_mount(root, whole, &dash);

    if (words == NULL)
        return;
    options = g_strdup_printf("%s; %s", words[5], words[dash + 3]);
    add_filesystem(facts, role, "type", words[dash + 1]);
    add_filesystem(facts, role, "device", words[dash + 2]);
    add_filesystem(facts, role, "options", options);
}

/* ---- CPUs ---- */

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

char *host_cpus_allowed(void)
{
    GString *list = g_string_new(NULL);
    gsize size = 0;
    cpu_set_t *set = read_affinity(&size);

    for (guint cpu = 0; cpu < size * 8; cpu++)
        if (CPU_ISSET_S(cpu, size, set))
            g_string_append_printf(list, list->len > 0 ? ",%u" : "%u", cpu);
    if (set != NULL)
        CPU_FREE(set);
    return g_string_free(list, FALSE);
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
