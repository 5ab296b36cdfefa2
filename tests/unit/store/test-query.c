/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries by people: they read, and only read. And the SQL functions against values by hand. */
#include "fixture.h"

#include <math.h>
#include <string.h>

#include "store/db.h"
#include "util/error.h"
#include "util/io.h"

static void assert_refused(Store *store, const char *sql, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreQuery) query = store_query_new(store, sql, &error);

    g_assert_null(query);
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    if (strstr(error->message, text) == NULL)
        g_error("%s: '%s' is not in: %s", sql, text, error->message);
}

/* What must be refused, and a part of the reason. */
static const struct {
    const char *sql, *text;
} wrong[] = {
    {"DELETE FROM sample", "DELETE FROM sample"},
    {"EXPLAIN DELETE FROM sample", "DELETE FROM sample"},
    {"WITH x AS (SELECT 1) DELETE FROM run", "DELETE FROM run"},
    {"UPDATE run SET state = 'done'", "UPDATE run"},
    {"INSERT INTO metric VALUES (1, 2, 3, 4, 5, 6) RETURNING id", "INSERT INTO metric"},
    {"UPDATE sqlite_master SET sql = ''", "sqlite_master may not be modified"},
    {"UPDATE sqlite_schema SET sql = ''", "sqlite_master may not be modified"},
    {"REPLACE INTO meta VALUES (1, 2)", "INSERT INTO meta"},
    {"CREATE TABLE t (a)", "refused"},
    {"CREATE TEMP TABLE t (a)", "refused"},
    {"CREATE TEMP VIEW v AS SELECT 1", "refused"},
    {"CREATE VIEW v AS SELECT 1", "refused"},
    {"CREATE INDEX i ON run (state)", "refused"},
    {"DROP TABLE sample", "refused"},
    {"DROP VIEW result", "refused"},
    {"ALTER TABLE run ADD COLUMN x", "ALTER TABLE"},
    {"ATTACH ':memory:' AS other", "ATTACH"},
    {"DETACH main", "DETACH"},
    {"VACUUM", "refused"},
    {"VACUUM INTO '/tmp/never'", "refused"},
    {"REINDEX", "refused"},
    {"ANALYZE", "refused"},
    {"BEGIN", "transaction"},
    {"COMMIT", "transaction"},
    {"SAVEPOINT a", "savepoint"},
    {"PRAGMA journal_mode = DELETE", "PRAGMA journal_mode"},
    {"PRAGMA journal_mode", "PRAGMA journal_mode"},
    {"PRAGMA user_version = 9", "PRAGMA user_version"},
    {"PRAGMA writable_schema = ON", "PRAGMA writable_schema"},
    {"PRAGMA query_only = OFF", "PRAGMA query_only"},
    {"PRAGMA foreign_keys = OFF", "PRAGMA foreign_keys"},
    {"PRAGMA wal_checkpoint", "PRAGMA wal_checkpoint"},
    {"PRAGMA optimize", "PRAGMA optimize"},
    {"SELECT load_extension('x')", "load_extension"},
    {"SELECT 1; SELECT 2", "a second one"},
    {"SELECT 1; DELETE FROM sample", "a second one"},
    {"SELECT 1; nonsense", "a second one"},
    {"", "empty"},
    {" ; -- nothing", "empty"},
    {"SELEC 1", "wrong"},
    {"SELECT a FROM absent", "no such table: absent"},
};

/* Refused by both kinds of store, and nothing has changed. */
static void test_only_reads(void)
{
    Fixture f;
    const double value = 7;
    g_autoptr(Store) reader = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    fixture_invoke(&f, fixture_claim(&f), 1, &value, 1);
    reader = store_open(f.path, STORE_READ_ONLY, NULL);
    g_assert_nonnull(reader);
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        assert_refused(f.store, wrong[i].sql, wrong[i].text);
        assert_refused(reader, wrong[i].sql, wrong[i].text);
    }
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM sample"), ==, 1);
    /* And the store itself may still write. */
    fixture_claim(&f);
    fixture_finish(&f);
}

static void test_reads(void)
{
    static const char *const right[] = {
        "SELECT 1",
        "SELECT 1;",
        " SELECT 1 ; ; -- that is all\n /* really */ ",
        "VALUES (1)",
        "EXPLAIN QUERY PLAN SELECT * FROM result",
        "WITH RECURSIVE n (i) AS (VALUES (1) UNION SELECT i + 1 FROM n) SELECT i FROM n LIMIT 5",
        "PRAGMA table_info(run)",
        "pragma TABLE_INFO('run')",
        "PRAGMA index_list(run)",
        "PRAGMA integrity_check",
        "PRAGMA user_version",
        "SELECT name FROM pragma_table_info('result')",
        "SELECT name FROM sqlite_schema",
        "SELECT j.value FROM campaign, json_each(workloads) j",
    };
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    for (gsize i = 0; i < G_N_ELEMENTS(right); i++) {
        g_autofree char *rows = ask_rows(f.store, right[i]);

        g_assert_cmpstr(rows, !=, "");
    }
    fixture_finish(&f);
}

static void test_types_and_parameters(void)
{
    Fixture f;
    g_autoptr(StoreQuery) query = NULL;
    g_autoptr(GError) error = NULL;
    StoreStep step = STORE_END;

    fixture_init(&f, "cell");
    fixture_open(&f);
    query = store_query_new(f.store,
                            "SELECT :n + 1 AS number, 2.5 AS real, :text AS text, x'0001' AS blob,"
                            " NULL AS none",
                            &error);
    g_assert_no_error(error);
    g_assert_true(store_query_bind_int(query, ":n", 41));
    g_assert_true(store_query_bind_text(query, "text", "it's"));
    g_assert_false(store_query_bind_int(query, ":missing", 1));
    g_assert_false(store_query_bind_text(query, "missing", "x"));
    g_assert_true(store_query_step(query, &step, &error));
    g_assert_cmpint(step, ==, STORE_ROW);
    g_assert_cmpuint(store_query_columns(query), ==, 5);
    g_assert_cmpstr(store_query_name(query, 0), ==, "number");
    g_assert_cmpint(store_query_type(query, 0), ==, STORE_INTEGER);
    g_assert_cmpint(store_query_int(query, 0), ==, 42);
    g_assert_cmpint(store_query_type(query, 1), ==, STORE_REAL);
    g_assert_cmpfloat(store_query_real(query, 1), ==, 2.5);
    g_assert_cmpint(store_query_type(query, 2), ==, STORE_TEXT);
    g_assert_cmpstr(store_query_text(query, 2), ==, "it's");
    g_assert_cmpint(store_query_type(query, 3), ==, STORE_BLOB);
    g_autoptr(GBytes) blob = store_query_blob(query, 3);

    g_assert_cmpmem(g_bytes_get_data(blob, NULL), g_bytes_get_size(blob), "\0\1", 2);
    g_assert_cmpint(store_query_type(query, 4), ==, STORE_NULL);
    g_assert_true(store_query_step(query, &step, &error));
    g_assert_cmpint(step, ==, STORE_END);
    fixture_finish(&f);
}

static void assert_value(Store *store, const char *expression, const char *values, double expected)
{
    g_autofree char *sql = g_strdup_printf("SELECT %s FROM (SELECT column1 AS x FROM (VALUES %s))",
                                           expression, values);

    g_assert_cmpfloat_with_epsilon(ask_real(store, sql), expected, 1e-12 * MAX(1, fabs(expected)));
}

static void assert_null(Store *store, const char *expression, const char *values)
{
    g_autofree char *sql = g_strdup_printf("SELECT %s FROM (SELECT column1 AS x FROM (VALUES %s))",
                                           expression, values);
    g_autofree char *row = ask_rows(store, sql);

    g_assert_cmpstr(row, ==, "-");
}

static void test_functions(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_open(&f);
    assert_value(f.store, "median(x)", "(3),(1),(2)", 2);
    assert_value(f.store, "median(x)", "(4),(1),(3),(2)", 2.5);
    assert_value(f.store, "median(x)", "(7)", 7);
    assert_value(f.store, "median(x)", "(NULL),(5),(NULL),(6.5)", 5.75);
    assert_value(f.store, "median(x)", "('3'),('1'),(2)", 2);
    g_autofree char *infinite =
        ask_rows(f.store, "SELECT median(column1) FROM (VALUES (9e999), (9e999))");

    g_assert_cmpstr(infinite, ==, "Inf");
    assert_null(f.store, "median(x)", "(NULL)");
    /* Type 7 of 1, 2, 3, 4: h = 3 p. 0.25 gives 1.75, 0.9 gives 3.7. */
    assert_value(f.store, "percentile(x, 0)", "(4),(1),(3),(2)", 1);
    assert_value(f.store, "percentile(x, 25)", "(4),(1),(3),(2)", 1.75);
    assert_value(f.store, "percentile(x, 90)", "(4),(1),(3),(2)", 3.7);
    assert_value(f.store, "percentile(x, 100)", "(4),(1),(3),(2)", 4);
    assert_value(f.store, "stddev(x)", "(2),(4),(4),(4),(5),(5),(7),(9)", sqrt(32.0 / 7));
    assert_value(f.store, "stddev(x)", "(5),(5),(5)", 0);
    assert_null(f.store, "stddev(x)", "(5)");
    /* A large mean and a small spread: 1e9 + {4, 7, 13, 16} has variance 30. */
    assert_value(f.store, "stddev(x)", "(1000000004),(1000000007),(1000000013),(1000000016)",
                 sqrt(30));
    g_autofree char *groups =
        ask_rows(f.store, "SELECT column1 % 2, median(column1), percentile(column1, 50) FROM"
                          " (VALUES (1),(2),(3),(4),(5),(6)) GROUP BY 1");

    g_assert_cmpstr(groups, ==, "0|4.0|4.0\n1|3.0|3.0");
    fixture_finish(&f);
}

static void assert_fails(Store *store, const char *sql, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreQuery) query = store_query_new(store, sql, &error);
    StoreStep step;

    g_assert_no_error(error);
    g_assert_false(store_query_step(query, &step, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, text));
}

static void test_functions_refuse(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_open(&f);
    assert_fails(f.store, "SELECT median(column1) FROM (VALUES (1), ('abc'))", "numbers only");
    assert_fails(f.store, "SELECT stddev(x'00')", "numbers only");
    assert_fails(f.store, "SELECT percentile(1, 101)", "0..100");
    assert_fails(f.store, "SELECT percentile(1, -1)", "0..100");
    assert_fails(f.store, "SELECT percentile(1, NULL)", "0..100");
    assert_fails(f.store, "SELECT percentile(1, column1) FROM (VALUES (1), (2))", "the same");
    assert_fails(f.store, "SELECT raw_text('no zlib')", "raw_output");
    fixture_finish(&f);
}

/* Someone reads while a transaction is open: the state before it, without waiting. */
static void test_read_while_writing(void)
{
    const double value = 7;
    StoreInvocation invocation = {.ordinal = 1, .workload = "x", .state = "done"};
    Metric metric = {.workload = (char *)"x", .name = (char *)"m", .unit = (char *)"s"};
    Fixture f;
    gint64 id;
    g_autoptr(Store) reader = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    invocation.run = fixture_claim(&f);
    g_assert_true(store_invocation_begin(f.store, &invocation, &id, NULL));
    g_assert_true(store_samples_add(f.store, id, &metric, &value, 1, 0, NULL));
    reader = store_open(f.path, STORE_READ_ONLY, NULL);
    g_assert_nonnull(reader);
    g_assert_cmpint(ask_int(reader, "SELECT count(*) FROM result"), ==, 0);
    g_assert_true(store_invocation_commit(f.store, NULL));
    g_assert_cmpint(ask_int(reader, "SELECT count(*) FROM result"), ==, 1);
    g_assert_false(store_host_key_set(reader, "a", "b", NULL));
    fixture_finish(&f);
}

/* A query keeps its connection alive: freeing in the wrong order is no fault. */
static void test_query_outlives_store(void)
{
    Fixture f;
    g_autoptr(StoreQuery) query = NULL;
    StoreStep step = STORE_END;

    fixture_init(&f, "cell");
    fixture_open(&f);
    query = store_query_new(f.store, "SELECT 5", NULL);
    g_clear_pointer(&f.store, store_free);
    g_assert_true(store_query_step(query, &step, NULL));
    g_assert_cmpint(store_query_int(query, 0), ==, 5);
    fixture_finish(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/query/only-reads", test_only_reads);
    g_test_add_func("/query/reads", test_reads);
    g_test_add_func("/query/types-and-parameters", test_types_and_parameters);
    g_test_add_func("/query/read-while-writing", test_read_while_writing);
    g_test_add_func("/query/outlives-store", test_query_outlives_store);
    g_test_add_func("/functions/values", test_functions);
    g_test_add_func("/functions/refuse", test_functions_refuse);
    return g_test_run();
}
