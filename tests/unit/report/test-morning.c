/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queue as people watch it, and the morning page, over databases made through the store. */
#include <glib.h>
#include <string.h>

#include "report/morning.h"
#include "report/status.h"
#include "store/steer.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/io.h"

#define S CLOCK_NS_PER_S

static gint64 mono_ns, wall_ns;

static gint64 test_mono(void)
{
    return mono_ns;
}

static gint64 test_wall(void)
{
    return wall_ns;
}

static const ClockSource source = {.mono_ns = test_mono, .wall_ns = test_wall};

typedef struct {
    char *folder;
    Store *store;
    Inventory *inventory;
} Fixture;

static void fixture_init(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = NULL;

    fixture->folder = g_dir_make_tmp("vmatrix-morning-XXXXXX", &error);
    g_assert_no_error(error);
    path = g_build_filename(fixture->folder, "test.db", NULL);
    mono_ns = 1000 * S;
    wall_ns = 1700000000 * S;
    clock_set_source(&source);
    fixture->store = store_open(path, STORE_READ_WRITE, &error);
    g_assert_no_error(error);
    fixture->inventory = inventory_parse("inventory.yaml",
                                         "version: 1\n"
                                         "hypervisors:\n"
                                         "  kvm: {driver: qemu, uri: 'qemu:///system',"
                                         " accelerator: kvm}\n"
                                         "guests:\n"
                                         "  good: {disk: good.qcow2, key: id}\n"
                                         "  victim: {disk: victim.qcow2, key: id}\n",
                                         -1, &error);
    g_assert_no_error(error);
}

static void fixture_finish(Fixture *fixture, gconstpointer data)
{
    clock_set_source(NULL);
    store_free(fixture->store);
    inventory_free(fixture->inventory);
    io_remove_tree(fixture->folder, NULL);
    g_free(fixture->folder);
}

static gint64 submit(Fixture *fixture, guint blocks, const StoreSchedule *schedule,
                     const char *const *skip_reasons)
{
    g_autofree char *text =
        g_strdup_printf("version: 1\nplan: night\naxes:\n  hypervisor: [kvm]\n"
                        "  guest: [good, victim]\n  vcpus: [1, 2]\nworkloads: [ops]\n"
                        "repeat: {boots: %u}\nlimits: {stop-by: \"07:00\"}\n",
                        blocks);
    g_autoptr(GPtrArray) workloads = g_ptr_array_new();
    g_autoptr(GError) error = NULL;
    g_autoptr(Plan) plan = plan_parse("plan.yaml", text, -1, &error);
    g_autoptr(Matrix) matrix = NULL;
    gint64 id = 0;

    g_assert_no_error(error);
    matrix = matrix_new(plan, &error);
    g_assert_no_error(error);
    g_ptr_array_add(workloads, (char *)"ops.add");
    store_campaign_submit(fixture->store, matrix, fixture->inventory, workloads, skip_reasons,
                          schedule, &id, &error);
    g_assert_no_error(error);
    return id;
}

/* Claims the next run; the caller frees the key. */
static gint64 claim(Fixture *fixture, gint64 campaign, char **ret_key)
{
    g_auto(StoreRun) run = {0};
    StoreClaim result = STORE_EMPTY;

    g_assert_true(store_run_claim(fixture->store, campaign, "boot", &run, &result, NULL));
    g_assert_cmpint(result, ==, STORE_CLAIMED);
    *ret_key = g_strdup(run.cell_key);
    return run.id;
}

/* Runs the next run in so many seconds. reason NULL: clean; of another verdict, "VERDICT: REASON".
 */
static gint64 run_next(Fixture *fixture, gint64 campaign, gint64 seconds, const char *verdict,
                       const char *reason)
{
    g_autofree char *key = NULL;
    gint64 run = claim(fixture, campaign, &key);
    g_autoptr(GError) error = NULL;

    store_phase_add(fixture->store, run, 0, "gate", wall_ns, seconds * S / 2, &error);
    store_phase_add(fixture->store, run, 1, "ssh", wall_ns, seconds * S / 4, &error);
    g_assert_no_error(error);
    mono_ns += seconds * S;
    wall_ns += seconds * S;
    store_run_finish(fixture->store, run, verdict, reason, NULL, &error);
    g_assert_no_error(error);
    return run;
}

static GPtrArray *load(Fixture *fixture, const StatusSelect *select)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *list = status_load(fixture->store, select, wall_ns, &error);

    g_assert_no_error(error);
    return list;
}

static const StatusCampaign *nth(const GPtrArray *list, guint i)
{
    g_assert_cmpuint(i, <, list->len);
    return g_ptr_array_index(list, i);
}

static void test_status_counts(Fixture *fixture, gconstpointer data)
{
    const StatusSelect select = {.ended = 5};
    gint64 id = submit(fixture, 3, NULL, NULL);
    g_autofree char *key = NULL;

    g_assert_true(store_campaign_set_state(fixture->store, id, "running", NULL));
    run_next(fixture, id, 10, "clean", NULL);
    run_next(fixture, id, 30, "contaminated", "busy");
    run_next(fixture, id, 500, "failed", "no answer");
    gint64 cut = run_next(fixture, id, 900, "interrupted", "SIGTERM");

    g_assert_true(store_run_requeue(fixture->store, cut, NULL));
    gint64 flying = claim(fixture, id, &key);

    g_assert_true(store_step_enter(fixture->store, flying, "ssh", wall_ns + 2 * S, NULL));
    wall_ns += 5 * S;
    g_autoptr(GPtrArray) list = load(fixture, &select);
    const StatusCampaign *campaign = nth(list, 0);

    g_assert_cmpuint(list->len, ==, 1);
    g_assert_cmpint(campaign->clean, ==, 1);
    g_assert_cmpint(campaign->contaminated, ==, 1);
    g_assert_cmpint(campaign->failed, ==, 1);
    g_assert_cmpint(campaign->interrupted, ==, 1);
    g_assert_cmpint(status_done(campaign), ==, 3);
    g_assert_cmpint(campaign->left, ==, 9);
    g_assert_cmpint(campaign->mean_ns, ==, 20 * S);
    g_assert_cmpint(campaign->stop_by_minute, ==, 420);
    g_assert_cmpint(campaign->run, ==, flying);
    g_assert_cmpstr(campaign->cell_key, ==, key);
    g_assert_cmpstr(campaign->step, ==, "ssh");
    g_assert_cmpint(campaign->step_entered_ns, ==, wall_ns - 3 * S);
    g_assert_cmpstr(status_word(campaign, wall_ns), ==, "running");
    /* 9 runs of 20 s, 5 s of which are over. */
    g_assert_cmpint(campaign->eta_ns, ==, wall_ns + 175 * S);
    g_assert_true(store_campaign_pause(fixture->store, id, TRUE, NULL));
    g_autoptr(GPtrArray) paused = load(fixture, &select);

    g_assert_cmpstr(status_word(nth(paused, 0), wall_ns), ==, "pausing");
    g_assert_cmpint(nth(paused, 0)->eta_ns, ==, 0);
    g_assert_true(store_campaign_cancel(fixture->store, id, NULL));
    g_autoptr(GPtrArray) cancelling = load(fixture, &select);

    g_assert_cmpstr(status_word(nth(cancelling, 0), wall_ns), ==, "cancelling");
}

/* Each begins when the one before it has ended, and not before its own time; each has its end. */
static void test_status_queue(Fixture *fixture, gconstpointer data)
{
    const StatusSelect select = {.ended = 1};
    const StoreSchedule late = {.not_before_ns = wall_ns + 5000 * S, .priority = -1};
    const StoreSchedule first = {.priority = 7};
    gint64 measured = submit(fixture, 1, NULL, NULL), stop;

    for (guint i = 0; i < 4; i++)
        run_next(fixture, measured, 100, "clean", NULL);
    g_assert_true(store_campaign_set_state(fixture->store, measured, "done", NULL));
    gint64 skipped = submit(fixture, 1, NULL, NULL);

    g_assert_true(store_campaign_cancel(fixture->store, skipped, NULL));
    gint64 last = submit(fixture, 2, &late, NULL);
    gint64 second = submit(fixture, 1, NULL, NULL);
    gint64 urgent = submit(fixture, 1, &first, NULL);
    g_autoptr(GPtrArray) list = load(fixture, &select);

    g_assert_cmpuint(list->len, ==, 4);
    g_assert_cmpint(nth(list, 0)->id, ==, skipped);
    g_assert_cmpstr(status_word(nth(list, 0), wall_ns), ==, "cancelled");
    g_assert_cmpint(nth(list, 0)->skipped, ==, 4);
    g_assert_cmpint(nth(list, 1)->id, ==, urgent);
    g_assert_cmpint(nth(list, 2)->id, ==, second);
    g_assert_cmpint(nth(list, 3)->id, ==, last);
    g_assert_cmpint(nth(list, 1)->eta_ns, ==, wall_ns + 400 * S);
    g_assert_cmpint(nth(list, 2)->eta_ns, ==, wall_ns + 800 * S);
    g_assert_cmpstr(status_word(nth(list, 3), wall_ns), ==, "waiting");
    g_assert_cmpint(nth(list, 3)->eta_ns, ==, late.not_before_ns + 800 * S);
    g_assert_true(store_campaign_stop_at(fixture->store, second, wall_ns + 500 * S, &stop, NULL));
    g_autoptr(GPtrArray) stopped = load(fixture, &select);

    g_assert_cmpint(nth(stopped, 2)->eta_ns, ==, wall_ns + 500 * S);
    g_autoptr(GError) error = NULL;

    g_assert_null(status_load(fixture->store, &(StatusSelect){.campaign = "99"}, wall_ns, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_autoptr(GPtrArray) one = load(fixture, &(StatusSelect){.campaign = "1"});

    g_assert_cmpuint(one->len, ==, 1);
    g_assert_cmpint(nth(one, 0)->id, ==, measured);
}

static char *show(gint64 ns, gint64 now_ns)
{
    return g_strdup_printf("%" G_GINT64_FORMAT, (ns - now_ns) / S);
}

static void test_status_table(Fixture *fixture, gconstpointer data)
{
    gint64 id = submit(fixture, 1, NULL, NULL);

    run_next(fixture, id, 100, "clean", NULL);
    g_autoptr(GPtrArray) list = load(fixture, &(StatusSelect){.ended = 5});
    g_autoptr(Table) table = status_table(list, wall_ns, show);
    g_autofree char *csv = table_format(table, FORMAT_CSV, 0, FALSE);
    g_autofree char *text = table_format(table, FORMAT_TABLE, 80, FALSE);

    g_assert_nonnull(strstr(csv, "campaign,uuid,name,status,state,paused,cancel,priority,done,"
                                 "left,failed,"));
    g_assert_nonnull(strstr(csv, ",night,queued,queued,0,0,0,1,3,0,"));
    g_assert_nonnull(strstr(text, "~300"));
    g_assert_nonnull(strstr(text, "07:00"));
}

/* ---- the morning ---- */

static Morning *morning_of(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    Morning *morning = morning_load(fixture->store, "latest", wall_ns, &error);

    g_assert_no_error(error);
    return morning;
}

static const MorningGroup *group(const GPtrArray *groups, guint i)
{
    g_assert_cmpuint(i, <, groups->len);
    return g_ptr_array_index(groups, i);
}

/* "KEY in BLOCKS; KEY in BLOCKS" of a group; transfer full. */
static char *cells_of(const MorningGroup *of)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < of->cells->len; i++) {
        const MorningCell *cell = g_ptr_array_index(of->cells, i);

        g_string_append_printf(text, "%s%s in %s", i > 0 ? "; " : "", cell->cell_key, cell->blocks);
    }
    return g_string_free(text, FALSE);
}

/* The 4 cells run in each block in a shuffled order: the one with this key (and the rest cleanly).
 */
static void run_block(Fixture *fixture, gint64 campaign, const char *failing, const char *reason)
{
    for (guint i = 0; i < 4; i++) {
        g_autofree char *key = NULL;
        gint64 run = claim(fixture, campaign, &key);
        gboolean fails = failing != NULL && strstr(key, failing) != NULL;
        g_autofree char *why = fails ? g_strdup_printf(reason, run + 90000) : NULL;

        mono_ns += 10 * S;
        wall_ns += 10 * S;
        g_assert_true(store_phase_add(fixture->store, run, 0, "ssh", wall_ns, 10 * S, NULL));
        g_assert_true(
            store_run_finish(fixture->store, run, fails ? "failed" : "clean", why, NULL, NULL));
    }
}

static void test_morning_failed(Fixture *fixture, gconstpointer data)
{
    gint64 id = submit(fixture, 3, NULL, NULL);

    g_assert_true(store_campaign_set_state(fixture->store, id, "running", NULL));
    /* The port is each run's own: these are one reason. */
    run_block(fixture, id, "guest=victim", "ssh: no banner on 127.0.0.1:%" G_GINT64_FORMAT);
    run_block(fixture, id, "guest=victim hypervisor=kvm vcpus=2",
              "QEMU ended (%" G_GINT64_FORMAT ")");
    run_block(fixture, id, NULL, NULL);
    g_assert_true(store_campaign_set_state(fixture->store, id, "done", NULL));
    g_autoptr(Morning) morning = morning_of(fixture);
    g_autofree char *both = cells_of(group(morning->failed, 0));
    g_autofree char *one = cells_of(group(morning->failed, 1));

    g_assert_cmpuint(morning->failed->len, ==, 2);
    g_assert_cmpuint(group(morning->failed, 0)->runs, ==, 2);
    g_assert_true(g_str_has_prefix(group(morning->failed, 0)->reason, "ssh: no banner on "));
    g_assert_cmpstr(both, ==,
                    "guest=victim hypervisor=kvm vcpus=1 in 1; guest=victim hypervisor=kvm "
                    "vcpus=2 in 1");
    g_assert_cmpuint(group(morning->failed, 1)->runs, ==, 1);
    g_assert_cmpstr(one, ==, "guest=victim hypervisor=kvm vcpus=2 in 2");
    g_assert_cmpuint(morning->failed_once, ==, 0);
    g_assert_cmpstr(g_ptr_array_index(morning->look, 0), ==,
                    "all 2 cells that failed have guest=victim");
    g_assert_nonnull(strstr(g_ptr_array_index(morning->look, 1), "vmatrix log run:"));
    g_assert_cmpuint(morning->look->len, ==, 2);
}

/* What failed and was done again is counted, not named; what is left alone is. */
static void test_morning_retried(Fixture *fixture, gconstpointer data)
{
    gint64 id = submit(fixture, 1, NULL, NULL);
    guint count;

    run_block(fixture, id, "guest=good", "no answer (%" G_GINT64_FORMAT ")");
    g_assert_true(store_campaign_retry(fixture->store, id, &count, NULL));
    g_assert_cmpuint(count, ==, 2);
    run_next(fixture, id, 10, "clean", NULL);
    run_next(fixture, id, 10, "failed", "again");
    g_assert_true(store_campaign_set_state(fixture->store, id, "done", NULL));
    g_autoptr(Morning) morning = morning_of(fixture);

    g_assert_cmpuint(morning->failed->len, ==, 1);
    g_assert_cmpstr(group(morning->failed, 0)->reason, ==, "again");
    g_assert_cmpuint(morning->failed_once, ==, 2);
    g_assert_nonnull(strstr(g_ptr_array_index(morning->look, 0), "1 cell has no clean run: guest="
                                                                 "good"));
}

static void test_morning_contaminated(Fixture *fixture, gconstpointer data)
{
    const char *reasons[] = {NULL, "no such image", NULL, NULL};
    gint64 id = submit(fixture, 2, NULL, reasons);

    for (guint i = 0; i < 5; i++)
        run_next(fixture, id, 20, i == 0 ? "contaminated" : "clean", i == 0 ? "cron: 12 %" : NULL);
    g_autoptr(Morning) running = morning_of(fixture);

    g_assert_nonnull(
        strstr(g_ptr_array_index(running->look, running->look->len - 1), "has not ended"));
    run_next(fixture, id, 20, "clean", NULL);
    g_assert_true(store_campaign_set_state(fixture->store, id, "done", NULL));
    g_autoptr(Morning) morning = morning_of(fixture);
    g_autofree char *skipped = cells_of(group(morning->skipped, 0));
    const MorningPhase *phase = g_ptr_array_index(morning->phases, 0);

    g_assert_cmpuint(morning->contaminated->len, ==, 1);
    g_assert_cmpstr(group(morning->contaminated, 0)->reason, ==, "cron: 12 %");
    g_assert_cmpstr(skipped, ==, "guest=good hypervisor=kvm vcpus=2 in 1, 2");
    g_assert_cmpstr(group(morning->skipped, 0)->reason, ==, "no such image");
    g_assert_cmpstr(phase->name, ==, "gate");
    g_assert_cmpint(phase->total_ns, ==, 60 * S);
    g_assert_cmpuint(phase->runs, ==, 6);
    g_assert_cmpint(morning->phases_ns, ==, 90 * S);
    g_assert_cmpstr(g_ptr_array_index(morning->look, 0), ==,
                    "1 of 6 runs were contaminated: something else worked on the host: cron: 12 %");
    g_assert_cmpstr(g_ptr_array_index(morning->look, 1), ==,
                    "2 runs were never begun: no such image");
    g_assert_cmpstr(g_ptr_array_index(morning->look, 2), ==,
                    "67 % of the time went by in waiting for an idle host");
}

/* One culprit is one reason, however much it took of whatever was measured; a cell is told once. */
static void test_morning_culprits(Fixture *fixture, gconstpointer data)
{
    static const char *const reasons[] = {
        "ops: apt-daily.service took 4.1 CPU-seconds of CPUs 2-3 in 38.0 s (5.4 %); 2.0 % is "
        "allowed",
        "ops: hog (pid 17) took 1.0 CPU-seconds of CPU 0 in 2.0 s (50.0 %); 2.0 % is allowed",
        "mem.copy: apt-daily.service took 0.30 CPU-seconds of CPU 0 in 2.0 s (15.0 %), cron (pid "
        "9) 0.011; in all 0.31 (15.5 %, 2.0 % allowed)",
        "ops: hog (pid 18, ended) took 1.5 CPU-seconds of CPU 0 in 2.0 s (75.0 %); 2.0 % is "
        "allowed",
        "ops: apt-daily.service took 9.0 CPU-seconds of CPU 0 in 20.0 s (45.0 %); 2.0 % is allowed",
    };
    gint64 id = submit(fixture, 2, NULL, NULL);

    for (guint i = 0; i < 8; i++)
        run_next(fixture, id, 20, i < G_N_ELEMENTS(reasons) ? "contaminated" : "clean",
                 i < G_N_ELEMENTS(reasons) ? reasons[i] : NULL);
    g_autoptr(Morning) morning = morning_of(fixture);
    const MorningGroup *apt = group(morning->contaminated, 0);
    const MorningGroup *hog = group(morning->contaminated, 1);
    guint runs = 0;

    g_assert_cmpuint(morning->contaminated->len, ==, 2);
    g_assert_cmpuint(apt->runs, ==, 3);
    g_assert_nonnull(strstr(apt->reason, "apt-daily.service took"));
    g_assert_cmpuint(hog->runs, ==, 2);
    for (guint i = 0; i < apt->cells->len; i++) {
        const MorningCell *cell = g_ptr_array_index(apt->cells, i);

        runs += cell->runs;
        for (guint k = 0; k < i; k++)
            g_assert_cmpstr(((MorningCell *)g_ptr_array_index(apt->cells, k))->cell_key, !=,
                            cell->cell_key);
    }
    g_assert_cmpuint(runs, ==, 3);
}

static void test_morning_well(Fixture *fixture, gconstpointer data)
{
    gint64 id = submit(fixture, 1, NULL, NULL);

    run_block(fixture, id, NULL, NULL);
    g_assert_true(store_campaign_set_state(fixture->store, id, "done", NULL));
    g_autoptr(Morning) morning = morning_of(fixture);

    g_assert_cmpuint(morning->look->len, ==, 1);
    g_assert_true(g_str_has_prefix(g_ptr_array_index(morning->look, 0), "nothing: "));
}

#define ADD(path, function) g_test_add(path, Fixture, NULL, fixture_init, function, fixture_finish)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("/status/counts", test_status_counts);
    ADD("/status/queue", test_status_queue);
    ADD("/status/table", test_status_table);
    ADD("/morning/failed", test_morning_failed);
    ADD("/morning/retried", test_morning_retried);
    ADD("/morning/contaminated", test_morning_contaminated);
    ADD("/morning/culprits", test_morning_culprits);
    ADD("/morning/well", test_morning_well);
    return g_test_run();
}
