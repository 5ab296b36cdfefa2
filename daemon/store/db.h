/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the store: the connection, its cached statements, transactions, and the one way in which
 * SQLite's failures become errors. */
#pragma once
#include <glib.h>
#include <sqlite3.h>

#include "store/store.h"

typedef struct SampleCursor SampleCursor; /* sample.h */

struct Store {
    char *path;
    StoreMode mode;
    sqlite3 *db;
    GHashTable *statements; /* SQL text, by address -> sqlite3_stmt* */
    guint depth;            /* open transactions, the outermost being a real one */
    guint busy_tries;       /* how often BEGIN is tried, each time for at most busy_ms */
    guint busy_ms;
    gint64 invocation; /* the open one, or 0 */
    gint64 claimed;    /* the run claimed last, and when: its duration is by the monotonic clock */
    gint64 claimed_mono_ns;
    gint64 data_version; /* when store_has_changed() was last asked */
    SampleCursor *samples;
};

typedef enum { DB_NULL, DB_INT, DB_REAL, DB_TEXT, DB_BLOB } DbKind;

/* One parameter. Pointers are borrowed until the statement was run. */
typedef struct {
    DbKind kind;
    gint64 integer;
    double real;
    const void *data;
    gsize length;
} DbValue;

static inline DbValue db_int(gint64 value)
{
    return (DbValue){.kind = DB_INT, .integer = value};
}

static inline DbValue db_real(double value)
{
    return (DbValue){.kind = DB_REAL, .real = value};
}

/* NULL is SQL's NULL. Bytes that are no UTF-8 are replaced: what guests say may be anything. */
static inline DbValue db_text(const char *value)
{
    return (DbValue){.kind = value != NULL ? DB_TEXT : DB_NULL, .data = value};
}

static inline DbValue db_blob(const void *data, gsize length)
{
    return (DbValue){.kind = DB_BLOB, .data = data, .length = length};
}

static inline DbValue db_null(void)
{
    return (DbValue){.kind = DB_NULL};
}

/* value, or NULL where present is FALSE. */
static inline DbValue db_int_if(gboolean present, gint64 value)
{
    return present ? db_int(value) : db_null();
}

static inline DbValue db_real_if(gboolean present, double value)
{
    return present ? db_real(value) : db_null();
}

/* The two arguments values and n of the functions below. */
#define DB_VALUES(...)                                                                             \
    (const DbValue[]){__VA_ARGS__}, sizeof((const DbValue[]){__VA_ARGS__}) / sizeof(DbValue)
#define DB_NO_VALUES NULL, 0

/* "PATH: cannot WHAT: SQLite's words", with the way out where it is known. Always FALSE. */
gboolean db_fail(Store *store, const char *what, GError **error);

/* Statements without parameters. */
gboolean db_exec(Store *store, const char *what, const char *sql, GError **error);

/* Whole-database transactions: BEGIN IMMEDIATE, tried a bounded number of times while another
 * process writes. Inside one, a further begin is a savepoint. */
gboolean db_begin(Store *store, GError **error);
/* COMMIT when ok, else ROLLBACK. TRUE only when ok and committed. */
gboolean db_end(Store *store, gboolean ok, GError **error);

/* The cached statement of a text that lives as long as the store (cached by its address). Owned by
 * the store. */
sqlite3_stmt *db_prepare(Store *store, const char *sql, GError **error);

void db_bind(sqlite3_stmt *statement, const DbValue *values, gsize n);

/* Run a statement that gives no rows. */
gboolean db_run(Store *store, const char *what, const char *sql, const DbValue *values, gsize n,
                GError **error);

/* The same as a transaction of its own. */
gboolean db_write(Store *store, const char *what, const char *sql, const DbValue *values, gsize n,
                  GError **error);

typedef enum { DB_ROW, DB_DONE, DB_FAILED } DbStep;

/* Run to the first row. *ret_statement is set unless it failed: read its columns, then db_next() or
 * db_reset(). */
DbStep db_first(Store *store, const char *what, const char *sql, const DbValue *values, gsize n,
                sqlite3_stmt **ret_statement, GError **error);
DbStep db_next(Store *store, const char *what, sqlite3_stmt *statement, GError **error);

/* autoreset sqlite3_stmt *s = NULL: reset at the end of the scope. */
#define autoreset __attribute__((cleanup(db_reset)))
void db_reset(sqlite3_stmt **statement);

/* One integer of the first row; missing when there is no row or it is NULL. */
gboolean db_get_int(Store *store, const char *what, const char *sql, const DbValue *values, gsize n,
                    gint64 missing, gint64 *ret_value, GError **error);

/* Transfer full; NULL for NULL. */
char *db_column_text(sqlite3_stmt *statement, int column);
