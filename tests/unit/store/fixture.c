/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fixture.h"

#include "util/io.h"

static const char inventory_text[] =
    "version: 1\n"
    "hypervisors:\n"
    "  kvm: {driver: qemu, uri: 'qemu:///system', accelerator: kvm}\n"
    "guests:\n"
    "  micro: {kernel: vmlinuz, initrd: initrd, key: id}\n";

void fixture_init_plan(Fixture *fixture, const char *plan)
{
    g_autoptr(GError) error = NULL;

    *fixture = (Fixture){0};
    fixture->folder = g_dir_make_tmp("vmatrix-store-XXXXXX", &error);
    g_assert_no_error(error);
    fixture->path = g_build_filename(fixture->folder, "test.db", NULL);
    fixture->inventory = inventory_parse("/site/inventory.yaml", inventory_text, -1, &error);
    g_assert_no_error(error);
    fixture->plan = plan_parse("/site/plan.yaml", plan, -1, &error);
    g_assert_no_error(error);
    fixture->matrix = matrix_new(fixture->plan, &error);
    g_assert_no_error(error);
    fixture->workloads = g_ptr_array_new();
    g_ptr_array_add(fixture->workloads, (char *)"ops.add");
    g_ptr_array_add(fixture->workloads, (char *)"mem.copy");
    g_ptr_array_add(fixture->workloads, (char *)"net.tcp");
}

void fixture_init(Fixture *fixture, const char *boot_per)
{
    g_autofree char *plan = g_strdup_printf("version: 1\n"
                                            "plan: demo\n"
                                            "axes:\n"
                                            "  hypervisor: [bare, kvm]\n"
                                            "  vcpus: [1, 2]\n"
                                            "baseline: {hypervisor: bare}\n"
                                            "workloads: [ops, mem.copy]\n"
                                            "repeat: {boots: 3, boot-per: %s}\n"
                                            "order: {seed: 18446744073709551615}\n",
                                            boot_per);

    fixture_init_plan(fixture, plan);
}

void fixture_finish(Fixture *fixture)
{
    store_free(fixture->store);
    matrix_free(fixture->matrix);
    plan_free(fixture->plan);
    inventory_free(fixture->inventory);
    g_ptr_array_unref(fixture->workloads);
    io_remove_tree(fixture->folder, NULL);
    g_free(fixture->folder);
    g_free(fixture->path);
}

void fixture_open(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;

    store_free(fixture->store);
    fixture->store = store_open(fixture->path, STORE_READ_WRITE, &error);
    g_assert_no_error(error);
}

void fixture_add_campaign(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;

    if (fixture->store == NULL)
        fixture_open(fixture);
    store_campaign_add(fixture->store, fixture->matrix, fixture->inventory, fixture->workloads,
                       NULL, &fixture->campaign, &error);
    g_assert_no_error(error);
    g_assert_cmpint(fixture->campaign, >, 0);
}

gint64 fixture_claim(Fixture *fixture)
{
    g_auto(StoreRun) run = {0};
    g_autoptr(GError) error = NULL;
    StoreClaim claim = STORE_EMPTY;

    store_run_claim(fixture->store, fixture->campaign, "boot-1", &run, &claim, &error);
    g_assert_no_error(error);
    g_assert_cmpint(claim, ==, STORE_CLAIMED);
    return run.id;
}

void fixture_invoke(Fixture *fixture, gint64 run, guint ordinal, const double *values, gsize n)
{
    StoreInvocation invocation = {.run = run,
                                  .position = 0,
                                  .ordinal = ordinal,
                                  .workload = "ops.add",
                                  .state = "done",
                                  .started_wall_ns = 1};
    Metric metric = {.workload = (char *)"ops.add",
                     .name = (char *)"latency",
                     .unit = (char *)"ns",
                     .direction = DIRECTION_LOWER,
                     .revision = 1};
    g_autoptr(GError) error = NULL;
    gint64 id;

    store_invocation_begin(fixture->store, &invocation, &id, &error);
    g_assert_no_error(error);
    store_samples_add(fixture->store, id, &metric, values, n, 4096, &error);
    g_assert_no_error(error);
    store_invocation_commit(fixture->store, &error);
    g_assert_no_error(error);
}

static StoreQuery *ask(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    StoreQuery *query = store_query_new(store, sql, &error);
    StoreStep step = STORE_END;

    g_assert_no_error(error);
    store_query_step(query, &step, &error);
    g_assert_no_error(error);
    g_assert_cmpint(step, ==, STORE_ROW);
    return query;
}

gint64 ask_int(Store *store, const char *sql)
{
    g_autoptr(StoreQuery) query = ask(store, sql);

    g_assert_cmpint(store_query_type(query, 0), ==, STORE_INTEGER);
    return store_query_int(query, 0);
}

double ask_real(Store *store, const char *sql)
{
    g_autoptr(StoreQuery) query = ask(store, sql);

    g_assert_cmpint(store_query_type(query, 0), ==, STORE_REAL);
    return store_query_real(query, 0);
}

char *ask_text(Store *store, const char *sql)
{
    g_autoptr(StoreQuery) query = ask(store, sql);

    return g_strdup(store_query_text(query, 0));
}

static void append_row(GString *rows, const StoreQuery *query)
{
    if (rows->len > 0)
        g_string_append_c(rows, '\n');
    for (guint i = 0; i < store_query_columns(query); i++) {
        const char *text = store_query_text(query, i);

        g_string_append_printf(rows, "%s%s", i > 0 ? "|" : "", text != NULL ? text : "-");
    }
}

char *ask_rows(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreQuery) query = store_query_new(store, sql, &error);
    GString *rows = g_string_new(NULL);
    StoreStep step = STORE_END;

    g_assert_no_error(error);
    while (store_query_step(query, &step, &error) && step == STORE_ROW)
        append_row(rows, query);
    g_assert_no_error(error);
    return g_string_free(rows, FALSE);
}
