/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/qemu-process.h"

#include <poll.h>
#include <string.h>
#include <sys/pidfd.h>

#include "util/io.h"
#include "util/text.h"

enum { PID_TEXT_MAX = 32, COMMAND_MAX = 1024 * 1024 };

/* Whether the argument vector of pid holds "-uuid", "UUID" one after the other. */
static gboolean runs_uuid(const char *pid, const char *uuid)
{
    g_autofree char *path = g_build_filename("/proc", pid, "cmdline", NULL);
    gsize length = 0;
    g_autofree char *command = io_read_file(path, COMMAND_MAX, &length, NULL);
    gboolean next = FALSE;

    if (command == NULL)
        return FALSE;
    for (const char *word = command; word < command + length; word += strlen(word) + 1) {
        if (next && g_ascii_strcasecmp(word, uuid) == 0)
            return TRUE;
        next = g_str_equal(word, "-uuid");
    }
    return FALSE;
}

static gboolean open_process(const char *pid, const char *uuid, pid_t *ret_pid, int *ret_pidfd)
{
    guint64 number;

    if (!text_parse_uint(pid, &number) || number == 0 || number > G_MAXINT32)
        return FALSE;
    autofd fd = pidfd_open((pid_t)number, 0);

    if (fd < 0 || !runs_uuid(pid, uuid))
        return FALSE;
    *ret_pid = (pid_t)number;
    *ret_pidfd = io_steal_fd(&fd);
    return TRUE;
}

static gboolean by_pid_file(const char *folder, const char *name, const char *uuid, pid_t *ret_pid,
                            int *ret_pidfd)
{
    g_autofree char *file = g_strconcat(name, ".pid", NULL);
    g_autofree char *path = g_build_filename(folder, file, NULL);
    g_autofree char *pid = io_read_file(path, PID_TEXT_MAX, NULL, NULL);

    return pid != NULL && open_process(g_strstrip(pid), uuid, ret_pid, ret_pidfd);
}

gboolean qemu_process_find(const char *name, const char *uuid, pid_t *ret_pid, int *ret_pidfd)
{
    g_autofree char *session = g_build_filename(g_get_user_runtime_dir(), "libvirt/qemu/run", NULL);
    g_autoptr(GDir) proc = NULL;
    const char *pid;

    if (by_pid_file("/run/libvirt/qemu", name, uuid, ret_pid, ret_pidfd) ||
        by_pid_file(session, name, uuid, ret_pid, ret_pidfd))
        return TRUE;
    proc = g_dir_open("/proc", 0, NULL);
    while (proc != NULL && (pid = g_dir_read_name(proc)) != NULL)
        if (g_ascii_isdigit(pid[0]) && runs_uuid(pid, uuid) &&
            open_process(pid, uuid, ret_pid, ret_pidfd))
            return TRUE;
    return FALSE;
}

gboolean qemu_process_ended(int pidfd)
{
    struct pollfd fd = {.fd = pidfd, .events = POLLIN};

    return pidfd >= 0 && poll(&fd, 1, 0) == 1;
}
