/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading by SQL that people wrote: SQLite itself proves that it only reads. */
#include "store/store.h"

#include <string.h>

#include "store/db.h"
#include "util/error.h"

struct StoreQuery {
    sqlite3_stmt *statement;
    char *path;
};

/* What the authorizer refused, for the message. */
typedef struct {
    char *what;
} Refusal;

/* Pragmas that only tell something when they have no argument. */
static const char *const pragmas[] = {"application_id", "collation_list", "compile_options",
                                      "database_list",  "encoding",       "foreign_keys",
                                      "freelist_count", "function_list",  "module_list",
                                      "page_count",     "page_size",      "pragma_list",
                                      "query_only",     "schema_version", "synchronous",
                                      "table_list",     "user_version",   NULL};

/* Pragmas that only tell something, with an argument or without. */
static const char *const pragmas_of[] = {
    "foreign_key_check", "foreign_key_list", "index_info",  "index_list",
    "index_xinfo",       "integrity_check",  "quick_check", "table_info",
    "table_list",        "table_xinfo",      NULL};

/* Names of what SQLite asks leave for (sqlite3_set_authorizer), as people know them. */
static const struct {
    int code;
    const char *verb;
} verbs[] = {
    {SQLITE_INSERT, "INSERT INTO"},
    {SQLITE_UPDATE, "UPDATE"},
    {SQLITE_DELETE, "DELETE FROM"},
    {SQLITE_ATTACH, "ATTACH"},
    {SQLITE_DETACH, "DETACH"},
    {SQLITE_TRANSACTION, "a transaction:"},
    {SQLITE_SAVEPOINT, "a savepoint:"},
    {SQLITE_PRAGMA, "PRAGMA"},
    {SQLITE_FUNCTION, "the function"},
    {SQLITE_ALTER_TABLE, "ALTER TABLE"},
    {SQLITE_CREATE_TABLE, "CREATE TABLE"},
    {SQLITE_CREATE_TEMP_TABLE, "CREATE TEMP TABLE"},
    {SQLITE_CREATE_VIEW, "CREATE VIEW"},
    {SQLITE_CREATE_TEMP_VIEW, "CREATE TEMP VIEW"},
    {SQLITE_CREATE_INDEX, "CREATE INDEX"},
    {SQLITE_CREATE_TRIGGER, "CREATE TRIGGER"},
    {SQLITE_CREATE_VTABLE, "CREATE VIRTUAL TABLE"},
    {SQLITE_DROP_TABLE, "DROP TABLE"},
    {SQLITE_DROP_VIEW, "DROP VIEW"},
    {SQLITE_DROP_INDEX, "DROP INDEX"},
    {SQLITE_REINDEX, "REINDEX"},
    {SQLITE_ANALYZE, "ANALYZE"},
};

static const char *verb_of(int code)
{
    for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++)
        if (verbs[i].code == code)
            return verbs[i].verb;
    return "a change of";
}

static gboolean pragma_reads(const char *name, const char *argument)
{
    g_autofree char *lower = g_ascii_strdown(name, -1);

    return g_strv_contains(pragmas_of, lower) ||
           (argument == NULL && g_strv_contains(pragmas, lower));
}

static gboolean only_reads(int code, const char *first, const char *second)
{
    switch (code) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return TRUE;
    case SQLITE_FUNCTION:
        return g_ascii_strcasecmp(second, "load_extension") != 0;
    case SQLITE_PRAGMA:
        return pragma_reads(first, second);
    case SQLITE_UPDATE:
        /* Asked when a table-valued function (json_each, pragma_table_info) is used for the first
         * time. An UPDATE of the schema itself is not let through: SQLite refuses it without
         * PRAGMA writable_schema, and so does sqlite3_stmt_readonly() below. */
        return strcmp(first, "sqlite_master") == 0;
    default:
        return FALSE;
    }
}

/* Called by SQLite while it compiles, for everything that the statement would do. */
static int authorize(void *data, int code, const char *first, const char *second,
                     const char *database, const char *trigger)
{
    Refusal *refusal = data;
    const char *named = code == SQLITE_FUNCTION ? second : first;

    if (only_reads(code, first, second))
        return SQLITE_OK;
    if (refusal->what == NULL)
        refusal->what = g_strdup_printf("%s %s", verb_of(code), named != NULL ? named : "");
    return SQLITE_DENY;
}

static gboolean refuse(const char *what, GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                "the query was refused: only one statement that reads is allowed here, and this "
                "has %s",
                what);
    return FALSE;
}

/* Nothing but blanks, comments and semicolons may follow: SQLite compiles them to no statement. */
static gboolean check_tail(Store *store, const char *tail, GError **error)
{
    while (*tail != '\0') {
        sqlite3_stmt *next = NULL;
        int rc = sqlite3_prepare_v2(store->db, tail, -1, &next, &tail);
        gboolean more = rc != SQLITE_OK || next != NULL;

        sqlite3_finalize(next);
        if (more)
            return refuse("a second one", error);
    }
    return TRUE;
}

static gboolean compile(Store *store, const char *sql, sqlite3_stmt **ret_statement,
                        const char **ret_tail, const Refusal *refusal, GError **error)
{
    int rc = sqlite3_prepare_v2(store->db, sql, -1, ret_statement, ret_tail);

    if (refusal->what != NULL)
        return refuse(refusal->what, error);
    if (rc != SQLITE_OK) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "the query is wrong: %s",
                    sqlite3_errmsg(store->db));
        return FALSE;
    }
    if (*ret_statement == NULL) {
        g_set_error_literal(error, VM_ERROR, VM_ERROR_INVALID, "the query is empty");
        return FALSE;
    }
    if (!sqlite3_stmt_readonly(*ret_statement))
        return refuse("one that writes", error);
    return check_tail(store, *ret_tail, error);
}

StoreQuery *store_query_new(Store *store, const char *sql, GError **error)
{
    Refusal refusal = {0};
    sqlite3_stmt *statement = NULL;
    const char *tail = sql;
    StoreQuery *query;
    gboolean ok;

    sqlite3_set_authorizer(store->db, authorize, &refusal);
    ok = compile(store, sql, &statement, &tail, &refusal, error);
    sqlite3_set_authorizer(store->db, NULL, NULL);
    g_free(refusal.what);
    if (!ok) {
        sqlite3_finalize(statement);
        return NULL;
    }
    query = g_new0(StoreQuery, 1);
    query->statement = statement;
    query->path = g_strdup(store->path);
    return query;
}

void store_query_free(StoreQuery *query)
{
    if (query == NULL)
        return;
    sqlite3_finalize(query->statement);
    g_free(query->path);
    g_free(query);
}

/* Index of a parameter by its name, with or without its ':'; 0 when there is none. */
static int parameter(const StoreQuery *query, const char *name)
{
    g_autofree char *full = g_strconcat(":", name, NULL);
    int at = sqlite3_bind_parameter_index(query->statement, name);

    return at != 0 ? at : sqlite3_bind_parameter_index(query->statement, full);
}

gboolean store_query_bind_int(StoreQuery *query, const char *name, gint64 value)
{
    return sqlite3_bind_int64(query->statement, parameter(query, name), value) == SQLITE_OK;
}

gboolean store_query_bind_text(StoreQuery *query, const char *name, const char *value)
{
    return sqlite3_bind_text(query->statement, parameter(query, name), value, -1,
                             SQLITE_TRANSIENT) == SQLITE_OK;
}

gboolean store_query_step(StoreQuery *query, StoreStep *ret_step, GError **error)
{
    int rc = sqlite3_step(query->statement);

    if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
        *ret_step = rc == SQLITE_ROW ? STORE_ROW : STORE_END;
        return TRUE;
    }
    g_set_error(error, VM_ERROR,
                (rc & 0xff) == SQLITE_ERROR ? VM_ERROR_INVALID : VM_ERROR_ENVIRONMENT,
                "%s: the query failed: %s", query->path,
                sqlite3_errmsg(sqlite3_db_handle(query->statement)));
    return FALSE;
}

guint store_query_columns(const StoreQuery *query)
{
    return (guint)sqlite3_column_count(query->statement);
}

const char *store_query_name(const StoreQuery *query, guint column)
{
    return sqlite3_column_name(query->statement, (int)column);
}

StoreType store_query_type(const StoreQuery *query, guint column)
{
    switch (sqlite3_column_type(query->statement, (int)column)) {
    case SQLITE_INTEGER:
        return STORE_INTEGER;
    case SQLITE_FLOAT:
        return STORE_REAL;
    case SQLITE_TEXT:
        return STORE_TEXT;
    case SQLITE_BLOB:
        return STORE_BLOB;
    default:
        return STORE_NULL;
    }
}

gint64 store_query_int(const StoreQuery *query, guint column)
{
    return sqlite3_column_int64(query->statement, (int)column);
}

double store_query_real(const StoreQuery *query, guint column)
{
    return sqlite3_column_double(query->statement, (int)column);
}

const char *store_query_text(const StoreQuery *query, guint column)
{
    return (const char *)sqlite3_column_text(query->statement, (int)column);
}

GBytes *store_query_blob(const StoreQuery *query, guint column)
{
    const void *data = sqlite3_column_blob(query->statement, (int)column);

    return g_bytes_new(data, (gsize)sqlite3_column_bytes(query->statement, (int)column));
}
