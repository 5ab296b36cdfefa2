/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine with bare cells and an agent that behaves, or breaks the protocol: what each run's
 * verdict is, that the next runs go on, and that nothing is left. */
#include <glib.h>
#include <string.h>

#include "fixture.h"
#include "run/lock.h"
#include "run/submit.h"
#include "store/steer.h"
#include "util/error.h"

static const char plan_head[] = "version: 1\n"
                                "plan: engine\n"
                                "axes:\n"
                                "  hypervisor: [bare]\n"
                                "  vcpus: [1]\n"
                                "repeat: {boots: 3, invocations: 2, samples: 5}\n"
                                "idle: off\n"
                                "limits: {invocation: 2s, boot: 2s}\n";

static gint64 submit(Fixture *fixture, const char *workloads)
{
    g_autofree char *text = g_strdup_printf("%sworkloads: [%s]\n", plan_head, workloads);

    return fixture_submit(fixture, text);
}

static CampaignTotals run(Fixture *fixture, const char *modes, const char *workloads)
{
    CampaignOptions options = fixture_options(fixture);
    gint64 campaign = submit(fixture, workloads);
    CampaignTotals totals = {0};
    g_autoptr(GError) error = NULL;

    g_setenv("FAKE_AGENT", modes, TRUE);
    campaign_run(fixture->store, campaign, &options, &totals, &error);
    g_assert_no_error(error);
    return totals;
}

static void test_good(Fixture *fixture, gconstpointer data)
{
    CampaignTotals totals = run(fixture, "good", "fake.one, fake.two");

    g_assert_cmpint(totals.done, ==, 3);
    g_assert_cmpint(totals.failed, ==, 0);
    g_assert_cmpint(campaign_exit_code(&totals), ==, VM_EXIT_DONE);
    assert_answer(fixture, "SELECT count(*) FROM run WHERE verdict = 'clean'", "3");
    assert_answer(fixture, "SELECT count(*) FROM invocation WHERE state = 'done'", "12");
    assert_answer(fixture, "SELECT count(*) FROM sample", "60");
    assert_answer(fixture, "SELECT count(DISTINCT value) FROM sample", "5");
    assert_answer(fixture,
                  "SELECT count(*) FROM invocation WHERE host_ns > 0 AND guest_ns > 0 "
                  "AND drift_ppm IS NOT NULL AND drift_bound_ppm > 0",
                  "12");
    assert_answer(fixture, "SELECT state FROM campaign", "done");
    assert_nothing_left(fixture);
}

static void test_workload_order(Fixture *fixture, gconstpointer data)
{
    run(fixture, "good", "fake.one, fake.two");
    /* Each position of each run holds one workload, and both are there in each run. */
    assert_answer(fixture,
                  "SELECT count(*) FROM (SELECT run_id, position FROM invocation "
                  "GROUP BY run_id, position HAVING count(DISTINCT workload) = 1)",
                  "6");
    assert_answer(fixture,
                  "SELECT count(*) FROM (SELECT run_id FROM invocation GROUP BY run_id "
                  "HAVING count(DISTINCT workload) = 2)",
                  "3");
}

/* The second of three runs breaks; the others are clean. */
static void assert_second_fails(Fixture *fixture, const char *mode, const char *like)
{
    g_autofree char *modes = g_strdup_printf("good %s good", mode);
    CampaignTotals totals = run(fixture, modes, "fake.one");
    g_autofree char *sql = g_strdup_printf(
        "SELECT count(*) FROM run WHERE verdict = 'failed' AND reason LIKE '%s'", like);
    g_autofree char *reason =
        fixture_ask(fixture, "SELECT reason FROM run WHERE verdict = 'failed'");

    g_test_message("%s: %s", mode, reason);
    g_assert_cmpint(totals.done, ==, 3);
    g_assert_cmpint(totals.failed, ==, 1);
    g_assert_cmpint(campaign_exit_code(&totals), ==, VM_EXIT_CELL_FAILED);
    assert_answer(fixture, "SELECT count(*) FROM run WHERE verdict = 'clean'", "2");
    assert_answer(fixture, sql, "1");
    assert_answer(fixture, "SELECT count(*) FROM event WHERE level = 'error' AND step = 'end'",
                  "1");
    /* What was measured in the failed run is never pooled with the others. */
    assert_answer(fixture,
                  "SELECT count(*) FROM run_summary s JOIN run r ON r.id = s.run "
                  "WHERE r.verdict = 'clean'",
                  "2");
    assert_nothing_left(fixture);
}

static void test_garbage(Fixture *fixture, gconstpointer data)
{
    assert_second_fails(fixture, "garbage", "%fake.one%Segmentation fault%");
}

static void test_dies(Fixture *fixture, gconstpointer data)
{
    assert_second_fails(fixture, "dies", "%agent ended (exit status 139%");
}

static void test_hangs(Fixture *fixture, gconstpointer data)
{
    assert_second_fails(fixture, "hangs", "%deadline%");
}

static void test_miscounts(Fixture *fixture, gconstpointer data)
{
    assert_second_fails(fixture, "miscounts", "%fake.one%");
}

static void test_refused_and_unsupported(Fixture *fixture, gconstpointer data)
{
    CampaignTotals totals = run(fixture, "good", "fake.one, fake.refuses, fake.lacks");

    g_assert_cmpint(totals.failed, ==, 0);
    g_assert_cmpint(totals.partial, ==, 3);
    g_assert_cmpint(campaign_exit_code(&totals), ==, VM_EXIT_CELL_FAILED);
    assert_answer(fixture, "SELECT count(*) FROM run WHERE verdict = 'clean' AND flags = 'partial'",
                  "3");
    assert_answer(fixture,
                  "SELECT count(*) FROM invocation WHERE state = 'failed' AND workload = "
                  "'fake.refuses' AND reason = 'the file system is full'",
                  "6");
    assert_answer(fixture,
                  "SELECT count(*) FROM invocation WHERE state = 'unsupported' AND workload = "
                  "'fake.lacks'",
                  "6");
    assert_answer(fixture, "SELECT count(*) FROM sample", "30");
}

static void test_all_refused(Fixture *fixture, gconstpointer data)
{
    CampaignTotals totals = run(fixture, "refuses-all", "fake.one");

    g_assert_cmpint(totals.failed, ==, 3);
    assert_answer(fixture,
                  "SELECT count(*) FROM run WHERE verdict = 'failed' AND reason LIKE "
                  "'every invocation failed%file system is full%'",
                  "3");
}

static void test_fast_clock(Fixture *fixture, gconstpointer data)
{
    run(fixture, "fast", "fake.one");
    assert_answer(fixture,
                  "SELECT count(*) FROM invocation WHERE flags = 'drift' "
                  "AND drift_ppm BETWEEN 5000 AND 15000",
                  "6");
    assert_answer(fixture, "SELECT count(*) FROM run WHERE flags = 'drift' AND verdict = 'clean'",
                  "3");
}

static void stop_at_second(void *data, const StoreRun *run_, const char *verdict,
                           const char *reason, gint64 duration_ns, const CampaignTotals *totals)
{
    Fixture *fixture = data;

    if (totals->done == 1)
        cancel_set(fixture->cancel);
}

static void test_cancel(Fixture *fixture, gconstpointer data)
{
    gint64 campaign = submit(fixture, "fake.one");
    CampaignWatch watch = {.finished = stop_at_second, .data = fixture};
    CampaignOptions options = fixture_options(fixture);
    CampaignTotals totals = {0};
    g_autoptr(GError) error = NULL;

    options.watch = &watch;
    campaign_run(fixture->store, campaign, &options, &totals, &error);
    g_assert_no_error(error);
    g_assert_cmpint(totals.done, ==, 1);
    assert_answer(fixture, "SELECT state FROM campaign", "cancelled");
    assert_answer(fixture, "SELECT count(*) FROM run WHERE state = 'skipped'", "2");
    assert_answer(fixture, "SELECT count(*) FROM sample", "10");
}

static void stop_in_first(void *data, const StoreRun *run_, const char *step,
                          const CampaignTotals *totals, gint64 eta_ns)
{
    Fixture *fixture = data;

    if (g_str_equal(step, "measure"))
        cancel_set(fixture->cancel);
}

/* The daemon is to end in the middle of a run: that run is there, and it is queued once more. */
static void test_stop_resumable(Fixture *fixture, gconstpointer data)
{
    gint64 campaign = submit(fixture, "fake.one");
    CampaignWatch watch = {.step = stop_in_first, .data = fixture};
    CampaignOptions options = fixture_options(fixture);
    CampaignTotals totals = {0};
    g_autoptr(GError) error = NULL;

    options.watch = &watch;
    options.resumable = TRUE;
    campaign_run(fixture->store, campaign, &options, &totals, &error);
    g_assert_no_error(error);
    assert_answer(fixture, "SELECT state FROM campaign", "queued");
    assert_answer(fixture,
                  "SELECT group_concat(n, ' ') FROM (SELECT state || ifnull(verdict, '') || "
                  "interruptions || attempt || ':' || count(*) AS n FROM run GROUP BY state, "
                  "verdict, interruptions, attempt ORDER BY n)",
                  "doneinterrupted01:1 queued01:2 queued11:1");
    assert_answer(fixture, "SELECT count(*) FROM sample", "0");
}

/* What is asked of the agent for one workload. */
static void check_request(Fixture *fixture, const char *workload, const char *repeat,
                          const char *expected)
{
    g_autofree char *path = g_build_filename(fixture->folder, "requests", NULL);
    g_autofree char *plan = g_strdup_printf("version: 1\nplan: warm\naxes: {hypervisor: [bare]}\n"
                                            "workloads: [%s]\nidle: off\nrepeat: {boots: 1, "
                                            "samples: 5%s}\n",
                                            workload, repeat);
    CampaignOptions options = fixture_options(fixture);
    CampaignTotals totals = {0};
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;

    g_setenv("FAKE_AGENT_REQUESTS", path, TRUE);
    campaign_run(fixture->store, fixture_submit(fixture, plan), &options, &totals, &error);
    g_unsetenv("FAKE_AGENT_REQUESTS");
    g_assert_no_error(error);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_nonnull(strstr(text, expected));
    g_assert_cmpint(unlink(path), ==, 0);
}

/* No floor under the warm-up where the plan wants none. */
static void test_warmup(Fixture *fixture, gconstpointer data)
{
    check_request(fixture, "fake.one", "", "\"warmup_min_ns\": 20000000");
    check_request(fixture, "fake.one", ", warmup: 0", "\"warmup_min_ns\": 0");
}

/* More copies are asked for, and are a workload of their own in the results. */
static void test_copies(Fixture *fixture, gconstpointer data)
{
    check_request(fixture, "fake.one", "", "\"copies\": 1, \"threads\": 1");
    check_request(fixture, "{workload: fake.one, copies: 3}", "", "\"copies\": 3, \"threads\": 1");
    check_request(fixture, "{workload: fake.one, threads: 2}", "", "\"copies\": 1, \"threads\": 2");
    assert_answer(fixture,
                  "SELECT group_concat(workload, ' ') FROM "
                  "(SELECT DISTINCT workload FROM result ORDER BY workload)",
                  "fake.one fake.one:copies=3 fake.one:threads=2");
}

/* The fake agent says that it has one CPU. */
static void test_cpus_missing(Fixture *fixture, gconstpointer data)
{
    CampaignOptions options = fixture_options(fixture);
    CampaignTotals totals = {0};
    g_autoptr(GError) error = NULL;

    if (g_get_num_processors() < 2) {
        g_test_skip("needs two CPUs");
        return;
    }
    gint64 campaign = fixture_submit(fixture, "version: 1\nplan: cpus\naxes:\n"
                                              "  hypervisor: [bare]\n  vcpus: [1, 2]\n"
                                              "workloads: [fake.one]\nidle: off\n"
                                              "repeat: {boots: 1, samples: 5}\n");

    g_setenv("FAKE_AGENT", "good", TRUE);
    campaign_run(fixture->store, campaign, &options, &totals, &error);
    g_assert_no_error(error);
    assert_answer(fixture,
                  "SELECT group_concat(cell_key || ' ' || (',' || ifnull(flags, '') || ',' LIKE "
                  "'%,cpus-missing,%'), '; ') FROM (SELECT c.key AS cell_key, r.flags FROM run r "
                  "JOIN cell c ON c.id = r.cell_id ORDER BY c.key)",
                  "hypervisor=bare vcpus=1 0; hypervisor=bare vcpus=2 1");
}

/* A claim whose process is gone is interrupted and done again; nothing is there twice. */
static void test_recover(Fixture *fixture, gconstpointer data)
{
    gint64 campaign = submit(fixture, "fake.one");
    CampaignOptions options = fixture_options(fixture);
    g_auto(StoreRun) stale = {0};
    CampaignTotals totals = {0};
    StoreClaim claim;
    g_autoptr(GError) error = NULL;

    store_run_claim(fixture->store, campaign, "earlier-boot", &stale, &claim, &error);
    g_assert_no_error(error);
    g_assert_cmpint(claim, ==, STORE_CLAIMED);
    campaign_run(fixture->store, campaign, &options, &totals, &error);
    g_assert_no_error(error);
    g_assert_cmpint(totals.done, ==, 3);
    assert_answer(fixture, "SELECT count(*) FROM run WHERE verdict = 'interrupted'", "1");
    assert_answer(fixture, "SELECT count(*) FROM run WHERE verdict = 'clean'", "3");
    assert_answer(fixture, "SELECT count(*) FROM sample", "30");
}

/* Also a campaign that nobody runs again: it was cancelled while its process was dead. */
static void test_recover_cancelled(Fixture *fixture, gconstpointer data)
{
    gint64 campaign = submit(fixture, "fake.one");
    CampaignOptions options = {.agent = g_getenv("FAKE_AGENT_PATH"), .cancel = fixture->cancel};
    g_auto(StoreRun) stale = {0};
    StoreClaim claim;
    g_autoptr(GError) error = NULL;

    store_run_claim(fixture->store, campaign, "earlier-boot", &stale, &claim, &error);
    g_assert_no_error(error);
    store_campaign_cancel(fixture->store, campaign, &error);
    g_assert_no_error(error);
    campaign_recover(fixture->store, &options, &error);
    g_assert_no_error(error);
    assert_answer(fixture, "SELECT count(*) FROM run WHERE state IN ('running', 'queued')", "0");
    assert_answer(fixture, "SELECT count(*) FROM run WHERE verdict = 'interrupted'", "1");
    assert_answer(fixture, "SELECT state FROM campaign", "cancelled");
}

/* However many ask, the holder is named. */
static void test_lock_crowd(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(HostLock) lock = host_lock_new(&error);

    g_assert_no_error(error);
    for (int i = 0; i < 100; i++) {
        g_autoptr(GError) busy = NULL;

        g_assert_null(host_lock_new(&busy));
        g_assert_nonnull(strstr(busy->message, "test-campaign"));
    }
}

static void test_lock(Fixture *fixture, gconstpointer data)
{
    gint64 campaign = submit(fixture, "fake.one");
    CampaignOptions options = fixture_options(fixture);
    CampaignTotals totals = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(HostLock) lock = host_lock_new(&error);

    g_assert_no_error(error);
    g_assert_false(campaign_run(fixture->store, campaign, &options, &totals, &error));
    g_assert_true(vm_error_is(error, VM_ERROR_BUSY));
    g_assert_nonnull(strstr(error->message, "test-campaign"));
    g_assert_cmpint(vm_error_exit_code(error), ==, VM_EXIT_ENVIRONMENT);
}

static void test_unknown_workload(Fixture *fixture, gconstpointer data)
{
    g_autofree char *text = g_strdup_printf("%sworkloads: [fake.oen]\n", plan_head);
    SubmitRequest request = {.plan_path = fixture->plan,
                             .inventory_path = fixture->inventory,
                             .agent = g_getenv("FAKE_AGENT_PATH")};
    g_autoptr(GError) error = NULL;
    guint cells, skipped;
    gint64 campaign;

    write_file(fixture->plan, text, 0600);
    g_assert_false(submit_campaign(fixture->store, &request, &campaign, &cells, &skipped, &error));
    g_assert_true(vm_error_is(error, VM_ERROR_INVALID));
    g_assert_nonnull(strstr(error->message, "plan.yaml:9:"));
    g_assert_nonnull(strstr(error->message, "fake.one"));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *path;
        void (*test)(Fixture *, gconstpointer);
    } tests[] = {
        {"/campaign/good", test_good},
        {"/campaign/workload-order", test_workload_order},
        {"/campaign/garbage", test_garbage},
        {"/campaign/dies", test_dies},
        {"/campaign/hangs", test_hangs},
        {"/campaign/miscounts", test_miscounts},
        {"/campaign/refused-and-unsupported", test_refused_and_unsupported},
        {"/campaign/all-refused", test_all_refused},
        {"/campaign/fast-clock", test_fast_clock},
        {"/campaign/cancel", test_cancel},
        {"/campaign/stop-resumable", test_stop_resumable},
        {"/campaign/warmup", test_warmup},
        {"/campaign/copies", test_copies},
        {"/campaign/cpus-missing", test_cpus_missing},
        {"/campaign/recover", test_recover},
        {"/campaign/recover-cancelled", test_recover_cancelled},
        {"/campaign/lock", test_lock},
        {"/campaign/lock-crowd", test_lock_crowd},
        {"/campaign/unknown-workload", test_unknown_workload},
    };
    fixture_begin(&argc, &argv);
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].path, Fixture, NULL, fixture_init, tests[i].test, fixture_finish);
    return g_test_run();
}
