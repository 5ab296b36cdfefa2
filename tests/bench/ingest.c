/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast samples come from the agent's lines into the database, against the fastest plain way to
 * put the same rows into the same table: one prepared INSERT in a loop, on a connection with
 * foreign keys off. Both make a new database of our schema (same table, same index), WAL and
 * synchronous=FULL, and commit every 10 000 rows. In turn; medians of several pairs. */
#include <glib.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/agent-link.h"
#include "store/store.h"
#include "util/clock.h"
#include "util/io.h"

enum { INVOCATION = 10000 /* samples in one */ };

static const char plan_text[] =
    "version: 1\nplan: ingest\naxes:\n  hypervisor: [bare]\nworkloads: [ops]\n";

/* Whatever fails ends the program: there is nothing to measure then. */
static void must(gboolean ok, const char *what, const GError *error)
{
    if (ok)
        return;
    fprintf(stderr, "ingest: %s: %s\n", what, error != NULL ? error->message : "failed");
    exit(1);
}

static double value_of(guint i)
{
    return 100.0 + (i * 7919U % 10007U) / 97.0;
}

/* One invocation as the agent sends it, a line a string. The agent writes 15 to 17 digits, as many
 * as the value needs; 17 is the most. */
static GPtrArray *make_lines(guint per_line)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < INVOCATION; i += per_line) {
        GString *line = g_string_new(
            "{\"type\":\"sample\",\"invocation\":1,\"metric\":\"latency\",\"unit\":\"ns\","
            "\"direction\":\"lower\",\"revision\":1,\"iterations\":4096,\"values\":[");

        for (guint j = 0; j < per_line; j++)
            g_string_append_printf(line, "%s%.17g", j > 0 ? "," : "", value_of(i + j));
        g_string_append(line, "]}");
        g_ptr_array_add(lines, g_string_free(line, FALSE));
    }
    return lines;
}

/* A new database with one running run. */
static Store *make_store(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Inventory) inventory = inventory_parse("/i.yaml", "version: 1\n", -1, &error);
    g_autoptr(Plan) plan = NULL;
    g_autoptr(Matrix) matrix = NULL;
    g_autoptr(GPtrArray) workloads = g_ptr_array_new();
    g_auto(StoreRun) run = {0};
    StoreClaim claim;
    Store *store;
    gint64 campaign;

    must(inventory != NULL, "inventory", error);
    plan = plan_parse("/p.yaml", plan_text, -1, &error);
    must(plan != NULL, "plan", error);
    matrix = matrix_new(plan, &error);
    must(matrix != NULL, "matrix", error);
    store = store_open(path, STORE_READ_WRITE, &error);
    must(store != NULL, "open", error);
    g_ptr_array_add(workloads, (char *)"ops.int32-add");
    must(store_campaign_add(store, matrix, inventory, workloads, NULL, &campaign, &error),
         "campaign", error);
    must(store_run_claim(store, campaign, "boot", &run, &claim, &error), "claim", error);
    return store;
}

static void feed_line(Store *store, gint64 invocation, const char *line)
{
    g_auto(AgentMessage) message = {0};
    g_autoptr(GError) error = NULL;

    must(agent_message_decode(line, strlen(line), &message, &error), "decode", error);
    /* The agent names the metric; whose workload it is, the daemon knows. */
    g_free(message.metric.workload);
    message.metric.workload = g_strdup("ops.int32-add");
    must(store_samples_add(store, invocation, &message.metric, (double *)message.values->data,
                           message.values->len, message.iterations, &error),
         "samples", error);
}

/* Samples a second. */
static double measure_store(const char *path, const GPtrArray *lines, guint invocations)
{
    g_autoptr(Store) store = make_store(path);
    g_autoptr(GError) error = NULL;
    gint64 start = clock_mono_ns();

    for (guint i = 1; i <= invocations; i++) {
        StoreInvocation invocation = {
            .run = 1, .ordinal = i, .workload = "ops.int32-add", .state = "done"};
        gint64 id;

        must(store_invocation_begin(store, &invocation, &id, &error), "begin", error);
        for (guint j = 0; j < lines->len; j++)
            feed_line(store, id, g_ptr_array_index(lines, j));
        must(store_invocation_commit(store, &error), "commit", error);
    }
    return (double)invocations * INVOCATION / ((double)(clock_mono_ns() - start) / 1e9);
}

static void execute(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return;
    fprintf(stderr, "ingest: %s: %s\n", sql, sqlite3_errmsg(db));
    exit(1);
}

static void insert_rows(sqlite3_stmt *statement, gint64 invocation)
{
    for (guint i = 0; i < INVOCATION; i++) {
        sqlite3_bind_int64(statement, 1, invocation);
        sqlite3_bind_int64(statement, 2, 1);
        sqlite3_bind_int64(statement, 3, i + 1);
        sqlite3_bind_double(statement, 4, value_of(i));
        sqlite3_bind_double(statement, 5, 4096);
        must(sqlite3_step(statement) == SQLITE_DONE, "insert", NULL);
        sqlite3_reset(statement);
    }
}

static double measure_bare(const char *path, guint invocations)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    gint64 start;
    double seconds;

    store_free(make_store(path));
    must(sqlite3_open(path, &db) == SQLITE_OK, "open", NULL);
    execute(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF");
    must(sqlite3_prepare_v3(db,
                            "INSERT INTO sample (invocation_id, metric_id, seq, value, iterations)"
                            " VALUES (?1, ?2, ?3, ?4, ?5)",
                            -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) == SQLITE_OK,
         "prepare", NULL);
    start = clock_mono_ns();
    for (guint i = 1; i <= invocations; i++) {
        execute(db, "BEGIN IMMEDIATE");
        insert_rows(statement, i);
        execute(db, "COMMIT");
    }
    seconds = (double)(clock_mono_ns() - start) / 1e9;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return (double)invocations * INVOCATION / seconds;
}

/* The rows must be there: a fast loop that stores nothing is no result. */
static void check_rows(const char *path, guint invocations)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;

    must(sqlite3_open(path, &db) == SQLITE_OK, "open", NULL);
    must(sqlite3_prepare_v2(db, "SELECT count(*) FROM sample", -1, &statement, NULL) == SQLITE_OK &&
             sqlite3_step(statement) == SQLITE_ROW,
         "count", NULL);
    must(sqlite3_column_int64(statement, 0) == (gint64)invocations * INVOCATION, "rows", NULL);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static double median(double *values, guint n)
{
    for (guint i = 1; i < n; i++)
        for (guint j = i; j > 0 && values[j - 1] > values[j]; j--) {
            double value = values[j];

            values[j] = values[j - 1];
            values[j - 1] = value;
        }
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* A fresh file each time; whoever was first in one pair is second in the next. */
static double compare(const char *folder, guint per_line, guint pairs, guint invocations)
{
    g_autoptr(GPtrArray) lines = make_lines(per_line);
    g_autofree double *ours = g_new0(double, pairs), *bare = g_new0(double, pairs),
                      *ratio = g_new0(double, pairs);
    double middle;

    for (guint i = 0; i < pairs * 2; i++) {
        gboolean is_bare = i % 2 == i / 2 % 2;
        g_autofree char *path = g_strdup_printf("%s/%u-%u.db", folder, per_line, i);

        if (is_bare)
            bare[i / 2] = measure_bare(path, invocations);
        else
            ours[i / 2] = measure_store(path, lines, invocations);
        check_rows(path, invocations);
        must(remove(path) == 0, "remove", NULL);
    }
    for (guint i = 0; i < pairs; i++)
        ratio[i] = ours[i] / bare[i];
    middle = median(ratio, pairs);
    printf("%3u values a line: agent lines %.0f samples/s, bare inserts %.0f rows/s, ratio %.2f "
           "(%.2f to %.2f, %u pairs of %u samples)\n",
           per_line, median(ours, pairs), median(bare, pairs), middle, ratio[0], ratio[pairs - 1],
           pairs, invocations * INVOCATION);
    return middle;
}

int main(int argc, char **argv)
{
    guint pairs = argc > 1 ? (guint)g_ascii_strtoull(argv[1], NULL, 10) : 5;
    guint samples = argc > 2 ? (guint)g_ascii_strtoull(argv[2], NULL, 10) : 1000000;
    const char *below = argc > 3 ? argv[3] : ".";
    g_autofree char *folder = g_build_filename(below, "ingest-XXXXXX", NULL);
    double ratio;

    if (pairs < 1 || samples < INVOCATION || g_mkdtemp(folder) == NULL) {
        fprintf(stderr, "usage: ingest [PAIRS [SAMPLES [FOLDER]]]  (SAMPLES at least %d)\n",
                INVOCATION);
        return 2;
    }
    ratio = compare(folder, 100, pairs, samples / INVOCATION);
    compare(folder, 1, pairs, samples / INVOCATION);
    io_remove_tree(folder, NULL);
    printf("bound: 0.60 at 100 values a line: %s\n", ratio >= 0.6 ? "kept" : "MISSED");
    return ratio >= 0.6 ? 0 : 1;
}
