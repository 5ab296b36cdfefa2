/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>
#include <time.h>

#include "cli/daytime.h"
#include "util/clock.h"
#include "util/error.h"

/* Central Europe by its rule, so that no zone files are needed: on 2026-03-29 02:00 becomes 03:00,
 * on 2026-10-25 03:00 becomes 02:00. */
static void set_zone(void)
{
    g_setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", TRUE);
    tzset();
}

static gint64 utc(const char *text)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, NULL);

    g_assert_nonnull(time);
    return g_date_time_to_unix(time) * CLOCK_NS_PER_S;
}

/* text said at now means expected; all but text in UTC. */
static void assert_means(const char *text, const char *now, const char *expected)
{
    g_autoptr(GError) error = NULL;
    gint64 ns = 0;

    daytime_parse(text, utc(now), &ns, &error);
    g_assert_no_error(error);
    g_assert_cmpint(ns, ==, utc(expected));
}

static void assert_refused(const char *text, const char *reason)
{
    g_autoptr(GError) error = NULL;
    gint64 ns = -5;

    g_assert_false(daytime_parse(text, utc("2026-11-30T12:00:00Z"), &ns, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, reason));
    g_assert_nonnull(strstr(error->message, text));
    g_assert_cmpint(ns, ==, -5);
}

static void test_of_the_day(void)
{
    assert_means("22:00", "2026-11-30T12:00:00Z", "2026-11-30T21:00:00Z");
    assert_means("22:00", "2026-11-30T20:59:59Z", "2026-11-30T21:00:00Z");
    /* The very minute is over. */
    assert_means("22:00", "2026-11-30T21:00:00Z", "2026-12-01T21:00:00Z");
    assert_means("00:05", "2026-12-31T12:00:00Z", "2026-12-31T23:05:00Z");
    assert_means("07:00", "2026-07-01T12:00:00Z", "2026-07-02T05:00:00Z");
}

static void test_clock_changes(void)
{
    /* The night is an hour shorter, or longer; 07:00 stays 07:00. */
    assert_means("07:00", "2026-03-28T20:00:00Z", "2026-03-29T05:00:00Z");
    assert_means("07:00", "2026-10-24T20:00:00Z", "2026-10-25T06:00:00Z");
    /* An hour that there is not: the first moment after it. */
    assert_means("02:30", "2026-03-28T20:00:00Z", "2026-03-29T01:00:00Z");
    assert_means("02:30", "2026-03-29T02:00:00Z", "2026-03-30T00:30:00Z");
}

static void test_dates(void)
{
    assert_means("2026-12-24T22:00", "2026-11-30T12:00:00Z", "2026-12-24T21:00:00Z");
    assert_means("2026-12-24 22:00:30", "2026-11-30T12:00:00Z", "2026-12-24T21:00:30Z");
    assert_means("2026-12-24T22:00Z", "2026-11-30T12:00:00Z", "2026-12-24T22:00:00Z");
    assert_means("2026-12-24T22:00+05:30", "2026-11-30T12:00:00Z", "2026-12-24T16:30:00Z");
    assert_means("2026-07-01T22:00", "2026-06-30T12:00:00Z", "2026-07-01T20:00:00Z");
}

static void test_refused(void)
{
    static const char *const texts[] = {"",           "22",         "22.00",    "24:00",
                                        "9:00",       "-1:00",      "tonight",  "2026-13-01T22:00",
                                        "2026-12-24", "22:00:00",   " 22:00",   "2026-12-24T25:00",
                                        "22:00x",     "1796077259", "+2 hours", NULL};

    for (const char *const *text = texts; *text != NULL; text++)
        assert_refused(*text, "is no time");
    assert_refused("2026-11-30T12:59", "is over");
    assert_refused("2020-01-01T00:00", "is over");
}

static void assert_shown(const char *time, const char *now, const char *expected)
{
    g_autofree char *shown = daytime_format(utc(time), utc(now));

    g_assert_cmpstr(shown, ==, expected);
}

static void test_format(void)
{
    g_autofree char *today =
        daytime_format_exact(utc("2026-11-30T21:14:03Z"), utc("2026-11-30T12:00:00Z"));
    g_autofree char *dated = daytime_format_exact(utc("2026-11-30T21:14:03Z"), 0);

    assert_shown("2026-11-30T21:14:03Z", "2026-11-30T12:00:00Z", "22:14");
    /* In local time these are different days. */
    assert_shown("2026-11-30T23:14:03Z", "2026-11-30T22:00:00Z", "Tue 00:14");
    assert_shown("2026-12-06T12:00:00Z", "2026-11-30T12:00:00Z", "Sun 13:00");
    assert_shown("2026-12-07T12:00:00Z", "2026-11-30T12:00:00Z", "2026-12-07 13:00");
    assert_shown("2026-11-29T12:00:00Z", "2026-11-30T12:00:00Z", "Sun 13:00");
    assert_shown("2026-07-01T12:00:00Z", "2026-11-30T12:00:00Z", "2026-07-01 14:00");
    g_assert_cmpstr(today, ==, "22:14:03");
    g_assert_cmpstr(dated, ==, "2026-11-30 22:14:03");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    set_zone();
    g_test_add_func("/daytime/of-the-day", test_of_the_day);
    g_test_add_func("/daytime/clock-changes", test_clock_changes);
    g_test_add_func("/daytime/dates", test_dates);
    g_test_add_func("/daytime/refused", test_refused);
    g_test_add_func("/daytime/format", test_format);
    return g_test_run();
}
