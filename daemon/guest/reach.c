/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/reach.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/io.h"

enum {
    SILENT_QUICK_MS = 120,
    SILENT_MS = 200,
    WATCHED_MS = 240,     /* the console tells when to try */
    WATCHED_MIN_MS = 120, /* between attempts, however much is written there */
    GREETING_MS = 1000,   /* for a server that is there to say its first word */
    QUICK_MS = 10000,     /* how long the quick pace lasts */
    ANSWERED_MS = 40,     /* refusing costs the guest an interrupt, and its server comes next */
    ANSWERED_WATCHED_MS = 120,
    ANSWERS_QUICK = 150, /* answers after which the pause grows for them too */
    ANSWERED_MAX_MS = 250,
    PATIENCE_MS = 10000, /* for the oldest */
};

gboolean reach_init(Reach *reach, const char *step, const char *where, const char *host, guint port,
                    GError **error)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    g_autofree char *service = g_strdup_printf("%u", port);
    struct addrinfo *found = NULL;
    int code = getaddrinfo(host, service, &hints, &found);

    memset(reach, 0, sizeof *reach);
    if (code != 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "%s: %s: not a numeric address: %s", step,
                    where, gai_strerror(code));
        return FALSE;
    }
    memcpy(&reach->address, found->ai_addr, found->ai_addrlen);
    reach->address_length = found->ai_addrlen;
    freeaddrinfo(found);
    reach->where = g_strdup(where);
    reach->start_ns = clock_mono_ns();
    reach->patience_ns = PATIENCE_MS * CLOCK_NS_PER_MS;
    return TRUE;
}

/* Not its socket: that is closed, or given out. */
static void forget(Reach *reach, guint i)
{
    reach->n_open--;
    memmove(&reach->open[i], &reach->open[i + 1], (reach->n_open - i) * sizeof *reach->open);
    memmove(&reach->since_ns[i], &reach->since_ns[i + 1],
            (reach->n_open - i) * sizeof *reach->since_ns);
}

static void close_all(Reach *reach)
{
    for (; reach->n_open > 0; reach->n_open--)
        close(reach->open[reach->n_open - 1].fd);
}

void reach_watch_console(Reach *reach, const char *path)
{
    autofd fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd < 0 || inotify_add_watch(fd, path, IN_MODIFY) < 0)
        return;
    reach->watched = TRUE;
    reach->console = io_steal_fd(&fd);
    reach->watched_ns = WATCHED_MS * CLOCK_NS_PER_MS;
}

/* The n oldest: they are from before the guest had a network, and would stay dumb. */
static void drop_first(Reach *reach, guint n)
{
    for (; n > 0; n--) {
        close(reach->open[0].fd);
        forget(reach, 0);
    }
}

void reach_finish(Reach *reach)
{
    close_all(reach);
    if (reach->watched)
        close(reach->console);
    reach->watched = FALSE;
    g_clear_pointer(&reach->last, g_free);
    g_clear_pointer(&reach->where, g_free);
}

static void note(Reach *reach, const char *what, const char *why)
{
    g_free(reach->last);
    reach->last = g_strdup_printf("%s%s%s", what, why != NULL ? ": " : "", why != NULL ? why : "");
}

/* The guest itself has refused, or closed. */
static void answered(Reach *reach)
{
    gint64 quick_ms = reach->watched ? ANSWERED_WATCHED_MS : ANSWERED_MS;
    gint64 pause_ms = ++reach->answers <= ANSWERS_QUICK ? quick_ms : ANSWERED_MAX_MS;

    reach->due_ns = MIN(reach->due_ns, clock_mono_ns() + pause_ms * CLOCK_NS_PER_MS);
}

void reach_again(Reach *reach, const char *why)
{
    note(reach, why, NULL);
    answered(reach);
}

static const char *missing(const Reach *reach, guint i)
{
    return reach->open[i].events == POLLIN ? "first byte of the SSH banner" : "TCP connection";
}

/* Make room: the oldest goes when it had its time, else the next younger one. */
static void give_up_one(Reach *reach)
{
    gint64 age_ns = clock_mono_ns() - reach->since_ns[0];
    guint i = age_ns > reach->patience_ns ? 0 : 1;
    g_autofree char *why = g_strdup_printf("no %s in time", missing(reach, i));

    note(reach, why, NULL);
    close(reach->open[i].fd);
    forget(reach, i);
}

/* To the next attempt, as long as this one is silent. */
static gint64 pace_ns(const Reach *reach)
{
    gint64 since_ns = clock_mono_ns() - reach->start_ns;

    if (reach->answers > 0)
        return GREETING_MS * CLOCK_NS_PER_MS;
    if (reach->watched)
        return reach->watched_ns;
    return (since_ns < QUICK_MS * CLOCK_NS_PER_MS ? SILENT_QUICK_MS : SILENT_MS) * CLOCK_NS_PER_MS;
}

static gboolean try_one(Reach *reach, const Wait *wait, GError **error)
{
    const int one = 1;
    autofd fd = socket(reach->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    reach->attempts++;
    reach->tried_ns = clock_mono_ns();
    reach->due_ns = reach->tried_ns + pace_ns(reach);
    if (fd < 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: socket: %s", wait->step,
                    g_strerror(errno));
        return FALSE;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (const struct sockaddr *)&reach->address, reach->address_length) != 0 &&
        errno != EINPROGRESS) {
        note(reach, "connect", g_strerror(errno));
        answered(reach);
        return TRUE;
    }
    if (reach->n_open == REACH_OPEN_MAX)
        give_up_one(reach);
    reach->since_ns[reach->n_open] = clock_mono_ns();
    reach->open[reach->n_open++] = (struct pollfd){.fd = io_steal_fd(&fd), .events = POLLOUT};
    return TRUE;
}

/* It has something to say: TRUE when it is a byte; else it goes, or waits on for its first. */
static gboolean look(Reach *reach, guint i)
{
    struct pollfd *entry = &reach->open[i];
    char byte;
    gssize got = recv(entry->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    if (got > 0)
        return TRUE;
    if (got == 0)
        note(reach, "connection closed before the banner", NULL);
    else if (errno == EAGAIN) {
        entry->events = POLLIN; /* it is connected */
        return FALSE;
    } else
        note(reach, entry->events == POLLIN ? "reading the banner" : "connect", g_strerror(errno));
    close(entry->fd);
    forget(reach, i);
    answered(reach);
    return FALSE;
}

/* The socket that has a byte; -1: none. With the first that was refused or closed go those before
 * it. */
static int look_at_all(Reach *reach)
{
    gboolean was_dumb = reach->answers == 0;

    for (guint i = reach->n_open; i-- > 0;) {
        if (reach->open[i].revents == 0)
            continue;
        if (look(reach, i)) {
            int fd = reach->open[i].fd;

            forget(reach, i);
            close_all(reach);
            return fd;
        }
        if (was_dumb && reach->answers > 0) {
            drop_first(reach, i);
            return -1;
        }
    }
    return -1;
}

static void fail(const Reach *reach, const Wait *wait, WaitResult result, GError **error)
{
    g_autofree char *what =
        g_strdup_printf("%s from %s (attempts: %u; the one before: %s)",
                        reach->n_open > 0 ? missing(reach, 0) : "SSH server", reach->where,
                        reach->attempts, reach->last != NULL ? reach->last : "none");

    wait_fail(wait, result, what, error);
}

/* Sooner is not tried, whatever the guest writes. */
static gint64 soonest_ns(const Reach *reach)
{
    return reach->tried_ns + WATCHED_MIN_MS * CLOCK_NS_PER_MS;
}

/* Not while a server may be at work on what was tried last. */
static gboolean listens_to_console(const Reach *reach)
{
    return reach->watched && reach->due_ns > soonest_ns(reach) &&
           (reach->answers == 0 || reach->n_open == 0);
}

/* As wait_fds, of all connections. What is written to the console counts only while it can bring
 * the next attempt forward: a guest that writes all the time must not keep the host awake. */
static WaitResult wait_all(Reach *reach, const Wait *wait)
{
    char events[4096];
    guint n = reach->n_open;
    WaitResult result;

    if (listens_to_console(reach))
        reach->open[n++] = (struct pollfd){.fd = reach->console, .events = POLLIN};
    result = wait_fds(wait, reach->open, n);
    if (result == WAIT_READY && n > reach->n_open && reach->open[reach->n_open].revents != 0) {
        while (read(reach->console, events, sizeof events) > 0)
            ;
        reach->due_ns = soonest_ns(reach);
    }
    return result;
}

int reach_first_byte(Reach *reach, const Wait *wait, GError **error)
{
    for (;;) {
        if (clock_mono_ns() >= reach->due_ns && !try_one(reach, wait, error))
            return -1;
        Wait turn = wait_within(wait, MAX(reach->due_ns - clock_mono_ns(), 0));
        WaitResult result = wait_all(reach, &turn);
        int fd = result == WAIT_READY ? look_at_all(reach) : -1;

        if (fd >= 0)
            return fd;
        if (result == WAIT_CANCELLED || result == WAIT_GUARD || wait_left_ns(wait) == 0) {
            fail(reach, wait, result == WAIT_READY ? WAIT_TIMEOUT : result, error);
            return -1;
        }
    }
}
