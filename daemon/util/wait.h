/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everything that blocks, blocks here: one poll() over the descriptor in question, the cancel
 * token, a guard descriptor (the pidfd of the process that the work depends on) and one deadline.
 * There is no periodic wake-up. */
#pragma once
#include <glib.h>
#include <poll.h>

/* A cancel token: an eventfd. cancel_set() may be called from a signal handler. */
typedef struct Cancel Cancel;

Cancel *cancel_new(void);
void cancel_free(Cancel *cancel); /* accepts NULL */
void cancel_set(Cancel *cancel);  /* async-signal-safe; idempotent; accepts NULL */
gboolean cancel_is_set(const Cancel *cancel);

/* A token that is set when its parent is, or by itself. The parent must outlive it. */
Cancel *cancel_new_child(Cancel *parent);

/* A descriptor whose readability may lead to a cancel: while something waits with this token (or a
 * child of it), wake(data) is called when fd is readable. It must take what makes fd readable, and
 * may call cancel_set(). One a token; fd is borrowed; -1 takes it away. */
void cancel_watch(Cancel *cancel, int fd, void (*wake)(void *data), void *data);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Cancel, cancel_free)

#define WAIT_FOREVER G_MAXINT64

/* What bounds a blocking call. Passed by pointer through everything that can block. */
typedef struct {
    gint64 deadline_ns; /* clock_mono_ns() scale; WAIT_FOREVER for none */
    Cancel *cancel;     /* NULL: cannot be cancelled */
    int guard_fd;       /* pidfd that becomes readable when the subject dies; -1 for none */
    const char *step;   /* name of the step, for messages; never NULL */
} Wait;

typedef enum {
    WAIT_READY,     /* the descriptor has one of the events (or an error to be read) */
    WAIT_TIMEOUT,   /* the deadline passed */
    WAIT_CANCELLED, /* the token is set */
    WAIT_GUARD,     /* the guarded process ended */
} WaitResult;

/* A wait that ends span_ns from now, never later than parent's own deadline; the rest is parent's.
 */
Wait wait_within(const Wait *parent, gint64 span_ns);

/* Nanoseconds until the deadline, never below 0; G_MAXINT64 for WAIT_FOREVER. */
gint64 wait_left_ns(const Wait *wait);

/* Wait until fd has one of events (POLLIN, POLLOUT). fd -1 waits for the rest alone: a sleep that
 * can be cancelled. Readiness of fd wins over the guard, so that the last words of a dying guest
 * are read; cancel wins over all. Never fails: EINTR is retried. */
WaitResult wait_fd(const Wait *wait, int fd, short events);

/* The same for several descriptors; revents are filled in. n may be 0. */
WaitResult wait_fds(const Wait *wait, struct pollfd *fds, guint n);

/* Sleep for span_ns. WAIT_TIMEOUT when the span (or the deadline) has passed: the normal outcome.
 */
WaitResult wait_sleep(const Wait *wait, gint64 span_ns);

/* Turn an outcome other than WAIT_READY into a VM_ERROR of the right code:
 * "STEP: no WHAT within 12.0 s" and so on. Returns FALSE always, for "return wait_fail(…)". */
gboolean wait_fail(const Wait *wait, WaitResult result, const char *what, GError **error);
