/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/undo.h"

#include "store/db.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fault.h"

void store_undo_free(StoreUndo *undo)
{
    if (undo == NULL)
        return;
    g_free(undo->boot_id);
    g_free(undo->knob);
    g_free(undo->target);
    g_free(undo->wanted);
    g_free(undo->state);
    g_free(undo->reason);
    g_clear_pointer(&undo->old, g_bytes_unref);
    g_clear_pointer(&undo->got, g_bytes_unref);
    g_free(undo);
}

static DbValue bytes_value(GBytes *bytes)
{
    gsize length = 0;
    const void *data = bytes != NULL ? g_bytes_get_data(bytes, &length) : NULL;

    return bytes != NULL ? db_blob(data, length) : db_null();
}

/* Only the outermost COMMIT waits for the disk. */
static gboolean write_through(Store *store, const char *what, const char *sql,
                              const DbValue *values, gsize n, GError **error)
{
    gboolean ok;

    if (store->depth > 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_FAILED,
                    "%s: cannot %s: inside a transaction it would not be on the disk", store->path,
                    what);
        return FALSE;
    }
    fault_point("undo-commit", "before");
    ok = db_write(store, what, sql, values, n, error);
    fault_point("undo-commit", "after");
    return ok;
}

gboolean store_undo_add(Store *store, const StoreUndo *undo, gint64 *ret_id, GError **error)
{
    static const char sql[] =
        "INSERT INTO undo (campaign_id, boot_id, knob, target, old, wanted, got, state, reason,"
        " created_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

    if (!write_through(store, "journal a setting of the host", sql,
                       DB_VALUES(db_int_if(undo->campaign != 0, undo->campaign),
                                 db_text(undo->boot_id), db_text(undo->knob), db_text(undo->target),
                                 bytes_value(undo->old), db_text(undo->wanted),
                                 bytes_value(undo->got), db_text(undo->state),
                                 db_text(undo->reason), db_int(clock_wall_ns())),
                       error))
        return FALSE;
    *ret_id = sqlite3_last_insert_rowid(store->db);
    return TRUE;
}

gboolean store_undo_set(Store *store, gint64 id, const char *state, GBytes *got, const char *reason,
                        GError **error)
{
    static const char sql[] =
        "UPDATE undo SET state = ?2, got = coalesce(?3, got), reason = ?4,"
        " ended_ns = CASE WHEN ?2 IN ('restored', 'released', 'left', 'rebooted') THEN ?5 END"
        " WHERE id = ?1";

    return write_through(store, "note the state of a setting of the host", sql,
                         DB_VALUES(db_int(id), db_text(state), bytes_value(got), db_text(reason),
                                   db_int(clock_wall_ns())),
                         error);
}

#define COLUMNS                                                                                    \
    "SELECT id, coalesce(campaign_id, 0), boot_id, knob, target, old, wanted, got, state, reason," \
    " created_ns FROM undo "

static GBytes *column_bytes(sqlite3_stmt *row, int column)
{
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return NULL;
    return g_bytes_new(sqlite3_column_blob(row, column), (gsize)sqlite3_column_bytes(row, column));
}

static StoreUndo *row_undo(sqlite3_stmt *row)
{
    StoreUndo *undo = g_new0(StoreUndo, 1);

    undo->id = sqlite3_column_int64(row, 0);
    undo->campaign = sqlite3_column_int64(row, 1);
    undo->boot_id = db_column_text(row, 2);
    undo->knob = db_column_text(row, 3);
    undo->target = db_column_text(row, 4);
    undo->old = column_bytes(row, 5);
    undo->wanted = db_column_text(row, 6);
    undo->got = column_bytes(row, 7);
    undo->state = db_column_text(row, 8);
    undo->reason = db_column_text(row, 9);
    undo->opened = sqlite3_column_int64(row, 10);
    return undo;
}

static GPtrArray *read_rows(Store *store, const char *sql, const DbValue *values, gsize n,
                            GError **error)
{
    static const char what[] = "read the undo journal";
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func((GDestroyNotify)store_undo_free);
    autoreset sqlite3_stmt *row = NULL;
    DbStep step = db_first(store, what, sql, values, n, &row, error);

    for (; step == DB_ROW; step = db_next(store, what, row, error))
        g_ptr_array_add(list, row_undo(row));
    return step == DB_DONE ? g_steal_pointer(&list) : NULL;
}

GPtrArray *store_undo_open(Store *store, GError **error)
{
    static const char sql[] =
        COLUMNS "WHERE state IN ('journalled', 'set', 'held', 'stuck') ORDER BY id DESC";

    return read_rows(store, sql, DB_NO_VALUES, error);
}

GPtrArray *store_undo_list(Store *store, gint64 campaign, gint64 since, GError **error)
{
    static const char sql[] = COLUMNS "WHERE campaign_id IS ?1 AND id > ?2 ORDER BY id";

    return read_rows(store, sql, DB_VALUES(db_int_if(campaign != 0, campaign), db_int(since)),
                     error);
}
