/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's log: a record is "PRIORITY,NUMBER,TIME,FLAGS;TEXT", and lines that begin with a
 * space belong to the record before them (Documentation/ABI/testing/dev-kmsg). */
#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "evidence-linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDS_MAX 65536 /* read at once: the log's buffer holds less */

int evidence_log_open(const char *root)
{
    char path[2 * OS_PATH_MAX];

    snprintf(path, sizeof(path), "%s/dev/kmsg", root);
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

void evidence_log_skip(int fd)
{
    if (fd >= 0)
        lseek(fd, 0, SEEK_END);
}

static bool is_of_concern(const char *text)
{
    static const char *const words[] = {
        "throttl",
        "clocksource",
        "mce:",
        "machine check",
        "hardware error",
        "soft lockup",
        "hard lockup",
        "blocked for more than",
        "out of memory",
        "oom-kill",
        "oom killer",
        "detected stalls",
        "self-detected stall",
        "tsc: marking",
        "i/o error",
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasestr(text, words[i]) != NULL)
            return true;
    return false;
}

/* One line, which is changed. Only the kernel's own: users can write here too. */
static void take_line(char *line, struct evidence_dmesg *dmesg)
{
    char *text = strchr(line, ';'), *end;
    long priority = strtol(line, &end, 10);

    if (text == NULL || end == line || priority / 8 != 0 || !is_of_concern(text + 1))
        return;
    if (dmesg->count == EVIDENCE_DMESG_MAX)
        dmesg->left_out++;
    else
        snprintf(dmesg->lines[dmesg->count++], sizeof(dmesg->lines[0]), "%s", text + 1);
}

static void take_lines(char *text, size_t *filled, struct evidence_dmesg *dmesg)
{
    char *line = text, *end;

    while ((end = memchr(line, '\n', *filled - (size_t)(line - text))) != NULL) {
        *end = '\0';
        take_line(line, dmesg);
        line = end + 1;
    }
    *filled -= (size_t)(line - text);
    memmove(text, line, *filled);
}

void evidence_log_read(int fd, struct evidence_snapshot *snapshot)
{
    char text[16384]; /* a record has at most 8 KiB */
    size_t filled = 0;

    snapshot->dmesg.count = snapshot->dmesg.left_out = 0;
    if (fd < 0)
        return;
    snapshot->sources |= EVIDENCE_FROM_KMSG;
    for (int records = 0; records < RECORDS_MAX; records++) {
        ssize_t got = read(fd, text + filled, sizeof(text) - filled);

        if (got < 0 && errno == EPIPE) {
            snapshot->sources |= EVIDENCE_KMSG_LOST; /* the next is the oldest that is left */
        } else if (got <= 0) {
            break;
        } else {
            filled += (size_t)got;
            take_lines(text, &filled, &snapshot->dmesg);
            filled = filled == sizeof(text) ? 0 : filled; /* no record is as long */
        }
    }
}
#else
typedef int evidence_linux_log_is_empty_here;
#endif
