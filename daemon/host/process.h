/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who takes the CPU: two readings of /proc/PID/stat and their difference. */
#pragma once
#include <glib.h>
#include <sys/types.h>

typedef struct ProcessTable ProcessTable;

/* All processes below root; those that end while it is read are left out. NULL with error when
 * /proc itself cannot be read. */
ProcessTable *process_table_read(const char *root, GError **error);
void process_table_free(ProcessTable *table); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProcessTable, process_table_free)

/* "apt-get (pid 412) 0.93 CPUs, …": at most 3 processes that took at least 0.01 CPU between the two
 * readings, span_seconds apart, the greediest first; exclude is left out. What ended children took
 * counts for the parent that reaped them. NULL when there is none. Pure; transfer full. */
char *process_table_top(const ProcessTable *from, const ProcessTable *to, double span_seconds,
                        long ticks_per_second, pid_t exclude);
