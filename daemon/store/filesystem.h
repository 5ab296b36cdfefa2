/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the store: file systems on which SQLite's locks and shared memory cannot be relied on. */
#pragma once
#include <glib.h>

/* The name of the network file system ("NFS", "SSHFS"), or NULL when it is a local one. f_type: of
 * statfs(2). fuse: the part after "fuse." in /proc/self/mountinfo, or NULL. Pure. */
const char *filesystem_network_name(guint64 f_type, const char *fuse);

/* FALSE, with VM_ERROR_ENVIRONMENT, when path (or, while it does not exist, its nearest folder)
 * lies on one. Opens nothing. */
gboolean filesystem_check(const char *path, GError **error);

/* For tests: f_type to be seen instead of statfs(2)'s; 0 gives the real one back. */
void filesystem_pretend(guint64 f_type);
