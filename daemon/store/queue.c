/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queue: which run is next, and how runs end. */
#include "store/store.h"

#include <string.h>

#include "store/db.h"
#include "store/queue.h"
#include "util/clock.h"
#include "util/error.h"

/* INDEXED BY: an error, not a scan of a million finished runs, where the index is of no use. */
const char queue_next_sql[] =
    "SELECT r.id, r.cell_id, c.number, c.key, r.block, r.position, r.attempt, r.workload, c.driver"
    " FROM run r INDEXED BY run_queued JOIN cell c ON c.id = r.cell_id"
    " WHERE r.campaign_id = ?1 AND r.state = 'queued' ORDER BY r.block, r.position LIMIT 1";

void store_run_clear(StoreRun *run)
{
    g_free(run->cell_key);
    g_free(run->workload);
    *run = (StoreRun){0};
}

/* The log's line of a run's begin or end: "clean in 4.2 s [drift]: reason". */
static gboolean tell_run(Store *store, gint64 run, const char *step, GError **error)
{
    static const char sql[] =
        "INSERT INTO event (campaign_id, run_id, at_ns, level, step, message)"
        " SELECT campaign_id, id, ?3, CASE ifnull(verdict, 'clean') WHEN 'clean' THEN 'info'"
        "   WHEN 'failed' THEN 'error' ELSE 'warning' END, ?2,"
        "  CASE WHEN verdict IS NULL THEN printf('block %d, attempt %d', block + 1, attempt) ELSE"
        "   verdict || CASE WHEN duration_ns IS NULL THEN ''"
        "   ELSE printf(' in %.1f s', duration_ns / 1e9) END"
        "   || ifnull(' [' || flags || ']', '') || ifnull(': ' || reason, '') END"
        " FROM run WHERE id = ?1";

    return db_run(store, "add an event", sql,
                  DB_VALUES(db_int(run), db_text(step), db_int(clock_wall_ns())), error);
}

static gboolean mark_running(Store *store, gint64 run, const char *boot_id, const char *driver,
                             GError **error)
{
    static const char sql[] = "UPDATE run SET state = 'running', started_ns = ?2, boot_id = ?3,"
                              " replicate = ?4 WHERE id = ?1";
    gboolean bare = g_strcmp0(driver, "bare") == 0;

    return db_run(store, "claim a run", sql,
                  DB_VALUES(db_int(run), db_int(clock_wall_ns()), db_text(boot_id),
                            db_text(bare ? "process" : "boot")),
                  error) &&
           tell_run(store, run, "begin", error);
}

static gboolean claim_next(Store *store, gint64 campaign, const char *boot_id, StoreRun *run,
                           StoreClaim *ret_claim, GError **error)
{
    autoreset sqlite3_stmt *statement = NULL;
    DbStep step = db_first(store, "find the next run", queue_next_sql, DB_VALUES(db_int(campaign)),
                           &statement, error);

    if (step == DB_FAILED)
        return FALSE;
    *ret_claim = step == DB_ROW ? STORE_CLAIMED : STORE_EMPTY;
    if (step == DB_DONE)
        return TRUE;
    run->id = sqlite3_column_int64(statement, 0);
    run->cell_id = sqlite3_column_int64(statement, 1);
    run->cell = (guint)sqlite3_column_int64(statement, 2);
    run->cell_key = db_column_text(statement, 3);
    run->block = (guint)sqlite3_column_int64(statement, 4);
    run->position = (guint)sqlite3_column_int64(statement, 5);
    run->attempt = (guint)sqlite3_column_int64(statement, 6);
    run->workload = db_column_text(statement, 7);
    g_autofree char *driver = db_column_text(statement, 8);

    db_reset(&statement);
    store->claimed = run->id;
    store->claimed_mono_ns = clock_mono_ns();
    return mark_running(store, run->id, boot_id, driver, error);
}

gboolean store_run_claim(Store *store, gint64 campaign, const char *boot_id, StoreRun *ret_run,
                         StoreClaim *ret_claim, GError **error)
{
    g_auto(StoreRun) run = {0};
    StoreClaim claim = STORE_EMPTY;

    if (!db_begin(store, error) ||
        !db_end(store, claim_next(store, campaign, boot_id, &run, &claim, error), error))
        return FALSE;
    *ret_claim = claim;
    if (claim == STORE_EMPTY)
        return TRUE;
    *ret_run = run;
    run = (StoreRun){0};
    return TRUE;
}

/* A sample counts only when its invocation came to its end. The median is of the invocations'
 * medians; the rest is of all samples together. */
static gboolean write_summaries(Store *store, gint64 run, GError **error)
{
    static const char sql[] =
        "WITH s AS (SELECT s.metric_id, s.invocation_id, s.value FROM invocation i"
        "  JOIN sample s ON s.invocation_id = i.id WHERE i.run_id = ?1 AND i.state = 'done'),"
        " medians AS (SELECT metric_id, median(value) AS median FROM s"
        "  GROUP BY metric_id, invocation_id)"
        " INSERT INTO run_metric (run_id, metric_id, n_invocations, n_samples, median, mean,"
        "  stddev, min, max)"
        " SELECT ?1, s.metric_id, count(DISTINCT s.invocation_id), count(*),"
        "  (SELECT median(m.median) FROM medians m WHERE m.metric_id = s.metric_id),"
        "  avg(s.value), stddev(s.value), min(s.value), max(s.value) FROM s GROUP BY s.metric_id";

    return db_run(store, "write a run's summaries", sql, DB_VALUES(db_int(run)), error);
}

static gboolean not_running(Store *store, gint64 run, GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_FAILED,
                "%s: run %" G_GINT64_FORMAT " cannot be ended: it is not running", store->path,
                run);
    return FALSE;
}

/* NULL where another process claimed it, or an earlier one: then nobody knows. */
static DbValue duration_of(const Store *store, gint64 run)
{
    gint64 duration_ns = clock_mono_ns() - store->claimed_mono_ns;

    return db_int_if(store->claimed == run && duration_ns >= 0, duration_ns);
}

static gboolean finish_run(Store *store, gint64 run, const char *verdict, const char *reason,
                           const char *flags, GError **error)
{
    static const char sql[] = "UPDATE run SET state = 'done', verdict = ?2, reason = ?3,"
                              " flags = ?4, ended_ns = ?5, duration_ns = ?6"
                              " WHERE id = ?1 AND state = 'running'";

    if (!db_run(store, "end a run", sql,
                DB_VALUES(db_int(run), db_text(verdict), db_text(reason), db_text(flags),
                          db_int(clock_wall_ns()), duration_of(store, run)),
                error))
        return FALSE;
    if (sqlite3_changes(store->db) != 1)
        return not_running(store, run, error);
    return write_summaries(store, run, error) && tell_run(store, run, "end", error);
}

gboolean store_run_finish(Store *store, gint64 run, const char *verdict, const char *reason,
                          const char *flags, GError **error)
{
    return db_begin(store, error) &&
           db_end(store, finish_run(store, run, verdict, reason, flags, error), error);
}

/* Where a try has been interrupted too often it has a row that says so, and is not queued. */
static gboolean tell_if_given_up(Store *store, gint64 run, GError **error)
{
    gint64 ended;

    return db_get_int(store, "read a run", "SELECT state = 'done' FROM run WHERE id = ?1",
                      DB_VALUES(db_int(run)), 0, &ended, error) &&
           (ended == 0 || tell_run(store, run, "end", error));
}

/* An interruption (the daemon's end, a signal) is no try of the cell: it is counted on its own, so
 * that power cuts do not use up the attempts. */
gboolean queue_again(Store *store, gint64 run, QueueBy by, GError **error)
{
    static const char sql[] =
        "INSERT INTO run (campaign_id, cell_id, block, position, workload, attempt, interruptions,"
        "  state, verdict, reason, started_ns, ended_ns)"
        " SELECT campaign_id, cell_id, block,"
        "  (SELECT max(l.position) + 1 FROM run l"
        "    WHERE l.campaign_id = r.campaign_id AND l.block = r.block),"
        "  workload, attempt + 1 - cut, CASE WHEN ?2 OR NOT cut THEN 0 ELSE interruptions + 1 END,"
        "  CASE WHEN over THEN 'done' ELSE 'queued' END, CASE WHEN over THEN 'failed' END,"
        "  CASE WHEN over THEN printf('interrupted %d times by the end of vmatrix, of libvirt or of"
        " the machine, which is the most; look at their logs, then ''vmatrix retry %d'' runs it"
        " again', ?3, campaign_id) END,"
        "  CASE WHEN over THEN ?4 END, CASE WHEN over THEN ?4 END"
        " FROM (SELECT *, verdict = 'interrupted' AS cut,"
        "        verdict = 'interrupted' AND interruptions + 1 >= ?3 AND NOT ?2 AS over"
        "        FROM run WHERE id = ?1 AND state = 'done') r";

    if (!db_run(store, "queue a run again", sql,
                DB_VALUES(db_int(run), db_int(by == QUEUE_BY_PERSON),
                          db_int(QUEUE_INTERRUPTIONS_MAX), db_int(clock_wall_ns())),
                error))
        return FALSE;
    if (sqlite3_changes(store->db) == 1)
        return tell_if_given_up(store, sqlite3_last_insert_rowid(store->db), error);
    g_set_error(error, VM_ERROR, VM_ERROR_FAILED,
                "%s: run %" G_GINT64_FORMAT
                " cannot be queued again: it has not ended; end it first",
                store->path, run);
    return FALSE;
}

gboolean store_run_requeue(Store *store, gint64 run, GError **error)
{
    return db_begin(store, error) &&
           db_end(store, queue_again(store, run, QUEUE_BY_ENGINE, error), error);
}

gboolean queue_drop(Store *store, gint64 campaign, const char *reason, GError **error)
{
    static const char sql[] = "UPDATE run INDEXED BY run_queued SET state = 'skipped', reason = ?2"
                              " WHERE campaign_id = ?1 AND state = 'queued'";

    return db_run(store, "drop runs", sql, DB_VALUES(db_int(campaign), db_text(reason)), error);
}

/* Ids of the campaign's running runs, in the order in which they stand. Transfer full. */
static gboolean list_running(Store *store, gint64 campaign, GArray **ret_ids, GError **error)
{
    static const char sql[] = "SELECT id FROM run INDEXED BY run_running"
                              " WHERE campaign_id = ?1 AND state = 'running'"
                              " ORDER BY block, position";
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    autoreset sqlite3_stmt *statement = NULL;
    DbStep step =
        db_first(store, "list running runs", sql, DB_VALUES(db_int(campaign)), &statement, error);

    for (; step == DB_ROW; step = db_next(store, "list running runs", statement, error)) {
        gint64 id = sqlite3_column_int64(statement, 0);

        g_array_append_val(ids, id);
    }
    if (step == DB_FAILED)
        return FALSE;
    *ret_ids = g_steal_pointer(&ids);
    return TRUE;
}

/* A cancel that was asked for while a run was in flight: now none is. */
static gboolean settle_cancel(Store *store, gint64 campaign, GError **error)
{
    gint64 cancel;

    return db_get_int(store, "read a campaign", "SELECT cancel FROM campaign WHERE id = ?1",
                      DB_VALUES(db_int(campaign)), 0, &cancel, error) &&
           (cancel == 0 || queue_set_state(store, campaign, "cancelled", error));
}

static gboolean recover_runs(Store *store, gint64 campaign, guint *count, GError **error)
{
    static const char reason[] = "the process that ran it is gone";
    g_autoptr(GArray) ids = NULL;

    if (!list_running(store, campaign, &ids, error))
        return FALSE;
    for (guint i = 0; i < ids->len; i++) {
        gint64 id = g_array_index(ids, gint64, i);

        if (!finish_run(store, id, "interrupted", reason, NULL, error) ||
            !queue_again(store, id, QUEUE_BY_ENGINE, error))
            return FALSE;
    }
    *count = ids->len;
    return ids->len == 0 || settle_cancel(store, campaign, error);
}

gboolean store_recover_claims(Store *store, gint64 campaign, guint *ret_count, GError **error)
{
    guint count = 0;

    if (!db_begin(store, error) ||
        !db_end(store, recover_runs(store, campaign, &count, error), error))
        return FALSE;
    *ret_count = count;
    return TRUE;
}
