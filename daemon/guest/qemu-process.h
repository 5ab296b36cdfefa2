/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The QEMU process behind a domain: the guard of its run. */
#pragma once
#include <glib.h>
#include <sys/types.h>

/* Find the process that was started with "-uuid UUID": by libvirt's pid files (system's and
 * session's) for the domain name, else by looking through /proc. The identity is checked after the
 * pidfd is open, so that a reused pid is never taken. FALSE: not to be found on this host (no error
 * is set). The caller closes *ret_pidfd. */
gboolean qemu_process_find(const char *name, const char *uuid, pid_t *ret_pid, int *ret_pidfd);

/* Whether the process behind pidfd has ended. One that init has not reaped yet (a zombie) has. */
gboolean qemu_process_ended(int pidfd);
