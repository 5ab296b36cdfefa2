/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stopwatch.h"

#include "os.h"
#include "tsc.h"

/* Euclid's. */
static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A clock's step divides all differences of its readings, also where a reading takes many steps. */
void stopwatch_measure(struct stopwatch *ret_stopwatch)
{
    /* Enough on a fast machine; under emulation a reading takes microseconds, and the host waits
     * for our hello: so after some rounds the time is what ends it. */
    enum { READINGS = 200, ROUNDS_MIN = 3, ROUNDS_MAX = 100, BUDGET_NS = 2000000 };
    int64_t step = 0, fastest = INT64_MAX, since = os_clock_ns();

    ret_stopwatch->has_tsc = tsc_is_invariant();
    stopwatch_begin(ret_stopwatch, &ret_stopwatch->start);
    for (int round = 0; round < ROUNDS_MAX; round++) {
        if (round >= ROUNDS_MIN && os_clock_ns() - since > BUDGET_NS)
            break;
        int64_t begin = os_clock_ns(), last = begin;

        for (int i = 0; i < READINGS; i++) {
            int64_t now = os_clock_ns();
            if (now > last)
                step = common_divisor(now - last, step);
            last = now;
        }
        if (last - begin < fastest)
            fastest = last - begin;
    }
    ret_stopwatch->resolution_ns = step == 0 ? 1 : step;
    ret_stopwatch->cost_ns = (double)fastest / READINGS;
}

void stopwatch_begin(const struct stopwatch *stopwatch, struct stopwatch_moment *ret_moment)
{
    int64_t before;

    if (!stopwatch->has_tsc) {
        ret_moment->ns = os_clock_ns();
        return;
    }
    before = os_clock_ns();
    ret_moment->tsc = tsc_read();
    ret_moment->ns = os_clock_ns();
    ret_moment->gap_ns = ret_moment->ns - before;
}

void stopwatch_end(const struct stopwatch *stopwatch, struct stopwatch_moment *ret_moment)
{
    ret_moment->ns = os_clock_ns();
    if (!stopwatch->has_tsc)
        return;
    ret_moment->tsc = tsc_read();
    ret_moment->gap_ns = os_clock_ns() - ret_moment->ns;
}

/* What the readings of two moments leave open. */
static double open_ns(const struct stopwatch_moment *a, const struct stopwatch_moment *b)
{
    return (double)(a->gap_ns + b->gap_ns) + 1;
}

struct stopwatch_rate stopwatch_tsc_rate(const struct stopwatch *stopwatch,
                                         const struct stopwatch_moment *now)
{
    const struct stopwatch_moment *start = &stopwatch->start;
    double ns = (double)(now->ns - start->ns);

    if (!stopwatch->has_tsc || ns <= 0 || now->tsc <= start->tsc)
        return (struct stopwatch_rate){0};
    return (struct stopwatch_rate){.hz = (double)(now->tsc - start->tsc) * 1e9 / ns,
                                   .ppm = open_ns(start, now) * 1e6 / ns};
}

bool stopwatch_disagrees(const struct stopwatch_moment *begin, const struct stopwatch_moment *end,
                         const struct stopwatch_rate *rate)
{
    double ns = (double)(end->ns - begin->ns), by_tsc, apart;

    if (rate->hz <= 0)
        return false;
    by_tsc = (double)(int64_t)(end->tsc - begin->tsc) * 1e9 / rate->hz;
    apart = by_tsc > ns ? by_tsc - ns : ns - by_tsc;
    return apart > ns * (STOPWATCH_BOUND_PPM + rate->ppm) * 1e-6 + open_ns(begin, end);
}
