/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/channel.h"

#include <errno.h>
#include <glib-unix.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/cpulist.h"
#include "util/error.h"
#include "util/io.h"

enum { POLL_MS = 10 };

typedef struct {
    Channel base;
    char *name;                       /* argv[0], for messages */
    pid_t pid;                        /* 0: not started, or reaped */
    int pidfd, input, output, errors; /* -1 when closed */
    int status;                       /* once reaped */
} LocalChannel;

/* End what is left of the process group, and reap its leader. Until then the leader's number cannot
 * be given to another process, so the group is ours. */
static void end_group(LocalChannel *local)
{
    int status = 0;

    if (local->pid == 0)
        return;
    kill(-local->pid, SIGKILL);
    while (waitpid(local->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    local->pid = 0;
    local->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void local_free(Channel *channel)
{
    LocalChannel *local = (LocalChannel *)channel;

    end_group(local);
    io_clear_fd(&local->pidfd);
    io_clear_fd(&local->input);
    io_clear_fd(&local->output);
    io_clear_fd(&local->errors);
    g_string_free(local->base.errors, TRUE);
    g_free(local->name);
    g_free(local);
}

static gboolean lost(const LocalChannel *local, const Wait *wait, const char *what, int code,
                     GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_LOST, "%s: %s of %s: %s", wait->step, what, local->name,
                g_strerror(code));
    return FALSE;
}

/* Take what is there of standard error; close it at its end. */
static void drain_errors(LocalChannel *local)
{
    char block[4096];
    gssize got = 1;

    while (local->errors >= 0 && got > 0) {
        got = read(local->errors, block, sizeof block);
        if (got > 0)
            channel_keep_errors(&local->base, block, (gsize)got);
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            io_clear_fd(&local->errors);
    }
}

/* Wait for fd, taking standard error aside meanwhile: a full pipe there would stop the process. */
static gboolean await(LocalChannel *local, const Wait *wait, int fd, short events, const char *what,
                      GError **error)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = fd, .events = events},
                                {.fd = local->errors, .events = POLLIN}};
        WaitResult result = wait_fds(wait, fds, 2);

        if (result != WAIT_READY)
            return wait_fail(wait, result, what, error);
        if (fds[1].revents != 0)
            drain_errors(local);
        if (fds[0].revents != 0)
            return TRUE;
    }
}

static gboolean local_read(Channel *channel, const Wait *wait, void *buffer, gsize size,
                           gsize *ret_length, ChannelRead *ret_read, GError **error)
{
    LocalChannel *local = (LocalChannel *)channel;
    gssize got;

    do {
        if (!await(local, wait, local->output, POLLIN, "line of the agent", error))
            return FALSE;
        got = read(local->output, buffer, size);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    if (got < 0)
        return lost(local, wait, "output", errno, error);
    *ret_length = (gsize)got;
    *ret_read = got == 0 ? CHANNEL_EOF : CHANNEL_DATA;
    return TRUE;
}

static gboolean local_write(Channel *channel, const Wait *wait, const void *data, gsize length,
                            GError **error)
{
    LocalChannel *local = (LocalChannel *)channel;
    const char *at = data;

    while (length > 0) {
        if (!await(local, wait, local->input, POLLOUT, "room in the agent's input", error))
            return FALSE;
        gssize put = write(local->input, at, length);

        if (put < 0 && errno != EINTR && errno != EAGAIN)
            return lost(local, wait, "input", errno, error);
        at += MAX(put, 0);
        length -= (gsize)MAX(put, 0);
    }
    return TRUE;
}

static gboolean local_close_input(Channel *channel, const Wait *wait, GError **error)
{
    io_clear_fd(&((LocalChannel *)channel)->input);
    return TRUE;
}

/* Wait for the end of the process, and leave it to be reaped. */
static gboolean await_end(LocalChannel *local, const Wait *wait, GError **error)
{
    siginfo_t info = {0};

    if (local->pidfd >= 0)
        return await(local, wait, local->pidfd, POLLIN, "end of the agent", error);
    /* Without a pidfd there is nothing to wait on: look now and then. */
    while (waitid(P_PID, (id_t)local->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0) {
        WaitResult result = wait_sleep(wait, POLL_MS * CLOCK_NS_PER_MS);

        if (result != WAIT_TIMEOUT || wait_left_ns(wait) == 0)
            return wait_fail(wait, result, "end of the agent", error);
    }
    return TRUE;
}

static gboolean local_exit_status(Channel *channel, const Wait *wait, int *ret_status,
                                  GError **error)
{
    LocalChannel *local = (LocalChannel *)channel;
    Wait unguarded = *wait;

    /* The guard is this process, as a rule: its end is what is waited for. */
    unguarded.guard_fd = -1;
    if (local->pid != 0 && !await_end(local, &unguarded, error))
        return FALSE;
    drain_errors(local);
    end_group(local);
    *ret_status = local->status;
    return TRUE;
}

static const struct channel_ops local_ops = {
    .read = local_read,
    .write = local_write,
    .close_input = local_close_input,
    .exit_status = local_exit_status,
    .free = local_free,
};

static gboolean parse_cpus(const char *cpus, cpu_set_t *ret_set, GError **error)
{
    g_autoptr(GArray) numbers = cpulist_parse(cpus);
    gboolean ok = numbers != NULL;

    CPU_ZERO(ret_set);
    for (guint i = 0; ok && i < numbers->len; i++) {
        guint cpu = g_array_index(numbers, guint, i);

        ok = cpu < CPU_SETSIZE;
        if (ok)
            CPU_SET(cpu, ret_set);
    }
    if (!ok)
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "CPU list \"%s\": not CPU numbers and ranges like 0,2-3", cpus);
    return ok;
}

typedef struct {
    const cpu_set_t *cpus; /* NULL: all */
    const GArray *joins;   /* int, or NULL */
} Setup;

/* Runs in the child: only calls that are safe after a fork. A signal that the parent ignores must
 * not stay ignored in the agent. The groups come before the CPUs: joining one may change them. */
static void prepare_child(gpointer data)
{
    const Setup *setup = data;

    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0);
    for (guint i = 0; setup->joins != NULL && i < setup->joins->len; i++)
        if (write(g_array_index(setup->joins, int, i), "0", 1) != 1)
            _exit(126);
    if (setup->cpus != NULL && sched_setaffinity(0, sizeof(cpu_set_t), setup->cpus) != 0)
        _exit(126);
}

/* Whether the kernel lets this process run on all CPUs in wanted. */
static gboolean check_cpus(const char *cpus, const cpu_set_t *wanted, GError **error)
{
    cpu_set_t allowed, both;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return TRUE;
    CPU_AND(&both, &allowed, wanted);
    if (CPU_EQUAL(&both, wanted))
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                "CPU list \"%s\": not all of these CPUs are there and allowed (see "
                "Cpus_allowed_list in /proc/self/status): choose others, or fewer vcpus",
                cpus);
    return FALSE;
}

static gboolean start(LocalChannel *local, const char *const *argv, Setup *setup, GError **error)
{
    GPid pid;

    if (!g_spawn_async_with_pipes(
            NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD,
            prepare_child, setup, &pid, &local->input, &local->output, &local->errors, error)) {
        g_prefix_error(error, "%s: ", argv[0]);
        return FALSE;
    }
    local->pid = pid;
    local->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    /* Valgrind knows no pidfd: then the end shows only as the end of the output. */
    if (local->pidfd < 0 && errno != ENOSYS) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: pidfd_open: %s", argv[0],
                    g_strerror(errno));
        return FALSE;
    }
    g_unix_set_fd_nonblocking(local->input, TRUE, NULL);
    g_unix_set_fd_nonblocking(local->output, TRUE, NULL);
    g_unix_set_fd_nonblocking(local->errors, TRUE, NULL);
    return TRUE;
}

Channel *channel_local_new(const char *const *argv, const char *cpus, int *ret_pidfd,
                           GError **error)
{
    return channel_local_joined(argv, cpus, NULL, ret_pidfd, error);
}

Channel *channel_local_joined(const char *const *argv, const char *cpus, const GArray *joins,
                              int *ret_pidfd, GError **error)
{
    g_autoptr(Channel) channel = NULL;
    LocalChannel *local;
    cpu_set_t set;
    Setup setup = {.cpus = cpus != NULL ? &set : NULL, .joins = joins};

    /* A group that is joined first may allow other CPUs than this process has. */
    if (cpus != NULL &&
        (!parse_cpus(cpus, &set, error) || (joins == NULL && !check_cpus(cpus, &set, error))))
        return NULL;
    local = g_new0(LocalChannel, 1);
    local->base = (Channel){.ops = &local_ops, .errors = g_string_new(NULL)};
    local->name = g_strdup(argv[0]);
    local->pidfd = local->input = local->output = local->errors = -1;
    channel = &local->base;
    if (!start(local, argv, &setup, error))
        return NULL;
    if (ret_pidfd != NULL)
        *ret_pidfd = local->pidfd;
    return g_steal_pointer(&channel);
}

pid_t channel_local_pid(const Channel *channel)
{
    g_assert(channel->ops == &local_ops);
    return ((const LocalChannel *)channel)->pid;
}
