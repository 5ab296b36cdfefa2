/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A byte stream to the agent: an SSH channel, or the pipes of a local process (bare). One const
 * table of operations a kind. A write to an end that is gone would raise SIGPIPE: programs that use
 * channels ignore that signal. */
#pragma once
#include <glib.h>
#include <sys/types.h>

#include "util/wait.h"

typedef struct Channel Channel;

typedef enum { CHANNEL_DATA, CHANNEL_EOF } ChannelRead;

struct channel_ops {
    /* Wait for some bytes of standard output (standard error is collected aside). Returns FALSE
     * with error set on time-out, cancel, guard or loss. *ret_length is 0 only with CHANNEL_EOF. */
    gboolean (*read)(Channel *channel, const Wait *wait, void *buffer, gsize size,
                     gsize *ret_length, ChannelRead *ret_read, GError **error);
    gboolean (*write)(Channel *channel, const Wait *wait, const void *data, gsize length,
                      GError **error);
    gboolean (*close_input)(Channel *channel, const Wait *wait, GError **error);
    /* After EOF: exit code, 128+N for signal N, -1 when the other side did not say. */
    gboolean (*exit_status)(Channel *channel, const Wait *wait, int *ret_status, GError **error);
    /* Ends the process if it still runs: a local one by SIGKILL; a remote one by a signal where the
     * SSH server passes it on (OpenSSH does not for root), else by the end of its input. */
    void (*free)(Channel *channel);
};

struct Channel {
    const struct channel_ops *ops;
    GString *errors; /* standard error so far, at most CHANNEL_ERRORS_MAX bytes; owned */
};

#define CHANNEL_ERRORS_MAX 65536

void channel_free(Channel *channel); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Channel, channel_free)

/* Keep what fits of a piece of standard error; for the kinds of channel. */
void channel_keep_errors(Channel *channel, const void *data, gsize length);

/* A local process with pipes (channel-local.c): argv, pinned to the CPUs in cpus (NULL-terminated
 * affinity list like "0,1", or NULL for all), in its own process group; ended with SIGKILL on free.
 * ret_pidfd (may be NULL) gets a pidfd that the channel owns: the guard of a bare run. It is -1
 * where the system has no such thing (valgrind). */
Channel *channel_local_new(const char *const *argv, const char *cpus, int *ret_pidfd,
                           GError **error);
/* The same, in the control groups behind joins (int: descriptors of their cgroup.procs) from its
 * first instruction on. joins may be NULL. */
Channel *channel_local_joined(const char *const *argv, const char *cpus, const GArray *joins,
                              int *ret_pidfd, GError **error);
/* Its process; 0 once that has ended and was seen to. channel must be a local one. */
pid_t channel_local_pid(const Channel *channel);
