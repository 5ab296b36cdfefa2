/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "util/wait.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/error.h"

struct Cancel {
    int fd;
    Cancel *parent;
    int watch_fd;
    void (*wake)(void *data);
    void *wake_data;
};

Cancel *cancel_new_child(Cancel *parent)
{
    Cancel *cancel = g_new0(Cancel, 1);

    cancel->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (cancel->fd < 0)
        g_error("eventfd: %s", g_strerror(errno));
    cancel->parent = parent;
    cancel->watch_fd = -1;
    return cancel;
}

Cancel *cancel_new(void)
{
    return cancel_new_child(NULL);
}

void cancel_free(Cancel *cancel)
{
    if (cancel == NULL)
        return;
    close(cancel->fd);
    g_free(cancel);
}

void cancel_set(Cancel *cancel)
{
    const uint64_t one = 1;
    int saved = errno;

    if (cancel == NULL)
        return;
    /* A full counter (EAGAIN) is a set token already. */
    if (write(cancel->fd, &one, sizeof one) < 0)
        errno = saved;
}

gboolean cancel_is_set(const Cancel *cancel)
{
    for (; cancel != NULL; cancel = cancel->parent) {
        struct pollfd fd = {.fd = cancel->fd, .events = POLLIN};

        if (poll(&fd, 1, 0) == 1)
            return TRUE;
    }
    return FALSE;
}

void cancel_watch(Cancel *cancel, int fd, void (*wake)(void *data), void *data)
{
    cancel->watch_fd = fd;
    cancel->wake = wake;
    cancel->wake_data = data;
}

Wait wait_within(const Wait *parent, gint64 span_ns)
{
    Wait wait = *parent;
    gint64 now = clock_mono_ns();
    gint64 deadline = span_ns >= WAIT_FOREVER - now ? WAIT_FOREVER : now + span_ns;

    wait.deadline_ns = MIN(parent->deadline_ns, deadline);
    return wait;
}

gint64 wait_left_ns(const Wait *wait)
{
    if (wait->deadline_ns == WAIT_FOREVER)
        return G_MAXINT64;
    return MAX(0, wait->deadline_ns - clock_mono_ns());
}

/* One ppoll over all; returns the number of ready descriptors. */
static int poll_once(const Wait *wait, struct pollfd *set, guint n)
{
    gint64 left = wait_left_ns(wait);
    struct timespec ts = {.tv_sec = (time_t)(left / CLOCK_NS_PER_S),
                          .tv_nsec = (long)(left % CLOCK_NS_PER_S)};

    return ppoll(set, n, left == G_MAXINT64 ? NULL : &ts, NULL);
}

/* Tokens from this one up to the root. */
static guint chain_length(const Cancel *cancel)
{
    guint length = 0;

    for (; cancel != NULL; cancel = cancel->parent)
        length++;
    return length;
}

/* Two descriptors a token: its own, and the one it watches. */
static void chain_fill(const Cancel *cancel, struct pollfd *set)
{
    for (; cancel != NULL; cancel = cancel->parent, set += 2) {
        set[0] = (struct pollfd){.fd = cancel->fd, .events = POLLIN};
        set[1] = (struct pollfd){.fd = cancel->watch_fd, .events = POLLIN};
    }
}

/* Whether a token is set; calls those that watch something that is readable. */
static gboolean chain_fired(Cancel *cancel, const struct pollfd *set)
{
    gboolean fired = FALSE;

    for (; cancel != NULL; cancel = cancel->parent, set += 2) {
        if (set[1].revents != 0)
            cancel->wake(cancel->wake_data);
        fired = fired || set[0].revents != 0;
    }
    return fired;
}

WaitResult wait_fds(const Wait *wait, struct pollfd *fds, guint n)
{
    guint tokens = chain_length(wait->cancel);
    g_autofree struct pollfd *set = g_new0(struct pollfd, n + 1 + 2 * tokens);

    for (;;) {
        gboolean ready = FALSE;

        if (n > 0)
            memcpy(set, fds, n * sizeof *fds);
        set[n] = (struct pollfd){.fd = wait->guard_fd, .events = POLLIN};
        chain_fill(wait->cancel, set + n + 1);
        int count = poll_once(wait, set, n + 1 + 2 * tokens);

        if (count < 0 && errno == EINTR)
            continue;
        for (guint i = 0; i < n; i++) {
            fds[i].revents = count > 0 ? set[i].revents : 0;
            ready = ready || fds[i].revents != 0;
        }
        if (count > 0 && chain_fired(wait->cancel, set + n + 1))
            return WAIT_CANCELLED;
        if (ready)
            return WAIT_READY;
        if (count > 0 && set[n].revents != 0)
            return WAIT_GUARD;
        /* The raw clock and the kernel's timer differ by ppm: a timer may fire early. */
        if (wait_left_ns(wait) == 0)
            return WAIT_TIMEOUT;
    }
}

WaitResult wait_fd(const Wait *wait, int fd, short events)
{
    struct pollfd one = {.fd = fd, .events = events};

    return wait_fds(wait, &one, fd >= 0 ? 1 : 0);
}

WaitResult wait_sleep(const Wait *wait, gint64 span_ns)
{
    Wait nap = wait_within(wait, span_ns);

    return wait_fd(&nap, -1, 0);
}

gboolean wait_fail(const Wait *wait, WaitResult result, const char *what, GError **error)
{
    switch (result) {
    case WAIT_CANCELLED:
        g_set_error(error, VM_ERROR, VM_ERROR_CANCELLED, "%s: cancelled while waiting for %s",
                    wait->step, what);
        return FALSE;
    case WAIT_GUARD:
        g_set_error(error, VM_ERROR, VM_ERROR_GUEST_DIED,
                    "%s: the guest's process ended while waiting for %s", wait->step, what);
        return FALSE;
    case WAIT_TIMEOUT:
    case WAIT_READY:
        break;
    }
    g_set_error(error, VM_ERROR, VM_ERROR_TIMEOUT, "%s: no %s before the deadline", wait->step,
                what);
    return FALSE;
}
