/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is remembered from campaign to campaign: guests' host keys, digests of base images. */
#include "store/store.h"

#include "store/db.h"
#include "util/clock.h"

/* One text of the first row, or NULL when there is none. Transfer full. */
static gboolean get_text(Store *store, const char *what, const char *sql, const DbValue *values,
                         gsize n, char **ret_text, GError **error)
{
    autoreset sqlite3_stmt *statement = NULL;
    DbStep step = db_first(store, what, sql, values, n, &statement, error);

    if (step == DB_FAILED)
        return FALSE;
    *ret_text = step == DB_ROW ? db_column_text(statement, 0) : NULL;
    return TRUE;
}

gboolean store_host_key_get(Store *store, const char *guest, char **ret_key, GError **error)
{
    return get_text(store, "find a host key", "SELECT key FROM host_key WHERE guest = ?1",
                    DB_VALUES(db_text(guest)), ret_key, error);
}

gboolean store_host_key_set(Store *store, const char *guest, const char *key, GError **error)
{
    static const char sql[] = "INSERT INTO host_key (guest, key, enrolled_ns) VALUES (?1, ?2, ?3)"
                              " ON CONFLICT (guest) DO UPDATE"
                              " SET key = excluded.key, enrolled_ns = excluded.enrolled_ns";

    return db_write(store, "record a host key", sql,
                    DB_VALUES(db_text(guest), db_text(key), db_int(clock_wall_ns())), error);
}

/* What was found out of a file, as long as it is the same one. */
static gboolean get_of_file(Store *store, const char *step, const char *sql, const char *path,
                            guint64 size, gint64 mtime_ns, guint64 inode, char **ret_text,
                            GError **error)
{
    return get_text(
        store, step, sql,
        DB_VALUES(db_text(path), db_int((gint64)size), db_int(mtime_ns), db_int((gint64)inode)),
        ret_text, error);
}

static gboolean set_of_file(Store *store, const char *step, const char *sql, const char *path,
                            guint64 size, gint64 mtime_ns, guint64 inode, const char *text,
                            GError **error)
{
    return db_write(store, step, sql,
                    DB_VALUES(db_text(path), db_int((gint64)size), db_int(mtime_ns),
                              db_int((gint64)inode), db_text(text), db_int(clock_wall_ns())),
                    error);
}

gboolean store_image_digest_get(Store *store, const char *path, guint64 size, gint64 mtime_ns,
                                guint64 inode, char **ret_digest, GError **error)
{
    return get_of_file(store, "find an image's digest",
                       "SELECT digest FROM image_digest"
                       " WHERE path = ?1 AND size = ?2 AND mtime_ns = ?3 AND inode = ?4",
                       path, size, mtime_ns, inode, ret_digest, error);
}

gboolean store_image_digest_set(Store *store, const char *path, guint64 size, gint64 mtime_ns,
                                guint64 inode, const char *digest, GError **error)
{
    return set_of_file(
        store, "record an image's digest",
        "INSERT OR REPLACE INTO image_digest (path, size, mtime_ns, inode, digest, computed_ns)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        path, size, mtime_ns, inode, digest, error);
}

gboolean store_program_version_get(Store *store, const char *path, guint64 size, gint64 mtime_ns,
                                   guint64 inode, char **ret_version, GError **error)
{
    return get_of_file(store, "find a program's version",
                       "SELECT version FROM program_version"
                       " WHERE path = ?1 AND size = ?2 AND mtime_ns = ?3 AND inode = ?4",
                       path, size, mtime_ns, inode, ret_version, error);
}

gboolean store_program_version_set(Store *store, const char *path, guint64 size, gint64 mtime_ns,
                                   guint64 inode, const char *version, GError **error)
{
    return set_of_file(
        store, "record a program's version",
        "INSERT OR REPLACE INTO program_version (path, size, mtime_ns, inode, version, asked_ns)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        path, size, mtime_ns, inode, version, error);
}
