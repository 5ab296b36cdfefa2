/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Campaigns and their queue. */
#include "fixture.h"

#include <string.h>

#include "store/db.h"
#include "store/queue.h"
#include "util/clock.h"
#include "util/error.h"

static void test_campaign_rows(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_autofree char *row = ask_rows(
        f.store, "SELECT name, state, cancel, workloads, seed, blocks, cells, boot_per, baseline,"
                 " plan_path, inventory_path FROM campaign");

    g_assert_cmpstr(row, ==,
                    "demo|queued|0|[\"ops.add\",\"mem.copy\",\"net.tcp\"]|18446744073709551615|3|4|"
                    "cell|{\"hypervisor\":\"bare\"}|/site/plan.yaml|/site/inventory.yaml");
    g_autofree char *levels =
        ask_rows(f.store, "SELECT a.name, l.position, l.name, l.edits FROM axis a JOIN level l"
                          " ON l.axis_id = a.id ORDER BY a.position, l.position");

    g_assert_cmpstr(levels, ==,
                    "hypervisor|0|bare|[]\nhypervisor|1|kvm|[]\nvcpus|0|1|[]\n"
                    "vcpus|1|2|[]");
    g_autofree char *cells =
        ask_rows(f.store, "SELECT number, key, axes, hypervisor, driver, accelerator, vcpus,"
                          " instances, host IS NOT NULL FROM cell ORDER BY number");

    g_assert_cmpstr(cells, ==,
                    "0|hypervisor=bare vcpus=1|{\"hypervisor\":\"bare\",\"vcpus\":\"1\"}|bare|bare|"
                    "none|1|1|1\n"
                    "1|hypervisor=bare vcpus=2|{\"hypervisor\":\"bare\",\"vcpus\":\"2\"}|bare|bare|"
                    "none|2|1|1\n"
                    "2|hypervisor=kvm vcpus=1|{\"hypervisor\":\"kvm\",\"vcpus\":\"1\"}|kvm|qemu|"
                    "kvm|1|1|1\n"
                    "3|hypervisor=kvm vcpus=2|{\"hypervisor\":\"kvm\",\"vcpus\":\"2\"}|kvm|qemu|"
                    "kvm|2|1|1");
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM run WHERE state = 'queued'"), ==, 12);
    fixture_finish(&f);
}

static void test_campaign_get(void)
{
    Fixture f;
    g_autoptr(GError) error = NULL;
    g_auto(StoreCampaign) campaign = {0};
    g_auto(StoreCampaign) other = {0};

    fixture_init(&f, "cell");
    fixture_open(&f);
    g_assert_false(store_campaign_get(f.store, "latest", &campaign, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_clear_error(&error);
    fixture_add_campaign(&f);
    fixture_add_campaign(&f);
    g_assert_true(store_campaign_get(f.store, "latest", &campaign, &error));
    g_assert_cmpint(campaign.id, ==, 2);
    g_assert_cmpstr(campaign.name, ==, "demo");
    g_assert_cmpstr(campaign.state, ==, "queued");
    g_assert_cmpstr(campaign.plan_text, ==, f.plan->text);
    g_assert_cmpstr(campaign.inventory_text, ==, f.inventory->text);
    g_assert_cmpuint(campaign.workloads->len, ==, 3);
    g_assert_cmpstr(g_ptr_array_index(campaign.workloads, 2), ==, "net.tcp");
    g_assert_cmpint(campaign.created_ns, >, 0);
    g_assert_false(campaign.cancel);
    g_assert_true(store_campaign_get(f.store, "1", &other, &error));
    g_assert_cmpint(other.id, ==, 1);
    store_campaign_clear(&other);
    campaign.uuid[13] = '\0';
    g_assert_true(store_campaign_get(f.store, campaign.uuid, &other, &error));
    g_assert_cmpint(other.id, ==, 2);
    g_assert_false(store_campaign_get(f.store, "", &other, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_false(store_campaign_get(f.store, "nothing", &other, &error));
    g_assert_nonnull(strstr(error->message, "'nothing'"));
    g_assert_cmpint(other.id, ==, 2);
    fixture_finish(&f);
}

static void test_campaign_get_ambiguous(void)
{
    Fixture f;
    g_autoptr(GError) error = NULL;
    g_auto(StoreCampaign) campaign = {0};

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    fixture_add_campaign(&f);
    g_assert_true(db_exec(f.store, "test", "UPDATE campaign SET uuid = '9955117c' || id", &error));
    g_assert_false(store_campaign_get(f.store, "9955117c", &campaign, &error));
    g_assert_nonnull(strstr(error->message, "more than one"));
    g_clear_error(&error);
    g_assert_true(store_campaign_get(f.store, "9955117C1", &campaign, &error));
    g_assert_cmpint(campaign.id, ==, 1);
    /* A wrong number is not the beginning of somebody else's UUID. */
    g_assert_true(
        db_exec(f.store, "test", "UPDATE campaign SET uuid = 'other' WHERE id = 2", &error));
    g_assert_false(store_campaign_get(f.store, "99", &campaign, &error));
    g_assert_nonnull(strstr(error->message, "no campaign '99'"));
    g_clear_error(&error);
    store_campaign_clear(&campaign);
    g_assert_true(store_campaign_get(f.store, "9955117c", &campaign, &error));
    fixture_finish(&f);
}

static void test_campaign_state(void)
{
    Fixture f;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_assert_true(store_campaign_set_state(f.store, 1, "running", &error));
    g_assert_cmpint(ask_int(f.store, "SELECT started_ns > 0 AND ended_ns IS NULL FROM campaign"),
                    ==, 1);
    g_assert_true(store_campaign_set_state(f.store, 1, "done", &error));
    g_assert_cmpint(ask_int(f.store, "SELECT ended_ns >= started_ns FROM campaign"), ==, 1);
    g_assert_false(store_campaign_set_state(f.store, 1, "sleeping", &error));
    g_clear_error(&error);
    g_assert_false(store_campaign_set_state(f.store, 77, "done", &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_autofree char *state = ask_text(f.store, "SELECT state FROM campaign");

    g_assert_cmpstr(state, ==, "done");
    fixture_finish(&f);
}

/* Every run once, block by block, in the order of the matrix. */
static void test_claim_order(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    for (guint block = 0; block < 3; block++) {
        for (guint position = 0; position < 4; position++) {
            g_auto(StoreRun) run = {0};
            StoreClaim claim;
            guint cell = f.matrix->order[block * 4 + position];
            g_autofree char *key = matrix_key(f.matrix, cell);

            g_assert_true(store_run_claim(f.store, 1, "boot-1", &run, &claim, NULL));
            g_assert_cmpint(claim, ==, STORE_CLAIMED);
            g_assert_cmpuint(run.block, ==, block);
            g_assert_cmpuint(run.position, ==, position);
            g_assert_cmpuint(run.cell, ==, cell);
            g_assert_cmpstr(run.cell_key, ==, key);
            g_assert_cmpuint(run.attempt, ==, 1);
            g_assert_null(run.workload);
        }
    }
    g_auto(StoreRun) none = {0};
    StoreClaim claim;

    g_assert_true(store_run_claim(f.store, 1, "boot-1", &none, &claim, NULL));
    g_assert_cmpint(claim, ==, STORE_EMPTY);
    g_assert_cmpint(none.id, ==, 0);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM run r JOIN cell c ON c.id = r.cell_id"
                                     " WHERE r.state = 'running' AND r.boot_id = 'boot-1' AND"
                                     " r.replicate = CASE c.driver WHEN 'bare' THEN 'process'"
                                     " ELSE 'boot' END"),
                    ==, 12);
    fixture_finish(&f);
}

static void test_boot_per_workload(void)
{
    Fixture f;
    guint order[3];

    fixture_init(&f, "workload");
    fixture_add_campaign(&f);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM run"), ==, 36);
    for (guint i = 0; i < 6; i++) {
        g_auto(StoreRun) run = {0};
        StoreClaim claim;
        guint cell = f.matrix->order[i / 3];

        g_assert_true(store_run_claim(f.store, 1, "boot-1", &run, &claim, NULL));
        matrix_workload_order(f.matrix, 0, cell, 3, order);
        g_assert_cmpuint(run.cell, ==, cell);
        g_assert_cmpuint(run.position, ==, i);
        g_assert_cmpstr(run.workload, ==, g_ptr_array_index(f.workloads, order[i % 3]));
    }
    fixture_finish(&f);
}

static void test_skipped_cells(void)
{
    const char *reasons[] = {NULL, NULL, "no KVM here", NULL};
    Fixture f;
    gint64 id;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_open(&f);
    store_campaign_add(f.store, f.matrix, f.inventory, f.workloads, reasons, &id, &error);
    g_assert_no_error(error);
    g_autofree char *rows = ask_rows(f.store, "SELECT c.number, r.state, r.reason, count(*) FROM "
                                              "run r JOIN cell c ON c.id = r.cell_id"
                                              " WHERE r.state = 'skipped' GROUP BY 1");
    g_autofree char *summary =
        ask_rows(f.store, "SELECT cell_number, metric, n, attempts, skipped, last_reason"
                          " FROM cell_summary WHERE skipped > 0");

    g_assert_cmpstr(rows, ==, "2|skipped|no KVM here|3");
    g_assert_cmpstr(summary, ==, "2|-|0|0|3|no KVM here");
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM run WHERE state = 'queued'"), ==, 9);
    fixture_finish(&f);
}

static void finish(Fixture *f, gint64 run, const char *verdict)
{
    g_autoptr(GError) error = NULL;

    store_run_finish(f->store, run, verdict, NULL, NULL, &error);
    g_assert_no_error(error);
}

static void test_requeue(void)
{
    Fixture f;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    gint64 run = fixture_claim(&f);

    g_assert_false(store_run_requeue(f.store, run, &error));
    g_assert_nonnull(strstr(error->message, "not ended"));
    g_clear_error(&error);
    finish(&f, run, "contaminated");
    g_assert_true(store_run_requeue(f.store, run, &error));
    /* A second time would be the same try twice. */
    g_assert_false(store_run_requeue(f.store, run, &error));
    g_clear_error(&error);
    for (guint i = 0; i < 3; i++)
        fixture_claim(&f);
    g_auto(StoreRun) again = {0};
    StoreClaim claim;

    g_assert_true(store_run_claim(f.store, 1, "boot-1", &again, &claim, NULL));
    g_assert_cmpuint(again.block, ==, 0);
    g_assert_cmpuint(again.position, ==, 4);
    g_assert_cmpuint(again.attempt, ==, 2);
    g_assert_cmpuint(again.cell, ==, f.matrix->order[0]);
    finish(&f, again.id, "failed");
    g_assert_true(store_run_requeue(f.store, again.id, &error));
    g_assert_cmpint(ask_int(f.store, "SELECT max(attempt) FROM run"), ==, 3);
    fixture_finish(&f);
}

/* Two power cuts are no two attempts. */
static void test_recover(void)
{
    Fixture f;
    guint count = 0;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    fixture_claim(&f);
    g_assert_true(store_recover_claims(f.store, 1, &count, &error));
    g_assert_cmpuint(count, ==, 1);
    for (guint i = 0; i < 4; i++)
        fixture_claim(&f);
    g_assert_true(store_recover_claims(f.store, 1, &count, &error));
    g_assert_cmpuint(count, ==, 4);
    g_assert_true(store_recover_claims(f.store, 1, &count, &error));
    g_assert_cmpuint(count, ==, 0);
    g_autofree char *rows =
        ask_rows(f.store, "SELECT position, attempt, interruptions, state, verdict, reason FROM run"
                          " WHERE block = 0 AND cell_id = (SELECT cell_id FROM run WHERE block = 0"
                          " AND position = 0) ORDER BY position");

    g_assert_cmpstr(rows, ==,
                    "0|1|0|done|interrupted|the process that ran it is gone\n"
                    "4|1|1|done|interrupted|the process that ran it is gone\n"
                    "8|1|2|queued|-|-");
    /* Runs of another campaign are someone else's. */
    fixture_add_campaign(&f);
    fixture_claim(&f);
    g_assert_true(store_recover_claims(f.store, 1, &count, &error));
    g_assert_cmpuint(count, ==, 0);
    fixture_finish(&f);
}

/* A contaminated run's rerun is a new attempt, whose interruptions are its own. */
static void test_contaminated(void)
{
    Fixture f;
    guint count = 0;
    gint64 run;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    fixture_claim(&f);
    g_assert_true(store_recover_claims(f.store, 1, &count, NULL));
    for (guint i = 0; i < 4; i++) {
        run = fixture_claim(&f);
        g_assert_true(
            store_run_finish(f.store, run, i < 3 ? "clean" : "contaminated", NULL, NULL, NULL));
    }
    g_assert_true(store_run_requeue(f.store, run, NULL));
    g_assert_false(store_run_requeue(f.store, run, NULL));
    g_autofree char *rows = ask_rows(
        f.store, "SELECT position, attempt, interruptions, state, verdict FROM run WHERE block = 0 "
                 "AND cell_id = (SELECT cell_id FROM run WHERE verdict = 'contaminated') "
                 "ORDER BY position");

    g_assert_cmpstr(rows, ==, "0|1|0|done|interrupted\n4|1|1|done|contaminated\n5|2|0|queued|-");
    fixture_finish(&f);
}

static void test_finish_once(void)
{
    Fixture f;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    gint64 run = fixture_claim(&f);

    g_assert_false(store_run_finish(f.store, run, "splendid", NULL, NULL, &error));
    g_clear_error(&error);
    g_assert_true(store_run_finish(f.store, run, "failed", "QEMU ended", "forced,drift", &error));
    g_assert_false(store_run_finish(f.store, run, "clean", NULL, NULL, &error));
    g_assert_nonnull(strstr(error->message, "not running"));
    g_autofree char *row = ask_rows(f.store, "SELECT state, verdict, reason, flags,"
                                             " ended_ns >= started_ns FROM run WHERE verdict IS "
                                             "NOT NULL");

    g_assert_cmpstr(row, ==, "done|failed|QEMU ended|forced,drift|1");
    fixture_finish(&f);
}

static gint64 frozen_wall_ns(void)
{
    return G_GINT64_CONSTANT(1700000000123999999);
}

static void test_utc_columns(void)
{
    static const ClockSource frozen = {.mono_ns = frozen_wall_ns, .wall_ns = frozen_wall_ns};
    Fixture f;

    fixture_init(&f, "cell");
    clock_set_source(&frozen);
    fixture_add_campaign(&f);
    fixture_claim(&f);
    clock_set_source(NULL);
    g_autofree char *rows =
        ask_rows(f.store, "SELECT c.created_utc, c.started_utc, r.started_utc, r.ended_utc"
                          " FROM campaign c JOIN run_list r ON r.campaign = c.id"
                          " WHERE r.state = 'running'");

    g_assert_cmpstr(rows, ==, "2023-11-14T22:13:20.123Z|-|2023-11-14T22:13:20.123Z|-");
    fixture_finish(&f);
}

/* The next run comes out of an index of queued runs alone, already in order: the cost of a claim
 * does not grow with the runs that are done. */
static void test_claim_plan(void)
{
    g_autofree char *explain = g_strconcat("EXPLAIN QUERY PLAN ", queue_next_sql, NULL);
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_autofree char *plan = ask_rows(f.store, explain);

    g_assert_nonnull(strstr(plan, "SEARCH r USING INDEX run_queued (campaign_id=?)"));
    g_assert_nonnull(strstr(plan, "SEARCH c USING INTEGER PRIMARY KEY"));
    g_assert_null(strstr(plan, "SCAN"));
    g_assert_null(strstr(plan, "ORDER BY"));
    g_autofree char *requeue =
        ask_rows(f.store, "EXPLAIN QUERY PLAN SELECT max(position) FROM run WHERE campaign_id = 1"
                          " AND block = 2");

    g_assert_nonnull(strstr(requeue, "run_by_position (campaign_id=? AND block=?)"));
    fixture_finish(&f);
}

/* 25 000 cells x 4 blocks go in, come out in order, and a claim late in the queue takes as many
 * steps of SQLite's machine as an early one. */
static gint64 claim_steps(Fixture *f)
{
    sqlite3_stmt *statement = db_prepare(f->store, queue_next_sql, NULL);

    sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    fixture_claim(f);
    return sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
}

static char *big_plan(void)
{
    GString *text = g_string_new("version: 1\nplan: big\naxes:\n  hypervisor: [bare]\n  vcpus: [");

    for (guint i = 1; i <= 250; i++)
        g_string_append_printf(text, "%s%u", i > 1 ? ", " : "", i);
    g_string_append(text, "]\n  memory: [");
    for (guint i = 1; i <= 100; i++)
        g_string_append_printf(text, "%s%uMiB", i > 1 ? ", " : "", i);
    g_string_append(text, "]\nworkloads: [ops]\nrepeat: {boots: 4}\n");
    return g_string_free(text, FALSE);
}

static void test_hundred_thousand(void)
{
    g_autofree char *plan = big_plan();
    Fixture f;
    gint64 first, late;

    fixture_init_plan(&f, plan);
    fixture_add_campaign(&f);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM run"), ==, 100000);
    first = claim_steps(&f);
    g_assert_true(db_exec(f.store, "test",
                          "UPDATE run SET state = 'done', verdict = 'clean'"
                          " WHERE block < 3 OR position < 24990",
                          NULL));
    late = claim_steps(&f);
    g_assert_cmpint(first, >, 0);
    g_assert_cmpint(late, <=, first + 5);
    g_assert_cmpint(ask_int(f.store, "SELECT block * 100000 + position FROM run"
                                     " WHERE state = 'running'"),
                    ==, 324990);
    fixture_finish(&f);
}

static void test_campaign_is_all_or_nothing(void)
{
    Fixture f;
    gint64 id = -5;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_open(&f);
    g_assert_true(db_exec(f.store, "test",
                          "CREATE TRIGGER t BEFORE INSERT ON run WHEN NEW.block = 2"
                          " BEGIN SELECT raise(ABORT, 'no more'); END",
                          &error));
    g_assert_false(
        store_campaign_add(f.store, f.matrix, f.inventory, f.workloads, NULL, &id, &error));
    g_assert_nonnull(strstr(error->message, "no more"));
    g_assert_nonnull(strstr(error->message, f.path));
    g_assert_cmpint(id, ==, -5);
    g_assert_cmpint(ask_int(f.store, "SELECT (SELECT count(*) FROM campaign) +"
                                     " (SELECT count(*) FROM cell) + (SELECT count(*) FROM run) +"
                                     " (SELECT count(*) FROM sqlite_schema WHERE type = 'view'"
                                     " AND name GLOB 'campaign_[0-9]*')"),
                    ==, 0);
    fixture_finish(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/campaign/rows", test_campaign_rows);
    g_test_add_func("/campaign/get", test_campaign_get);
    g_test_add_func("/campaign/get-ambiguous", test_campaign_get_ambiguous);
    g_test_add_func("/campaign/state", test_campaign_state);
    g_test_add_func("/campaign/all-or-nothing", test_campaign_is_all_or_nothing);
    g_test_add_func("/campaign/utc-columns", test_utc_columns);
    g_test_add_func("/queue/claim-order", test_claim_order);
    g_test_add_func("/queue/boot-per-workload", test_boot_per_workload);
    g_test_add_func("/queue/skipped-cells", test_skipped_cells);
    g_test_add_func("/queue/requeue", test_requeue);
    g_test_add_func("/queue/recover", test_recover);
    g_test_add_func("/queue/contaminated", test_contaminated);
    g_test_add_func("/queue/finish-once", test_finish_once);
    g_test_add_func("/queue/claim-plan", test_claim_plan);
    g_test_add_func("/queue/hundred-thousand", test_hundred_thousand);
    return g_test_run();
}
