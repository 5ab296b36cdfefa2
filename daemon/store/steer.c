/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/steer.h"

#include "store/db.h"
#include "store/queue.h"
#include "util/clock.h"
#include "util/error.h"

/* ---- what should be done next ---- */

/* INDEXED BY: an error, not a scan of all campaigns that ever were, where the index is of no use.
 */
#define FROM_OPEN " FROM campaign INDEXED BY campaign_open WHERE state IN ('queued', 'running')"
#define FREE " AND paused = 0 AND cancel = 0"

const char steer_next_sql[] =
    "SELECT id" FROM_OPEN FREE " AND not_before_ns <= ?1 ORDER BY priority DESC, id LIMIT 1";

gboolean store_next_campaign(Store *store, gint64 now_ns, gint64 *ret_campaign, gint64 *ret_at_ns,
                             StoreNext *ret_next, GError **error)
{
    static const char later[] = "SELECT min(not_before_ns)" FROM_OPEN FREE;
    const char *what = "find the next campaign";
    gint64 campaign, at_ns;

    if (!db_get_int(store, what, steer_next_sql, DB_VALUES(db_int(now_ns)), 0, &campaign, error))
        return FALSE;
    if (campaign != 0) {
        *ret_campaign = campaign;
        *ret_next = STORE_NEXT_READY;
        return TRUE;
    }
    if (!db_get_int(store, what, later, DB_NO_VALUES, -1, &at_ns, error))
        return FALSE;
    *ret_next = at_ns < 0 ? STORE_NEXT_NONE : STORE_NEXT_LATER;
    if (at_ns >= 0)
        *ret_at_ns = at_ns;
    return TRUE;
}

typedef struct {
    gboolean ended, cancel, paused;
} Steer;

static gboolean no_campaign(Store *store, gint64 campaign, GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "%s: there is no campaign %" G_GINT64_FORMAT,
                store->path, campaign);
    return FALSE;
}

static gboolean read_steer(Store *store, gint64 campaign, Steer *ret_steer, GError **error)
{
    static const char sql[] = "SELECT state IN ('done', 'cancelled'), cancel OR state ="
                              " 'cancelled', paused FROM campaign WHERE id = ?1";
    autoreset sqlite3_stmt *statement = NULL;
    DbStep step =
        db_first(store, "read a campaign", sql, DB_VALUES(db_int(campaign)), &statement, error);

    if (step == DB_FAILED)
        return FALSE;
    if (step == DB_DONE)
        return no_campaign(store, campaign, error);
    *ret_steer = (Steer){.ended = sqlite3_column_int(statement, 0) != 0,
                         .cancel = sqlite3_column_int(statement, 1) != 0,
                         .paused = sqlite3_column_int(statement, 2) != 0};
    return TRUE;
}

gboolean store_campaign_steer(Store *store, gint64 campaign, StoreSteer *ret_steer, GError **error)
{
    Steer steer;

    if (!read_steer(store, campaign, &steer, error))
        return FALSE;
    *ret_steer = steer.cancel   ? STORE_STEER_CANCEL
                 : steer.paused ? STORE_STEER_PAUSE
                                : STORE_STEER_GO;
    return TRUE;
}

/* ---- submitting ---- */

static gboolean schedule(Store *store, gint64 campaign, const StoreSchedule *schedule,
                         GError **error)
{
    static const char sql[] = "UPDATE campaign SET priority = ?2, not_before_ns = ?3 WHERE id = ?1";

    if (!db_run(store, "schedule a campaign", sql,
                DB_VALUES(db_int(campaign), db_int(schedule->priority),
                          db_int(schedule->not_before_ns)),
                error))
        return FALSE;
    return sqlite3_changes(store->db) == 1 || no_campaign(store, campaign, error);
}

gboolean store_campaign_schedule(Store *store, gint64 campaign, const StoreSchedule *plan,
                                 GError **error)
{
    return db_begin(store, error) && db_end(store, schedule(store, campaign, plan, error), error);
}

gboolean store_campaign_submit(Store *store, const Matrix *matrix, const Inventory *inventory,
                               const GPtrArray *workloads, const char *const *skip_reasons,
                               const StoreSchedule *plan, gint64 *ret_campaign, GError **error)
{
    gint64 campaign = 0;
    gboolean ok;

    if (!db_begin(store, error))
        return FALSE;
    ok = store_campaign_add(store, matrix, inventory, workloads, skip_reasons, &campaign, error) &&
         (plan == NULL || schedule(store, campaign, plan, error));
    if (!db_end(store, ok, error))
        return FALSE;
    *ret_campaign = campaign;
    return TRUE;
}

/* ---- what people ask for ---- */

/* An event that says who asked. Inside a transaction. */
static gboolean tell(Store *store, gint64 campaign, const char *what, GError **error)
{
    g_autofree char *message = g_strdup_printf("%s (user %s)", what, g_get_user_name());

    return store_event_add(store, campaign, 0, "info", "queue", message, error);
}

static gboolean fail_ended(Store *store, gint64 campaign, const char *what, GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                "%s: campaign %" G_GINT64_FORMAT " has ended: it cannot be %s", store->path,
                campaign, what);
    return FALSE;
}

static gboolean cancel(Store *store, gint64 campaign, GError **error)
{
    static const char running[] = "SELECT count(*) FROM run INDEXED BY run_running"
                                  " WHERE campaign_id = ?1 AND state = 'running'";
    Steer steer;
    gint64 in_flight;

    if (!read_steer(store, campaign, &steer, error) ||
        !db_get_int(store, "count running runs", running, DB_VALUES(db_int(campaign)), 0,
                    &in_flight, error))
        return FALSE;
    if (steer.ended)
        return fail_ended(store, campaign, "cancelled", error);
    return db_run(store, "cancel a campaign", "UPDATE campaign SET cancel = 1 WHERE id = ?1",
                  DB_VALUES(db_int(campaign)), error) &&
           tell(store, campaign,
                in_flight > 0 ? "cancel asked for, after the run in flight" : "cancelled", error) &&
           (in_flight > 0 || queue_set_state(store, campaign, "cancelled", error));
}

gboolean store_campaign_cancel(Store *store, gint64 campaign, GError **error)
{
    return db_begin(store, error) && db_end(store, cancel(store, campaign, error), error);
}

static gboolean set_paused(Store *store, gint64 campaign, gboolean paused, GError **error)
{
    return db_run(store, "pause a campaign", "UPDATE campaign SET paused = ?2 WHERE id = ?1",
                  DB_VALUES(db_int(campaign), db_int(paused)), error) &&
           tell(store, campaign, paused ? "paused" : "resumed", error);
}

static gboolean pause_one(Store *store, gint64 campaign, gboolean paused, GError **error)
{
    Steer steer;

    if (!read_steer(store, campaign, &steer, error))
        return FALSE;
    if (steer.ended)
        return fail_ended(store, campaign, paused ? "paused" : "resumed; see 'vmatrix retry'",
                          error);
    return steer.paused == (paused != 0) || set_paused(store, campaign, paused, error);
}

gboolean store_campaign_pause(Store *store, gint64 campaign, gboolean paused, GError **error)
{
    return db_begin(store, error) &&
           db_end(store, pause_one(store, campaign, paused, error), error);
}

/* First column of all rows; transfer full. */
static gboolean list_ids(Store *store, const char *sql, const DbValue *values, gsize n,
                         GArray **ret_ids, GError **error)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    autoreset sqlite3_stmt *statement = NULL;
    DbStep step = db_first(store, "list what is to be steered", sql, values, n, &statement, error);

    for (; step == DB_ROW; step = db_next(store, "list what is to be steered", statement, error)) {
        gint64 id = sqlite3_column_int64(statement, 0);

        g_array_append_val(ids, id);
    }
    if (step == DB_FAILED)
        return FALSE;
    *ret_ids = g_steal_pointer(&ids);
    return TRUE;
}

static gboolean pause_all(Store *store, gboolean paused, guint *count, GError **error)
{
    static const char sql[] = "SELECT id" FROM_OPEN " AND paused <> ?1 ORDER BY id";
    g_autoptr(GArray) ids = NULL;

    if (!list_ids(store, sql, DB_VALUES(db_int(paused)), &ids, error))
        return FALSE;
    for (guint i = 0; i < ids->len; i++)
        if (!set_paused(store, g_array_index(ids, gint64, i), paused, error))
            return FALSE;
    *count = ids->len;
    return TRUE;
}

gboolean store_queue_pause(Store *store, gboolean paused, guint *ret_count, GError **error)
{
    guint count = 0;

    if (!db_begin(store, error) || !db_end(store, pause_all(store, paused, &count, error), error))
        return FALSE;
    *ret_count = count;
    return TRUE;
}

/* ---- retry ---- */

/* Runs without a clean end that nothing followed: failed, or contaminated in the last attempt. */
static gboolean list_failed(Store *store, gint64 campaign, GArray **ret_ids, GError **error)
{
    static const char sql[] =
        "SELECT r.id FROM run r INDEXED BY run_by_state"
        " WHERE r.campaign_id = ?1 AND r.state = 'done' AND r.verdict IN ('failed', 'contaminated')"
        " AND NOT EXISTS (SELECT 1 FROM run l WHERE l.cell_id = r.cell_id AND l.block = r.block"
        "  AND ifnull(l.workload, '') = ifnull(r.workload, '')"
        "  AND (l.attempt, l.interruptions) > (r.attempt, r.interruptions))"
        " ORDER BY r.block, r.position";

    return list_ids(store, sql, DB_VALUES(db_int(campaign)), ret_ids, error);
}

static gboolean reopen(Store *store, gint64 campaign, guint count, GError **error)
{
    static const char sql[] = "UPDATE campaign SET cancel = 0, stop_at_ns = NULL WHERE id = ?1";
    g_autofree char *what =
        g_strdup_printf("retry: %u run%s queued again", count, count == 1 ? " is" : "s are");
    Steer steer;

    if (!read_steer(store, campaign, &steer, error))
        return FALSE;
    if (steer.ended &&
        (!db_run(store, "open a campaign again", sql, DB_VALUES(db_int(campaign)), error) ||
         !queue_set_state(store, campaign, "queued", error)))
        return FALSE;
    return tell(store, campaign, what, error);
}

static gboolean retry(Store *store, gint64 campaign, guint *count, GError **error)
{
    g_autoptr(GArray) ids = NULL;
    Steer steer;

    if (!read_steer(store, campaign, &steer, error))
        return FALSE;
    if (steer.cancel && !steer.ended) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "%s: campaign %" G_GINT64_FORMAT " is being cancelled: its run in flight must "
                    "end first",
                    store->path, campaign);
        return FALSE;
    }
    if (!list_failed(store, campaign, &ids, error))
        return FALSE;
    for (guint i = 0; i < ids->len; i++)
        if (!queue_again(store, g_array_index(ids, gint64, i), QUEUE_BY_PERSON, error))
            return FALSE;
    *count = ids->len;
    return ids->len == 0 || reopen(store, campaign, ids->len, error);
}

gboolean store_campaign_retry(Store *store, gint64 campaign, guint *ret_count, GError **error)
{
    guint count = 0;

    if (!db_begin(store, error) || !db_end(store, retry(store, campaign, &count, error), error))
        return FALSE;
    *ret_count = count;
    return TRUE;
}

/* ---- stop in time ---- */

static gboolean get_stop_at(Store *store, gint64 campaign, gint64 *ret_stop_at_ns, GError **error)
{
    return db_get_int(store, "read a campaign", "SELECT stop_at_ns FROM campaign WHERE id = ?1",
                      DB_VALUES(db_int(campaign)), -1, ret_stop_at_ns, error);
}

gboolean store_campaign_stop_at(Store *store, gint64 campaign, gint64 if_unset_ns,
                                gint64 *ret_stop_at_ns, GError **error)
{
    static const char sql[] =
        "UPDATE campaign SET stop_at_ns = ?2 WHERE id = ?1 AND stop_at_ns IS NULL";
    gint64 stop_at_ns;

    if (!get_stop_at(store, campaign, &stop_at_ns, error))
        return FALSE;
    if (stop_at_ns < 0 && (!db_write(store, "set a campaign's end", sql,
                                     DB_VALUES(db_int(campaign), db_int(if_unset_ns)), error) ||
                           !get_stop_at(store, campaign, &stop_at_ns, error)))
        return FALSE;
    if (stop_at_ns < 0)
        return no_campaign(store, campaign, error);
    *ret_stop_at_ns = stop_at_ns;
    return TRUE;
}

#define MEASURED "verdict IN ('clean', 'contaminated')"

/* The latest runs of equal cells alone: machines and guests change. */
const char steer_duration_sql[] =
    "SELECT coalesce("
    " (SELECT avg(duration_ns) FROM run WHERE cell_id = ?1 AND " MEASURED "),"
    " (SELECT avg(duration_ns) FROM (SELECT r.duration_ns FROM cell c JOIN run r"
    "   ON r.cell_id = c.id WHERE c.key = (SELECT key FROM cell WHERE id = ?1) AND r." MEASURED
    "   AND r.duration_ns IS NOT NULL ORDER BY c.id DESC LIMIT 50)),"
    " (SELECT avg(duration_ns) FROM run WHERE cell_id = ?1 AND verdict = 'failed'))";

gboolean store_cell_duration(Store *store, gint64 cell, gint64 *ret_duration_ns, GError **error)
{
    return db_get_int(store, "read durations", steer_duration_sql, DB_VALUES(db_int(cell)), 0,
                      ret_duration_ns, error);
}

gboolean store_campaign_longest(Store *store, gint64 campaign, gint64 *ret_duration_ns,
                                GError **error)
{
    /* The index run_by_state gives it at once, whatever the number of runs. */
    static const char sql[] = "SELECT max(duration_ns) FROM run WHERE campaign_id = ?1"
                              " AND state = 'done' AND verdict = 'clean'";

    return db_get_int(store, "read durations", sql, DB_VALUES(db_int(campaign)), 0, ret_duration_ns,
                      error);
}

static gboolean drop_block(Store *store, gint64 campaign, guint block, const char *reason,
                           guint *count, GError **error)
{
    static const char sql[] = "UPDATE run INDEXED BY run_queued SET state = 'skipped', reason = ?3"
                              " WHERE campaign_id = ?1 AND block = ?2 AND state = 'queued'";

    if (!db_run(store, "drop a block", sql,
                DB_VALUES(db_int(campaign), db_int(block), db_text(reason)), error))
        return FALSE;
    *count = (guint)sqlite3_changes(store->db);
    return TRUE;
}

gboolean store_block_drop(Store *store, gint64 campaign, guint block, const char *reason,
                          guint *ret_count, GError **error)
{
    guint count = 0;

    if (!db_begin(store, error) ||
        !db_end(store, drop_block(store, campaign, block, reason, &count, error), error))
        return FALSE;
    *ret_count = count;
    return TRUE;
}

/* ---- where a run is ---- */

gboolean store_step_enter(Store *store, gint64 run, const char *step, gint64 wall_ns,
                          GError **error)
{
    static const char sql[] =
        "INSERT INTO step (run_id, name, entered_ns) VALUES (?1, ?2, ?3) ON CONFLICT (run_id)"
        " DO UPDATE SET name = excluded.name, entered_ns = excluded.entered_ns";

    gboolean ok;

    if (!db_exec(store, "note a step", "PRAGMA synchronous = NORMAL", error))
        return FALSE;
    ok = db_write(store, "note a step", sql, DB_VALUES(db_int(run), db_text(step), db_int(wall_ns)),
                  error);
    return db_exec(store, "note a step", "PRAGMA synchronous = FULL", ok ? error : NULL) && ok;
}
