/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/process.h"

#include <string.h>

#include "host/tree.h"
#include "util/error.h"
#include "util/text.h"

enum { SHOWN_MAX = 3, NAME_MAX_BYTES = 32, UNIT_MAX_BYTES = 80 };

typedef struct {
    gint64 pid, parent;
    guint64 started;               /* with the pid: a pid may be used again */
    gint64 taken[PROCESS_N_GOODS]; /* so far, with its children that ended and were waited for */
    gboolean dead;                 /* a zombie */
    char *name;                    /* safe to print */
} Process;

struct ProcessTable {
    GHashTable *by_pid; /* gint64* (in the Process) -> Process* */
};

static void process_free(gpointer data)
{
    Process *process = data;

    g_free(process->name);
    g_free(process);
}

void process_table_free(ProcessTable *table)
{
    if (table == NULL)
        return;
    g_hash_table_unref(table->by_pid);
    g_free(table);
}

/* "412 (apt get)) S 1 … utime stime cutime cstime …": the name may hold anything, so its end is the
 * last parenthesis. Field numbers as in proc(5). */
static Process *parse_stat(const char *text)
{
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')');
    enum { STATE = 3, PPID = 4, UTIME = 14, STIME = 15, CUTIME = 16, CSTIME = 17, STARTTIME = 22 };

    if (open == NULL || close == NULL || close < open || close[1] != ' ')
        return NULL;
    g_auto(GStrv) field = g_strsplit(close + 2, " ", -1);

    if (g_strv_length(field) <= STARTTIME - 3)
        return NULL;
#define FIELD(n) g_ascii_strtoll(field[(n)-3], NULL, 10)
    Process *process = g_new0(Process, 1);

    process->pid = g_ascii_strtoll(text, NULL, 10);
    process->parent = FIELD(PPID);
    process->taken[PROCESS_CPU] = FIELD(UTIME) + FIELD(STIME) + FIELD(CUTIME) + FIELD(CSTIME);
    process->dead = *field[STATE - 3] == 'Z' || *field[STATE - 3] == 'X';
    process->started = (guint64)FIELD(STARTTIME);
    process->name = text_escape(open + 1, close - open - 1, NAME_MAX_BYTES);
#undef FIELD
    return process;
}

/* The kernel adds a child that ended to its parent here too. */
static void read_io(const char *root, const char *pid, Process *process)
{
    static const char *const keys[] = {"\nread_bytes: ", "\nwrite_bytes: "};
    g_autofree char *path = g_strdup_printf("/proc/%s/io", pid);
    g_autofree char *text = tree_read(root, path);

    for (guint i = 0; text != NULL && i < G_N_ELEMENTS(keys); i++) {
        const char *found = strstr(text, keys[i]);

        if (found != NULL)
            process->taken[PROCESS_IO] += g_ascii_strtoll(found + strlen(keys[i]), NULL, 10);
    }
}

static Process *read_process(const char *root, const char *pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%s/stat", pid);
    g_autofree char *text = g_ascii_isdigit(*pid) ? tree_read(root, path) : NULL;
    Process *process = text != NULL ? parse_stat(text) : NULL;

    if (process != NULL)
        read_io(root, pid, process);
    return process;
}

ProcessTable *process_table_read(const char *root, GError **error)
{
    g_autofree char *proc = g_strconcat(root, "/proc", NULL);
    g_autoptr(GError) cause = NULL;
    g_autoptr(GDir) dir = g_dir_open(proc, 0, &cause);
    const char *name;

    if (dir == NULL) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: cannot list the processes: %s",
                    proc, cause->message);
        return NULL;
    }
    ProcessTable *table = g_new0(ProcessTable, 1);

    table->by_pid = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, process_free);
    while ((name = g_dir_read_name(dir)) != NULL) {
        Process *process = read_process(root, name);

        if (process != NULL)
            g_hash_table_replace(table->by_pid, &process->pid, process);
    }
    return table;
}

static gint compare_pids(gconstpointer a, gconstpointer b)
{
    const Process *const *left = a, *const *right = b;

    return (*left)->pid < (*right)->pid ? -1 : (*left)->pid > (*right)->pid;
}

void process_table_each(const ProcessTable *table,
                        void (*each)(gint64 pid, const char *name, gpointer data), gpointer data)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    GHashTableIter iter;
    gpointer one;

    g_hash_table_iter_init(&iter, table->by_pid);
    while (g_hash_table_iter_next(&iter, NULL, &one))
        g_ptr_array_add(all, one);
    g_ptr_array_sort(all, compare_pids);
    for (guint i = 0; i < all->len; i++) {
        const Process *process = g_ptr_array_index(all, i);

        if (!process->dead)
            each(process->pid, process->name, data);
    }
}

/* The same process in table, not another one under a pid used again. */
static const Process *find_same(const ProcessTable *table, const Process *process)
{
    const Process *found = g_hash_table_lookup(table->by_pid, &process->pid);

    return found != NULL && found->started == process->started ? found : NULL;
}

static ProcessShare *share_new(const ProcessTable *from, const Process *process, ProcessGood good)
{
    const Process *before = find_same(from, process);
    ProcessShare *share = g_new(ProcessShare, 1);

    *share =
        (ProcessShare){.pid = process->pid, .name = process->name, .taken = process->taken[good]};
    if (before != NULL)
        share->taken -= before->taken[good];
    return share;
}

/* A child that ended took what it had in its whole life into the parent's account; what is from
 * before the first reading is not of this span. */
static void discount_ended(GHashTable *by_pid, const ProcessTable *to, const Process *before,
                           ProcessGood good)
{
    ProcessShare *parent = g_hash_table_lookup(by_pid, &before->parent);

    if (parent != NULL && find_same(to, before) == NULL)
        parent->taken -= before->taken[good];
}

static gint compare_shares(gconstpointer a, gconstpointer b)
{
    const ProcessShare *left = *(const ProcessShare *const *)a;
    const ProcessShare *right = *(const ProcessShare *const *)b;

    if (left->taken != right->taken)
        return left->taken < right->taken ? 1 : -1;
    return left->pid < right->pid ? -1 : 1;
}

/* ProcessShare* of every process in to, the greediest first. */
static GPtrArray *rank(const ProcessTable *from, const ProcessTable *to, ProcessGood good)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) by_pid = g_hash_table_new(g_int64_hash, g_int64_equal);
    GHashTableIter iter;
    gpointer process;

    g_hash_table_iter_init(&iter, to->by_pid);
    while (g_hash_table_iter_next(&iter, NULL, &process)) {
        ProcessShare *share = share_new(from, process, good);

        g_ptr_array_add(all, share);
        g_hash_table_insert(by_pid, &share->pid, share);
    }
    g_hash_table_iter_init(&iter, from->by_pid);
    while (g_hash_table_iter_next(&iter, NULL, &process))
        discount_ended(by_pid, to, process, good);
    g_ptr_array_sort(all, compare_shares);
    return all;
}

GPtrArray *process_table_top(const ProcessTable *from, const ProcessTable *to, ProcessGood good,
                             gint64 least, pid_t exclude)
{
    GPtrArray *all = rank(from, to, good);
    guint kept = 0;

    while (kept < all->len && kept < SHOWN_MAX) {
        const ProcessShare *share = g_ptr_array_index(all, kept);

        if (share->taken < least)
            break;
        if (share->pid == exclude)
            g_ptr_array_remove_index(all, kept);
        else
            kept++;
    }
    g_ptr_array_set_size(all, (gint)kept);
    return all;
}

/* ---- units ---- */

/* The deepest part of a cgroup's path that is a service or a scope, else the path; NULL for the
 * root. */
static char *unit_of_path(const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);

    if (g_str_equal(path, "/") || *path == '\0')
        return NULL;
    for (guint i = g_strv_length(parts); i-- > 0;)
        if (g_str_has_suffix(parts[i], ".service") || g_str_has_suffix(parts[i], ".scope"))
            return text_escape(parts[i], -1, UNIT_MAX_BYTES);
    return text_escape(path, -1, UNIT_MAX_BYTES);
}

/* How much the hierarchy of this line says about units: systemd's own one most, v2 is systemd's
 * where there is no other. */
static guint rate_hierarchy(const char *id, const char *controllers)
{
    if (g_str_equal(controllers, "name=systemd"))
        return 3;
    return g_str_equal(id, "0") && *controllers == '\0' ? 2 : 1;
}

char *process_unit(const char *root, gint64 pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%" G_GINT64_FORMAT "/cgroup", pid);
    g_autofree char *text = tree_read(root, path);
    g_auto(GStrv) lines = text != NULL ? g_strsplit(text, "\n", -1) : NULL;
    char *unit = NULL;
    guint best = 0;

    for (char **line = lines; line != NULL && *line != NULL; line++) {
        g_auto(GStrv) fields = g_strsplit(*line, ":", 3);
        guint rate = g_strv_length(fields) == 3 ? rate_hierarchy(fields[0], fields[1]) : 0;
        char *found = rate > best ? unit_of_path(fields[2]) : NULL;

        if (found == NULL)
            continue;
        g_free(unit);
        unit = found;
        best = rate;
    }
    return unit;
}
