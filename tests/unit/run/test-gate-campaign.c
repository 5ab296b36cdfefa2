/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A campaign whose gate stays shut, and what is heard meanwhile. Nothing here needs a quiet host:
 * the gate either wants an hour of quiet, or allows nothing while a process of the test works. */
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "run/engine.h"
#include "store/steer.h"
#include "util/clock.h"
#include "util/error.h"

static const char plan_head[] = "version: 1\n"
                                "plan: gate\n"
                                "axes:\n"
                                "  hypervisor: [bare]\n"
                                "repeat: {boots: 3, samples: 5}\n"
                                "workloads: [fake.one]\n";

/* An hour of quiet, whatever the host does. */
static const char hour[] = "idle: {settle: 1h, wait: 1h}\n";

/* Nothing at all. */
#define NOTHING                                                                                    \
    "cpu-busy: 0%, run-queue: 1000000, cpu-pressure: 100%, io-pressure: 100%, memory-pressure: "   \
    "100%, disk-busy: 100%, disk-rate: 1TB, network-rate: 1TB, guests: ignore, chores: ignore"

typedef struct {
    Fixture *fixture;
    gint64 campaign;
    gboolean (*at_gate)(Store *store, gint64 campaign, GError **error); /* or NULL */
    GPtrArray *waiting;                                                 /* char* */
    guint steps;
} Watcher;

static void see_step(void *data, const StoreRun *run, const char *step,
                     const CampaignTotals *totals, gint64 eta_ns)
{
    Watcher *watcher = data;
    g_autoptr(GError) error = NULL;

    watcher->steps++;
    if (watcher->at_gate == NULL || !g_str_equal(step, "gate"))
        return;
    watcher->at_gate(watcher->fixture->store, watcher->campaign, &error);
    g_assert_no_error(error);
}

static void see_waiting(void *data, const StoreRun *run, const char *what,
                        const CampaignTotals *totals)
{
    g_ptr_array_add(((Watcher *)data)->waiting, g_strdup(what));
}

static CampaignTotals run(Watcher *watcher, Fixture *fixture, const char *rest)
{
    g_autofree char *text = g_strconcat(plan_head, rest, NULL);
    CampaignWatch watch = {.step = see_step, .waiting = see_waiting, .data = watcher};
    CampaignOptions options = fixture_options(fixture);
    CampaignTotals totals = {0};
    g_autoptr(GError) error = NULL;

    watcher->fixture = fixture;
    watcher->waiting = g_ptr_array_new_with_free_func(g_free);
    if (watcher->campaign == 0)
        watcher->campaign = fixture_submit(fixture, text);
    options.watch = &watch;
    campaign_run(fixture->store, watcher->campaign, &options, &totals, &error);
    g_assert_no_error(error);
    return totals;
}

static gboolean ask_pause(Store *store, gint64 campaign, GError **error)
{
    return store_campaign_pause(store, campaign, TRUE, error);
}

static void test_pause(Fixture *fixture, gconstpointer data)
{
    Watcher watcher = {.at_gate = ask_pause};
    CampaignTotals totals = run(&watcher, fixture, hour);

    g_assert_cmpint(totals.outcome, ==, CAMPAIGN_PAUSED);
    g_assert_cmpint(totals.done, ==, 0);
    g_assert_cmpint(totals.interrupted, ==, 0);
    g_assert_cmpint(campaign_exit_code(&totals), ==, VM_EXIT_PARTIAL);
    /* The turn was given back, as the same attempt. */
    assert_answer(fixture, "SELECT count(*) FROM run WHERE state = 'queued' AND attempt = 1", "3");
    assert_answer(fixture,
                  "SELECT count(*) FROM run WHERE verdict = 'interrupted' AND "
                  "reason LIKE '%paused while waiting for an idle host%'",
                  "1");
    assert_answer(fixture, "SELECT count(*) FROM step WHERE name <> 'gate'", "0");
    assert_nothing_left(fixture);
    g_ptr_array_unref(watcher.waiting);
}

static void test_cancel(Fixture *fixture, gconstpointer data)
{
    Watcher watcher = {.at_gate = store_campaign_cancel};
    CampaignTotals totals = run(&watcher, fixture, hour);

    g_assert_cmpint(totals.outcome, ==, CAMPAIGN_CANCELLED);
    g_assert_cmpuint(watcher.steps, ==, 1);
    assert_answer(fixture, "SELECT state FROM campaign", "cancelled");
    assert_nothing_left(fixture);
    g_ptr_array_unref(watcher.waiting);
}

/* It would have waited an hour; the campaign must have ended in two seconds. */
static void test_stop_by(Fixture *fixture, gconstpointer data)
{
    static const char rest[] = "idle: {settle: 1h, wait: 1h}\nlimits: {stop-by: \"07:00\"}\n";
    g_autofree char *text = g_strconcat(plan_head, rest, NULL);
    Watcher watcher = {.campaign = fixture_submit(fixture, text)};
    g_autoptr(GError) error = NULL;
    CampaignTotals totals;
    gint64 at = 0;

    store_campaign_stop_at(fixture->store, watcher.campaign, clock_wall_ns() + 2 * CLOCK_NS_PER_S,
                           &at, &error);
    g_assert_no_error(error);
    totals = run(&watcher, fixture, rest);
    g_assert_cmpint(totals.outcome, ==, CAMPAIGN_DONE);
    g_assert_cmpint(totals.done, ==, 0);
    g_assert_cmpint(totals.dropped, ==, 3);
    g_assert_cmpint(campaign_exit_code(&totals), ==, VM_EXIT_PARTIAL);
    assert_answer(fixture,
                  "SELECT count(*) FROM run WHERE verdict = 'interrupted' AND "
                  "reason LIKE '%stop-by: too late%'",
                  "1");
    assert_answer(fixture, "SELECT count(*) FROM run WHERE state = 'skipped'", "3");
    g_assert_cmpint(clock_wall_ns(), >=, at);
    g_ptr_array_unref(watcher.waiting);
}

/* A process of its own that takes all it can get, until it is killed. */
static pid_t start_burner(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile guint i = 0;; i++)
            ;
    }
    return pid;
}

static CampaignTotals run_busy(Watcher *watcher, Fixture *fixture, const char *rest)
{
    pid_t burner = start_burner();
    CampaignTotals totals = run(watcher, fixture, rest);

    kill(burner, SIGKILL);
    waitpid(burner, NULL, 0);
    return totals;
}

static void test_fail(Fixture *fixture, gconstpointer data)
{
    Watcher watcher = {0};
    CampaignTotals totals =
        run_busy(&watcher, fixture, "idle: {" NOTHING ", settle: 500ms, wait: 500ms}\n");

    g_assert_cmpint(totals.failed, ==, 3);
    assert_answer(fixture,
                  "SELECT count(*) FROM run WHERE verdict = 'failed' AND "
                  "reason LIKE '%did not become idle: CPU busy%(0.0 % allowed): %(pid %'",
                  "3");
    g_assert_cmpuint(watcher.waiting->len, >=, 3);
    g_assert_nonnull(strstr(g_ptr_array_index(watcher.waiting, 0), "CPU busy"));
    g_ptr_array_unref(watcher.waiting);
}

static void test_run_and_flag(Fixture *fixture, gconstpointer data)
{
    Watcher watcher = {0};
    CampaignTotals totals = run_busy(
        &watcher, fixture,
        "idle: {" NOTHING ", settle: 500ms, wait: 500ms, on-timeout: run}\nevidence: off\n");

    g_assert_cmpint(totals.failed, ==, 0);
    assert_answer(fixture,
                  "SELECT count(*) FROM run WHERE verdict = 'clean' AND "
                  "instr(',' || flags || ',', ',host-busy,') > 0",
                  "3");
    /* For whom it waited, and that it gave up. */
    assert_answer(fixture,
                  "SELECT count(DISTINCT run_id) FROM event WHERE step = 'gate' AND "
                  "level = 'info' AND message LIKE 'CPU busy%'",
                  "3");
    assert_answer(fixture,
                  "SELECT count(*) FROM event WHERE step = 'gate' AND level = 'warning' AND "
                  "message LIKE '%going on as the plan says: CPU busy%(pid %'",
                  "3");
    /* Both together are the gate's own time, but for a moment. */
    assert_answer(fixture,
                  "SELECT count(*) FROM (SELECT run_id, sum(duration_ns * (name = 'gate')) AS all_,"
                  " sum(duration_ns * (name IN ('gate-busy', 'gate-settle'))) AS parts"
                  " FROM phase GROUP BY run_id) WHERE parts BETWEEN 0.5 * all_ AND all_",
                  "3");
    g_ptr_array_unref(watcher.waiting);
}

/* A tree whose CPU is this warm. */
static char *warm_tree(Fixture *fixture, const char *mc)
{
    g_autofree char *zone =
        g_build_filename(fixture->folder, mc, "sys/class/thermal/thermal_zone0", NULL);
    g_autofree char *type = g_build_filename(zone, "type", NULL);
    g_autofree char *temp = g_build_filename(zone, "temp", NULL);

    g_assert_cmpint(g_mkdir_with_parents(zone, 0700), ==, 0);
    write_file(type, "x86_pkg_temp\n", 0600);
    write_file(temp, mc, 0600);
    return g_build_filename(fixture->folder, mc, NULL);
}

/* *ret_mc: what the gate of this campaign compares with, at a start with the host this warm. */
static void start_warm(Fixture *fixture, gint64 campaign, const char *mc, gint *ret_mc)
{
    CampaignOptions options = fixture_options(fixture);
    g_autofree char *root = warm_tree(fixture, mc);
    g_autoptr(GError) error = NULL;
    g_auto(Engine) engine = {0};
    g_auto(StoreRun) claimed = {0};
    StoreClaim claim;

    g_assert_true(engine_init(&engine, fixture->store, campaign, &options, &error));
    g_assert_true(engine_note_temperature(&engine, root, &error));
    g_assert_no_error(error);
    g_assert_true(engine.has_temperature);
    *ret_mc = engine.temperature_mc;
    g_assert_true(store_run_claim(fixture->store, campaign, "boot", &claimed, &claim, &error));
    g_assert_true(store_facts_add(fixture->store, claimed.id, "host", engine.host_facts, &error));
    g_assert_no_error(error);
}

/* The campaign's first start counts, also after the daemon was started anew. */
static void test_temperature(Fixture *fixture, gconstpointer data)
{
    g_autofree char *text = g_strconcat(plan_head, hour, NULL);
    gint64 first = fixture_submit(fixture, text), second = fixture_submit(fixture, text);
    gint mc = 0;

    start_warm(fixture, first, "40000", &mc);
    g_assert_cmpint(mc, ==, 40000);
    start_warm(fixture, first, "70000", &mc);
    g_assert_cmpint(mc, ==, 40000);
    start_warm(fixture, second, "55000", &mc);
    g_assert_cmpint(mc, ==, 55000);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *path;
        void (*test)(Fixture *fixture, gconstpointer data);
    } tests[] = {
        {"/gate-campaign/pause", test_pause},      {"/gate-campaign/cancel", test_cancel},
        {"/gate-campaign/stop-by", test_stop_by},  {"/gate-campaign/fail", test_fail},
        {"/gate-campaign/run", test_run_and_flag}, {"/gate-campaign/temperature", test_temperature},
    };

    fixture_begin(&argc, &argv);
    for (guint i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].path, Fixture, NULL, fixture_init, tests[i].test, fixture_finish);
    return g_test_run();
}
