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
};

Cancel *cancel_new(void)
{
    Cancel *cancel = g_new0(Cancel, 1);

    cancel->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (cancel->fd < 0)
        g_error("eventfd: %s", g_strerror(errno));
    return cancel;
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

int cancel_fd(const Cancel *cancel)
{
    return cancel != NULL ? cancel->fd : -1;
}

gboolean cancel_is_set(const Cancel *cancel)
{
    struct pollfd fd = {.fd = cancel_fd(cancel), .events = POLLIN};

    return cancel != NULL && poll(&fd, 1, 0) == 1;
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

WaitResult wait_fds(const Wait *wait, struct pollfd *fds, guint n)
{
    g_autofree struct pollfd *set = g_new0(struct pollfd, n + 2);

    for (;;) {
        gboolean ready = FALSE;

        if (n > 0)
            memcpy(set, fds, n * sizeof *fds);
        set[n] = (struct pollfd){.fd = cancel_fd(wait->cancel), .events = POLLIN};
        set[n + 1] = (struct pollfd){.fd = wait->guard_fd, .events = POLLIN};
        int count = poll_once(wait, set, n + 2);

        if (count < 0 && errno == EINTR)
            continue;
        for (guint i = 0; i < n; i++) {
            fds[i].revents = count > 0 ? set[i].revents : 0;
            ready = ready || fds[i].revents != 0;
        }
        if (count > 0 && set[n].revents != 0)
            return WAIT_CANCELLED;
        if (ready)
            return WAIT_READY;
        if (count > 0 && set[n + 1].revents != 0)
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
