/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a subject runs: its CPUs and NUMA nodes, those of its emulator, and, on bare, its control
 * group. Internal to run/. What was asked for and could not be had is a fact and a flag. */
#pragma once
#include "host/cgroup.h"
#include "host/topology.h"
#include "run/attempt.h"

typedef struct Place {
    CpuPick pick;         /* cpus NULL: there are fewer than vCPUs; nothing is pinned */
    const char *emulator; /* CPUs of the emulator's threads, borrowed of pick; NULL: not pinned */
    const char *nodes;    /* of its memory; NULL: the host has one node only */
    Cgroup *cgroup;       /* bare: while it is up, else NULL */
} Place;

/* Choose, and add the facts "subject.…" to attempt->hypervisor_facts. */
void place_init(Place *place, Attempt *attempt);
void place_finish(Place *place);

/* Whether the emulator's threads can run where they are to. VM_ERROR_ENVIRONMENT says why not. */
gboolean place_check(const Attempt *attempt, GError **error);

/* The step "cgroup" of a bare cell. Without a group the CPUs are held by affinity alone: recorded,
 * and flagged "no-cgroup". */
gboolean place_enter(Attempt *attempt, const Wait *wait, GError **error);
void place_undo(Attempt *attempt);

/* After the process joined: reads back that it is in its group. */
void place_confirm(Attempt *attempt, gint64 pid);

/* Take away the groups that an attempt in folder left behind. */
gboolean place_recover(const char *folder, GError **error);

/* Why a cell with so many vCPUs cannot run on this host, or NULL. memo (guint -> CpuPick kind,
 * from place_memo_new()) spares looking twice. Transfer full. */
char *place_refusal(GHashTable *memo, const Plan *plan, guint vcpus, gboolean bare,
                    EmulatorPlace emulator);
GHashTable *place_memo_new(void);
