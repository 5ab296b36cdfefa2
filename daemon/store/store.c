/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/db.h"
#include "store/filesystem.h"
#include "store/functions.h"
#include "store/migrate.h"
#include "store/sample.h"
#include "store/views.h"
#include "util/error.h"
#include "util/io.h"

/* A writer waits at most this long for another one: 30 tries of 1 s. */
#define BUSY_TRIES 30
#define BUSY_MS 1000

/* Page cache of a writer: a campaign of a million runs is inserted without spilling. */
#define SETUP_WRITER                                                                               \
    "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536"
#define SETUP_READER "PRAGMA query_only = ON"

/* SQLite takes "file:…" for a URI and ":memory:" for no file at all; an absolute path is a path.
 * Not canonicalised: ".." after a link must stay what the system takes it for. */
static char *absolute_path(const char *path)
{
    g_autofree char *folder = g_get_current_dir();

    return g_path_is_absolute(path) ? g_strdup(path) : g_build_filename(folder, path, NULL);
}

static void finalize(gpointer statement)
{
    sqlite3_finalize(statement);
}

static Store *store_new(const char *path, StoreMode mode)
{
    Store *store = g_new0(Store, 1);

    store->path = absolute_path(path);
    store->mode = mode;
    store->statements = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, finalize);
    store->busy_tries = BUSY_TRIES;
    store->busy_ms = BUSY_MS;
    store->samples = sample_cursor_new();
    return store;
}

void store_free(Store *store)
{
    if (store == NULL)
        return;
    if (store->depth > 0)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    g_hash_table_unref(store->statements);
    sample_cursor_free(store->samples);
    /* v2: a query that outlives its store keeps the connection until it is freed too. */
    sqlite3_close_v2(store->db);
    g_free(store->path);
    g_free(store);
}

const char *store_path(const Store *store)
{
    return store->path;
}

char *store_default_path(void)
{
    const char *named = g_getenv("VMATRIX_DB");

    if (named != NULL && *named != '\0')
        return g_strdup(named);
    if (geteuid() == 0)
        return g_strdup("/var/lib/vmatrix/vmatrix.db");
    return g_build_filename(g_get_user_state_dir(), "vmatrix", "vmatrix.db", NULL);
}

/* Closing the last connection would fold the log into the file and remove it: not before the file
 * is known to be ours, and of a version we know. */
static void set_checkpoint_on_close(Store *store, gboolean on)
{
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1, (int *)NULL);
}

static gboolean connect_file(Store *store, const char *file, int flags, const char *setup,
                             GError **error)
{
    if (sqlite3_open_v2(file, &store->db, flags, NULL) != SQLITE_OK) {
        db_fail(store, "open", error);
        return FALSE;
    }
    set_checkpoint_on_close(store, FALSE);
    sqlite3_extended_result_codes(store->db, 1);
    sqlite3_busy_timeout(store->db, (int)store->busy_ms);
    if (functions_register(store->db) != SQLITE_OK)
        return db_fail(store, "register functions", error);
    return db_exec(store, "set up", setup, error);
}

/* The log can be switched on only while nobody else writes. */
static gboolean switch_to_wal(Store *store, GError **error)
{
    for (guint i = 0; i < store->busy_tries; i++) {
        int rc = sqlite3_exec(store->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);

        if ((rc & 0xff) != SQLITE_BUSY)
            break;
        g_usleep(20000);
    }
    autoreset sqlite3_stmt *statement = NULL;

    if (db_first(store, "read the journal mode", "PRAGMA journal_mode", DB_NO_VALUES, &statement,
                 error) != DB_ROW)
        return FALSE;
    if (strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                "%s: its file system cannot hold a write-ahead log: put the database on a local "
                "disk and name it with --db",
                store->path);
    return FALSE;
}

/* The version stands in the file itself before the log exists, and goes there after each migration:
 * so that the header alone tells what the file is. */
static gboolean bring_up(Store *store, GError **error)
{
    g_autoptr(GPtrArray) texts = migrate_texts();
    gboolean changed;

    if (!migrate_run(store, texts, &changed, error))
        return FALSE;
    set_checkpoint_on_close(store, TRUE);
    if (!switch_to_wal(store, error) || !views_refresh(store, error))
        return FALSE;
    return !changed || db_exec(store, "fold its log in", "PRAGMA wal_checkpoint(TRUNCATE)", error);
}

static gboolean open_writer(Store *store, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(store->path);

    return io_make_folder(folder, error) &&
           connect_file(store, store->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                        SETUP_WRITER, error) &&
           bring_up(store, error);
}

/* Whether the log beside the database is missing or empty: then the file alone is the whole. */
static gboolean log_is_empty(const Store *store)
{
    g_autofree char *log = g_strconcat(store->path, "-wal", NULL);
    struct stat st;

    return stat(log, &st) != 0 || st.st_size == 0;
}

/* In a folder where no -shm file can be made, SQLite reads a database with a log only when told
 * that nobody changes it; that is true enough while there is no log: a writer would have one. */
static gboolean open_immutable(Store *store, GError **error)
{
    g_autofree char *escaped = g_uri_escape_string(store->path, "/", FALSE);
    g_autofree char *uri = g_strdup_printf("file:%s?immutable=1", escaped);

    sqlite3_close_v2(store->db);
    store->db = NULL;
    return connect_file(store, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, SETUP_READER, error);
}

static gboolean explain_unreadable(Store *store, GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                "%s: cannot read: its log (%s-wal) is in use and this user may not write to the "
                "folder, which SQLite needs for that: run as the database's owner, or copy the "
                "database with its -wal file to a folder of your own",
                store->path, store->path);
    return FALSE;
}

static gboolean open_reader(Store *store, GError **error)
{
    g_autoptr(GPtrArray) texts = migrate_texts();
    int rc;

    if (!connect_file(store, store->path, SQLITE_OPEN_READONLY, SETUP_READER, error))
        return FALSE;
    rc = sqlite3_exec(store->db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL) & 0xff;
    if (rc == SQLITE_CANTOPEN || rc == SQLITE_READONLY) {
        if (!log_is_empty(store))
            return explain_unreadable(store, error);
        if (!open_immutable(store, error))
            return FALSE;
    }
    if (!migrate_check(store, texts->len, error))
        return FALSE;
    set_checkpoint_on_close(store, TRUE);
    return TRUE;
}

static gboolean check_readable(const char *path, MigrateFile file, GError **error)
{
    if (file == MIGRATE_OURS)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                "%s: %s: 'vmatrix run PLAN' makes one, --db names another", path,
                file == MIGRATE_MISSING ? "there is no database yet" : "the database is empty");
    return FALSE;
}

/* The database may be reached by a link: its log lies beside the file itself. */
static void resolve_path(Store *store)
{
    char *real = realpath(store->path, NULL);

    if (real == NULL)
        return;
    g_free(store->path);
    store->path = g_strdup(real);
    free(real);
}

Store *store_open(const char *path, StoreMode mode, GError **error)
{
    g_autoptr(Store) store = store_new(path, mode);
    MigrateFile file;

    if (!filesystem_check(store->path, error) || !migrate_inspect(store->path, &file, error))
        return NULL;
    if (mode == STORE_READ_ONLY && !check_readable(store->path, file, error))
        return NULL;
    if (!(mode == STORE_READ_ONLY ? open_reader : open_writer)(store, error))
        return NULL;
    resolve_path(store);
    return g_steal_pointer(&store);
}

gboolean store_begin(Store *store, GError **error)
{
    return db_begin(store, error);
}

gboolean store_end(Store *store, gboolean ok, GError **error)
{
    return db_end(store, ok, error);
}
