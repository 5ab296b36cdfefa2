/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two-clock check: how long an invocation took by the host's clock and by the guest's, how far
 * they differ, and how much of that the message delays could explain.
 *
 * Each guest time stamp g that the host saw between sending a request (s) and receiving the answer
 * (r) proves that g happened within [s, r] of host time. A stamp at another guest time e, shifted
 * by g - e, is bounded by the same interval; several pings intersect (Marzullo's algorithm, as NTP
 * uses it). Begin and end of the invocation are bounded so, and the error of their difference is
 * the sum of both half widths: network jitter widens the bound, and can never raise a false flag.
 */
#pragma once
#include <glib.h>

typedef struct {
    gint64 sent_ns;     /* host clock when the request was sent */
    gint64 guest_ns;    /* guest clock in the answer */
    gint64 received_ns; /* host clock when the answer was read */
} ClockProbe;

typedef struct {
    gint64 host_ns;   /* best estimate of the host duration */
    gint64 guest_ns;  /* guest duration */
    double drift_ppm; /* (guest - host) / host * 1e6: above 0, the guest's clock is fast */
    double bound_ppm; /* error bound of drift_ppm, from the message delays */
    gboolean usable;  /* FALSE: no consistent interval, or a duration not above 0 */
    gboolean flagged; /* |drift| > bound + limit, and host_ns is at least 1 s */
} TwoClock;

/* begin: sent = host's go, guest = begin mark, received = its arrival. before/after: pings around
 * the invocation, in any number. end: guest = end mark, received = its arrival, sent = host's go
 * too: the begin's arrival would be no bound, a late one can come after the end. limit_ppm: the
 * drift allowed beyond the bound, from 0. Where the result is not usable, host_ns and guest_ns are
 * the plain differences of the arrivals and of the stamps (0 when a stamp is below 0), and drift
 * and bound are 0. Pure. */
void twoclock_judge(const ClockProbe *begin, const ClockProbe *end, const ClockProbe *before,
                    guint n_before, const ClockProbe *after, guint n_after, double limit_ppm,
                    TwoClock *ret_result);
