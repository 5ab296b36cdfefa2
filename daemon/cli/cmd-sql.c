/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix sql: one read-only question to the database. */
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "util/error.h"
#include "util/io.h"

enum { QUERY_MAX = 1 << 20, SHOWN_MAX = 32 };

static char *hex_of(GBytes *blob)
{
    gsize size;
    const guint8 *data = g_bytes_get_data(blob, &size);
    GString *text = g_string_sized_new(2 * size + 1);

    for (gsize i = 0; i < size; i++)
        g_string_append_printf(text, "%02x", data[i]);
    return g_string_free(text, FALSE);
}

static void add_blob(Table *table, const StoreQuery *query, guint column)
{
    g_autoptr(GBytes) blob = store_query_blob(query, column);
    g_autofree char *hex = hex_of(blob);

    table_text(table, hex);
}

static void add_value(Table *table, const StoreQuery *query, guint column)
{
    char shown[SHOWN_MAX];

    switch (store_query_type(query, column)) {
    case STORE_NULL:
        table_text(table, NULL);
        return;
    case STORE_INTEGER:
        table_int(table, store_query_int(query, column));
        return;
    case STORE_REAL:
        g_ascii_formatd(shown, sizeof shown, "%.10g", store_query_real(query, column));
        table_real(table, store_query_real(query, column), shown);
        return;
    case STORE_TEXT:
        table_text(table, store_query_text(query, column));
        return;
    case STORE_BLOB:
        add_blob(table, query, column);
        return;
    }
}

/* SQLite's columns have no type of their own: the first row says how they are aligned. */
static void add_columns(Table *table, const StoreQuery *query, StoreStep step)
{
    for (guint i = 0; i < store_query_columns(query); i++) {
        StoreType type = step == STORE_ROW ? store_query_type(query, i) : STORE_TEXT;
        gboolean number = type == STORE_INTEGER || type == STORE_REAL;

        table_column(table, store_query_name(query, i), store_query_name(query, i),
                     number ? COLUMN_NUMBER : COLUMN_TEXT);
    }
}

static Table *read_all(StoreQuery *query, GError **error)
{
    g_autoptr(Table) table = table_new();
    StoreStep step;

    if (!store_query_step(query, &step, error))
        return NULL;
    add_columns(table, query, step);
    while (step == STORE_ROW) {
        table_row(table);
        for (guint i = 0; i < store_query_columns(query); i++)
            add_value(table, query, i);
        if (!store_query_step(query, &step, error))
            return NULL;
    }
    return g_steal_pointer(&table);
}

static int run_sql(const Settings *settings, char **words, GError **error)
{
    g_autofree char *sql = g_str_equal(words[0], "-")
                               ? io_read_file("/dev/stdin", QUERY_MAX, NULL, error)
                               : g_strdup(words[0]);
    g_autoptr(Store) store = NULL;
    g_autoptr(StoreQuery) query = NULL;
    g_autoptr(Table) table = NULL;

    if (sql == NULL)
        return VM_EXIT_INVALID;
    store = settings_open_store(settings, STORE_READ_ONLY, error);
    if (store == NULL)
        return VM_EXIT_ENVIRONMENT;
    query = store_query_new(store, sql, error);
    if (query == NULL)
        return VM_EXIT_INVALID;
    table = read_all(query, error);
    if (table == NULL)
        return VM_EXIT_INVALID;
    return output_table(settings, table, error) ? VM_EXIT_DONE : VM_EXIT_ENVIRONMENT;
}

const Command command_sql = {
    .name = "sql",
    .arguments = "QUERY",
    .group = "Results",
    .summary = "ask the database; it is never changed",
    .about = "Runs one SELECT on the database, opened read-only. QUERY \"-\" is read from\n"
             "standard input. median(x), percentile(x, p) and stddev(x) are there. The views\n"
             "result, cell_summary, run_summary, contamination and phase_time are a good\n"
             "beginning.\n",
    .example = "vmatrix sql \"SELECT hypervisor, median(value) FROM result GROUP BY 1\"",
    .min_words = 1,
    .max_words = 1,
    .run = run_sql,
};
