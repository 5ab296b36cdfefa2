/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "reference.h"
#include "report/summary.h"
#include "util/error.h"
#include "util/io.h"

#define NS G_GINT64_CONSTANT(1700000000000000000)
#define assert_near(a, b) g_assert_cmpfloat_with_epsilon(a, b, 1e-9)

static const char inventory_text[] = "version: 1\n"
                                     "hypervisors:\n"
                                     "  qemu: {driver: qemu, uri: 'qemu:///system', accelerator: "
                                     "tcg}\n"
                                     "  kvm: {driver: qemu, uri: 'qemu:///system', accelerator: "
                                     "kvm}\n"
                                     "guests:\n"
                                     "  micro: {disk: micro.qcow2, key: id}\n";

static const char two_sides[] = "version: 1\n"
                                "plan: two-sides\n"
                                "axes:\n"
                                "  hypervisor: [bare, qemu]\n"
                                "  guest: [micro]\n"
                                "  vcpus: [1, 2]\n"
                                "baseline: {hypervisor: bare}\n"
                                "workloads: [ops.int32-add, mem.copy]\n"
                                "repeat: {boots: 3}\n";

static const char three_sides[] = "version: 1\n"
                                  "plan: three-sides\n"
                                  "axes:\n"
                                  "  hypervisor: [bare, kvm, qemu]\n"
                                  "  vcpus: [1, 2]\n"
                                  "  guest: [micro]\n"
                                  "baseline: {hypervisor: bare}\n"
                                  "workloads: [ops.int32-add, mem.copy]\n"
                                  "repeat: {boots: 1}\n";

static const char no_baseline[] = "version: 1\n"
                                  "plan: no-baseline\n"
                                  "axes:\n"
                                  "  hypervisor: [kvm]\n"
                                  "  guest: [micro]\n"
                                  "  vcpus: [1, 2]\n"
                                  "workloads: [ops.int32-add]\n"
                                  "repeat: {boots: 1}\n";

/* What a contaminated run measures, as a multiple of what it would have measured. */
static double spoilt_by = 1;

/* A run in block b takes the b-th value; the bare host the upper row. */
static const double values[2][3] = {{10.0, 10.4, 9.7}, {12.5, 13.1, 11.9}};

/* ---- a database, made through the store ---- */

typedef struct {
    char *folder;
    Store *store;
} Fixture;

static void set_up(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = NULL;

    fixture->folder = g_dir_make_tmp("vmatrix-summary-XXXXXX", &error);
    g_assert_no_error(error);
    path = g_build_filename(fixture->folder, "test.db", NULL);
    fixture->store = store_open(path, STORE_READ_WRITE, &error);
    g_assert_no_error(error);
}

static void tear_down(Fixture *fixture, gconstpointer data)
{
    store_free(fixture->store);
    g_assert_true(io_remove_tree(fixture->folder, NULL));
    g_free(fixture->folder);
}

static GPtrArray *copy_workloads(const Plan *plan)
{
    GPtrArray *copy = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < plan->workloads->len; i++)
        g_ptr_array_add(copy, g_strdup(g_ptr_array_index(plan->workloads, i)));
    return copy;
}

/* skip: this cell's runs are skipped, with this reason; -1 for none. */
static gint64 add_campaign(Store *store, const char *plan_text, gint skip, const char *reason)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Plan) plan = plan_parse("plan.yaml", plan_text, -1, &error);
    g_assert_no_error(error);
    g_autoptr(Inventory) inventory = inventory_parse("site.yaml", inventory_text, -1, &error);
    g_assert_no_error(error);
    g_autoptr(Matrix) matrix = matrix_new(plan, &error);
    g_assert_no_error(error);
    g_autoptr(GPtrArray) workloads = copy_workloads(plan);
    g_autofree const char **reasons = g_new0(const char *, matrix->n_cells + 1);
    gint64 campaign = 0;

    if (skip >= 0)
        reasons[skip] = reason;
    store_campaign_add(store, matrix, inventory, workloads, reasons, &campaign, &error);
    g_assert_no_error(error);
    return campaign;
}

static void add_invocation(Store *store, const StoreRun *run, guint position, const Metric *metric,
                           double value, const char *flags)
{
    g_autoptr(GError) error = NULL;
    const StoreInvocation invocation = {.run = run->id,
                                        .position = position,
                                        .ordinal = 1,
                                        .workload = metric->workload,
                                        .state = "done",
                                        .started_wall_ns = NS};
    /* The median is value; mean and extremes are not. */
    const double samples[] = {value, value * 0.5, value * 3, value * 0.9, value * 1.2};
    gint64 id;

    g_assert_true(store_invocation_begin(store, &invocation, &id, &error));
    g_assert_true(store_samples_add(store, id, metric, samples, G_N_ELEMENTS(samples), 1, &error));
    g_assert_true(flags == NULL || store_invocation_flags(store, id, flags, &error));
    g_assert_true(store_invocation_commit(store, &error));
    g_assert_no_error(error);
}

/* The agent refused this workload in this run. */
static void add_unsupported(Store *store, const StoreRun *run, const char *workload)
{
    g_autoptr(GError) error = NULL;
    const StoreInvocation invocation = {.run = run->id,
                                        .position = 2,
                                        .ordinal = 1,
                                        .workload = workload,
                                        .state = "unsupported",
                                        .reason = "no UDP here",
                                        .started_wall_ns = NS};
    gint64 id;

    g_assert_true(store_invocation_begin(store, &invocation, &id, &error));
    g_assert_true(store_invocation_commit(store, &error));
    g_assert_no_error(error);
}

static void measure(Store *store, const StoreRun *run, gboolean bare, double factor)
{
    const Metric latency = {(char *)"ops.int32-add", (char *)"latency", (char *)"ns",
                            DIRECTION_LOWER, 1};
    const Metric bandwidth = {(char *)"mem.copy", (char *)"bandwidth", (char *)"bytes/s",
                              DIRECTION_HIGHER, 1};
    g_autoptr(GError) error = NULL;
    g_autoptr(GHashTable) facts = g_hash_table_new(g_str_hash, g_str_equal);
    double value = values[bare ? 0 : 1][run->block] * factor;

    g_hash_table_insert(facts, (gpointer) "virtualisation", (gpointer) "kvm");
    g_assert_true(store_facts_add(store, run->id, "host", facts, &error));
    g_assert_no_error(error);
    add_invocation(store, run, 0, &latency, value, NULL);
    add_invocation(store, run, 1, &bandwidth, value * 1e9, bare ? NULL : "drift");
}

/* Runs all that is queued. In the cell "… qemu vcpus=2" the first run of block 1 is contaminated
 * and its rerun fails. */
static void run_all(Store *store, gint64 campaign)
{
    g_autoptr(GError) error = NULL;

    for (;;) {
        g_auto(StoreRun) run = {0};
        StoreClaim claim = STORE_EMPTY;

        g_assert_true(store_run_claim(store, campaign, "boot-1", &run, &claim, &error));
        g_assert_no_error(error);
        if (claim == STORE_EMPTY)
            return;
        gboolean bare = strstr(run.cell_key, "hypervisor=bare") != NULL;
        gboolean bad = run.block == 1 && strstr(run.cell_key, "hypervisor=qemu vcpus=2") != NULL;
        const char *verdict = !bad ? "clean" : run.attempt == 1 ? "contaminated" : "failed";
        const char *reason = !bad               ? NULL
                             : run.attempt == 1 ? "apt-get took 0.4 CPUs"
                                                : "ssh: no banner within 3m\033[2J";

        if (!bad || run.attempt == 1)
            measure(store, &run, bare, bad ? spoilt_by : 1);
        if (run.block == 0 && bare)
            add_unsupported(store, &run, "net.udp");
        g_assert_true(
            store_run_finish(store, run.id, verdict, reason, bare ? NULL : "forced", &error));
        g_assert_no_error(error);
        if (bad && run.attempt == 1)
            g_assert_true(store_run_requeue(store, run.id, &error));
        g_assert_no_error(error);
    }
}

/* ---- looking at tables ---- */

static json_t *as_json(const Table *table)
{
    g_autofree char *text = table_format(table, FORMAT_JSON, 0, FALSE);
    json_t *rows = json_loads(text, 0, NULL);

    g_assert_true(json_is_array(rows));
    return rows;
}

/* The only row with this cell and workload (NULL: any). Borrowed. */
static const json_t *find_row(const json_t *rows, const char *cell, const char *workload)
{
    const json_t *found = NULL;

    for (gsize i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        if (!g_str_equal(json_string_value(json_object_get(row, "cell")), cell))
            continue;
        if (workload != NULL &&
            g_strcmp0(json_string_value(json_object_get(row, "workload")), workload) != 0)
            continue;
        g_assert_null(found);
        found = row;
    }
    g_assert_nonnull(found);
    return found;
}

static double number(const json_t *row, const char *name)
{
    g_assert_true(json_is_number(json_object_get(row, name)));
    return json_number_value(json_object_get(row, name));
}

static const char *text_of(const json_t *row, const char *name)
{
    return json_string_value(json_object_get(row, name));
}

static void assert_width(const char *text, glong most)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line != NULL; line++)
        g_assert_cmpint(g_utf8_strlen(*line, -1), <=, most);
}

#define QEMU1 "guest=micro hypervisor=qemu vcpus=1"
#define QEMU2 "guest=micro hypervisor=qemu vcpus=2"
#define BARE1 "guest=micro hypervisor=bare vcpus=1"

static void test_comparison(Fixture *fixture, gconstpointer data)
{
    const SummarySelect select = {.campaign = "latest"};
    g_autoptr(GError) error = NULL;

    run_all(fixture->store, add_campaign(fixture->store, two_sides, -1, NULL));
    g_autoptr(Table) table = summary_comparison(fixture->store, &select, &error);
    g_assert_no_error(error);
    json_t *rows = as_json(table);
    const json_t *latency = find_row(rows, QEMU1, "ops.int32-add");
    const json_t *bandwidth = find_row(rows, QEMU1, "mem.copy");
    const json_t *incomplete = find_row(rows, QEMU2, "mem.copy");

    g_assert_cmpuint(json_array_size(rows), ==, 4);
    g_assert_cmpstr(text_of(latency, "baseline_cell"), ==, BARE1);
    g_assert_cmpstr(text_of(latency, "unit"), ==, "ns");
    assert_near(number(latency, "baseline_value"), 10.0);
    assert_near(number(latency, "value"), 12.5);
    /* Lower is better: qemu's longer time is a ratio below 1. */
    assert_near(number(latency, "ratio"), 1 / RATIO);
    assert_near(number(latency, "ratio_low"), 1 / RATIO_HIGH);
    assert_near(number(latency, "ratio_high"), 1 / RATIO_LOW);
    g_assert_cmpfloat(number(latency, "pairs"), ==, 3);
    g_assert_cmpfloat(number(latency, "blocks_left_out"), ==, 0);
    assert_near(number(bandwidth, "ratio"), RATIO);
    assert_near(number(bandwidth, "ratio_low"), RATIO_LOW);
    /* Block 1 has no clean run of qemu: it is left out on both sides. */
    g_assert_cmpfloat(number(incomplete, "pairs"), ==, 2);
    g_assert_cmpfloat(number(incomplete, "blocks_left_out"), ==, 1);
    assert_near(number(incomplete, "ratio"), sqrt(12.5 / 10.0 * 11.9 / 9.7));
    json_decref(rows);
}

static void test_comparison_shown(Fixture *fixture, gconstpointer data)
{
    const SummarySelect select = {.campaign = "latest"};
    g_autoptr(GError) error = NULL;

    run_all(fixture->store, add_campaign(fixture->store, two_sides, -1, NULL));
    g_autoptr(Table) table = summary_comparison(fixture->store, &select, &error);
    g_assert_no_error(error);
    g_autofree char *shown = table_format(table, FORMAT_TABLE, 80, FALSE);

    g_assert_cmpstr(shown, ==,
                    "vcpus metric             bare      qemu         ratio [95 %] n\n"
                    "1     ops.int32-add   10.0 ns   12.5 ns 0.803 [0.776, 0.831] 3\n"
                    "1     mem.copy      10.0 GB/s 12.5 GB/s    1.25 [1.20, 1.29] 3\n"
                    "2     ops.int32-add   10.0 ns   12.2 ns 0.808 [0.717, 0.910] 2\n"
                    "2     mem.copy      10.0 GB/s 12.2 GB/s    1.24 [1.10, 1.39] 2\n");
}

/* With the contaminated run's values in it the interval holds 1: the verdict rests on what was
 * rejected. */
static void test_fragile(Fixture *fixture, gconstpointer data)
{
    const SummarySelect select = {.campaign = "latest"};
    g_autoptr(GError) error = NULL;

    spoilt_by = 0.1;
    run_all(fixture->store, add_campaign(fixture->store, two_sides, -1, NULL));
    spoilt_by = 1;
    g_autoptr(Table) table = summary_comparison(fixture->store, &select, &error);
    g_autofree char *shown = table_format(table, FORMAT_TABLE, 0, FALSE);
    g_autofree char *notes = summary_notes(fixture->store, &select, &error);
    json_t *rows = as_json(table);
    const json_t *sound = find_row(rows, QEMU1, "ops.int32-add");
    const json_t *fragile = find_row(rows, QEMU2, "ops.int32-add");

    g_assert_cmpfloat(number(sound, "fragile"), ==, 0);
    assert_near(number(sound, "ratio_all_attempts"), number(sound, "ratio"));
    g_assert_cmpfloat(number(fragile, "fragile"), ==, 1);
    assert_near(number(fragile, "ratio"), sqrt(10.0 / 12.5 * 9.7 / 11.9));
    assert_near(number(fragile, "ratio_all_attempts"),
                cbrt(10.0 / 12.5 * 10.4 / 1.31 * 9.7 / 11.9));
    g_assert_nonnull(strstr(shown, "12.2 ns 0.808 [0.717, 0.910] fragile"));
    g_assert_null(strstr(shown, "0.803 [0.776, 0.831] fragile"));
    g_assert_nonnull(strstr(notes, "2 of the comparisons are fragile: with the rejected attempts"));
    json_decref(rows);
}

/* The same verdict with all attempts: nothing is said. */
static void test_not_fragile(Fixture *fixture, gconstpointer data)
{
    const SummarySelect select = {.campaign = "latest"};
    g_autoptr(GError) error = NULL;

    run_all(fixture->store, add_campaign(fixture->store, two_sides, -1, NULL));
    g_autoptr(Table) table = summary_comparison(fixture->store, &select, &error);
    g_autofree char *notes = summary_notes(fixture->store, &select, &error);
    json_t *rows = as_json(table);
    const json_t *same = find_row(rows, QEMU2, "ops.int32-add");

    g_assert_cmpfloat(number(same, "fragile"), ==, 0);
    assert_near(number(same, "ratio_all_attempts"), 1 / RATIO);
    g_assert_null(strstr(notes, "fragile"));
    json_decref(rows);
}

static void test_comparison_three(Fixture *fixture, gconstpointer data)
{
    const SummarySelect select = {.campaign = "latest"};
    g_autoptr(GError) error = NULL;
    /* Cells: guest, hypervisor (bare, kvm, qemu), vcpus. Number 2 is kvm with one. */
    gint64 campaign = add_campaign(fixture->store, three_sides, 2, "kvm: /dev/kvm is missing");

    run_all(fixture->store, campaign);
    g_autoptr(Table) table = summary_comparison(fixture->store, &select, &error);
    g_assert_no_error(error);
    g_autofree char *shown = table_format(table, FORMAT_TABLE, 80, FALSE);

    assert_width(shown, 80);
    g_assert_cmpstr(shown, ==,
                    "vcpus metric             bare cell     value ratio [95 %] n\n"
                    "1     ops.int32-add   10.0 ns kvm          -            - 0\n"
                    "1     ops.int32-add   10.0 ns qemu   12.5 ns        0.800 1\n"
                    "1     mem.copy      10.0 GB/s kvm          -            - 0\n"
                    "1     mem.copy      10.0 GB/s qemu 12.5 GB/s         1.25 1\n"
                    "2     ops.int32-add   10.0 ns kvm    12.5 ns        0.800 1\n"
                    "2     ops.int32-add   10.0 ns qemu   12.5 ns        0.800 1\n"
                    "2     mem.copy      10.0 GB/s kvm  12.5 GB/s         1.25 1\n"
                    "2     mem.copy      10.0 GB/s qemu 12.5 GB/s         1.25 1\n");
    g_autofree char *notes = summary_notes(fixture->store, &select, &error);

    g_assert_nonnull(strstr(notes, "skipped: kvm: /dev/kvm is missing"));
}

/* A baseline along another axis than the hypervisor is named with it. */
static void test_comparison_axis(Fixture *fixture, gconstpointer data)
{
    static const char plan[] = "version: 1\n"
                               "plan: axis\n"
                               "axes:\n"
                               "  hypervisor: [bare]\n"
                               "  vcpus: [1, 2]\n"
                               "baseline: {vcpus: 1}\n"
                               "workloads: [ops.int32-add, mem.copy]\n"
                               "repeat: {boots: 2}\n";
    const SummarySelect select = {.campaign = "latest", .metric = "mem.copy"};
    g_autoptr(GError) error = NULL;

    run_all(fixture->store, add_campaign(fixture->store, plan, -1, NULL));
    g_autoptr(Table) table = summary_comparison(fixture->store, &select, &error);
    g_assert_no_error(error);
    g_autofree char *shown = table_format(table, FORMAT_TABLE, 80, FALSE);

    g_assert_cmpstr(shown, ==,
                    "metric     vcpus=1   vcpus=2      ratio [95 %] n\n"
                    "mem.copy 10.2 GB/s 10.2 GB/s 1.00 [1.00, 1.00] 2\n");
}

static void test_results(Fixture *fixture, gconstpointer data)
{
    const SummarySelect select = {.campaign = "latest"};
    g_autoptr(GError) error = NULL;

    run_all(fixture->store, add_campaign(fixture->store, two_sides, -1, NULL));
    g_autoptr(Table) table = summary_results(fixture->store, &select, &error);
    g_assert_no_error(error);
    json_t *rows = as_json(table);
    const json_t *bare = find_row(rows, BARE1, "ops.int32-add");
    const json_t *bad = find_row(rows, QEMU2, "ops.int32-add");
    double mean = (10.0 + 10.4 + 9.7) / 3;

    g_assert_cmpuint(json_array_size(rows), ==, 8);
    g_assert_cmpstr(text_of(bare, "hypervisor"), ==, "bare");
    g_assert_cmpstr(text_of(bare, "guest"), ==, "micro");
    g_assert_cmpstr(text_of(bare, "replicate"), ==, "process");
    g_assert_cmpstr(text_of(bare, "metric"), ==, "latency");
    g_assert_cmpstr(text_of(bare, "direction"), ==, "lower");
    assert_near(number(bare, "median"), 10.0);
    assert_near(number(bare, "mean"), mean);
    assert_near(number(bare, "mean_high") - mean, T95_DF2 * number(bare, "stddev") / sqrt(3));
    g_assert_true(json_is_null(json_object_get(bare, "ratio")));
    g_assert_cmpfloat(number(bare, "n"), ==, 3);
    g_assert_cmpstr(text_of(bad, "replicate"), ==, "boot");
    assert_near(number(bad, "median"), (12.5 + 11.9) / 2);
    g_assert_cmpfloat(number(bad, "n"), ==, 2);
    g_assert_cmpfloat(number(bad, "attempts"), ==, 4);
    g_assert_cmpfloat(number(bad, "rejected"), ==, 1);
    assert_near(number(bad, "rejection_rate"), 1.0 / 3);
    g_assert_cmpfloat(number(bad, "failed"), ==, 1);
    assert_near(number(bad, "ratio"), sqrt(10.0 / 12.5 * 9.7 / 11.9));
    json_decref(rows);
}

static void test_results_narrow(Fixture *fixture, gconstpointer data)
{
    const SummarySelect select = {.campaign = "latest"};
    g_autoptr(GError) error = NULL;

    run_all(fixture->store, add_campaign(fixture->store, two_sides, -1, NULL));
    g_autoptr(Table) table = summary_results(fixture->store, &select, &error);
    g_autofree char *wide = table_format(table, FORMAT_TABLE, 0, FALSE);
    g_autofree char *narrow = table_format(table, FORMAT_TABLE, 80, FALSE);

    g_assert_nonnull(strstr(wide, "rejected"));
    g_assert_nonnull(strstr(wide, " 1 (33 %)"));
    g_assert_null(strstr(narrow, "rejected"));
    g_assert_nonnull(strstr(narrow, "ratio"));
    assert_width(narrow, 80);
}

static void test_where(Fixture *fixture, gconstpointer data)
{
    static const char *const one[] = {"hypervisor=qemu", "vcpus=2", NULL};
    static const char *const either[] = {"vcpus=1", "vcpus=2", "hypervisor=bare", NULL};
    SummarySelect select = {.campaign = "latest", .where = one, .metric = "mem.*"};
    g_autoptr(GError) error = NULL;

    run_all(fixture->store, add_campaign(fixture->store, two_sides, -1, NULL));
    g_autoptr(Table) table = summary_results(fixture->store, &select, &error);
    g_assert_no_error(error);
    json_t *rows = as_json(table);

    g_assert_cmpuint(json_array_size(rows), ==, 1);
    find_row(rows, QEMU2, "mem.copy");
    json_decref(rows);
    select.where = either;
    select.metric = NULL;
    g_autoptr(Table) more = summary_results(fixture->store, &select, &error);
    rows = as_json(more);
    g_assert_cmpuint(json_array_size(rows), ==, 4);
    json_decref(rows);
    /* The baseline is there all the same. */
    select.where = one;
    g_autoptr(Table) compared = summary_comparison(fixture->store, &select, &error);
    rows = as_json(compared);
    g_assert_cmpuint(json_array_size(rows), ==, 2);
    assert_near(number(find_row(rows, QEMU2, "ops.int32-add"), "baseline_value"), 10.0);
    json_decref(rows);
}

static void assert_refused(Store *store, const char *where, const char *metric,
                           const char *expected)
{
    const char *const conditions[] = {where, NULL};
    const SummarySelect select = {
        .campaign = "latest", .where = where != NULL ? conditions : NULL, .metric = metric};
    g_autoptr(GError) error = NULL;
    g_autoptr(Table) table = summary_results(store, &select, &error);

    g_assert_null(table);
    g_assert_true(vm_error_is(error, VM_ERROR_INVALID));
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, expected));
}

static void test_refused(Fixture *fixture, gconstpointer data)
{
    const SummarySelect none = {.campaign = "latest"};
    g_autoptr(GError) error = NULL;

    g_assert_null(summary_results(fixture->store, &none, &error));
    g_assert_true(vm_error_is(error, VM_ERROR_INVALID));
    run_all(fixture->store, add_campaign(fixture->store, two_sides, -1, NULL));
    assert_refused(fixture->store, "hypervsior=qemu", NULL, "did you mean \"hypervisor\"?");
    assert_refused(fixture->store, "hypervisor=qmeu", NULL, "did you mean \"qemu\"?");
    assert_refused(fixture->store, "vcpus=16", NULL, "there are: 1, 2");
    assert_refused(fixture->store, "vcpus", NULL, "axis=level");
    assert_refused(fixture->store, NULL, "mem.copi", "did you mean \"mem.copy\"?");
}

static void test_notes(Fixture *fixture, gconstpointer data)
{
    static const char *const expected[] = {
        "qemu is emulation (tcg): not a performance result of hardware.\n",
        "(bare on kvm, tcg on kvm): not a performance result of hardware.\n",
        "All cells: guest=micro.\n",
        "n of qemu: 2 to 3 boots.\n",
        "n of bare: 3 processes, 1 host boot.\n",
        "1 incomplete block is left out",
        "13 runs: 11 clean, 1 contaminated, 1 failed.\n",
        "Rejected: " QEMU2 " 1 of 3 attempts (33 %).\n",
        "  contaminated: apt-get took 0.4 CPUs (" QEMU2 ", block 2)\n",
        "  failed: ssh: no banner within 3m\\x1b[2J (" QEMU2 ", block 2)\n",
        "net.udp unsupported (" BARE1 "): no UDP here\n",
        "Flags of runs: forced 7.\n",
        "Flags of invocations: drift 6.\n",
    };
    const SummarySelect select = {.campaign = "latest"};
    g_autoptr(GError) error = NULL;

    run_all(fixture->store, add_campaign(fixture->store, two_sides, -1, NULL));
    g_autofree char *notes = summary_notes(fixture->store, &select, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_test_message("%s", expected[i]);
        g_assert_nonnull(strstr(notes, expected[i]));
    }
    g_assert_true(g_str_has_prefix(notes, "qemu is emulation"));
}

/* Before anything ran, and without a baseline. */
static void test_nothing_yet(Fixture *fixture, gconstpointer data)
{
    const SummarySelect select = {.campaign = "latest", .metric = "mem.*"};
    g_autoptr(GError) error = NULL;

    add_campaign(fixture->store, no_baseline, 1, "no room");
    g_autoptr(Table) table = summary_comparison(fixture->store, &select, &error);
    g_assert_no_error(error);
    g_autofree char *shown = table_format(table, FORMAT_TABLE, 80, FALSE);
    g_autofree char *notes = summary_notes(fixture->store, &select, &error);

    g_assert_cmpstr(shown, ==,
                    "vcpus metric median 95 % stddev n attempts rejected why not\n"
                    "1     -           -    -      - 0        0        0\n"
                    "2     -           -    -      - 0        0        0 no room\n");
    g_assert_nonnull(strstr(notes, "no baseline"));
    g_assert_nonnull(strstr(notes, "2 runs: 1 skipped, 1 not run yet."));
    g_assert_null(strstr(notes, "emulation"));
    g_assert_null(strstr(notes, "virtualised"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, function) g_test_add(name, Fixture, NULL, set_up, function, tear_down)
    ADD("/summary/comparison", test_comparison);
    ADD("/summary/comparison-shown", test_comparison_shown);
    ADD("/summary/not-fragile", test_not_fragile);
    ADD("/summary/fragile", test_fragile);
    ADD("/summary/comparison-three", test_comparison_three);
    ADD("/summary/comparison-axis", test_comparison_axis);
    ADD("/summary/results", test_results);
    ADD("/summary/results-narrow", test_results_narrow);
    ADD("/summary/where", test_where);
    ADD("/summary/refused", test_refused);
    ADD("/summary/notes", test_notes);
    ADD("/summary/nothing-yet", test_nothing_yet);
    return g_test_run();
}
