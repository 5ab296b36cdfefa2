/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the os-*linux.c files share: small files of /proc and /sys, which may all be missing. */
#ifndef VMATRIX_AGENT_OS_LINUX_H
#define VMATRIX_AGENT_OS_LINUX_H
#include <stddef.h>

#define LINUX_CLOCK_FOLDER "/sys/devices/system/clocksource/clocksource0/"

/* The beginning of a file, "" if it cannot be read; trailing white space is cut. */
void linux_read_text(const char *path, char *ret_text, size_t size);

/* What follows `key` and separators on the first line that begins with it; NULL: none does. The
 * text is cut there. */
char *linux_line_value(char *text, const char *key, const char *separators);

#endif
