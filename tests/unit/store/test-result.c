/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Invocations, samples, summaries, facts, raw output, and the views over them. */
#include "fixture.h"

#include <math.h>
#include <string.h>

#include "store/db.h"
#include "util/error.h"

static const Metric bandwidth = {.workload = (char *)"mem.copy",
                                 .name = (char *)"bandwidth",
                                 .unit = (char *)"bytes/s",
                                 .direction = DIRECTION_HIGHER,
                                 .revision = 2};

static gint64 begin(Fixture *f, gint64 run, guint position, const char *state)
{
    StoreInvocation invocation = {.run = run,
                                  .position = position,
                                  .ordinal = 1,
                                  .workload = "mem.copy",
                                  .state = state,
                                  .started_wall_ns = 5};
    g_autoptr(GError) error = NULL;
    gint64 id = 0;

    store_invocation_begin(f->store, &invocation, &id, &error);
    g_assert_no_error(error);
    return id;
}

static void add(Fixture *f, gint64 id, const double *values, gsize n)
{
    g_autoptr(GError) error = NULL;

    store_samples_add(f->store, id, &bandwidth, values, n, 0, &error);
    g_assert_no_error(error);
}

static void finish(Fixture *f, gint64 run, const char *verdict)
{
    g_autoptr(GError) error = NULL;

    store_run_finish(f->store, run, verdict, NULL, NULL, &error);
    g_assert_no_error(error);
}

static void test_invocation_columns(void)
{
    StoreInvocation invocation = {
        .position = 2,
        .ordinal = 3,
        .workload = "ops.add",
        .state = "done",
        .started_wall_ns = G_GINT64_CONSTANT(1700000000123000000),
        .clocks = {.host_ns = 2000,
                   .guest_ns = 2020,
                   .drift_ppm = 10000,
                   .bound_ppm = 12.5,
                   .usable = TRUE,
                   .flagged = TRUE},
        .prepare_ns = 77,
        .observer_cpu_ns = 88,
        .observer_switches = 9,
    };
    StoreInvocation bare = {
        .position = 3, .ordinal = 1, .workload = "x", .state = "unsupported", .reason = "no CPU"};
    Fixture f;
    gint64 id;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    invocation.run = bare.run = fixture_claim(&f);
    g_assert_true(store_invocation_begin(f.store, &invocation, &id, NULL));
    g_assert_true(store_invocation_flags(f.store, id, "copies", NULL));
    g_assert_true(store_invocation_commit(f.store, NULL));
    g_assert_true(store_invocation_begin(f.store, &bare, &id, NULL));
    g_assert_true(store_invocation_commit(f.store, NULL));
    g_autofree char *rows =
        ask_rows(f.store, "SELECT position, ordinal, workload, state, reason, flags, host_ns,"
                          " guest_ns, drift_ppm, drift_bound_ppm, drift_flagged, prepare_ns,"
                          " observer_cpu_ns, observer_switches, started_utc FROM invocation"
                          " ORDER BY position");

    g_assert_cmpstr(rows, ==,
                    "2|3|ops.add|done|-|copies|2000|2020|10000.0|12.5|1|77|88|9|"
                    "2023-11-14T22:13:20.123Z\n"
                    "3|1|x|unsupported|no CPU|-|-|-|-|-|0|-|-|-|1970-01-01T00:00:00.000Z");
    fixture_finish(&f);
}

static void test_one_at_a_time(void)
{
    StoreInvocation second = {.position = 1, .ordinal = 1, .workload = "x", .state = "done"};
    const double value = 1;
    Fixture f;
    gint64 other;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_assert_false(store_invocation_commit(f.store, &error));
    g_clear_error(&error);
    store_invocation_abort(f.store);
    second.run = fixture_claim(&f);
    gint64 id = begin(&f, second.run, 0, "done");

    g_assert_false(store_invocation_begin(f.store, &second, &other, &error));
    g_assert_nonnull(strstr(error->message, "is open"));
    g_clear_error(&error);
    g_assert_false(store_samples_add(f.store, id + 1, &bandwidth, &value, 1, 0, &error));
    g_assert_nonnull(strstr(error->message, "not the open one"));
    g_clear_error(&error);
    g_assert_true(store_invocation_commit(f.store, &error));
    g_assert_false(store_samples_add(f.store, id, &bandwidth, &value, 1, 0, &error));
    fixture_finish(&f);
}

/* Many values in one call, then few, then another metric, then the first again: each its place. */
static void test_sample_places(void)
{
    Metric other = bandwidth;
    double values[137];
    Fixture f;
    g_autoptr(GError) error = NULL;

    for (guint i = 0; i < G_N_ELEMENTS(values); i++)
        values[i] = i + 0.5;
    other.name = (char *)"latency";
    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    gint64 run = fixture_claim(&f);
    gint64 id = begin(&f, run, 0, "done");

    add(&f, id, values, G_N_ELEMENTS(values));
    store_samples_add(f.store, id, &other, values, 2, 16, &error);
    g_assert_no_error(error);
    add(&f, id, values + 100, 3);
    g_assert_true(store_invocation_commit(f.store, &error));
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM sample"), ==, 142);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM sample s JOIN metric m ON m.id ="
                                     " s.metric_id WHERE m.name = 'bandwidth' AND seq <= 137"
                                     " AND value = seq - 0.5 AND iterations IS NULL"),
                    ==, 137);
    g_autofree char *rest =
        ask_rows(f.store, "SELECT m.name, m.unit, m.direction, m.revision, seq, value, iterations"
                          " FROM sample s JOIN metric m ON m.id = s.metric_id"
                          " WHERE seq > 137 OR m.name = 'latency' ORDER BY 1, 5");

    g_assert_cmpstr(rest, ==,
                    "bandwidth|bytes/s|higher|2|138|100.5|-\n"
                    "bandwidth|bytes/s|higher|2|139|101.5|-\n"
                    "bandwidth|bytes/s|higher|2|140|102.5|-\n"
                    "latency|bytes/s|higher|2|1|0.5|16.0\n"
                    "latency|bytes/s|higher|2|2|1.5|16.0");
    fixture_finish(&f);
}

static void test_not_finite(void)
{
    const double values[] = {1, NAN, 2}, infinite = INFINITY;
    Fixture f;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    gint64 id = begin(&f, fixture_claim(&f), 0, "done");

    g_assert_false(store_samples_add(f.store, id, &bandwidth, values, 3, 0, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "mem.copy.bandwidth: value 2"));
    g_clear_error(&error);
    g_assert_false(store_samples_add(f.store, id, &bandwidth, &infinite, 1, 0, &error));
    store_invocation_abort(f.store);
    fixture_finish(&f);
}

/* Everything since begin is gone, also a metric that this invocation was the first to have. */
static void test_abort(void)
{
    const double values[] = {1, 2, 3};
    g_autoptr(GBytes) text = g_bytes_new_static("hello", 5);
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    gint64 run = fixture_claim(&f);
    gint64 id = begin(&f, run, 0, "done");

    add(&f, id, values, 3);
    g_assert_true(store_raw_add(f.store, run, id, "stdout", text, NULL));
    g_assert_true(store_event_add(f.store, 1, run, "info", "step", "within", NULL));
    store_invocation_abort(f.store);
    g_assert_cmpint(ask_int(f.store, "SELECT (SELECT count(*) FROM invocation) +"
                                     " (SELECT count(*) FROM sample) +"
                                     " (SELECT count(*) FROM metric) +"
                                     " (SELECT count(*) FROM event WHERE step IS NOT 'begin') +"
                                     " (SELECT count(*) FROM raw_output)"),
                    ==, 0);
    id = begin(&f, run, 0, "done");
    add(&f, id, values, 3);
    g_assert_true(store_invocation_commit(f.store, NULL));
    g_autofree char *rows = ask_rows(f.store, "SELECT workload, metric, sample, value FROM result");

    g_assert_cmpstr(rows, ==,
                    "mem.copy|bandwidth|1|1.0\nmem.copy|bandwidth|2|2.0\n"
                    "mem.copy|bandwidth|3|3.0");
    fixture_finish(&f);
}

static void test_same_place_twice(void)
{
    StoreInvocation again = {.position = 0, .ordinal = 1, .workload = "x", .state = "done"};
    Fixture f;
    gint64 id = 0;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    again.run = fixture_claim(&f);
    begin(&f, again.run, 0, "done");
    g_assert_true(store_invocation_commit(f.store, NULL));
    g_assert_false(store_invocation_begin(f.store, &again, &id, NULL));
    g_assert_cmpint(id, ==, 0);
    /* The failed begin has left nothing open. */
    again.position = 1;
    g_assert_true(store_invocation_begin(f.store, &again, &id, NULL));
    g_assert_true(store_invocation_commit(f.store, NULL));
    fixture_finish(&f);
}

/* By hand: medians 2 and 5, so 3.5; of all five mean 23/5, squares of deviations 51.2, / 4. */
static void test_run_summary(void)
{
    const double first[] = {10, 1, 2}, second[] = {6, 4}, failed[] = {1000};
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    gint64 run = fixture_claim(&f);

    fixture_invoke(&f, run, 1, first, 3);
    fixture_invoke(&f, run, 2, second, 2);
    gint64 id = begin(&f, run, 9, "failed");

    add(&f, id, failed, 1);
    g_assert_true(store_invocation_commit(f.store, NULL));
    finish(&f, run, "clean");
    g_autofree char *row =
        ask_rows(f.store, "SELECT workload, metric, unit, direction, n_invocations, n_samples,"
                          " median, mean, min, max, verdict FROM run_summary");

    g_assert_cmpstr(row, ==, "ops.add|latency|ns|lower|2|5|3.5|4.6|1.0|10.0|clean");
    g_assert_cmpfloat_with_epsilon(ask_real(f.store, "SELECT stddev FROM run_summary"), sqrt(12.8),
                                   1e-12);
    fixture_finish(&f);
}

static void test_run_summary_of_one(void)
{
    const double value = 7;
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    gint64 run = fixture_claim(&f);

    fixture_invoke(&f, run, 1, &value, 1);
    finish(&f, run, "clean");
    g_autofree char *row = ask_rows(f.store, "SELECT n_invocations, n_samples, median, mean,"
                                             " stddev, min, max FROM run_summary");

    g_assert_cmpstr(row, ==, "1|1|7.0|7.0|-|7.0|7.0");
    fixture_finish(&f);
}

/* All attempts of the first cell of block 0, then its runs in the other blocks. */
static void add_tries(Fixture *f)
{
    static const struct {
        double value;
        const char *verdict;
    } tries[] = {{1000, "contaminated"}, {5000, "failed"}, {9000, "interrupted"}, {10, "clean"}};
    static const double others[] = {14, 30};
    guint cell = f->matrix->order[0];
    guint at = 0;

    for (guint done = 0; done < 3 * 4 + 3; done++) {
        g_auto(StoreRun) run = {0};
        StoreClaim claim = STORE_EMPTY;

        g_assert_true(store_run_claim(f->store, 1, "b", &run, &claim, NULL));
        g_assert_cmpint(claim, ==, STORE_CLAIMED);
        if (run.cell != cell) {
            finish(f, run.id, "failed");
        } else if (run.block > 0) {
            fixture_invoke(f, run.id, 1, &others[run.block - 1], 1);
            finish(f, run.id, "clean");
        } else {
            fixture_invoke(f, run.id, 1, &tries[at].value, 1);
            finish(f, run.id, tries[at].verdict);
            if (++at < G_N_ELEMENTS(tries))
                g_assert_true(store_run_requeue(f->store, run.id, NULL));
        }
    }
}

/* 10, 14, 30: median 14, mean 18, squares of deviations 64 + 16 + 144, / 2 = 112. What was not
 * clean is counted, never pooled. */
static void test_cell_summary(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    add_tries(&f);
    g_autofree char *row = ask_rows(
        f.store, "SELECT metric, n, median, mean, min, max, n_samples, n_host_boots, attempts,"
                 " clean, rejected, failed, interrupted, skipped FROM cell_summary"
                 " WHERE campaign = 1 AND metric IS NOT NULL");
    g_autofree char *others =
        ask_rows(f.store, "SELECT DISTINCT metric, n, median, attempts, failed FROM cell_summary"
                          " WHERE campaign = 1 AND metric IS NULL");
    g_autofree char *rejected =
        ask_rows(f.store, "SELECT attempts, clean, rejected, failed, interrupted, waiting,"
                          " rejection_rate FROM contamination WHERE campaign = 1 AND clean > 0");

    g_assert_cmpstr(row, ==, "latency|3|14.0|18.0|10.0|30.0|3|1|6|3|1|1|1|0");
    g_assert_cmpfloat_with_epsilon(
        ask_real(f.store, "SELECT stddev FROM cell_summary WHERE metric IS NOT NULL"), sqrt(112),
        1e-12);
    g_assert_cmpstr(others, ==, "-|0|-|3|3");
    g_assert_cmpstr(rejected, ==, "6|3|1|1|1|0|0.25");
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM cell_summary WHERE campaign = 1"), ==,
                    4);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM contamination WHERE campaign = 1"), ==,
                    4);
    fixture_finish(&f);
}

static void test_cell_summary_even(void)
{
    const double values[] = {4, 1, 9, 2};
    Fixture f;
    guint at = 0;

    fixture_init_plan(&f, "version: 1\nplan: one\naxes:\n  hypervisor: [bare]\nworkloads: [ops]\n"
                          "repeat: {boots: 4}\n");
    fixture_add_campaign(&f);
    for (; at < 4; at++) {
        gint64 run = fixture_claim(&f);

        fixture_invoke(&f, run, 1, &values[at], 1);
        finish(&f, run, "clean");
    }
    g_autofree char *row = ask_rows(f.store, "SELECT n, median, mean, replicate FROM cell_summary");

    g_assert_cmpstr(row, ==, "4|3.0|4.0|process");
    fixture_finish(&f);
}

/* An index leads to a campaign's rows: no view walks through other campaigns' runs or samples. */
static void test_views_use_indices(void)
{
    static const char *const views[] = {
        "result",     "run_list",        "run_summary", "cell_summary", "contamination",
        "phase_time", "campaign_status", "event_list",  "campaign_1",   NULL};
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    for (const char *const *view = views; *view != NULL; view++) {
        g_autofree char *sql =
            g_strdup_printf("EXPLAIN QUERY PLAN SELECT * FROM %s WHERE campaign = 1", *view);
        g_autofree char *plan = ask_rows(f.store, sql);
        g_auto(GStrv) lines = g_strsplit(plan, "\n", -1);

        for (char **line = lines; *line != NULL; line++)
            if (strstr(*line, "|SCAN ") != NULL)
                g_assert_true(strstr(*line, "SCAN v") != NULL || strstr(*line, "SCAN (") != NULL ||
                              strstr(*line, *view) != NULL);
    }
    fixture_finish(&f);
}

static void test_result_view(void)
{
    const double value = 7;
    Fixture f;
    g_autoptr(GHashTable) facts = g_hash_table_new(g_str_hash, g_str_equal);

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    gint64 run = fixture_claim(&f);

    g_hash_table_insert(facts, (char *)"os.kernel", (char *)"6.1.0-test");
    g_assert_true(store_facts_add(f.store, run, "guest", facts, NULL));
    fixture_invoke(&f, run, 1, &value, 1);
    g_assert_true(store_run_finish(f.store, run, "contaminated", "apt", "steal", NULL));
    g_autofree char *row = ask_rows(
        f.store, "SELECT campaign, campaign_name, block, position, run, attempt, state, verdict,"
                 " reason, flags, kernel, workload, workload_position, invocation_ordinal,"
                 " invocation_state, metric, unit, direction, revision, sample, value, iterations"
                 " FROM result");
    g_autofree char *columns =
        ask_text(f.store, "SELECT group_concat(name, ' ') FROM pragma_table_info('result')");

    g_assert_cmpstr(row, ==,
                    "1|demo|0|0|1|1|done|contaminated|apt|steal|6.1.0-test|ops.add|0|1|"
                    "done|latency|ns|lower|1|1|7.0|4096.0");
    g_assert_cmpstr(
        columns, ==,
        "campaign campaign_name campaign_uuid cell cell_key host hypervisor driver accelerator "
        "guest vcpus memory kernel instances axes block position run attempt interruptions "
        "replicate boot_id state verdict reason flags run_started_utc workload workload_position "
        "invocation invocation_ordinal invocation_state invocation_flags started_utc host_ns "
        "guest_ns drift_ppm drift_bound_ppm drift_flagged metric unit direction revision sample "
        "value iterations");
    fixture_finish(&f);
}

/* Axes become columns: '-' turns to '_', a keyword is quoted, the name of another column gets a
 * prefix, and a well-known axis has its column already. */
static void test_campaign_view(void)
{
    const double value = 7;
    Fixture f;

    fixture_init_plan(&f, "version: 1\nplan: axes\naxes:\n"
                          "  hypervisor: [kvm]\n"
                          "  vcpus: [2]\n"
                          "  disk-cache: {none: {domain: {\"devices/disk/driver/@cache\": none}}}\n"
                          "  select: {a: {cmdline: a=1}}\n"
                          "  value: {b: {cmdline: b=1}}\n"
                          "workloads: [ops]\n");
    fixture_add_campaign(&f);
    fixture_invoke(&f, fixture_claim(&f), 1, &value, 1);
    g_autofree char *row = ask_rows(f.store, "SELECT hypervisor, vcpus, disk_cache, \"select\","
                                             " axis_value, value FROM campaign_1");
    g_autofree char *level =
        ask_rows(f.store, "SELECT l.cmdline, l.edits FROM level l JOIN axis a ON a.id = l.axis_id"
                          " WHERE a.name IN ('disk-cache', 'select') ORDER BY a.name");

    g_assert_cmpstr(row, ==, "kvm|2|none|a|b|7.0");
    g_assert_cmpstr(level, ==,
                    "-|[{\"xpath\":\"devices/disk/driver/@cache\",\"value\":\"none\"}]\n"
                    "a=1|[]");
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM pragma_table_info('campaign_1')"), ==,
                    ask_int(f.store, "SELECT count(*) + 3 FROM pragma_table_info('result')"));
    fixture_add_campaign(&f);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM campaign_2"), ==, 0);
    fixture_finish(&f);
}

static void test_phases(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    gint64 run = fixture_claim(&f), cell = ask_int(f.store, "SELECT cell_id FROM run WHERE id = 1");

    g_assert_true(store_phase_add(f.store, run, 0, "gate", 1000, 2000000000, NULL));
    g_assert_true(store_phase_add(f.store, run, 1, "start", 2000, 500000000, NULL));
    g_assert_true(store_phase_add(f.store, run, 2, "start", 3000, 1500000000, NULL));
    g_assert_false(store_phase_add(f.store, run, 2, "start", 3000, 1, NULL));
    g_assert_false(store_phase_add(f.store, 9999, 0, "gate", 1, 1, NULL));
    g_autofree char *rows = ask_rows(f.store, "SELECT cell, phase, n, total_s, mean_s, min_s, max_s"
                                              " FROM phase_time ORDER BY seq");
    g_autofree char *expected = g_strdup_printf(
        "%d|gate|1|2.0|2.0|2.0|2.0\n%d|start|2|2.0|1.0|0.5|1.5", (int)cell, (int)cell);

    g_assert_cmpstr(rows, ==, expected);
    fixture_finish(&f);
}

static void add_facts(Fixture *f, gint64 run, const char *scope, const char *kernel)
{
    g_autoptr(GHashTable) facts = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GError) error = NULL;

    g_hash_table_insert(facts, (char *)"os.kernel", (char *)kernel);
    g_hash_table_insert(facts, (char *)"cpu.model", (char *)"Fine CPU");
    store_facts_add(f->store, run, scope, facts, &error);
    g_assert_no_error(error);
}

static void test_facts_once(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    for (guint i = 0; i < 5; i++) {
        gint64 run = fixture_claim(&f);

        add_facts(&f, run, "host", "6.1");
        add_facts(&f, run, "guest", i < 4 ? "6.1" : "6.2");
    }
    /* A second report of a fact replaces the first. */
    add_facts(&f, 1, "guest", "6.3");
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM fact"), ==, 20);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM fact_value"), ==, 4);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM fact_name"), ==, 4);
    g_autofree char *rows =
        ask_rows(f.store, "SELECT run, value FROM run_fact WHERE scope = 'guest' AND"
                          " name = 'os.kernel' ORDER BY run");

    g_assert_cmpstr(rows, ==, "1|6.3\n2|6.1\n3|6.1\n4|6.1\n5|6.2");
    fixture_finish(&f);
}

static void test_facts_refused(void)
{
    Fixture f;
    g_autoptr(GHashTable) facts = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_hash_table_insert(facts, (char *)"a", (char *)"b");
    g_assert_false(store_facts_add(f.store, 1, "moon", facts, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_FAILED);
    g_clear_error(&error);
    g_assert_false(store_facts_add(f.store, 999, "host", facts, &error));
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM fact_value"), ==, 0);
    fixture_finish(&f);
}

/* What a guest says may be anything: it is stored as text that can be read. */
static void test_bytes_that_are_no_text(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_assert_true(store_event_add(f.store, 1, 0, "error", NULL, "bad \xff\xfe end", NULL));
    g_autofree char *text = ask_text(f.store, "SELECT message FROM event");

    g_assert_true(g_utf8_validate(text, -1, NULL));
    g_assert_true(g_str_has_prefix(text, "bad "));
    g_assert_true(g_str_has_suffix(text, " end"));
    fixture_finish(&f);
}

static void test_raw_round_trip(void)
{
    g_autofree char *big = g_strnfill(3145728, 'x');
    g_autoptr(GBytes) content = NULL;
    g_autoptr(GBytes) empty = g_bytes_new(NULL, 0);
    Fixture f;
    g_autoptr(GError) error = NULL;

    memcpy(big + 1000000, "middle", 6);
    content = g_bytes_new(big, strlen(big));
    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    gint64 run = fixture_claim(&f);
    gint64 id = begin(&f, run, 0, "done");

    g_assert_true(store_raw_add(f.store, run, id, "stdout", content, &error));
    g_assert_true(store_invocation_commit(f.store, &error));
    g_assert_true(store_raw_add(f.store, run, 0, "console", empty, &error));
    g_assert_cmpint(ask_int(f.store, "SELECT length(content) < 20000 AND length = 3145728"
                                     " FROM raw_output WHERE invocation_id = 1"),
                    ==, 1);
    g_autofree char *back =
        ask_text(f.store, "SELECT raw_text(content) FROM raw_output WHERE stream = 'stdout'");
    g_autofree char *none =
        ask_text(f.store, "SELECT raw_text(content) FROM raw_output WHERE invocation_id IS NULL");

    g_assert_true(strcmp(back, big) == 0);
    g_assert_cmpstr(none, ==, "");
    fixture_finish(&f);
}

static void test_host_keys(void)
{
    Fixture f;
    g_autofree char *key = NULL;

    fixture_init(&f, "cell");
    fixture_open(&f);
    g_assert_true(store_host_key_get(f.store, "micro", &key, NULL));
    g_assert_null(key);
    g_assert_true(store_host_key_set(f.store, "micro", "ssh-ed25519 AAAA", NULL));
    g_assert_true(store_host_key_set(f.store, "other", "ssh-ed25519 CCCC", NULL));
    g_assert_true(store_host_key_set(f.store, "micro", "ssh-ed25519 BBBB", NULL));
    fixture_open(&f);
    g_assert_true(store_host_key_get(f.store, "micro", &key, NULL));
    g_assert_cmpstr(key, ==, "ssh-ed25519 BBBB");
    fixture_finish(&f);
}

static void test_image_digests(void)
{
    Fixture f;
    char *digest = NULL;

    fixture_init(&f, "cell");
    fixture_open(&f);
    g_assert_true(store_image_digest_set(f.store, "/i", G_MAXUINT64, 5, 6, "abc", NULL));
    g_assert_true(store_image_digest_get(f.store, "/i", G_MAXUINT64, 5, 6, &digest, NULL));
    g_assert_cmpstr(digest, ==, "abc");
    g_free(digest);
    g_assert_true(store_image_digest_get(f.store, "/i", G_MAXUINT64, 7, 6, &digest, NULL));
    g_assert_null(digest);
    g_assert_true(store_image_digest_set(f.store, "/i", 1, 7, 6, "def", NULL));
    g_assert_true(store_image_digest_get(f.store, "/i", G_MAXUINT64, 5, 6, &digest, NULL));
    g_assert_null(digest);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM image_digest"), ==, 1);
    fixture_finish(&f);
}

static void test_program_versions(void)
{
    Fixture f;
    char *version = NULL;

    fixture_init(&f, "cell");
    fixture_open(&f);
    g_assert_true(store_program_version_set(f.store, "/p", 1, 5, 6, "p 1.0 (Debian)", NULL));
    g_assert_true(store_program_version_get(f.store, "/p", 1, 5, 6, &version, NULL));
    g_assert_cmpstr(version, ==, "p 1.0 (Debian)");
    g_clear_pointer(&version, g_free);
    /* Another file of that name: by size, time or inode. */
    g_assert_true(store_program_version_get(f.store, "/p", 2, 5, 6, &version, NULL));
    g_assert_null(version);
    g_assert_true(store_program_version_get(f.store, "/p", 1, 4, 6, &version, NULL));
    g_assert_null(version);
    g_assert_true(store_program_version_get(f.store, "/p", 1, 5, 7, &version, NULL));
    g_assert_null(version);
    g_assert_true(store_program_version_set(f.store, "/p", 2, 5, 6, "p 1.1", NULL));
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM program_version"), ==, 1);
    fixture_finish(&f);
}

static void test_events(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    gint64 run = fixture_claim(&f);

    g_assert_true(store_event_add(f.store, 1, 0, "info", NULL, "submitted", NULL));
    g_assert_true(store_event_add(f.store, 1, run, "warning", "settle", "busy host", NULL));
    g_assert_false(store_event_add(f.store, 1, run, "loud", "settle", "busy host", NULL));
    g_autofree char *rows = ask_rows(f.store, "SELECT run_id, level, step, message FROM event"
                                              " WHERE step IS NOT 'begin' ORDER BY id");

    g_assert_cmpstr(rows, ==, "-|info|-|submitted\n1|warning|settle|busy host");
    fixture_finish(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/invocation/columns", test_invocation_columns);
    g_test_add_func("/invocation/one-at-a-time", test_one_at_a_time);
    g_test_add_func("/invocation/abort", test_abort);
    g_test_add_func("/invocation/same-place-twice", test_same_place_twice);
    g_test_add_func("/sample/places", test_sample_places);
    g_test_add_func("/sample/not-finite", test_not_finite);
    g_test_add_func("/summary/run", test_run_summary);
    g_test_add_func("/summary/run-of-one", test_run_summary_of_one);
    g_test_add_func("/summary/cell", test_cell_summary);
    g_test_add_func("/summary/cell-even", test_cell_summary_even);
    g_test_add_func("/view/indices", test_views_use_indices);
    g_test_add_func("/view/result", test_result_view);
    g_test_add_func("/view/campaign", test_campaign_view);
    g_test_add_func("/view/phases", test_phases);
    g_test_add_func("/fact/once", test_facts_once);
    g_test_add_func("/fact/refused", test_facts_refused);
    g_test_add_func("/fact/no-text", test_bytes_that_are_no_text);
    g_test_add_func("/raw/round-trip", test_raw_round_trip);
    g_test_add_func("/registry/host-keys", test_host_keys);
    g_test_add_func("/registry/image-digests", test_image_digests);
    g_test_add_func("/registry/program-versions", test_program_versions);
    g_test_add_func("/registry/events", test_events);
    return g_test_run();
}
