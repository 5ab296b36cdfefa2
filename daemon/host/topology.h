/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which CPUs share what, and which of them a subject gets. */
#pragma once
#include <glib.h>

#include "model/plan.h"

typedef struct {
    guint cpu;
    guint core;     /* lowest number of the CPUs that share its core, its own where none is told */
    guint node;     /* NUMA node; 0 where there are none */
    guint capacity; /* of machines with cores of several kinds: the bigger, the faster; else 1024 */
} TopologyCpu;

/* GArray of TopologyCpu, by number: the CPUs of the list allowed ("0-3,8"), or with NULL all that
 * are online below root ("" is the real one). Empty when nothing is told. Transfer full. */
GArray *topology_read(const char *root, const char *allowed);

typedef struct {
    char *cpus;         /* the subject's: "1,2", in the order of its vCPUs */
    char *housekeeping; /* for everything else: "0", or NULL when nothing is left */
    char *quiet;        /* siblings of the subject's CPUs that nobody is to use, or NULL */
    char *nodes;        /* NUMA nodes of the subject's CPUs: "0" */
    gboolean shared; /* housekeeping has siblings of the subject's CPUs: there was nothing else */
} CpuPick;

void cpu_pick_clear(CpuPick *pick);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CpuPick, cpu_pick_clear)

/* The CPUs of a subject with n vCPUs: of one node and one kind where one has enough, the fastest
 * kind first, whole cores before siblings (with CPU_ORDER_CORES), the lowest-numbered CPU's core
 * last, for that is where interrupts go. A subject with fewer vCPUs gets a part of what one with
 * more gets, as long as both fit into the same node. FALSE (ret_pick untouched) when there are
 * fewer than n. Pure. */
gboolean cpu_pick(const GArray *topology, guint n, CpuOrder order, CpuPick *ret_pick);

/* The same over the CPUs that this process may use. */
gboolean cpu_pick_here(guint n, CpuOrder order, CpuPick *ret_pick);
