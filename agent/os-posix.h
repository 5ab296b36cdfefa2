/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What os-posix.c needs of os-linux.c and os-freebsd.c. */
#ifndef VMATRIX_AGENT_OS_POSIX_H
#define VMATRIX_AGENT_OS_POSIX_H
#include <sys/types.h>

/* In a fresh child: be killed when parent ends. Ends the child if it has already. */
void os_die_with(pid_t parent);

#endif
