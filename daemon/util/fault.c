/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "util/fault.h"

#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void trace(const char *path, const char *name)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    g_autofree char *line = g_strdup_printf("%s\n", name);

    if (fd < 0)
        return;
    if (write(fd, line, strlen(line)) < 0)
        g_warning("fault trace: the line for %s was not written", name);
    close(fd);
}

/* Whether this is the time that VMATRIX_FAULT asks for. */
static gboolean asked_for(const char *name)
{
    static guint reached;
    const char *fault = g_getenv("VMATRIX_FAULT");
    g_auto(GStrv) parts = fault != NULL ? g_strsplit(fault, ":", 2) : NULL;

    if (parts == NULL || g_strcmp0(parts[0], name) != 0)
        return FALSE;
    return ++reached == (parts[1] != NULL ? (guint)atoi(parts[1]) : 1);
}

void fault_point(const char *where, const char *side)
{
    static int active = -1;

    if (active < 0)
        active = g_getenv("VMATRIX_FAULT") != NULL || g_getenv("VMATRIX_FAULT_TRACE") != NULL;
    if (!active)
        return;
    g_autofree char *name = g_strdup_printf("%s-%s", where, side);
    const char *path = g_getenv("VMATRIX_FAULT_TRACE");

    if (path != NULL)
        trace(path, name);
    if (asked_for(name))
        kill(getpid(), SIGKILL);
}
