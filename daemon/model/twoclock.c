/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/twoclock.h"

#include <math.h>

#define PPM 1e6

/* How much more than its limit the guest's clock may be off over the way from a ping to its mark:
 * so that a fast clock is flagged, not called inconsistent. Doubled until it is more than what was
 * found; a clock within its limit never needs that. */
#define SLACK 0.02
#define SLACK_MAX 4.0

/* Below this much work a jitter of 1 ms is 1000 ppm and more: no verdict. */
#define FLAG_MIN_NS 1e9

/* Stamps are whole nanoseconds, cut off: each may be 1 ns early. */
#define GRAIN_NS 2.0

/* Host time, in ns after the origin (the go). Empty when low > high. */
typedef struct {
    double low, high;
} Interval;

static gboolean probe_sane(const ClockProbe *probe)
{
    return probe->sent_ns >= 0 && probe->guest_ns >= 0 && probe->received_ns >= probe->sent_ns;
}

static gboolean probes_sane(const ClockProbe *probes, guint n)
{
    for (guint i = 0; i < n; i++)
        if (!probe_sane(&probes[i]))
            return FALSE;
    return TRUE;
}

/* Narrow interval by what probe says of the host time at the guest's stamp: the probe's own bounds,
 * moved by the guest's clock and widened by slack of that way. */
static void narrow(Interval *interval, const ClockProbe *probe, gint64 stamp_ns, gint64 origin_ns,
                   double slack)
{
    double way = (double)(stamp_ns - probe->guest_ns);
    double widen = fabs(way) * slack + GRAIN_NS;

    interval->low = fmax(interval->low, (double)(probe->sent_ns - origin_ns) + way - widen);
    interval->high = fmin(interval->high, (double)(probe->received_ns - origin_ns) + way + widen);
}

/* Where the host's clock stood at mark: what all probes agree on; empty when they do not. */
static Interval locate(const ClockProbe *mark, const ClockProbe *probes, guint n, gint64 origin_ns,
                       double slack)
{
    Interval interval = {.low = -INFINITY, .high = INFINITY};

    narrow(&interval, mark, mark->guest_ns, origin_ns, 0);
    for (guint i = 0; i < n; i++)
        narrow(&interval, &probes[i], mark->guest_ns, origin_ns, slack);
    return interval;
}

/* Fill in from both intervals; FALSE when one is empty. */
static gboolean judge(TwoClock *result, Interval begin, Interval end, double limit_ppm)
{
    if (begin.low > begin.high || end.low > end.high)
        return FALSE;
    /* The end cannot be before the begin. */
    end.low = fmax(end.low, begin.low);
    begin.high = fmin(begin.high, end.high);
    double host = (end.low + end.high - begin.low - begin.high) / 2;
    double error = (end.high - end.low + begin.high - begin.low) / 2;

    if (host < 1 || result->guest_ns <= 0)
        return FALSE;
    result->usable = TRUE;
    result->host_ns = (gint64)llround(host);
    result->drift_ppm = ((double)result->guest_ns - host) / host * PPM;
    /* With the true duration T in host ± error, the estimate G/host is off from the true ratio G/T
     * by G/T * |T - host| / host: by (1 + limit) * error / host for a clock within its limit. */
    result->bound_ppm = (1 + limit_ppm / PPM) * error / host * PPM;
    result->flagged =
        host >= FLAG_MIN_NS && fabs(result->drift_ppm) > result->bound_ppm + limit_ppm;
    return TRUE;
}

void twoclock_judge(const ClockProbe *begin, const ClockProbe *end, const ClockProbe *before,
                    guint n_before, const ClockProbe *after, guint n_after, double limit_ppm,
                    TwoClock *ret_result)
{
    TwoClock result = {0};
    gboolean settled = FALSE;

    if (probe_sane(begin) && probe_sane(end) && probes_sane(before, n_before) &&
        probes_sane(after, n_after)) {
        result.host_ns = end->received_ns - begin->received_ns;
        result.guest_ns = end->guest_ns - begin->guest_ns;
    }
    /* Without pings after the end, its best lower bound is the begin, moved. */
    if (n_after == 0) {
        after = begin;
        n_after = 1;
    }
    for (double slack = SLACK + limit_ppm / PPM;
         result.guest_ns > 0 && !settled && slack < SLACK_MAX; slack *= 2) {
        Interval from = locate(begin, before, n_before, begin->sent_ns, slack);
        Interval to = locate(end, after, n_after, begin->sent_ns, slack);

        settled = judge(&result, from, to, limit_ppm) && fabs(result.drift_ppm) / PPM * 2 <= slack;
    }
    *ret_result = result;
}
