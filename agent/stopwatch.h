/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clock that samples are timed by, and the time stamp counter beside it where there is one that
 * can be trusted: two clocks that must agree. */
#ifndef VMATRIX_AGENT_STOPWATCH_H
#define VMATRIX_AGENT_STOPWATCH_H
#include <stdbool.h>
#include <stdint.h>

/* More than that, beyond what the readings leave open, and the two disagree. */
#define STOPWATCH_BOUND_PPM 1000

/* One reading of both. */
struct stopwatch_moment {
    int64_t ns;
    uint64_t tsc;
    int64_t gap_ns; /* between which of the clock's readings the counter's fell */
};

/* The clock as measured at the start. */
struct stopwatch {
    int64_t resolution_ns; /* its step */
    double cost_ns;        /* of one reading */
    bool has_tsc;
    struct stopwatch_moment start;
};
void stopwatch_measure(struct stopwatch *ret_stopwatch);

/* Around what is timed: nothing stands between the clock's readings and it. */
void stopwatch_begin(const struct stopwatch *stopwatch, struct stopwatch_moment *ret_moment);
void stopwatch_end(const struct stopwatch *stopwatch, struct stopwatch_moment *ret_moment);

/* Ticks a second of the counter, by the clock, since the start. */
struct stopwatch_rate {
    double hz;  /* 0: not known */
    double ppm; /* that it may be wrong by */
};
struct stopwatch_rate stopwatch_tsc_rate(const struct stopwatch *stopwatch,
                                         const struct stopwatch_moment *now);
/* What lies between two moments takes another time by the counter than by the clock. */
bool stopwatch_disagrees(const struct stopwatch_moment *begin, const struct stopwatch_moment *end,
                         const struct stopwatch_rate *rate);

#endif
