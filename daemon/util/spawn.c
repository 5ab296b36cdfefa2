/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "util/spawn.h"

#include <errno.h>
#include <glib-unix.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/error.h"
#include "util/io.h"

enum { DEFAULT_MAX = 1 << 20 };

typedef struct {
    pid_t pid; /* 0 once reaped */
    int input; /* our ends; -1 when closed */
    int output;
    int errors;
    gsize written;
    GByteArray *kept[2];
    gsize max;
    gboolean truncated;
} Child;

static void child_clear(Child *child)
{
    if (child->pid > 0) {
        kill(-child->pid, SIGKILL);
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    io_clear_fd(&child->input);
    io_clear_fd(&child->output);
    io_clear_fd(&child->errors);
    g_clear_pointer(&child->kept[0], g_byte_array_unref);
    g_clear_pointer(&child->kept[1], g_byte_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Child, child_clear)

void spawn_result_clear(SpawnResult *result)
{
    g_clear_pointer(&result->output, g_bytes_unref);
    g_clear_pointer(&result->errors, g_bytes_unref);
    memset(result, 0, sizeof *result);
}

static void own_group(gpointer data)
{
    setpgid(0, 0);
}

static gboolean child_start(Child *child, const SpawnRequest *request, GError **error)
{
    g_auto(GStrv) env = g_environ_setenv(g_get_environ(), "LC_ALL", "C", TRUE);
    GSpawnFlags flags = G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD;
    GPid pid;

    for (const char *const *pair = request->env; pair != NULL && *pair != NULL; pair++) {
        g_auto(GStrv) parts = g_strsplit(*pair, "=", 2);

        env = g_environ_setenv(env, parts[0], parts[1] != NULL ? parts[1] : "", TRUE);
    }
    if (!g_spawn_async_with_pipes(request->folder, (char **)request->argv, env, flags, own_group,
                                  NULL, &pid, request->input != NULL ? &child->input : NULL,
                                  &child->output, &child->errors, error)) {
        g_prefix_error(error, "%s: ", request->argv[0]);
        return FALSE;
    }
    child->pid = pid;
    g_unix_set_fd_nonblocking(child->output, TRUE, NULL);
    g_unix_set_fd_nonblocking(child->errors, TRUE, NULL);
    if (child->input >= 0)
        g_unix_set_fd_nonblocking(child->input, TRUE, NULL);
    return TRUE;
}

/* Read what is there from one stream; closes it at its end. */
static void drain(Child *child, int *fd, GByteArray *kept)
{
    guint8 block[65536];
    gssize got;

    while ((got = read(*fd, block, sizeof block)) > 0) {
        gsize room = child->max - MIN(child->max, kept->len);

        if ((gsize)got > room)
            child->truncated = TRUE;
        g_byte_array_append(kept, block, (guint)MIN((gsize)got, room));
    }
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        io_clear_fd(fd);
}

static void feed(Child *child, const SpawnRequest *request)
{
    gssize put = write(child->input, (const char *)request->input + child->written,
                       request->input_length - child->written);

    if (put > 0)
        child->written += (gsize)put;
    if ((put < 0 && errno != EAGAIN && errno != EINTR) || child->written == request->input_length)
        io_clear_fd(&child->input);
}

static gboolean child_talk(Child *child, const Wait *wait, const SpawnRequest *request,
                           GError **error)
{
    while (child->output >= 0 || child->errors >= 0) {
        struct pollfd fds[3] = {{.fd = child->output, .events = POLLIN},
                                {.fd = child->errors, .events = POLLIN},
                                {.fd = child->input, .events = POLLOUT}};
        WaitResult result = wait_fds(wait, fds, 3);

        if (result != WAIT_READY)
            return wait_fail(wait, result, request->argv[0], error);
        if (fds[0].revents != 0)
            drain(child, &child->output, child->kept[0]);
        if (fds[1].revents != 0)
            drain(child, &child->errors, child->kept[1]);
        if (fds[2].revents != 0)
            feed(child, request);
    }
    return TRUE;
}

/* Wait for the end itself: a program may close its streams and go on. */
static gboolean child_reap(Child *child, const Wait *wait, const SpawnRequest *request,
                           int *ret_status, GError **error)
{
    autofd pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    int status = 0;

    if (pidfd >= 0) {
        WaitResult result = wait_fd(wait, pidfd, POLLIN);

        if (result != WAIT_READY)
            return wait_fail(wait, result, request->argv[0], error);
    }
    while (waitpid(child->pid, &status, 0) < 0) {
        if (errno != EINTR) {
            g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: waitpid: %s", request->argv[0],
                        g_strerror(errno));
            return FALSE;
        }
    }
    child->pid = 0;
    *ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return TRUE;
}

gboolean spawn_run(const Wait *wait, const SpawnRequest *request, SpawnResult *ret_result,
                   GError **error)
{
    g_auto(Child) child = {.input = -1, .output = -1, .errors = -1};
    int status = 0;

    child.max = request->output_max != 0 ? request->output_max : DEFAULT_MAX;
    child.kept[0] = g_byte_array_new();
    child.kept[1] = g_byte_array_new();
    if (!child_start(&child, request, error) || !child_talk(&child, wait, request, error) ||
        !child_reap(&child, wait, request, &status, error))
        return FALSE;
    ret_result->status = status;
    ret_result->output = g_byte_array_free_to_bytes(g_steal_pointer(&child.kept[0]));
    ret_result->errors = g_byte_array_free_to_bytes(g_steal_pointer(&child.kept[1]));
    ret_result->truncated = child.truncated;
    return TRUE;
}

static char *bytes_text(GBytes *bytes)
{
    gsize size;
    const char *data = g_bytes_get_data(bytes, &size);

    return g_strndup(data != NULL ? data : "", size);
}

gboolean spawn_check(const Wait *wait, const char *const *argv, char **ret_output, GError **error)
{
    SpawnRequest request = {.argv = argv};
    g_auto(SpawnResult) result = {0};

    if (!spawn_run(wait, &request, &result, error))
        return FALSE;
    if (result.status != 0) {
        g_autofree char *errors = g_strchomp(bytes_text(result.errors));
        const char *last = strrchr(errors, '\n');

        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: exit status %d: %s", argv[0],
                    result.status, last != NULL ? last + 1 : errors);
        return FALSE;
    }
    if (ret_output != NULL)
        *ret_output = bytes_text(result.output);
    return TRUE;
}
