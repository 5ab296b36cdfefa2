/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steering the queue, and a database of version 1 that becomes one of this version. */
#include "fixture.h"

#include <string.h>

#include "store/db.h"
#include "store/queue.h"
#include "store/steer.h"
#include "util/clock.h"
#include "util/error.h"

static void change(Fixture *f, const char *sql)
{
    g_autoptr(GError) error = NULL;

    db_exec(f->store, "test", sql, &error);
    g_assert_no_error(error);
}

static void assert_next(Fixture *f, gint64 now_ns, StoreNext expected, gint64 value)
{
    g_autoptr(GError) error = NULL;
    gint64 campaign = -1, at_ns = -1;
    StoreNext next;

    store_next_campaign(f->store, now_ns, &campaign, &at_ns, &next, &error);
    g_assert_no_error(error);
    g_assert_cmpint(next, ==, expected);
    g_assert_cmpint(campaign, ==, expected == STORE_NEXT_READY ? value : -1);
    g_assert_cmpint(at_ns, ==, expected == STORE_NEXT_LATER ? value : -1);
}

static void assert_steer(Fixture *f, gint64 campaign, StoreSteer expected)
{
    g_autoptr(GError) error = NULL;
    StoreSteer steer;

    store_campaign_steer(f->store, campaign, &steer, &error);
    g_assert_no_error(error);
    g_assert_cmpint(steer, ==, expected);
}

static gint64 submit(Fixture *f, gint64 not_before_ns, gint priority)
{
    const StoreSchedule schedule = {.not_before_ns = not_before_ns, .priority = priority};
    g_autoptr(GError) error = NULL;
    gint64 id = 0;

    store_campaign_submit(f->store, f->matrix, f->inventory, f->workloads, NULL, &schedule, &id,
                          &error);
    g_assert_no_error(error);
    return id;
}

static void finish(Fixture *f, gint64 run, const char *verdict, const char *reason)
{
    g_autoptr(GError) error = NULL;

    store_run_finish(f->store, run, verdict, reason, NULL, &error);
    g_assert_no_error(error);
}

static void test_next(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_open(&f);
    assert_next(&f, 100, STORE_NEXT_NONE, 0);
    g_assert_cmpint(submit(&f, 500, 0), ==, 1);
    assert_next(&f, 100, STORE_NEXT_LATER, 500);
    assert_next(&f, 500, STORE_NEXT_READY, 1);
    g_assert_cmpint(submit(&f, 300, 5), ==, 2);
    g_assert_cmpint(submit(&f, 0, -1), ==, 3);
    assert_next(&f, 100, STORE_NEXT_READY, 3);
    assert_next(&f, 300, STORE_NEXT_READY, 2);
    assert_next(&f, 900, STORE_NEXT_READY, 2);
    change(&f, "UPDATE campaign SET state = 'done' WHERE id = 2");
    assert_next(&f, 900, STORE_NEXT_READY, 1);
    change(&f, "UPDATE campaign SET state = 'running' WHERE id = 3");
    change(&f, "UPDATE campaign SET priority = 0 WHERE id = 3");
    assert_next(&f, 900, STORE_NEXT_READY, 1);
    change(&f, "UPDATE campaign SET paused = 1 WHERE id = 1");
    assert_next(&f, 900, STORE_NEXT_READY, 3);
    change(&f, "UPDATE campaign SET cancel = 1 WHERE id = 3");
    assert_next(&f, 900, STORE_NEXT_NONE, 0);
    fixture_finish(&f);
}

/* However many campaigns have ended, they are not looked at. */
static void test_next_plan(void)
{
    g_autofree char *explain = g_strconcat("EXPLAIN QUERY PLAN ", steer_next_sql, NULL);
    g_autofree char *explain_duration =
        g_strconcat("EXPLAIN QUERY PLAN ", steer_duration_sql, NULL);
    Fixture f;

    fixture_init(&f, "cell");
    fixture_open(&f);
    g_autofree char *plan = ask_rows(f.store, explain);
    g_autofree char *duration = ask_rows(f.store, explain_duration);

    g_assert_nonnull(strstr(plan, "SCAN campaign USING INDEX campaign_open"));
    g_assert_null(strstr(plan, "ORDER BY"));
    g_assert_nonnull(strstr(duration, "SEARCH c USING COVERING INDEX cell_by_key (key=?)"));
    g_assert_nonnull(strstr(duration, "SEARCH r USING INDEX run_by_cell (cell_id=?)"));
    g_assert_null(strstr(duration, "SCAN run"));
    fixture_finish(&f);
}

/* A schedule that the database refuses leaves no campaign. */
static void test_submit_is_one_transaction(void)
{
    const StoreSchedule wrong = {.not_before_ns = -5};
    g_autoptr(GError) error = NULL;
    gint64 id = -7;
    Fixture f;

    fixture_init(&f, "cell");
    fixture_open(&f);
    g_assert_false(store_campaign_submit(f.store, f.matrix, f.inventory, f.workloads, NULL, &wrong,
                                         &id, &error));
    g_assert_nonnull(error);
    g_clear_error(&error);
    g_assert_cmpint(id, ==, -7);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM campaign"), ==, 0);
    g_assert_true(store_campaign_submit(f.store, f.matrix, f.inventory, f.workloads, NULL, NULL,
                                        &id, &error));
    g_assert_true(store_campaign_schedule(
        f.store, id, &(StoreSchedule){.not_before_ns = 1700000000123999999, .priority = 3},
        &error));
    g_autofree char *row = ask_rows(f.store, "SELECT priority, not_before_utc, stop_at_utc,"
                                             " stop_by_minute FROM campaign");

    g_assert_cmpstr(row, ==, "3|2023-11-14T22:13:20.123Z|-|-");
    g_assert_false(store_campaign_schedule(f.store, 99, &(StoreSchedule){0}, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    fixture_finish(&f);
}

static void test_stop_by_is_stored(void)
{
    Fixture f;

    fixture_init_plan(&f, "version: 1\nplan: demo\naxes:\n  hypervisor: [bare]\n"
                          "workloads: [ops]\nlimits: {stop-by: \"07:05\"}\n");
    fixture_add_campaign(&f);
    g_assert_cmpint(ask_int(f.store, "SELECT stop_by_minute FROM campaign"), ==, 7 * 60 + 5);
    fixture_finish(&f);
}

static void test_pause(void)
{
    Fixture f;
    guint count = 77;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    fixture_add_campaign(&f);
    fixture_add_campaign(&f);
    assert_steer(&f, 1, STORE_STEER_GO);
    g_assert_true(store_campaign_pause(f.store, 1, TRUE, &error));
    g_assert_true(store_campaign_pause(f.store, 1, TRUE, &error));
    assert_steer(&f, 1, STORE_STEER_PAUSE);
    assert_steer(&f, 2, STORE_STEER_GO);
    assert_next(&f, 1, STORE_NEXT_READY, 2);
    change(&f, "UPDATE campaign SET state = 'done' WHERE id = 2");
    g_assert_true(store_queue_pause(f.store, TRUE, &count, &error));
    g_assert_cmpuint(count, ==, 1);
    assert_steer(&f, 3, STORE_STEER_PAUSE);
    g_assert_true(store_queue_pause(f.store, FALSE, &count, &error));
    g_assert_cmpuint(count, ==, 2);
    assert_next(&f, 1, STORE_NEXT_READY, 1);
    g_assert_false(store_campaign_pause(f.store, 2, TRUE, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "has ended"));
    g_clear_error(&error);
    g_assert_false(store_campaign_pause(f.store, 9, TRUE, &error));
    g_assert_nonnull(strstr(error->message, "no campaign 9"));
    g_autofree char *events = ask_rows(
        f.store, "SELECT campaign_id, substr(message, 1, 7) FROM event WHERE step = 'queue'");

    g_assert_cmpstr(events, ==, "1|paused \n3|paused \n1|resumed\n3|resumed");
    fixture_finish(&f);
}

static void test_cancel(void)
{
    Fixture f;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_assert_true(store_campaign_cancel(f.store, 1, &error));
    assert_steer(&f, 1, STORE_STEER_CANCEL);
    g_autofree char *runs = ask_rows(f.store, "SELECT state, reason, count(*) FROM run GROUP BY 1");
    g_autofree char *state = ask_rows(f.store, "SELECT state, ended_ns > 0 FROM campaign");

    g_assert_cmpstr(runs, ==, "skipped|the campaign was cancelled before this run began|12");
    g_assert_cmpstr(state, ==, "cancelled|1");
    g_assert_false(store_campaign_cancel(f.store, 1, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    fixture_finish(&f);
}

/* The engine ends the run in flight; what it thinks of the campaign then does not undo the cancel.
 */
static void test_cancel_in_flight(void)
{
    Fixture f;
    gint64 run;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_assert_true(store_campaign_set_state(f.store, 1, "running", &error));
    run = fixture_claim(&f);
    g_assert_true(store_campaign_cancel(f.store, 1, &error));
    g_autofree char *asked = ask_text(f.store, "SELECT state FROM campaign");
    g_autofree char *event = ask_text(f.store, "SELECT message FROM event WHERE step = 'queue'");

    g_assert_cmpstr(asked, ==, "running");
    g_assert_true(g_str_has_prefix(event, "cancel asked for"));
    assert_steer(&f, 1, STORE_STEER_CANCEL);
    assert_next(&f, 1, STORE_NEXT_NONE, 0);
    finish(&f, run, "clean", NULL);
    g_assert_true(store_campaign_set_state(f.store, 1, "done", &error));
    g_autofree char *after = ask_text(f.store, "SELECT state FROM campaign");

    g_assert_cmpstr(after, ==, "cancelled");
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM run WHERE state = 'skipped'"), ==, 11);
    fixture_finish(&f);
}

/* The daemon was killed after the cancel, with the run in flight. */
static void test_cancel_recovered(void)
{
    Fixture f;
    guint count;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    fixture_claim(&f);
    g_assert_true(store_campaign_cancel(f.store, 1, &error));
    g_assert_true(store_recover_claims(f.store, 1, &count, &error));
    g_assert_cmpuint(count, ==, 1);
    g_autofree char *state = ask_text(f.store, "SELECT state FROM campaign");
    g_autofree char *runs =
        ask_rows(f.store, "SELECT state, verdict, count(*) FROM run GROUP BY 1 ORDER BY 1");

    g_assert_cmpstr(state, ==, "cancelled");
    g_assert_cmpstr(runs, ==, "done|interrupted|1\nskipped|-|12");
    fixture_finish(&f);
}

/* 20 power cuts in one try: the cell is given up, with a reason, and the queue goes on. */
static void test_interruptions_cap(void)
{
    Fixture f;
    guint count, cuts = 0;
    g_autoptr(GError) error = NULL;

    fixture_init_plan(&f, "version: 1\nplan: demo\naxes:\n  hypervisor: [bare]\n"
                          "workloads: [ops]\nrepeat: {boots: 1}\n");
    fixture_add_campaign(&f);
    for (; ask_int(f.store, "SELECT count(*) FROM run WHERE state = 'queued'") > 0; cuts++) {
        g_assert_cmpuint(cuts, <, 50);
        if (cuts % 2 == 0) {
            fixture_claim(&f);
            g_assert_true(store_recover_claims(f.store, 1, &count, &error));
        } else {
            gint64 run = fixture_claim(&f);

            finish(&f, run, "interrupted", "libvirtd ended");
            g_assert_true(store_run_requeue(f.store, run, &error));
        }
    }
    g_assert_cmpuint(cuts, ==, 20);
    g_autofree char *last =
        ask_rows(f.store, "SELECT state, verdict, attempt, interruptions, reason LIKE"
                          " 'interrupted 20 times%vmatrix retry 1%', started_ns > 0, duration_ns"
                          " FROM run ORDER BY id DESC LIMIT 1");
    g_autofree char *event =
        ask_rows(f.store, "SELECT e.level, e.step, e.message = 'failed: ' || r.reason"
                          " FROM event e JOIN run r ON r.id = e.run_id"
                          " WHERE r.interruptions = 20");

    g_assert_cmpstr(last, ==, "done|failed|1|20|1|1|-");
    g_assert_cmpstr(event, ==, "error|end|1");
    /* A person's retry begins from the start. */
    g_assert_true(store_campaign_retry(f.store, 1, &count, &error));
    g_assert_cmpuint(count, ==, 1);
    g_autofree char *again =
        ask_rows(f.store, "SELECT attempt, interruptions FROM run WHERE state = 'queued'");

    g_assert_cmpstr(again, ==, "2|0");
    fixture_finish(&f);
}

/* Claims the next run and ends it. */
static gint64 run_one(Fixture *f, const char *verdict)
{
    gint64 run = fixture_claim(f);

    finish(f, run, verdict, g_str_equal(verdict, "failed") ? "no answer" : NULL);
    return run;
}

static void test_retry(void)
{
    Fixture f;
    guint count = 5;
    gint64 second, stop;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_assert_true(store_campaign_retry(f.store, 1, &count, &error));
    g_assert_cmpuint(count, ==, 0);
    g_assert_true(store_campaign_stop_at(f.store, 1, 500, &stop, &error));
    run_one(&f, "failed");
    second = run_one(&f, "failed");
    /* This one was done again by the engine, and well. */
    g_assert_true(store_run_requeue(f.store, second, &error));
    for (guint i = 0; i < 11; i++)
        run_one(&f, "clean");
    g_assert_true(store_campaign_set_state(f.store, 1, "done", &error));
    g_assert_true(store_campaign_retry(f.store, 1, &count, &error));
    g_assert_cmpuint(count, ==, 1);
    g_autofree char *queued =
        ask_rows(f.store, "SELECT r.attempt, r.block, r.position, r.cell_id = (SELECT cell_id FROM"
                          " run WHERE id = 1) FROM run r WHERE r.state = 'queued'");
    g_autofree char *campaign =
        ask_rows(f.store, "SELECT state, cancel, ended_ns, stop_at_ns FROM campaign");

    g_assert_cmpstr(queued, ==, "2|0|5|1");
    g_assert_cmpstr(campaign, ==, "queued|0|-|-");
    assert_next(&f, 1, STORE_NEXT_READY, 1);
    g_assert_true(store_campaign_retry(f.store, 1, &count, &error));
    g_assert_cmpuint(count, ==, 0);
    fixture_finish(&f);
}

/* What stayed contaminated is done again too; what has a rerun already is not. */
static void test_retry_contaminated(void)
{
    Fixture f;
    guint count = 0;
    gint64 again;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    run_one(&f, "contaminated");
    again = run_one(&f, "contaminated");
    g_assert_true(store_run_requeue(f.store, again, NULL));
    g_assert_true(store_campaign_retry(f.store, 1, &count, NULL));
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpint(ask_int(f.store, "SELECT cell_id = (SELECT cell_id FROM run WHERE id = 1) FROM "
                                     "run WHERE attempt = 2 AND position = 5"),
                    ==, 1);
    fixture_finish(&f);
}

static void test_retry_cancelled(void)
{
    Fixture f;
    guint count;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    run_one(&f, "failed");
    g_assert_true(store_campaign_cancel(f.store, 1, &error));
    g_assert_true(store_campaign_retry(f.store, 1, &count, &error));
    g_assert_cmpuint(count, ==, 1);
    assert_steer(&f, 1, STORE_STEER_GO);
    /* Failed ones only: what the cancel left stays as it is. */
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM run WHERE state = 'queued'"), ==, 1);
    fixture_claim(&f);
    g_assert_true(store_campaign_cancel(f.store, 1, &error));
    g_assert_false(store_campaign_retry(f.store, 1, &count, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    fixture_finish(&f);
}

static void test_stop_at(void)
{
    Fixture f;
    gint64 stop = -1;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    fixture_add_campaign(&f);
    g_assert_true(store_campaign_stop_at(f.store, 1, 1700000000000000000, &stop, &error));
    g_assert_cmpint(stop, ==, 1700000000000000000);
    g_assert_true(store_campaign_stop_at(f.store, 1, 1800000000000000000, &stop, &error));
    g_assert_cmpint(stop, ==, 1700000000000000000);
    g_assert_true(store_campaign_stop_at(f.store, 2, 0, &stop, &error));
    g_assert_cmpint(stop, ==, 0);
    g_assert_true(store_campaign_stop_at(f.store, 2, 5, &stop, &error));
    g_assert_cmpint(stop, ==, 0);
    g_assert_false(store_campaign_stop_at(f.store, 3, 5, &stop, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_autofree char *text = ask_rows(f.store, "SELECT stop_at_utc FROM campaign ORDER BY id");

    g_assert_cmpstr(text, ==, "2023-11-14T22:13:20.000Z\n-");
    fixture_finish(&f);
}

static gint64 mono_ns, wall_ns;

static gint64 test_mono(void)
{
    return mono_ns;
}

static gint64 test_wall(void)
{
    return wall_ns;
}

static gint64 duration(Fixture *f, gint64 cell)
{
    g_autoptr(GError) error = NULL;
    gint64 found = -1;

    store_cell_duration(f->store, cell, &found, &error);
    g_assert_no_error(error);
    return found;
}

/* A run that took ns; the wall clock goes back an hour in it. */
static gint64 timed_run(Fixture *f, gint64 ns, const char *verdict, gint64 *ret_cell)
{
    gint64 run = fixture_claim(f);
    g_autofree char *sql =
        g_strdup_printf("SELECT cell_id FROM run WHERE id = %" G_GINT64_FORMAT, run);

    mono_ns += ns;
    wall_ns -= 3600 * CLOCK_NS_PER_S;
    finish(f, run, verdict, NULL);
    *ret_cell = ask_int(f->store, sql);
    return run;
}

static void test_durations(void)
{
    static const ClockSource source = {.mono_ns = test_mono, .wall_ns = test_wall};
    Fixture f;
    gint64 cell, other, count;

    fixture_init_plan(&f, "version: 1\nplan: demo\naxes:\n  hypervisor: [bare]\n"
                          "workloads: [ops]\nrepeat: {boots: 6}\n");
    mono_ns = 1000;
    wall_ns = 1700000000 * CLOCK_NS_PER_S;
    clock_set_source(&source);
    fixture_add_campaign(&f);
    timed_run(&f, 9000, "interrupted", &cell);
    g_assert_cmpint(duration(&f, cell), ==, 0);
    timed_run(&f, 7000, "failed", &cell);
    g_assert_cmpint(duration(&f, cell), ==, 7000);
    timed_run(&f, 100, "clean", &cell);
    timed_run(&f, 300, "contaminated", &cell);
    g_assert_cmpint(duration(&f, cell), ==, 200);
    /* Another campaign with the same cell, which has not been measured in it. */
    fixture_add_campaign(&f);
    other = ask_int(f.store, "SELECT max(id) FROM cell");
    g_assert_cmpint(other, !=, cell);
    g_assert_cmpint(duration(&f, other), ==, 200);
    timed_run(&f, 50, "clean", &count);
    g_assert_cmpint(count, ==, other);
    g_assert_cmpint(duration(&f, other), ==, 50);
    g_assert_cmpint(duration(&f, cell), ==, 200);
    g_assert_cmpint(duration(&f, 999), ==, 0);
    clock_set_source(NULL);
    fixture_finish(&f);
}

/* What the log shows of a run, in the order in which it happened whatever the wall clock says. */
static void test_run_events(void)
{
    static const ClockSource source = {.mono_ns = test_mono, .wall_ns = test_wall};
    Fixture f;
    gint64 cell;

    fixture_init(&f, "cell");
    mono_ns = 1000;
    wall_ns = 1700000000 * CLOCK_NS_PER_S;
    clock_set_source(&source);
    fixture_add_campaign(&f);
    timed_run(&f, 2340 * CLOCK_NS_PER_MS, "clean", &cell);
    gint64 run = fixture_claim(&f);

    store_run_finish(f.store, run, "failed", "no answer", "forced", NULL);
    g_autofree char *rows =
        ask_rows(f.store, "SELECT run - (SELECT min(run) FROM event_list), level, step, message,"
                          " cell_key IS NOT NULL FROM event_list ORDER BY event");

    g_assert_cmpstr(rows, ==,
                    "0|info|begin|block 1, attempt 1|1\n0|info|end|clean in 2.3 s|1\n"
                    "1|info|begin|block 1, attempt 1|1\n"
                    "1|error|end|failed in 0.0 s [forced]: no answer|1");
    clock_set_source(NULL);
    fixture_finish(&f);
}

static void test_block_drop(void)
{
    Fixture f;
    guint count = 0;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    run_one(&f, "clean");
    g_assert_true(store_block_drop(f.store, 1, 1, "would end after 07:00", &count, &error));
    g_assert_cmpuint(count, ==, 4);
    g_assert_true(store_block_drop(f.store, 1, 0, "would end after 07:00", &count, &error));
    g_assert_cmpuint(count, ==, 3);
    g_autofree char *rows = ask_rows(
        f.store, "SELECT block, state, reason, count(*) FROM run GROUP BY 1, 2 ORDER BY 1, 2");

    g_assert_cmpstr(rows, ==,
                    "0|done|-|1\n0|skipped|would end after 07:00|3\n"
                    "1|skipped|would end after 07:00|4\n2|queued|-|4");
    fixture_finish(&f);
}

static void test_step(void)
{
    Fixture f;
    gint64 run;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    run = fixture_claim(&f);
    g_assert_true(store_step_enter(f.store, run, "overlay", 1700000000000000000, &error));
    g_assert_true(store_step_enter(f.store, run, "start", 1700000001000000000, &error));
    /* A step is noted without a wait for the disk; everything else waits (2: FULL). */
    g_assert_cmpint(ask_int(f.store, "PRAGMA synchronous"), ==, 2);
    g_assert_false(store_step_enter(f.store, 999, "start", 1, &error));
    g_assert_cmpint(ask_int(f.store, "PRAGMA synchronous"), ==, 2);
    g_autofree char *rows = ask_rows(f.store, "SELECT run_id, name, entered_utc FROM step");
    g_autofree char *expected =
        g_strdup_printf("%" G_GINT64_FORMAT "|start|2023-11-14T22:13:21.000Z", run);

    g_assert_cmpstr(rows, ==, expected);
    fixture_finish(&f);
}

static void load_dump(Fixture *f, const char *name)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, name, NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *sql = NULL;
    sqlite3 *db = NULL;
    char *message = NULL;

    g_file_get_contents(path, &sql, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(sqlite3_open(f->path, &db), ==, SQLITE_OK);
    sqlite3_exec(db, sql, NULL, NULL, &message);
    g_assert_cmpstr(message, ==, NULL);
    g_assert_cmpint(sqlite3_close(db), ==, SQLITE_OK);
}

static void test_from_version_1(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    load_dump(&f, "version-1.sql");
    fixture_open(&f);
    g_assert_cmpint(ask_int(f.store, "PRAGMA user_version"), >=, 2);
    g_autofree char *check = ask_text(f.store, "PRAGMA integrity_check");
    g_autofree char *campaigns = ask_rows(
        f.store, "SELECT id, state, priority, paused, not_before_ns, not_before_utc, stop_at_ns"
                 " FROM campaign");
    g_autofree char *runs = ask_rows(f.store, "SELECT campaign_id, state, verdict, reason, count(*)"
                                              " FROM run GROUP BY 1, 2, 3 ORDER BY 1, 2, 3");

    g_assert_cmpstr(check, ==, "ok");
    g_assert_cmpstr(campaigns, ==, "1|done|0|0|0|-|-\n2|cancelled|0|0|0|-|-\n3|queued|0|0|0|-|-");
    g_assert_cmpstr(runs, ==,
                    "1|done|clean|-|3\n1|done|failed|no answer|1\n"
                    "2|skipped|-|the campaign was cancelled before this run began|2\n"
                    "3|queued|-|-|2");
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM run WHERE verdict = 'clean'"
                                     " AND duration_ns = ended_ns - started_ns"),
                    ==, 3);
    /* What was measured is still there, under the views of today. */
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM result"), ==, 12);
    assert_next(&f, 1, STORE_NEXT_READY, 3);
    g_assert_cmpint(duration(&f, 4), >, 0);
    fixture_finish(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/steer/next", test_next);
    g_test_add_func("/steer/next-plan", test_next_plan);
    g_test_add_func("/steer/submit-is-one-transaction", test_submit_is_one_transaction);
    g_test_add_func("/steer/stop-by-is-stored", test_stop_by_is_stored);
    g_test_add_func("/steer/pause", test_pause);
    g_test_add_func("/steer/cancel", test_cancel);
    g_test_add_func("/steer/cancel-in-flight", test_cancel_in_flight);
    g_test_add_func("/steer/cancel-recovered", test_cancel_recovered);
    g_test_add_func("/steer/interruptions-cap", test_interruptions_cap);
    g_test_add_func("/steer/retry", test_retry);
    g_test_add_func("/steer/retry-contaminated", test_retry_contaminated);
    g_test_add_func("/steer/retry-cancelled", test_retry_cancelled);
    g_test_add_func("/steer/stop-at", test_stop_at);
    g_test_add_func("/steer/durations", test_durations);
    g_test_add_func("/steer/run-events", test_run_events);
    g_test_add_func("/steer/block-drop", test_block_drop);
    g_test_add_func("/steer/step", test_step);
    g_test_add_func("/steer/from-version-1", test_from_version_1);
    return g_test_run();
}
