/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/db.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "util/error.h"

/* Between two tries of BEGIN, for the cases in which SQLite answers "busy" without waiting. */
#define BUSY_PAUSE_US 20000

static gboolean fail_busy(Store *store, const char *what, GError **error)
{
    if (sqlite3_extended_errcode(store->db) == SQLITE_BUSY_SNAPSHOT) {
        g_set_error(error, VM_ERROR, VM_ERROR_BUSY,
                    "%s: cannot %s: a query of this process still reads an older state, which "
                    "another process has changed: it must be freed first",
                    store->path, what);
        return FALSE;
    }
    g_set_error(error, VM_ERROR, VM_ERROR_HALT,
                "%s: cannot %s: another process has held the database's write lock for more than "
                "%.1f s; 'fuser %s' shows which",
                store->path, what, store->busy_tries * store->busy_ms / 1000.0, store->path);
    return FALSE;
}

static gboolean fail_as(Store *store, VmErrorCode code, const char *what, const char *way_out,
                        GError **error)
{
    g_set_error(error, VM_ERROR, code, "%s: cannot %s: %s; %s", store->path, what,
                sqlite3_errmsg(store->db), way_out);
    return FALSE;
}

gboolean db_fail(Store *store, const char *what, GError **error)
{
    switch (sqlite3_errcode(store->db) & 0xff) {
    case SQLITE_BUSY:
        return fail_busy(store, what, error);
    case SQLITE_FULL:
        return fail_as(store, VM_ERROR_HALT, what,
                       "free space on its disk: what was stored before is whole", error);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return fail_as(store, VM_ERROR_ENVIRONMENT, what,
                       "the file and its folder must be writable for this user", error);
    case SQLITE_IOERR:
        return fail_as(store, VM_ERROR_HALT, what,
                       "free space on its disk, or look at it ('dmesg')", error);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return fail_as(store, VM_ERROR_HALT, what,
                       "the file is damaged: keep a copy, then try 'sqlite3 FILE .recover'", error);
    default:
        g_set_error(error, VM_ERROR, VM_ERROR_FAILED, "%s: cannot %s: %s", store->path, what,
                    sqlite3_errmsg(store->db));
        return FALSE;
    }
}

gboolean db_exec(Store *store, const char *what, const char *sql, GError **error)
{
    if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return db_fail(store, what, error);
    return TRUE;
}

static gboolean begin_immediate(Store *store, GError **error)
{
    for (guint i = 0; i < store->busy_tries; i++) {
        int rc = sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

        if (rc == SQLITE_OK)
            return TRUE;
        /* An own query's old snapshot does not go away by waiting. */
        if ((rc & 0xff) != SQLITE_BUSY || rc == SQLITE_BUSY_SNAPSHOT)
            break;
        g_usleep(BUSY_PAUSE_US);
    }
    return db_fail(store, "begin to write", error);
}

gboolean db_begin(Store *store, GError **error)
{
    gboolean ok;

    if (store->mode == STORE_READ_ONLY) {
        g_set_error(error, VM_ERROR, VM_ERROR_FAILED, "%s: cannot write: it is open for reading",
                    store->path);
        return FALSE;
    }
    if (store->depth == 0)
        ok = begin_immediate(store, error);
    else
        ok = db_exec(store, "begin a savepoint", "SAVEPOINT nested", error);
    if (ok)
        store->depth++;
    return ok;
}

static void roll_back(Store *store)
{
    /* SQLite itself has rolled back after some errors (disk full): then there is nothing left. */
    if (sqlite3_get_autocommit(store->db))
        return;
    if (store->depth == 0)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    else
        sqlite3_exec(store->db, "ROLLBACK TO nested; RELEASE nested", NULL, NULL, NULL);
}

/* For those who watch the file (watch.h): the log's writes are seen before what they say can be
 * read, this only after. */
static void announce(const Store *store)
{
    g_autofree char *log = g_strconcat(store->path, "-wal", NULL);

    utimensat(AT_FDCWD, log, NULL, 0);
}

gboolean db_end(Store *store, gboolean ok, GError **error)
{
    g_return_val_if_fail(store->depth > 0, FALSE);
    store->depth--;
    if (ok && sqlite3_get_autocommit(store->db)) {
        g_set_error(error, VM_ERROR, VM_ERROR_FAILED,
                    "%s: cannot commit: an earlier error has rolled the transaction back",
                    store->path);
        return FALSE;
    }
    if (ok)
        ok = db_exec(store, "commit", store->depth == 0 ? "COMMIT" : "RELEASE nested", error);
    if (!ok)
        roll_back(store);
    else if (store->depth == 0)
        announce(store);
    return ok;
}

sqlite3_stmt *db_prepare(Store *store, const char *sql, GError **error)
{
    sqlite3_stmt *statement = g_hash_table_lookup(store->statements, sql);

    if (statement != NULL)
        return statement;
    if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) !=
        SQLITE_OK) {
        db_fail(store, "prepare a statement", error);
        return NULL;
    }
    g_hash_table_insert(store->statements, (void *)sql, statement);
    return statement;
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    if (g_utf8_validate(text, -1, NULL))
        sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_text(statement, at, g_utf8_make_valid(text, -1), -1, g_free);
}

void db_bind(sqlite3_stmt *statement, const DbValue *values, gsize n)
{
    for (int i = 0; i < (int)n; i++) {
        const DbValue *value = &values[i];

        switch (value->kind) {
        case DB_NULL:
            sqlite3_bind_null(statement, i + 1);
            break;
        case DB_INT:
            sqlite3_bind_int64(statement, i + 1, value->integer);
            break;
        case DB_REAL:
            sqlite3_bind_double(statement, i + 1, value->real);
            break;
        case DB_TEXT:
            bind_text(statement, i + 1, value->data);
            break;
        case DB_BLOB:
            /* A NULL pointer would be SQL's NULL; an empty blob is not. */
            sqlite3_bind_blob64(statement, i + 1, value->length > 0 ? value->data : "",
                                value->length, SQLITE_STATIC);
            break;
        }
    }
}

DbStep db_next(Store *store, const char *what, sqlite3_stmt *statement, GError **error)
{
    int rc = sqlite3_step(statement);

    if (rc == SQLITE_ROW)
        return DB_ROW;
    if (rc == SQLITE_DONE)
        return DB_DONE;
    db_fail(store, what, error);
    sqlite3_reset(statement);
    return DB_FAILED;
}

DbStep db_first(Store *store, const char *what, const char *sql, const DbValue *values, gsize n,
                sqlite3_stmt **ret_statement, GError **error)
{
    sqlite3_stmt *statement = db_prepare(store, sql, error);
    DbStep step;

    if (statement == NULL)
        return DB_FAILED;
    db_bind(statement, values, n);
    step = db_next(store, what, statement, error);
    if (step != DB_FAILED)
        *ret_statement = statement;
    return step;
}

void db_reset(sqlite3_stmt **statement)
{
    if (*statement != NULL)
        sqlite3_reset(*statement);
    *statement = NULL;
}

gboolean db_run(Store *store, const char *what, const char *sql, const DbValue *values, gsize n,
                GError **error)
{
    autoreset sqlite3_stmt *statement = NULL;

    return db_first(store, what, sql, values, n, &statement, error) != DB_FAILED;
}

gboolean db_write(Store *store, const char *what, const char *sql, const DbValue *values, gsize n,
                  GError **error)
{
    return db_begin(store, error) &&
           db_end(store, db_run(store, what, sql, values, n, error), error);
}

gboolean db_get_int(Store *store, const char *what, const char *sql, const DbValue *values, gsize n,
                    gint64 missing, gint64 *ret_value, GError **error)
{
    autoreset sqlite3_stmt *statement = NULL;
    DbStep step = db_first(store, what, sql, values, n, &statement, error);

    if (step == DB_FAILED)
        return FALSE;
    if (step == DB_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        *ret_value = sqlite3_column_int64(statement, 0);
    else
        *ret_value = missing;
    return TRUE;
}

char *db_column_text(sqlite3_stmt *statement, int column)
{
    return g_strdup((const char *)sqlite3_column_text(statement, column));
}
