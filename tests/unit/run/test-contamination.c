/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine with a reader of evidence that says what a test wants: which runs are contaminated,
 * that they are kept and done again at the end of their block, and what becomes of them without
 * evidence. */
#include <glib.h>
#include <string.h>

#include "fixture.h"
#include "run/reader.h"
#include "util/error.h"

#define CULPRIT "hog (pid 4711) took 2.0 CPU-seconds of CPU 0 in 10.0 s (20.0 %); 2.0 % is allowed"

/* Two cells, two blocks: without reruns 4 runs. */
static CampaignTotals run_invocations(Fixture *fixture, const char *readings, guint invocations,
                                      const char *keys)
{
    g_autofree char *plan = g_strdup_printf("version: 1\n"
                                            "plan: contamination\n"
                                            "axes:\n"
                                            "  hypervisor: [bare]\n"
                                            "  vcpus: [1]\n"
                                            "  variant:\n"
                                            "    a: {cmdline: \"\"}\n"
                                            "    b: {cmdline: \"\"}\n"
                                            "workloads: [fake.one]\n"
                                            "repeat: {boots: 2, samples: 3, invocations: %u}\n"
                                            "idle: off\n"
                                            "%s\n",
                                            invocations, keys);
    gint64 campaign = fixture_submit(fixture, plan);
    CampaignOptions options = fixture_options(fixture);
    CampaignTotals totals = {0};
    g_autoptr(GError) error = NULL;

    g_setenv("FAKE_READER", readings, TRUE);
    campaign_run(fixture->store, campaign, &options, &totals, &error);
    g_assert_no_error(error);
    return totals;
}

static CampaignTotals run_plan(Fixture *fixture, const char *readings, const char *keys)
{
    return run_invocations(fixture, readings, 1, keys);
}

/* A row a run in the order in which they ran. */
static char *runs_of(Fixture *fixture)
{
    return fixture_ask(fixture,
                       "SELECT group_concat(printf('%d.%d/%d %s', block, position, attempt,"
                       " ifnull(verdict, state)), ', ') FROM (SELECT * FROM run"
                       " ORDER BY ifnull(started_ns, 1e30), id)");
}

static void assert_runs(Fixture *fixture, const char *expected)
{
    g_autofree char *runs = runs_of(fixture);

    g_assert_cmpstr(runs, ==, expected);
}

static void test_rerun(Fixture *fixture, gconstpointer data)
{
    CampaignTotals totals = run_plan(fixture, "hog quiet", "");

    /* At the end of its own block, not at once and not at the very end. */
    assert_runs(fixture, "0.0/1 contaminated, 0.1/1 clean, 0.2/2 clean, 1.0/1 clean, 1.1/1 clean");
    assert_answer(fixture,
                  "SELECT count(DISTINCT cell_id) FROM run WHERE block = 0 AND position "
                  "IN (0, 2)",
                  "1");
    assert_answer(fixture, "SELECT reason FROM run WHERE verdict = 'contaminated'",
                  "fake.one: " CULPRIT);
    g_assert_cmpint(totals.contaminated, ==, 1);
    g_assert_cmpint(totals.spoiled, ==, 0);
    g_assert_cmpint(totals.done, ==, 5);
    g_assert_cmpint(totals.total, ==, 5);
    /* Nothing is lacking: each cell has a clean run in each block. */
    g_assert_cmpint(campaign_exit_code(&totals), ==, VM_EXIT_DONE);
    /* What the contaminated one measured is kept, apart from the clean runs. */
    assert_answer(fixture, "SELECT count(*) FROM result WHERE verdict = 'contaminated'", "3");
    assert_answer(fixture, "SELECT group_concat(n) FROM cell_summary", "2,2");
    assert_answer(fixture,
                  "SELECT group_concat(rejected || ':' || round(rejection_rate, 3), ' ') "
                  "FROM contamination ORDER BY rejected",
                  "1:0.333 0:0.0");
    assert_nothing_left(fixture);
}

static void test_evidence_row(Fixture *fixture, gconstpointer data)
{
    run_plan(fixture, "hog swaps", "");
    assert_answer(fixture, "SELECT count(*) FROM evidence", "5");
    assert_answer(fixture,
                  "SELECT cpus || '|' || n_cpus || '|' || sources || '|' || span_ns || '|' || "
                  "foreign_cpu_ns || '|' || subject_cpu_ns || '|' || observer_cpu_ns || '|' || "
                  "ifnull(cpu_steal_ns, '-') || '|' || reason FROM evidence "
                  "WHERE verdict = 'contaminated'",
                  "0|1|schedstat|10000000000|2000000000|9000000000|5000|-|" CULPRIT);
    assert_answer(fixture,
                  "SELECT name || ' ' || pid || ' ' || cpu_s || ' ' || share || ' ' || "
                  "verdict FROM culprit WHERE cpu_s > 1",
                  "hog 4711 2.0 0.2 contaminated");
    assert_answer(fixture,
                  "SELECT count(*) FROM observer WHERE daemon_cpu_ns >= 0 AND cpu_ns = 5000"
                  " AND switches = 2 AND written_bytes = 0",
                  "5");
    /* Swapping flags, and never rejects. */
    assert_answer(
        fixture,
        "SELECT count(*) FROM run r JOIN invocation i ON i.run_id = r.id JOIN evidence e "
        "ON e.invocation_id = i.id WHERE r.verdict = 'clean' AND r.flags = 'host-swap' AND "
        "i.flags = 'host-swap' AND e.flags = 'host-swap' AND e.verdict = 'clean'",
        "4");
}

static void test_attempts(Fixture *fixture, gconstpointer data)
{
    CampaignTotals totals = run_plan(fixture, "hog", "limits: {attempts: 2}");

    assert_runs(fixture, "0.0/1 contaminated, 0.1/1 contaminated, 0.2/2 contaminated, "
                         "0.3/2 contaminated, 1.0/1 contaminated, 1.1/1 contaminated, "
                         "1.2/2 contaminated, 1.3/2 contaminated");
    g_assert_cmpint(totals.contaminated, ==, 8);
    g_assert_cmpint(totals.spoiled, ==, 4);
    g_assert_cmpint(totals.total, ==, 8);
    g_assert_cmpint(totals.done, ==, 8);
    g_assert_cmpint(campaign_exit_code(&totals), ==, VM_EXIT_PARTIAL);
    assert_answer(fixture, "SELECT state FROM campaign", "done");
    assert_answer(fixture,
                  "SELECT contaminated || ' ' || done || ' ' || \"left\" FROM "
                  "campaign_status",
                  "8 8 0");
}

static void test_one_attempt(Fixture *fixture, gconstpointer data)
{
    CampaignTotals totals = run_plan(fixture, "quiet hog quiet", "limits: {attempts: 1}");

    assert_runs(fixture, "0.0/1 clean, 0.1/1 contaminated, 1.0/1 clean, 1.1/1 clean");
    g_assert_cmpint(totals.spoiled, ==, 1);
}

/* Each invocation is judged; the run tells of the first, and of how many. */
static void test_invocations(Fixture *fixture, gconstpointer data)
{
    run_invocations(fixture, "quiet quiet quiet hog hog quiet", 3, "limits: {attempts: 1}");
    assert_runs(fixture, "0.0/1 clean, 0.1/1 contaminated, 1.0/1 clean, 1.1/1 clean");
    assert_answer(fixture, "SELECT reason FROM run WHERE verdict = 'contaminated'",
                  "fake.one: " CULPRIT "; and 1 more of its 3 invocations");
    assert_answer(fixture, "SELECT group_concat(verdict) FROM invocation_evidence WHERE run = 2",
                  "contaminated,contaminated,clean");
}

static void test_flag_only(Fixture *fixture, gconstpointer data)
{
    CampaignTotals totals = run_plan(fixture, "hog quiet", "evidence: {verdict: flag}");

    assert_runs(fixture, "0.0/1 clean, 0.1/1 clean, 1.0/1 clean, 1.1/1 clean");
    g_assert_cmpint(totals.contaminated, ==, 0);
    assert_answer(fixture, "SELECT group_concat(ifnull(flags, '-')) FROM run", "foreign-cpu,-,-,-");
    assert_answer(fixture, "SELECT reason FROM evidence WHERE flags = 'foreign-cpu'", CULPRIT);
}

static void test_limit(Fixture *fixture, gconstpointer data)
{
    run_plan(fixture, "hog", "evidence: {cpu: 20%}");
    assert_runs(fixture, "0.0/1 clean, 0.1/1 clean, 1.0/1 clean, 1.1/1 clean");
}

static void test_off(Fixture *fixture, gconstpointer data)
{
    run_plan(fixture, "hog", "evidence: off");
    assert_runs(fixture, "0.0/1 clean, 0.1/1 clean, 1.0/1 clean, 1.1/1 clean");
    assert_answer(fixture, "SELECT count(*) FROM evidence", "0");
    assert_answer(fixture, "SELECT count(*) FROM run WHERE flags IS NULL", "4");
}

/* ---- a reader that fails ---- */

/* The run goes on, flagged, and says why. */
static void assert_flagged(Fixture *fixture, const char *mode, const char *like)
{
    g_autofree char *modes = g_strdup_printf("%s quiet", mode);
    g_autofree char *sql = g_strdup_printf(
        "SELECT count(*) FROM evidence WHERE verdict IS NULL AND flags = 'no-evidence' AND "
        "span_ns IS NULL AND foreign_cpu_ns IS NULL AND cpus IN (SELECT value FROM fact_value) AND "
        "reason LIKE "
        "'no evidence of the host: %s'",
        like);
    g_autofree char *reason = NULL;

    run_plan(fixture, modes, "");
    assert_runs(fixture, "0.0/1 clean, 0.1/1 clean, 1.0/1 clean, 1.1/1 clean");
    reason = fixture_ask(fixture, "SELECT reason FROM evidence WHERE verdict IS NULL");
    g_test_message("%s: %s", mode, reason);
    assert_answer(fixture, sql, "1");
    assert_answer(fixture, "SELECT group_concat(ifnull(flags, '-')) FROM run", "no-evidence,-,-,-");
    assert_answer(fixture, "SELECT count(*) FROM sample", "12");
}

static void test_ends(Fixture *fixture, gconstpointer data)
{
    assert_flagged(fixture, "ends", "%ended (exit status 3)%");
}

static void test_garbage(Fixture *fixture, gconstpointer data)
{
    assert_flagged(fixture, "garbage", "%malformed line%what?%");
}

static void test_refuses(Fixture *fixture, gconstpointer data)
{
    assert_flagged(fixture, "refuses", "%no process of pids is there%");
}

static void test_hangs(Fixture *fixture, gconstpointer data)
{
    assert_flagged(fixture, "hangs", "%deadline%");
}

static void test_missing_fails(Fixture *fixture, gconstpointer data)
{
    CampaignTotals totals = run_plan(fixture, "ends quiet", "evidence: {missing: fail}");

    assert_runs(fixture, "0.0/1 failed, 0.1/1 clean, 1.0/1 clean, 1.1/1 clean");
    g_assert_cmpint(totals.failed, ==, 1);
    assert_answer(fixture,
                  "SELECT reason LIKE '%no evidence of the host%missing: flag%' FROM run "
                  "WHERE verdict = 'failed'",
                  "1");
}

/* ---- values have no say ---- */

static const char readings[] = "quiet hog quiet quiet hog swaps hog quiet";

static char *verdicts(Fixture *fixture)
{
    return fixture_ask(fixture, "SELECT group_concat(printf('%d.%d/%d %s %s %s', block, position, "
                                "attempt, verdict, ifnull(reason, '-'), ifnull(flags, '-')), ', ') "
                                "FROM (SELECT * FROM run ORDER BY block, position)");
}

static void test_values(gconstpointer data)
{
    Fixture plain = {0}, random = {0};
    g_autofree char *from_plain = NULL, *from_random = NULL;

    fixture_init(&plain, NULL);
    run_plan(&plain, readings, "");
    from_plain = verdicts(&plain);
    assert_answer(&plain, "SELECT max(value) FROM sample", "3.0");
    fixture_finish(&plain, NULL);
    fixture_init(&random, NULL);
    g_setenv("FAKE_VALUES", "random", TRUE);
    run_plan(&random, readings, "");
    from_random = verdicts(&random);
    assert_answer(&random,
                  "SELECT max(value) > 100 AND count(DISTINCT value) = count(*) FROM sample", "1");
    fixture_finish(&random, NULL);
    g_assert_nonnull(strstr(from_plain, "contaminated"));
    g_assert_cmpstr(from_plain, ==, from_random);
}

/* Guests on a host where no reader is are refused, unless the plan wants no evidence. */
static void test_remote(gconstpointer data)
{
    static const struct {
        const char *uri, *host; /* NULL: not refused */
    } cases[] = {
        {"qemu:///system", NULL},
        {"qemu+unix:///session?socket=/run/x", NULL},
        {NULL, NULL},
        {"qemu+ssh://root@far.example/system", "far.example"},
        {"qemu+ssh://[fe80::1]:2222/system", "fe80::1"},
        {"qemu+tls://lab_1/system", "lab_1"},
    };
    Plan watched = {.evidence = {.read = TRUE}}, unwatched = {0};

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const InventoryHypervisor hypervisor = {.name = (char *)"lab", .uri = (char *)cases[i].uri};
        g_autofree char *refusal = reader_refusal(&hypervisor, &watched);
        g_autofree char *none = reader_refusal(&hypervisor, &unwatched);

        g_assert_null(none);
        g_assert_cmpint(refusal != NULL, ==, cases[i].host != NULL);
        if (refusal == NULL)
            continue;
        g_assert_true(g_str_has_prefix(refusal, "hypervisor lab: its guests run on "));
        g_assert_nonnull(strstr(refusal, cases[i].host));
        g_assert_nonnull(strstr(refusal, "evidence: off"));
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *path;
        void (*test)(Fixture *fixture, gconstpointer data);
    } tests[] = {
        {"/contamination/rerun", test_rerun},
        {"/contamination/evidence-row", test_evidence_row},
        {"/contamination/attempts", test_attempts},
        {"/contamination/one-attempt", test_one_attempt},
        {"/contamination/invocations", test_invocations},
        {"/contamination/flag-only", test_flag_only},
        {"/contamination/limit", test_limit},
        {"/contamination/off", test_off},
        {"/contamination/ends", test_ends},
        {"/contamination/garbage", test_garbage},
        {"/contamination/refuses", test_refuses},
        {"/contamination/hangs", test_hangs},
        {"/contamination/missing-fails", test_missing_fails},
    };

    fixture_begin(&argc, &argv);
    for (guint i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].path, Fixture, NULL, fixture_init, tests[i].test, fixture_finish);
    g_test_add_data_func("/contamination/remote", NULL, test_remote);
    g_test_add_data_func("/contamination/values", NULL, test_values);
    return g_test_run();
}
