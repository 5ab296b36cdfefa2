/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/daytime.h"

#include "model/scalar.h"
#include "run/stopby.h"
#include "util/clock.h"
#include "util/error.h"

static GDateTime *local_time(gint64 ns)
{
    return g_date_time_new_from_unix_local(ns / CLOCK_NS_PER_S);
}

/* GLib wants seconds, and takes what has no zone for the zone that it is given. */
static GDateTime *parse_iso(const char *text)
{
    g_autoptr(GRegex) regex = g_regex_new(
        "^(\\d{4}-\\d\\d-\\d\\d)[T ](\\d\\d:\\d\\d)(:\\d\\d)?(Z|[+-]\\d\\d:\\d\\d)?$", 0, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;
    g_autoptr(GTimeZone) local = g_time_zone_new_local();

    if (!g_regex_match(regex, text, 0, &match))
        return NULL;
    g_autofree char *date = g_match_info_fetch(match, 1);
    g_autofree char *minutes = g_match_info_fetch(match, 2);
    g_autofree char *seconds = g_match_info_fetch(match, 3);
    g_autofree char *zone = g_match_info_fetch(match, 4);
    g_autofree char *whole =
        g_strconcat(date, "T", minutes, seconds != NULL && *seconds != '\0' ? seconds : ":00",
                    zone != NULL ? zone : "", NULL);

    return g_date_time_new_from_iso8601(whole, local);
}

gboolean daytime_parse(const char *text, gint64 now_ns, gint64 *ret_ns, GError **error)
{
    g_autoptr(GDateTime) date = NULL;
    gint minute;
    gint64 ns;

    if (scalar_parse_minute(text, &minute) == SCALAR_OK) {
        *ret_ns = stopby_next(now_ns, minute, NULL);
        return TRUE;
    }
    date = parse_iso(text);
    if (date == NULL) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "\"%s\" is no time: write \"22:00\", or a date and a time like "
                    "\"2026-12-24T22:00\"",
                    text);
        return FALSE;
    }
    ns = g_date_time_to_unix(date) * CLOCK_NS_PER_S;
    if (ns <= now_ns) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "\"%s\" is over: leave the time out to start at once", text);
        return FALSE;
    }
    *ret_ns = ns;
    return TRUE;
}

static gint64 day_of(GDateTime *time)
{
    gint year, month, day;
    GDate date;

    g_date_time_get_ymd(time, &year, &month, &day);
    g_date_clear(&date, 1);
    g_date_set_dmy(&date, (GDateDay)day, (GDateMonth)month, (GDateYear)year);
    return g_date_get_julian(&date);
}

static char *format(gint64 ns, gint64 now_ns, const char *today, const char *week, const char *far)
{
    g_autoptr(GDateTime) time = local_time(ns);
    g_autoptr(GDateTime) now = local_time(now_ns);
    gint64 days;

    if (time == NULL || now == NULL)
        return g_strdup("(out of range)");
    days = day_of(time) - day_of(now);
    return g_date_time_format(time, days == 0 ? today : ABS(days) < 7 ? week : far);
}

char *daytime_format(gint64 ns, gint64 now_ns)
{
    return format(ns, now_ns, "%H:%M", "%a %H:%M", "%Y-%m-%d %H:%M");
}

char *daytime_format_exact(gint64 ns, gint64 now_ns)
{
    return format(ns, now_ns, "%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S");
}
