/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several processes at one database, and processes that are killed. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/db.h"
#include "util/error.h"

/* How a child ends. By a pointer, so that the compiler does not know that it never comes back: what
 * the callers hold stays reachable for valgrind. */
static void (*volatile leave)(int status) = _exit;

enum { VALUES = 1000, RUNS = 200 };

/* ---- children: they exit with 0 when all went well, and say what did not ---- */

typedef struct {
    const char *path;
    int pipe; /* a byte is written when the child is where the parent wants it */
} Child;

static pid_t start(int (*call)(const Child *child), const Child *child)
{
    pid_t pid = fork();

    if (pid == 0)
        leave(call(child));
    g_assert_cmpint(pid, >, 0);
    return pid;
}

static void assert_ended_well(pid_t pid)
{
    int status = -1;

    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_cmpint(status, ==, 0);
}

static void kill_and_wait(pid_t pid)
{
    int status;

    g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFSIGNALED(status));
}

/* A child has no test framework that would show its errors. */
static gboolean told(gboolean ok, GError **error)
{
    if (!ok)
        fprintf(stderr, "# child %d: %s\n", (int)getpid(), (*error)->message);
    return ok;
}

/* The store of a child that writes. Writers get the lock in no order, and on a slow machine (under
 * valgrind) one may lose against the other for longer than the product's bound: it waits on. */
static Store *open_to_write(const Child *child)
{
    g_autoptr(GError) error = NULL;
    Store *store = store_open(child->path, STORE_READ_WRITE, &error);

    if (told(store != NULL, &error))
        store->busy_tries = 100000;
    return store;
}

static gboolean invoke(Store *store, gint64 run, guint ordinal, gboolean commit)
{
    g_autoptr(GError) error = NULL;
    StoreInvocation invocation = {
        .run = run, .ordinal = ordinal, .workload = "ops.add", .state = "done"};
    Metric metric = {.workload = (char *)"ops.add",
                     .name = (char *)"latency",
                     .unit = (char *)"ns",
                     .revision = 1};
    double values[VALUES];
    gint64 id;

    for (guint i = 0; i < VALUES; i++)
        values[i] = i;
    return told(store_invocation_begin(store, &invocation, &id, &error) &&
                    store_samples_add(store, id, &metric, values, VALUES, 0, &error) &&
                    (!commit || store_invocation_commit(store, &error)),
                &error);
}

static gint64 claim(Store *store)
{
    g_auto(StoreRun) run = {0};
    g_autoptr(GError) error = NULL;
    StoreClaim result;

    if (!told(store_run_claim(store, 1, "boot", &run, &result, &error), &error))
        return -1;
    return result == STORE_CLAIMED ? run.id : 0;
}

/* One invocation whole, one without its commit; then waits for its end. */
static int stop_before_commit(const Child *child)
{
    Store *store = open_to_write(child);
    gint64 run = store != NULL ? claim(store) : 0;

    if (run <= 0 || !invoke(store, run, 1, TRUE) || !invoke(store, run, 2, FALSE))
        return 1;
    if (write(child->pipe, "x", 1) != 1)
        return 2;
    pause();
    return 3;
}

/* Invocations without end. */
static int never_stop(const Child *child)
{
    Store *store = open_to_write(child);
    gint64 run = store != NULL ? claim(store) : 0;

    for (guint ordinal = 1; run > 0 && invoke(store, run, ordinal, TRUE); ordinal++)
        if (write(child->pipe, "x", 1) != 1)
            return 2;
    return 1;
}

/* Takes runs, writes samples and ends them until none is left. */
static int work_off(const Child *child)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = open_to_write(child);
    gint64 run = -1;

    while (store != NULL && (run = claim(store)) > 0)
        if (!invoke(store, run, 1, TRUE) ||
            !told(store_run_finish(store, run, "clean", NULL, NULL, &error), &error))
            return 1;
    return run == 0 ? 0 : 1;
}

/* Reads until all runs are done; what it sees is always whole: a done run has all its samples. */
static int read_on(const Child *child)
{
    g_autoptr(Store) store = store_open(child->path, STORE_READ_ONLY, NULL);
    gint64 done = 0;

    while (store != NULL && done < RUNS) {
        g_autofree char *row =
            ask_rows(store, "SELECT count(*), total(n_samples), (SELECT count(*) FROM run WHERE"
                            " verdict = 'clean') FROM run_metric");
        g_auto(GStrv) cells = g_strsplit(row, "|", -1);
        gint64 summaries = g_ascii_strtoll(cells[0], NULL, 10);

        if (g_ascii_strtod(cells[1], NULL) != (double)(summaries * VALUES))
            return 1;
        if (g_ascii_strtoll(cells[2], NULL, 10) != summaries || summaries < done)
            return 2;
        done = summaries;
    }
    return store != NULL ? 0 : 3;
}

static int create(const Child *child)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = open_to_write(child);

    return store != NULL && told(store_host_key_set(store, "g", "k", &error), &error) ? 0 : 1;
}

/* ---- tests ---- */

static void wait_for_byte(int fd)
{
    char byte;

    g_assert_cmpint(read(fd, &byte, 1), ==, 1);
}

static void assert_whole(Store *store)
{
    g_autofree char *check = ask_text(store, "PRAGMA integrity_check");
    g_autofree char *keys = ask_rows(store, "PRAGMA foreign_key_check");

    g_assert_cmpstr(check, ==, "ok");
    g_assert_cmpstr(keys, ==, "");
}

static void test_killed_before_commit(void)
{
    Fixture f;
    int ends[2];
    guint count = 0;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_clear_pointer(&f.store, store_free);
    g_assert_cmpint(pipe(ends), ==, 0);
    pid_t pid = start(stop_before_commit, &(Child){.path = f.path, .pipe = ends[1]});

    close(ends[1]);
    wait_for_byte(ends[0]);
    kill_and_wait(pid);
    fixture_open(&f);
    assert_whole(f.store);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM sample"), ==, VALUES);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM invocation"), ==, 1);
    g_assert_true(store_recover_claims(f.store, 1, &count, NULL));
    g_assert_cmpuint(count, ==, 1);
    g_autofree char *first =
        ask_rows(f.store, "SELECT verdict, n_invocations, n_samples FROM run_summary");

    g_assert_cmpstr(first, ==, "interrupted|1|1000");
    /* What was stored stays with the interrupted run; it is never pooled. */
    g_assert_cmpint(ask_int(f.store, "SELECT n FROM cell_summary WHERE interrupted = 1"), ==, 0);
    close(ends[0]);
    fixture_finish(&f);
}

/* Killed at any time: every invocation that is there is whole, and there once. */
static void test_killed_any_time(void)
{
    for (guint round = 0; round < 5; round++) {
        Fixture f;
        int ends[2];

        fixture_init(&f, "cell");
        fixture_add_campaign(&f);
        g_clear_pointer(&f.store, store_free);
        g_assert_cmpint(pipe(ends), ==, 0);
        pid_t pid = start(never_stop, &(Child){.path = f.path, .pipe = ends[1]});

        close(ends[1]);
        for (guint i = 0; i <= round; i++)
            wait_for_byte(ends[0]);
        g_usleep((gulong)round * 700);
        kill_and_wait(pid);
        fixture_open(&f);
        assert_whole(f.store);
        g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM invocation"), >, round);
        g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM sample"), ==,
                        VALUES * ask_int(f.store, "SELECT count(*) FROM invocation"));
        g_assert_cmpint(ask_int(f.store, "SELECT count(*) - max(ordinal) FROM invocation"), ==, 0);
        close(ends[0]);
        fixture_finish(&f);
    }
}

/* Two writers share a queue, three readers look on: every run is taken once, nobody fails. */
static void test_two_writers_many_readers(void)
{
    Fixture f;
    pid_t pids[5];

    fixture_init_plan(&f, "version: 1\nplan: many\naxes:\n  hypervisor: [bare, kvm]\n"
                          "workloads: [ops]\nrepeat: {boots: 100}\n");
    fixture_add_campaign(&f);
    g_clear_pointer(&f.store, store_free);
    for (guint i = 0; i < G_N_ELEMENTS(pids); i++)
        pids[i] = start(i < 2 ? work_off : read_on, &(Child){.path = f.path});
    for (guint i = 0; i < G_N_ELEMENTS(pids); i++)
        assert_ended_well(pids[i]);
    fixture_open(&f);
    assert_whole(f.store);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM run WHERE verdict = 'clean'"), ==, RUNS);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM invocation"), ==, RUNS);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM sample"), ==, (gint64)RUNS * VALUES);
    fixture_finish(&f);
}

static void test_created_by_many(void)
{
    Fixture f;
    pid_t pids[6];

    fixture_init(&f, "cell");
    for (guint i = 0; i < G_N_ELEMENTS(pids); i++)
        pids[i] = start(create, &(Child){.path = f.path});
    for (guint i = 0; i < G_N_ELEMENTS(pids); i++)
        assert_ended_well(pids[i]);
    fixture_open(&f);
    assert_whole(f.store);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM host_key"), ==, 1);
    fixture_finish(&f);
}

/* The wait for another writer has an end, and an error that says what is the matter. */
static void test_busy_is_bounded(void)
{
    StoreInvocation invocation = {.ordinal = 1, .workload = "x", .state = "done"};
    Fixture f;
    gint64 id;
    g_autoptr(Store) other = NULL;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    invocation.run = fixture_claim(&f);
    other = store_open(f.path, STORE_READ_WRITE, NULL);
    other->busy_tries = 2;
    other->busy_ms = 5;
    sqlite3_busy_timeout(other->db, 5);
    g_assert_true(store_invocation_begin(f.store, &invocation, &id, NULL));
    g_assert_false(store_host_key_set(other, "g", "k", &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_HALT);
    g_assert_nonnull(strstr(error->message, "another process"));
    g_clear_error(&error);
    g_assert_true(store_invocation_commit(f.store, NULL));
    g_assert_true(store_host_key_set(other, "g", "k", &error));
    fixture_finish(&f);
}

/* Read here, written there, written here: a deferred transaction would fail at once. */
static void test_read_then_write(void)
{
    Fixture f;
    g_autoptr(Store) other = NULL;
    g_autoptr(GError) error = NULL;
    StoreStep step;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    other = store_open(f.path, STORE_READ_WRITE, NULL);
    g_assert_cmpint(ask_int(other, "SELECT count(*) FROM run"), ==, 12);
    g_assert_true(store_host_key_set(f.store, "g", "k", NULL));
    g_assert_true(store_host_key_set(other, "g", "l", &error));
    g_assert_no_error(error);
    g_autoptr(StoreQuery) open = store_query_new(other, "SELECT id FROM run", NULL);

    g_assert_true(store_query_step(open, &step, NULL));
    g_assert_true(store_host_key_set(f.store, "g", "m", NULL));
    g_assert_false(store_host_key_set(other, "g", "n", &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_BUSY);
    g_assert_nonnull(strstr(error->message, "freed first"));
    g_clear_pointer(&open, store_query_free);
    g_assert_true(store_host_key_set(other, "g", "n", NULL));
    fixture_finish(&f);
}

/* The disk is full: the invocation is lost as a whole, the database is not. */
static void test_full(void)
{
    StoreInvocation invocation = {.ordinal = 1, .workload = "x", .state = "done"};
    Metric metric = {.workload = (char *)"x", .name = (char *)"m", .unit = (char *)"s"};
    g_autofree double *values = g_new0(double, 200000);
    Fixture f;
    gint64 id;
    g_autofree char *limit = NULL;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    invocation.run = fixture_claim(&f);
    limit = g_strdup_printf("PRAGMA max_page_count = %d",
                            (int)ask_int(f.store, "PRAGMA page_count") + 50);
    g_assert_true(db_exec(f.store, "test", limit, NULL));
    g_assert_true(store_invocation_begin(f.store, &invocation, &id, NULL));
    g_assert_false(store_samples_add(f.store, id, &metric, values, 200000, 0, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_HALT);
    g_assert_nonnull(strstr(error->message, "free space"));
    g_clear_error(&error);
    /* Whoever goes on all the same does not get half an invocation. */
    if (!store_samples_add(f.store, id, &metric, values, 1, 0, NULL))
        g_assert_false(store_invocation_commit(f.store, &error));
    else
        store_invocation_abort(f.store);
    assert_whole(f.store);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM sample"), ==, 0);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM invocation"), ==, 0);
    g_assert_true(store_host_key_set(f.store, "g", "k", NULL));
    fixture_finish(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/crash/killed-before-commit", test_killed_before_commit);
    g_test_add_func("/crash/killed-any-time", test_killed_any_time);
    g_test_add_func("/crash/full", test_full);
    g_test_add_func("/concurrency/two-writers-many-readers", test_two_writers_many_readers);
    g_test_add_func("/concurrency/created-by-many", test_created_by_many);
    g_test_add_func("/concurrency/busy-is-bounded", test_busy_is_bounded);
    g_test_add_func("/concurrency/read-then-write", test_read_then_write);
    return g_test_run();
}
