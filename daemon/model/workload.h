/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A workload by its label: what is run, and in how many copies. "syscalls.null" is one copy,
 * "syscalls.null:copies=2" two processes at once, "syscalls.null:threads=2" two threads of one.
 * The label is the workload's name everywhere: more copies are another workload, and never pooled
 * with one. */
#pragma once
#include <glib.h>

#include "model/node.h"

#define WORKLOAD_COPIES_MAX 256

typedef struct {
    char *name; /* a benchmark or a group */
    guint copies, threads;
} Workload;

void workload_clear(Workload *workload);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Workload, workload_clear)

/* FALSE: it is none. */
gboolean workload_parse(const char *label, Workload *ret_workload);

/* Where the name in a label ends; the rest says how many. */
gsize workload_name_length(const char *label);

/* What a plan names. */
typedef struct {
    GPtrArray *labels; /* char* */
    GArray *places;    /* NodePlace of each */
} WorkloadList;

/* Add one entry of a plan's workloads: NAME, or {workload: NAME, copies: N or list} (or threads).
 */
gboolean workload_read(const Node *item, const WorkloadList *list, GError **error);
