/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/process.h"

#include <string.h>

#include "host/tree.h"
#include "util/error.h"
#include "util/text.h"

enum { SHOWN_MAX = 3, NAME_MAX_BYTES = 32 };

typedef struct {
    gint64 pid, parent;
    guint64 started; /* with the pid: a pid may be used again */
    gint64 own;      /* ticks of the process itself */
    gint64 reaped;   /* ticks of its children that ended and were waited for */
    char *name;      /* safe to print */
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
    enum { PPID = 4, UTIME = 14, STIME = 15, CUTIME = 16, CSTIME = 17, STARTTIME = 22 };

    if (open == NULL || close == NULL || close < open || close[1] != ' ')
        return NULL;
    g_auto(GStrv) field = g_strsplit(close + 2, " ", -1);

    if (g_strv_length(field) <= STARTTIME - 3)
        return NULL;
#define FIELD(n) g_ascii_strtoll(field[(n)-3], NULL, 10)
    Process *process = g_new0(Process, 1);

    process->pid = g_ascii_strtoll(text, NULL, 10);
    process->parent = FIELD(PPID);
    process->own = FIELD(UTIME) + FIELD(STIME);
    process->reaped = FIELD(CUTIME) + FIELD(CSTIME);
    process->started = (guint64)FIELD(STARTTIME);
    process->name = text_escape(open + 1, close - open - 1, NAME_MAX_BYTES);
#undef FIELD
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
        g_autofree char *path = g_strdup_printf("/proc/%s/stat", name);
        g_autofree char *text = g_ascii_isdigit(*name) ? tree_read(root, path) : NULL;
        Process *process = text != NULL ? parse_stat(text) : NULL;

        if (process != NULL)
            g_hash_table_replace(table->by_pid, &process->pid, process);
    }
    return table;
}

/* The same process in table, not another one under a pid used again. */
static const Process *find_same(const ProcessTable *table, const Process *process)
{
    const Process *found = g_hash_table_lookup(table->by_pid, &process->pid);

    return found != NULL && found->started == process->started ? found : NULL;
}

/* What one process took between the two readings. */
typedef struct {
    const Process *process;
    gint64 ticks;
} Taken;

static Taken *taken_new(const ProcessTable *from, const Process *process)
{
    const Process *before = find_same(from, process);
    Taken *taken = g_new(Taken, 1);

    taken->process = process;
    taken->ticks = process->own + process->reaped;
    if (before != NULL)
        taken->ticks -= before->own + before->reaped;
    return taken;
}

/* A child that ended took its whole life's ticks into the parent's account; those from before the
 * first reading are not of this span. */
static void discount_ended(GHashTable *by_pid, const ProcessTable *to, const Process *before)
{
    Taken *parent = g_hash_table_lookup(by_pid, &before->parent);

    if (parent != NULL && find_same(to, before) == NULL)
        parent->ticks -= before->own + before->reaped;
}

static gint compare_taken(gconstpointer a, gconstpointer b)
{
    const Taken *left = *(const Taken *const *)a, *right = *(const Taken *const *)b;

    if (left->ticks != right->ticks)
        return left->ticks < right->ticks ? 1 : -1;
    return left->process->pid < right->process->pid ? -1 : 1;
}

/* Taken* of every process in to, the greediest first. */
static GPtrArray *rank(const ProcessTable *from, const ProcessTable *to)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) by_pid = g_hash_table_new(g_int64_hash, g_int64_equal);
    GHashTableIter iter;
    gpointer process;

    g_hash_table_iter_init(&iter, to->by_pid);
    while (g_hash_table_iter_next(&iter, NULL, &process)) {
        Taken *taken = taken_new(from, process);

        g_ptr_array_add(all, taken);
        g_hash_table_insert(by_pid, (gpointer)&taken->process->pid, taken);
    }
    g_hash_table_iter_init(&iter, from->by_pid);
    while (g_hash_table_iter_next(&iter, NULL, &process))
        discount_ended(by_pid, to, process);
    g_ptr_array_sort(all, compare_taken);
    return all;
}

char *process_table_top(const ProcessTable *from, const ProcessTable *to, double span_seconds,
                        long ticks_per_second, pid_t exclude)
{
    g_autoptr(GPtrArray) all = rank(from, to);
    g_autoptr(GString) text = g_string_new(NULL);
    guint shown = 0;

    for (guint i = 0; i < all->len && shown < SHOWN_MAX; i++) {
        const Taken *taken = g_ptr_array_index(all, i);
        double cpus = (double)taken->ticks / (double)ticks_per_second / span_seconds;

        if (taken->process->pid == exclude)
            continue;
        if (!(cpus >= 0.01))
            break;
        g_string_append_printf(text, "%s%s (pid %" G_GINT64_FORMAT ") %.2f CPUs",
                               shown > 0 ? ", " : "", taken->process->name, taken->process->pid,
                               cpus);
        shown++;
    }
    return shown > 0 ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}
