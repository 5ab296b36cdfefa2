/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The evidence of an invocation in the database: every number in its column, NULL where there is
 * none, and the views over it; and the migration that brought it. */
#include "fixture.h"

#include <sqlite3.h>

/* An open invocation of a claimed run. */
static gint64 begin(Fixture *f)
{
    const StoreInvocation invocation = {.run = fixture_claim(f),
                                        .ordinal = 1,
                                        .workload = "ops.add",
                                        .state = "done",
                                        .clocks = {.host_ns = 60000000000, .guest_ns = 1},
                                        .observer_cpu_ns = 3000000,
                                        .observer_switches = 4};
    gint64 id;

    g_assert_true(store_invocation_begin(f->store, &invocation, &id, NULL));
    return id;
}

static void set_up(Fixture *f)
{
    fixture_init(f, "cell");
    fixture_add_campaign(f);
}

static void test_numbers(void)
{
    g_autoptr(EvidenceRecord) record = evidence_record_new();
    const EvidenceVerdict clean = {0};
    g_autoptr(GError) error = NULL;
    Fixture f;

    set_up(&f);
    gint64 id = begin(&f);

    /* Each its own value: a mix-up of two columns shows. */
    for (guint i = 0; i < evidence_numbers_length; i++)
        evidence_number_set(record, &evidence_numbers[i], 1000 + i);
    g_assert_true(store_evidence_add(f.store, id, record, &clean, &error));
    g_assert_no_error(error);
    g_assert_true(store_invocation_commit(f.store, NULL));
    for (guint i = 0; i < evidence_numbers_length; i++) {
        g_autofree char *sql =
            g_strdup_printf("SELECT %s FROM evidence", evidence_numbers[i].column);

        g_assert_cmpint(ask_int(f.store, sql), ==, 1000 + i);
    }
    g_autofree char *rest = ask_rows(f.store, "SELECT verdict, reason, flags, cpus, n_cpus, pids, "
                                              "cgroup, sources, clocksource, named, threads, dmesg "
                                              "FROM evidence");

    g_assert_cmpstr(rest, ==, "clean|-|-|-|1|-|-|-|-|[]|[]|[]");
    fixture_finish(&f);
}

/* Nothing is known of the host: no number, and no verdict. */
static void test_absent(void)
{
    g_autoptr(EvidenceRecord) record = evidence_record_new();
    const EvidenceVerdict missing = {.reason = (char *)"it ended", .flags = (char *)"no-evidence"};
    Fixture f;

    set_up(&f);
    gint64 id = begin(&f);

    g_assert_true(store_evidence_add(f.store, id, record, &missing, NULL));
    g_assert_true(store_invocation_commit(f.store, NULL));
    for (guint i = 0; i < evidence_numbers_length; i++) {
        g_autofree char *sql =
            g_strdup_printf("SELECT %s IS NULL FROM evidence", evidence_numbers[i].column);

        g_assert_cmpint(ask_int(f.store, sql), ==, 1);
    }
    g_autofree char *row = ask_rows(f.store, "SELECT verdict, reason, flags FROM evidence");

    g_assert_cmpstr(row, ==, "-|it ended|no-evidence");
    fixture_finish(&f);
}

static EvidenceRecord *full_record(void)
{
    EvidenceRecord *record = evidence_record_new();
    EvidenceCulprit *culprit = g_new0(EvidenceCulprit, 1);
    EvidenceThread *thread = g_new0(EvidenceThread, 1);

    record->cpus = g_strdup("2-3");
    record->n_cpus = 2;
    record->span_ns = 38000000000;
    record->foreign_cpu_ns = 4100000000;
    record->observer_cpu_ns = 7;
    record->observer_switches = 8;
    record->observer_written_bytes = 9;
    record->guest_span_ns = 1000;
    record->guest_cpus = 2;
    record->guest_steal_ns = 20;
    record->psi_io_some_ns = 19000000000;
    *culprit = (EvidenceCulprit){.name = g_strdup("apt \"get\""),
                                 .unit = g_strdup("apt-daily.service"),
                                 .pid = EVIDENCE_ABSENT,
                                 .processes = 3,
                                 .cpu_ns = 3800000000,
                                 .ended = TRUE};
    g_ptr_array_add(record->named, culprit);
    *thread = (EvidenceThread){.name = g_strdup("CPU 0/KVM"),
                               .cpu_ns = 5,
                               .run_delay_ns = EVIDENCE_ABSENT,
                               .involuntary = 6};
    g_ptr_array_add(record->threads, thread);
    g_ptr_array_add(record->dmesg, g_strdup("mce: a"));
    return record;
}

static void test_views(void)
{
    g_autoptr(EvidenceRecord) record = full_record();
    const EvidenceVerdict verdict = {.contaminated = TRUE, .reason = (char *)"apt did it"};
    Fixture f;

    set_up(&f);
    gint64 id = begin(&f);

    g_assert_true(store_evidence_add(f.store, id, record, &verdict, NULL));
    g_assert_true(store_invocation_commit(f.store, NULL));
    g_autofree char *lists = ask_rows(f.store, "SELECT threads, dmesg FROM evidence");
    g_autofree char *culprits = ask_rows(
        f.store, "SELECT workload, name, unit, pid, processes, ended, cpu_s, share FROM culprit");
    g_autofree char *seen =
        ask_rows(f.store, "SELECT cpus, verdict, reason, foreign_cpu_s, round(foreign_share, 4), "
                          "io_pressure, steal_share, guest_steal_share FROM invocation_evidence");
    g_autofree char *observer = ask_rows(
        f.store, "SELECT daemon_cpu_ns, daemon_switches, daemon_cpu_ms_a_minute, cpu_ns, switches, "
                 "written_bytes, reader_cpu_ns FROM observer");

    g_assert_cmpstr(lists, ==,
                    "[{\"name\":\"CPU 0/KVM\",\"cpu_ns\":5,\"involuntary\":6}]|[\"mce: a\"]");
    g_assert_cmpstr(culprits, ==, "ops.add|apt \"get\"|apt-daily.service|-|3|1|3.8|0.05");
    g_assert_cmpstr(seen, ==, "2-3|contaminated|apt did it|4.1|0.0539|0.5|-|0.01");
    g_assert_cmpstr(observer, ==, "3000000|4|3.0|7|8|9|-");
    fixture_finish(&f);
}

/* Once an invocation; with the invocation it comes and goes. */
static void test_transaction(void)
{
    g_autoptr(EvidenceRecord) record = full_record();
    const EvidenceVerdict clean = {0};
    g_autoptr(GError) error = NULL;
    Fixture f;

    set_up(&f);
    gint64 id = begin(&f);

    g_assert_true(store_evidence_add(f.store, id, record, &clean, NULL));
    g_assert_false(store_evidence_add(f.store, id, record, &clean, &error));
    g_assert_nonnull(error);
    store_invocation_abort(f.store);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM evidence"), ==, 0);
    g_assert_false(store_evidence_add(f.store, 999, record, &clean, NULL));
    fixture_finish(&f);
}

static void load_dump(Fixture *f, const char *name)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, name, NULL);
    g_autofree char *sql = NULL;
    sqlite3 *db = NULL;

    g_assert_true(g_file_get_contents(path, &sql, NULL, NULL));
    g_assert_cmpint(sqlite3_open(f->path, &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_close(db), ==, SQLITE_OK);
}

/* What was measured before there was evidence: no row of it, and still among the observer's. */
static void test_migration(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    load_dump(&f, "version-1.sql");
    fixture_open(&f);
    g_assert_cmpint(ask_int(f.store, "PRAGMA user_version"), >=, 4);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM evidence"), ==, 0);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM observer"), ==,
                    ask_int(f.store, "SELECT count(*) FROM invocation WHERE host_ns > 0"));
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM observer WHERE cpu_ns IS NULL"), >, 0);
    fixture_finish(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/evidence/numbers", test_numbers);
    g_test_add_func("/evidence/absent", test_absent);
    g_test_add_func("/evidence/views", test_views);
    g_test_add_func("/evidence/transaction", test_transaction);
    g_test_add_func("/evidence/migration", test_migration);
    return g_test_run();
}
