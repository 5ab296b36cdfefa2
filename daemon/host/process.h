/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who takes the CPU and the disks: two readings of /proc/PID/stat and io, and their difference. */
#pragma once
#include <glib.h>
#include <sys/types.h>

typedef struct ProcessTable ProcessTable;

/* All processes below root; those that end while it is read are left out. NULL with error when
 * /proc itself cannot be read. */
ProcessTable *process_table_read(const char *root, GError **error);
void process_table_free(ProcessTable *table); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProcessTable, process_table_free)

/* Call each for every process that lives (no zombies), in the order of pids. name: as the kernel
 * has it, 15 bytes at most, safe to print. */
void process_table_each(const ProcessTable *table,
                        void (*each)(gint64 pid, const char *name, gpointer data), gpointer data);

typedef enum {
    PROCESS_CPU, /* ticks of CPU time */
    PROCESS_IO,  /* bytes read from and written to disks (of other users: only as root) */
    PROCESS_N_GOODS
} ProcessGood;

/* What one process took between two readings. */
typedef struct {
    gint64 pid;
    const char *name; /* of the later reading, which must live as long */
    gint64 taken;
} ProcessShare;

/* ProcessShare*: at most 3 processes that took at least this much, the greediest first; exclude is
 * left out. What ended children took counts for the parent that reaped them. Pure; transfer full,
 * may be empty. */
GPtrArray *process_table_top(const ProcessTable *from, const ProcessTable *to, ProcessGood good,
                             gint64 least, pid_t exclude);

/* The systemd unit, else the cgroup, that a process belongs to, from /proc/PID/cgroup (v2, v1, or
 * both): "apt-daily.service", "session-3.scope", "/jobs/nightly". NULL when it is in none. Safe to
 * print; transfer full. */
char *process_unit(const char *root, gint64 pid);
