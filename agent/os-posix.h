/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the os-*.c of POSIX systems share. */
#ifndef VMATRIX_AGENT_OS_POSIX_H
#define VMATRIX_AGENT_OS_POSIX_H
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* In a fresh child: be killed when parent ends. Ends the child if it has already. */
void os_die_with(pid_t parent);

/* Whether the block device that a folder's file system lies on is a disk; reason as in
 * os_folder_on_disk(). What is not known is. */
bool os_device_is_disk(const char *folder, char *reason);

/* poll() until a deadline of os_clock_ns() (0: for ever), which signals that ask to end interrupt;
 * whether one has come. */
int posix_wait(struct pollfd *fds, nfds_t count, int64_t deadline_ns, bool *ret_stop);

#endif
