/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One measurement at a time on one host, whoever starts it: an abstract socket, so that the kernel
 * gives it back when its holder dies, and the holder's pid can be asked for. */
#pragma once
#include <glib.h>

#include "util/wait.h"

typedef struct HostLock HostLock;

/* Take the lock. VM_ERROR_BUSY names the program and pid that hold it. The name is "vmatrix-host",
 * or $VMATRIX_HOST_LOCK (for test suites that share a machine). */
HostLock *host_lock_new(GError **error);
void host_lock_free(HostLock *lock); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostLock, host_lock_free)

/* Wait until nobody holds the lock (the next host_lock_new() may still find that somebody was
 * quicker). No polling: the kernel tells when the holder's socket closes. Cancelled or timed out:
 * FALSE. */
gboolean host_lock_wait(const Wait *wait, GError **error);

/* The lock's name: marks what belongs to its holder (domains). Owned by the library. */
const char *host_lock_name(void);
