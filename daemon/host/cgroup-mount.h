/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a controller's group of this process is. Internal to host/cgroup*.c, and for facts. */
#pragma once
#include <glib.h>

typedef struct {
    guint version; /* 1, 2; 0: the controller is nowhere */
    char *folder;  /* the group that this process is in, as a folder (without root); NULL with 0 */
    char *path;    /* the same as /proc/PID/cgroup names it */
} CgroupMount;

void cgroup_mount_clear(CgroupMount *mount);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CgroupMount, cgroup_mount_clear)

/* Find the controller ("cpuset"): in version 1's hierarchies first, else in version 2 where it is
 * available to our own group. */
void cgroup_mount_find(const char *root, const char *controller, CgroupMount *ret_mount);

/* Whether a hierarchy of that version is mounted. */
gboolean cgroup_mounted(const char *root, guint version);

/* Where (without root) the hierarchy of that version, for 1 with this controller, is mounted; NULL:
 * nowhere. Transfer full. */
char *cgroup_mount_point(const char *root, guint version, const char *controller);
