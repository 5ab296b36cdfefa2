/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reaches a server that is still booting: the first connection on which it speaks.
 *
 * A user-mode forward (libslirp) accepts at once, long before the guest has a network, and a
 * connection from that time may stay dumb for seconds after the server is there. So attempts
 * overlap: a new one is made every 120 ms while the others are silent (200 ms after the first ten
 * seconds: a guest that boots for longer may greet slowly too, and would have to serve them all; 40
 * ms after one that was refused or closed, and 250 ms after 150 of those). Two are open at a time,
 * since the server may fork for each; the older is given 10 s, if the server takes long to greet,
 * the younger gives way to the next. The other is closed before one is spoken on.
 *
 * Once the guest's network has answered, by refusing or closing, silence means that the server is
 * at work: it is given a second before the next attempt, and connections from before are dropped.
 *
 * Each attempt costs a guest that boots. Where the guest's console can be watched, they are half as
 * frequent, and one more is made as soon as the guest has written there: most write something when
 * a server has started, or when the boot is over. */
#pragma once
#include <glib.h>
#include <poll.h>
#include <sys/socket.h>

#include "util/wait.h"

enum { REACH_OPEN_MAX = 2 };
enum { REACH_POLL_MAX = REACH_OPEN_MAX + 1 };

typedef struct {
    struct sockaddr_storage address;
    socklen_t address_length;
    struct pollfd open[REACH_POLL_MAX]; /* oldest first; POLLOUT: not yet connected; one to spare */
    gint64 since_ns[REACH_OPEN_MAX];
    guint n_open;
    guint attempts; /* all connections tried */
    guint answers;  /* those that were refused or closed: the guest's network is up */
    gint64 start_ns;
    gint64 patience_ns; /* with the oldest, while younger ones want its place */
    gint64 tried_ns;    /* when the last one was made */
    gint64 due_ns;      /* when the next attempt is made */
    gboolean watched;   /* console is inotify's */
    int console;
    gint64 watched_ns; /* to the next attempt while nothing is written there */
    char *where;       /* for messages */
    char *last;        /* why the last attempt failed, or NULL */
} Reach;

/* host is a numeric address (VM_ERROR_INVALID otherwise). where: "guest g1 at ADDRESS port N", and
 * step, are for messages. */
gboolean reach_init(Reach *reach, const char *step, const char *where, const char *host, guint port,
                    GError **error);
/* What the guest writes to the file at path, its console, is a reason to try. Where that cannot be
 * watched (no such file here: the hypervisor is another machine's), nothing changes. */
void reach_watch_console(Reach *reach, const char *path);
void reach_finish(Reach *reach); /* accepts one that is all 0 */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Reach, reach_finish)

/* Try until a connection has a byte to read (which is left there), or the wait ends: its error says
 * how many attempts there were and what became of the last. The socket is the caller's,
 * non-blocking, with TCP_NODELAY. To be called again when what followed on it went wrong. -1 with
 * error. */
int reach_first_byte(Reach *reach, const Wait *wait, GError **error);

/* The connection that was given out went wrong before its work was done: why. The next one follows
 * after a pause. */
void reach_again(Reach *reach, const char *why);
