/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/migrate.h"

#include <errno.h>
#include <gio/gio.h>
#include <string.h>
#include <sys/stat.h>

#include "schema-resources.h"
#include "util/error.h"

/* Offsets in the header of a SQLite file (https://sqlite.org/fileformat.html, 1.3). */
#define HEADER_SIZE 100
#define HEADER_MAGIC "SQLite format 3" /* with its NUL: 16 bytes */
#define HEADER_USER_VERSION 60
#define HEADER_APPLICATION_ID 68

#define FOLDER "/db"

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

GPtrArray *migrate_texts(void)
{
    GResource *resource = schema_get_resource();
    g_auto(GStrv) names =
        g_resource_enumerate_children(resource, FOLDER, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);

    qsort(names, g_strv_length(names), sizeof *names, by_name);
    for (char **name = names; *name != NULL; name++) {
        g_autofree char *path = g_strdup_printf(FOLDER "/%s", *name);
        g_autoptr(GBytes) bytes =
            g_resource_lookup_data(resource, path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

        g_ptr_array_add(texts, g_strndup(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes)));
    }
    return texts;
}

static gboolean refuse_newer(const char *path, gint64 version, gint64 known, GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                "%s: made by a newer vmatrix (database version %" G_GINT64_FORMAT
                ", this program knows up to %" G_GINT64_FORMAT
                "); nothing was touched: use that newer vmatrix, or name another file with --db",
                path, version, known);
    return FALSE;
}

static gboolean refuse_foreign(const char *path, const char *what, GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                "%s: is %s, not a vmatrix database; nothing was touched: name another file "
                "with --db",
                path, what);
    return FALSE;
}

static guint32 header_number(const guint8 *header, gsize at)
{
    guint32 big_endian;

    memcpy(&big_endian, header + at, sizeof big_endian);
    return GUINT32_FROM_BE(big_endian);
}

/* Through SQLite's own file object, never by open(2): closing a second descriptor would drop the
 * locks that another connection of this process holds on the file. Opening reads nothing yet. */
static gboolean read_header(const char *path, guint8 *ret_header, GError **error)
{
    sqlite3 *db = NULL;
    sqlite3_file *file = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (rc == SQLITE_OK)
        rc = file->pMethods->xRead(file, ret_header, HEADER_SIZE, 0);
    sqlite3_close(db);
    /* A file shorter than the header is filled up with zeros: no header of ours. */
    if (rc == SQLITE_OK || rc == SQLITE_IOERR_SHORT_READ)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                "%s: cannot read: %s; the file must be readable for this user", path,
                sqlite3_errstr(rc));
    return FALSE;
}

static gboolean check_header(const char *path, const guint8 *header, GError **error)
{
    g_autoptr(GPtrArray) texts = migrate_texts();
    guint32 version = header_number(header, HEADER_USER_VERSION);

    if (memcmp(header, HEADER_MAGIC, sizeof HEADER_MAGIC) != 0)
        return refuse_foreign(path, "no SQLite file", error);
    if (header_number(header, HEADER_APPLICATION_ID) != STORE_APPLICATION_ID)
        return refuse_foreign(path, "the SQLite database of another program", error);
    if (version > texts->len)
        return refuse_newer(path, version, texts->len, error);
    return TRUE;
}

gboolean migrate_inspect(const char *path, MigrateFile *ret_file, GError **error)
{
    guint8 header[HEADER_SIZE] = {0};
    struct stat st;

    if (stat(path, &st) != 0 && errno == ENOENT) {
        *ret_file = MIGRATE_MISSING;
        return TRUE;
    }
    if (stat(path, &st) != 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: cannot examine: %s", path,
                    g_strerror(errno));
        return FALSE;
    }
    if (!S_ISREG(st.st_mode))
        return refuse_foreign(path, S_ISDIR(st.st_mode) ? "a folder" : "no regular file", error);
    if (st.st_size == 0) {
        *ret_file = MIGRATE_EMPTY;
        return TRUE;
    }
    if (!read_header(path, header, error) || !check_header(path, header, error))
        return FALSE;
    *ret_file = MIGRATE_OURS;
    return TRUE;
}

static gboolean get_version(Store *store, gint64 *ret_version, GError **error)
{
    return db_get_int(store, "read its version", "PRAGMA user_version", DB_NO_VALUES, 0,
                      ret_version, error);
}

gboolean migrate_check(Store *store, guint version, GError **error)
{
    gint64 found;

    if (!get_version(store, &found, error))
        return FALSE;
    /* The header may be older than the log beside it (after a crash): so once more. */
    if (found > version)
        return refuse_newer(store->path, found, version, error);
    if (found == version)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                "%s: is of an older version (%" G_GINT64_FORMAT
                ", this program reads %u): a command that writes, like 'vmatrix run', brings it "
                "up to date",
                store->path, found, version);
    return FALSE;
}

static gboolean check_foreign_keys(Store *store, GError **error)
{
    autoreset sqlite3_stmt *statement = NULL;
    DbStep step = db_first(store, "check foreign keys", "PRAGMA foreign_key_check", DB_NO_VALUES,
                           &statement, error);

    if (step == DB_ROW)
        g_set_error(error, VM_ERROR, VM_ERROR_FAILED,
                    "%s: the migration was undone: it would leave a row of '%s' without its '%s'",
                    store->path, (const char *)sqlite3_column_text(statement, 0),
                    (const char *)sqlite3_column_text(statement, 2));
    return step == DB_DONE;
}

static gboolean apply(Store *store, const GPtrArray *texts, guint from, GError **error)
{
    for (guint i = from; i < texts->len; i++) {
        g_autofree char *what = g_strdup_printf("migrate to version %u", i + 1);
        g_autofree char *stamp = g_strdup_printf(
            "PRAGMA application_id = %d; PRAGMA user_version = %u", STORE_APPLICATION_ID, i + 1);

        if (!db_exec(store, what, g_ptr_array_index(texts, i), error) ||
            !db_exec(store, what, stamp, error))
            return FALSE;
    }
    return check_foreign_keys(store, error);
}

/* Inside the transaction: another process may have migrated since the version was looked at. */
static gboolean migrate_locked(Store *store, const GPtrArray *texts, GError **error)
{
    gint64 version;

    if (!get_version(store, &version, error))
        return FALSE;
    if (version > texts->len)
        return refuse_newer(store->path, version, texts->len, error);
    return apply(store, texts, (guint)version, error);
}

gboolean migrate_run(Store *store, const GPtrArray *texts, gboolean *ret_changed, GError **error)
{
    gint64 version;
    gboolean ok;

    if (!get_version(store, &version, error))
        return FALSE;
    if (version > texts->len)
        return refuse_newer(store->path, version, texts->len, error);
    *ret_changed = version < texts->len;
    if (!*ret_changed)
        return TRUE;
    /* Rebuilding a table drops it first: its references hold again only at the end. The pragma has
     * no effect inside a transaction. */
    if (!db_exec(store, "prepare a migration", "PRAGMA foreign_keys = OFF", error))
        return FALSE;
    ok = db_begin(store, error) && db_end(store, migrate_locked(store, texts, error), error);
    return db_exec(store, "end a migration", "PRAGMA foreign_keys = ON", ok ? error : NULL) && ok;
}
