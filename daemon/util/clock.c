/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "util/clock.h"

#include <time.h>

static gint64 read_clock(clockid_t id)
{
    struct timespec ts;

    if (clock_gettime(id, &ts) != 0)
        return 0;
    return (gint64)ts.tv_sec * CLOCK_NS_PER_S + ts.tv_nsec;
}

static gint64 real_mono_ns(void)
{
    return read_clock(CLOCK_MONOTONIC_RAW);
}

static gint64 real_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

static const ClockSource real_source = {.mono_ns = real_mono_ns, .wall_ns = real_wall_ns};
static const ClockSource *current_source = &real_source;

gint64 clock_mono_ns(void)
{
    return current_source->mono_ns();
}

gint64 clock_wall_ns(void)
{
    return current_source->wall_ns();
}

void clock_set_source(const ClockSource *source)
{
    current_source = source != NULL ? source : &real_source;
}

char *clock_format_utc(gint64 wall_ns)
{
    time_t seconds = (time_t)(wall_ns / CLOCK_NS_PER_S);
    struct tm tm;

    if (gmtime_r(&seconds, &tm) == NULL)
        return g_strdup("(out of range)");
    return g_strdup_printf("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                           tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                           (int)(wall_ns % CLOCK_NS_PER_S / CLOCK_NS_PER_MS));
}

char *clock_format_duration(gint64 ns)
{
    double seconds = (double)ns / (double)CLOCK_NS_PER_S;
    gint64 whole = ns / CLOCK_NS_PER_S;

    if (seconds < 1.0)
        return g_strdup_printf("%.2f s", seconds);
    if (seconds < 60.0)
        return g_strdup_printf("%.1f s", seconds);
    if (seconds < 3600.0)
        return g_strdup_printf("%dm %02ds", (int)(whole / 60), (int)(whole % 60));
    return g_strdup_printf("%dh %02dm", (int)(whole / 3600), (int)(whole % 3600 / 60));
}
