/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A control group for the subject of a bare cell: its CPUs, its NUMA nodes, its memory. Version 1
 * and 2, also side by side: each controller where it is mounted. The group is made below the one
 * that this process is in; where that is not ours to divide (version 2: not delegated), there is
 * none, and *ret_lacks says so. */
#pragma once
#include <glib.h>
#include <sys/types.h>

typedef struct {
    const char *name;  /* of the folder: "vmatrix-…" */
    const char *cpus;  /* "1,2"; NULL: all of the parent's */
    const char *nodes; /* "0"; NULL: all of the parent's */
    guint64 memory;    /* bytes; 0: no limit */
} CgroupSpec;

typedef struct Cgroup Cgroup;

/* Where the groups would be. Nothing is made yet. root is a prefix as everywhere, "" is the real
 * one. spec's strings are copied. Never NULL. */
Cgroup *cgroup_new(const char *root, const CgroupSpec *spec);

/* Ends whatever is still in it, removes what was made, frees. Accepts NULL. */
void cgroup_free(Cgroup *cgroup);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Cgroup, cgroup_free)

/* Absolute folders (char*) that cgroup_make() would make: to be noted beforehand, for
 * cgroup_remove() after a crash. Owned by the group. */
const GPtrArray *cgroup_folders(const Cgroup *cgroup);

/* Make the groups, write the limits and read them back. What cannot be had is taken down again and
 * told in *ret_lacks (transfer full, NULL when nothing lacks): "no CPU set: …; no memory limit: …".
 * Returns whether there is any group at all. */
gboolean cgroup_make(Cgroup *cgroup, char **ret_lacks);

/* Descriptors (int) that a process writes "0" to in order to join, close-on-exec; owned by the
 * group, empty where there is none. */
const GArray *cgroup_joins(const Cgroup *cgroup);

/* Whether pid is in every group that was made. */
gboolean cgroup_holds(const Cgroup *cgroup, pid_t pid);

/* The group of the CPU set (or, without one, of the memory) as /proc/PID/cgroup names it: "/…";
 * NULL when none was made. Owned by the group. */
const char *cgroup_path(const Cgroup *cgroup);

/* End what is in the folder of an earlier life, and remove it. Does nothing unless its name begins
 * with "vmatrix-". A missing one is no error. */
gboolean cgroup_remove(const char *folder, GError **error);
