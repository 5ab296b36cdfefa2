/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ending in time, and clocks that jump. Clocks are faked: each run takes 100 s of the monotonic
 * clock and of the wall clock, though it is over at once. */
#include "run/stopby.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fixture.h"
#include "util/clock.h"
#include "util/error.h"

#define S CLOCK_NS_PER_S

/* ---- the next time ---- */

/* "2026-03-28 06:00" of UTC as nanoseconds. */
static gint64 utc(const char *text)
{
    g_autoptr(GTimeZone) zone = g_time_zone_new_utc();
    g_autofree char *iso = g_strdelimit(g_strdup_printf("%s:00", text), " ", 'T');
    g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(iso, zone);

    g_assert_nonnull(time);
    return g_date_time_to_unix(time) * S;
}

static void test_next(void)
{
    static const struct {
        const char *zone, *now, *at, *expected; /* now, expected: UTC */
    } cases[] = {
        {"UTC", "2026-11-30 22:00", "07:00", "2026-12-01 07:00"},
        {"UTC", "2026-11-30 06:59", "07:00", "2026-11-30 07:00"},
        /* The minute itself has begun: the next one is tomorrow. */
        {"UTC", "2026-11-30 07:00", "07:00", "2026-12-01 07:00"},
        {"UTC", "2026-12-31 23:00", "00:00", "2027-01-01 00:00"},
        {"UTC", "2028-02-28 23:00", "07:00", "2028-02-29 07:00"},
        {"Europe/Berlin", "2026-11-30 22:00", "07:00", "2026-12-01 06:00"},
        {"America/Los_Angeles", "2026-07-01 06:00", "23:30", "2026-07-01 06:30"},
        {"Asia/Kolkata", "2026-07-01 00:00", "07:00", "2026-07-01 01:30"},
        /* Summer time begins on 29 March at 02:00: that night is an hour shorter. */
        {"Europe/Berlin", "2026-03-28 21:00", "07:00", "2026-03-29 05:00"},
        {"Europe/Berlin", "2026-03-28 07:00", "07:00", "2026-03-29 05:00"},
        /* 02:30 is skipped there: the first moment after it. */
        {"Europe/Berlin", "2026-03-28 22:00", "02:30", "2026-03-29 01:00"},
        {"Europe/Berlin", "2026-03-29 01:00", "02:30", "2026-03-30 00:30"},
        /* It ends on 25 October at 03:00: that night is an hour longer, and 02:30 comes twice. */
        {"Europe/Berlin", "2026-10-24 21:00", "07:00", "2026-10-25 06:00"},
        {"Europe/Berlin", "2026-10-24 21:00", "02:30", "2026-10-25 00:30"},
        {"Europe/Berlin", "2026-10-25 00:45", "02:30", "2026-10-25 01:30"},
        {"Europe/Berlin", "2026-10-25 01:30", "02:30", "2026-10-26 01:30"},
        /* Midnight itself is skipped. */
        {"America/Havana", "2026-03-08 03:00", "07:00", "2026-03-08 11:00"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GTimeZone) zone = g_time_zone_new_identifier(cases[i].zone);
        int hour = 0, minute = 0;

        if (zone == NULL) {
            g_test_message("no time zone %s on this machine", cases[i].zone);
            continue;
        }
        g_assert_cmpint(sscanf(cases[i].at, "%d:%d", &hour, &minute), ==, 2);
        g_test_message("%s: %s after %s", cases[i].zone, cases[i].at, cases[i].now);
        g_assert_cmpint(stopby_next(utc(cases[i].now), hour * 60 + minute, zone), ==,
                        utc(cases[i].expected));
    }
    g_assert_cmpint(stopby_next(utc("2026-11-30 22:00"), -1, NULL), ==, 0);
}

/* ---- campaigns under faked clocks ---- */

static gint64 mono_offset, wall_offset;

static gint64 raw_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (gint64)ts.tv_sec * S + ts.tv_nsec;
}

static gint64 fake_mono(void)
{
    return raw_ns(CLOCK_MONOTONIC_RAW) + mono_offset;
}

static gint64 fake_wall(void)
{
    return raw_ns(CLOCK_MONOTONIC_RAW) + wall_offset;
}

static const ClockSource fake_clocks = {.mono_ns = fake_mono, .wall_ns = fake_wall};

/* What happens to the wall clock, and when. */
typedef struct {
    int at_run;       /* counted from 1 */
    const char *step; /* when this step begins, or NULL: after the run */
    gint64 jump_ns;
    int runs;
} Jump;

static void jump_if(Jump *jump, const char *step)
{
    if (jump->runs == jump->at_run && g_strcmp0(jump->step, step) == 0)
        wall_offset += jump->jump_ns;
}

static void on_step(void *data, const StoreRun *run, const char *step, const CampaignTotals *totals,
                    gint64 eta_ns)
{
    Jump *jump = data;

    if (g_str_equal(step, "gate"))
        jump->runs++;
    if (g_str_equal(step, "shutdown")) {
        mono_offset += 100 * S;
        wall_offset += 100 * S;
    }
    jump_if(jump, step);
}

static void on_finished(void *data, const StoreRun *run, const char *verdict, const char *reason,
                        gint64 duration_ns, const CampaignTotals *totals)
{
    g_assert_cmpint(duration_ns, >=, 100 * S);
    g_assert_cmpint(duration_ns, <, 200 * S);
    jump_if(data, NULL);
}

/* These cells, three blocks, begun at this time of 1 December 2026 (UTC); stop-by is 07:00. */
static CampaignTotals run_cells_until(Fixture *fixture, const char *vcpus, const char *begin,
                                      Jump *jump)
{
    g_autofree char *plan = g_strdup_printf("version: 1\n"
                                            "plan: engine\n"
                                            "axes:\n"
                                            "  hypervisor: [bare]\n"
                                            "  vcpus: %s\n"
                                            "repeat: {boots: 3, invocations: 1, samples: 5}\n"
                                            "idle: off\n"
                                            "limits: {stop-by: \"07:00\"}\n"
                                            "workloads: [fake.one]\n",
                                            vcpus);
    CampaignWatch watch = {.step = on_step, .finished = on_finished, .data = jump};
    CampaignOptions options = fixture_options(fixture);
    CampaignTotals totals = {0};
    g_autoptr(GError) error = NULL;
    gint64 campaign;

    mono_offset = 0;
    wall_offset = utc(begin) - raw_ns(CLOCK_MONOTONIC_RAW);
    clock_set_source(&fake_clocks);
    campaign = fixture_submit(fixture, plan);
    options.watch = &watch;
    campaign_run(fixture->store, campaign, &options, &totals, &error);
    clock_set_source(NULL);
    g_assert_no_error(error);
    assert_answer(fixture, "SELECT stop_at_utc FROM campaign", "2026-12-01T07:00:00.000Z");
    /* By the monotonic clock, whatever the other one does. */
    assert_answer(fixture,
                  "SELECT count(*) FROM run WHERE state = 'done' AND (duration_ns IS NULL OR "
                  "duration_ns NOT BETWEEN 100e9 AND 200e9)",
                  "0");
    assert_answer(fixture, "SELECT count(*) FROM phase WHERE duration_ns NOT BETWEEN 0 AND 200e9",
                  "0");
    assert_nothing_left(fixture);
    return totals;
}

static CampaignTotals run_until(Fixture *fixture, const char *begin, Jump *jump)
{
    return run_cells_until(fixture, "[1, 2]", begin, jump);
}

/* How many runs were done and dropped in each block: "2+0 2+0 0+2". */
static void assert_blocks(Fixture *fixture, const char *expected)
{
    assert_answer(fixture,
                  "SELECT group_concat(done || '+' || dropped, ' ') FROM (SELECT "
                  "sum(verdict = 'clean') AS done, sum(state = 'skipped' AND reason LIKE 'stop-by: "
                  "%2026-12-01T07:00:00.000Z') AS dropped FROM (SELECT block, state, reason, "
                  "ifnull(verdict, '') AS verdict FROM run) GROUP BY block ORDER BY block)",
                  expected);
}

static void test_all_fit(Fixture *fixture, gconstpointer data)
{
    Jump none = {0};
    CampaignTotals totals = run_until(fixture, "2026-12-01 06:45", &none);

    g_assert_cmpint(totals.dropped, ==, 0);
    assert_blocks(fixture, "2+0 2+0 2+0");
}

/* 450 s are left: two blocks of 200 s end in time, the third would not. */
static void test_last_dropped(Fixture *fixture, gconstpointer data)
{
    Jump late = {.at_run = 1, .step = "gate", .jump_ns = 30 * S};
    CampaignTotals totals = run_until(fixture, "2026-12-01 06:52", &late);

    g_assert_cmpint(totals.done, ==, 4);
    g_assert_cmpint(totals.dropped, ==, 2);
    g_assert_cmpint(campaign_exit_code(&totals), ==, VM_EXIT_PARTIAL);
    assert_blocks(fixture, "2+0 2+0 0+2");
}

/* 360 s are left. After the first block 160 s: one more run would fit, a block would not. */
static void test_whole_blocks(Fixture *fixture, gconstpointer data)
{
    Jump none = {0};
    CampaignTotals totals = run_until(fixture, "2026-12-01 06:54", &none);

    g_assert_cmpint(totals.dropped, ==, 4);
    assert_blocks(fixture, "2+0 0+2 0+2");
}

/* A block that fitted when it was opened, and does not any more: its next run alone decides. */
static void test_inside_block(Fixture *fixture, gconstpointer data)
{
    Jump late = {.at_run = 3, .jump_ns = 10 * S}, later = {.at_run = 3, .jump_ns = 700 * S};

    run_until(fixture, "2026-12-01 06:53", &late);
    assert_blocks(fixture, "2+0 2+0 0+2");
    fixture_finish(fixture, NULL);
    fixture_init(fixture, NULL);
    run_until(fixture, "2026-12-01 06:45", &later);
    assert_blocks(fixture, "2+0 1+1 0+2");
}

/* 420 s are left, and the first run takes 200 s of them: the three others of its block would not
 * all end in time, the next ones do. */
static void test_next_of_block(Fixture *fixture, gconstpointer data)
{
    Jump late = {.at_run = 1, .jump_ns = 100 * S};

    run_cells_until(fixture, "[1, 2]\n  memory: [64MiB, 128MiB]", "2026-12-01 06:53", &late);
    assert_blocks(fixture, "3+1 0+4 0+4");
}

/* The clock was an hour fast, and is set right in the middle of a run: the hour is kept (in UTC),
 * and there is an hour more until then. */
static void test_set_back(Fixture *fixture, gconstpointer data)
{
    Jump back = {.at_run = 2, .step = "process", .jump_ns = -3600 * S};
    CampaignTotals totals = run_until(fixture, "2026-12-01 06:54", &back);

    g_assert_cmpint(totals.done, ==, 6);
    g_assert_cmpint(totals.dropped, ==, 0);
    assert_blocks(fixture, "2+0 2+0 2+0");
    assert_answer(fixture, "SELECT count(*) FROM run WHERE ended_ns < started_ns", "1");
    /* The order in which it happened, not that of the stamps. */
    assert_answer(fixture,
                  "SELECT group_concat(step) FROM (SELECT step FROM event WHERE run_id IS NOT NULL "
                  "ORDER BY id)",
                  "begin,end,begin,end,begin,end,begin,end,begin,end,begin,end");
    assert_answer(fixture,
                  "SELECT count(*) FROM run a JOIN run b ON b.id > a.id AND (b.block < a.block OR "
                  "(b.block = a.block AND b.position < a.position))",
                  "0");
}

/* Set back, and then the hour comes all the same. */
static void test_set_back_and_stop(Fixture *fixture, gconstpointer data)
{
    Jump back = {.at_run = 1, .step = "process", .jump_ns = -300 * S};
    CampaignTotals totals = run_until(fixture, "2026-12-01 06:58", &back);

    /* 120 s were left, then 420 s: two blocks. */
    g_assert_cmpint(totals.done, ==, 4);
    assert_blocks(fixture, "2+0 2+0 0+2");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *path;
        void (*test)(Fixture *, gconstpointer);
    } tests[] = {
        {"/stopby/all-fit", test_all_fit},
        {"/stopby/last-dropped", test_last_dropped},
        {"/stopby/whole-blocks", test_whole_blocks},
        {"/stopby/inside-block", test_inside_block},
        {"/stopby/next-of-block", test_next_of_block},
        {"/stopby/set-back", test_set_back},
        {"/stopby/set-back-and-stop", test_set_back_and_stop},
    };

    g_setenv("TZ", "UTC", TRUE);
    fixture_begin(&argc, &argv);
    g_test_add_func("/stopby/next", test_next);
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].path, Fixture, NULL, fixture_init, tests[i].test, fixture_finish);
    return g_test_run();
}
