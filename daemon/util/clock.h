/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two clocks of the daemon. Durations come from the raw monotonic clock only; the wall clock is
 * for stamps. Both can be replaced, so that tests can set the wall clock back. */
#pragma once
#include <glib.h>

#define CLOCK_NS_PER_S G_GINT64_CONSTANT(1000000000)
#define CLOCK_NS_PER_MS G_GINT64_CONSTANT(1000000)

typedef struct {
    gint64 (*mono_ns)(void); /* CLOCK_MONOTONIC_RAW, ns */
    gint64 (*wall_ns)(void); /* UTC, ns since 1970 */
} ClockSource;

/* Nanoseconds of CLOCK_MONOTONIC_RAW. Never steps, never slewed. */
gint64 clock_mono_ns(void);

/* UTC, nanoseconds since 1970. */
gint64 clock_wall_ns(void);

/* Replace both clocks; NULL gives the real ones back. source must stay alive. For tests. */
void clock_set_source(const ClockSource *source);

/* "2026-11-30T22:14:03.120Z" for UTC nanoseconds; transfer full. */
char *clock_format_utc(gint64 wall_ns);

/* "0.42 s", "12.3 s", "4m 05s", "2h 13m": a duration for people; transfer full. */
char *clock_format_duration(gint64 ns);
