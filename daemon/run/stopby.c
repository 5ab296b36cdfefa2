/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/stopby.h"

#include "store/steer.h"
#include "util/clock.h"

/* The first moment after now_s at which the local clock shows this minute of this date, 0 when
 * there is none: the clock may show it twice (summer time ends), or skip it (it begins). */
static gint64 moment_of(GTimeZone *zone, GDateTime *date, gint minute, gint64 now_s)
{
    static const GTimeType types[] = {G_TIME_TYPE_DAYLIGHT, G_TIME_TYPE_STANDARD};
    int year, month, day;

    g_date_time_get_ymd(date, &year, &month, &day);
    g_autoptr(GDateTime) shown = g_date_time_new_utc(year, month, day, minute / 60, minute % 60, 0);
    g_autoptr(GDateTime) rounded =
        g_date_time_new(zone, year, month, day, minute / 60, minute % 60, 0);
    gint64 local = g_date_time_to_unix(shown), skipped = g_date_time_to_unix(rounded);
    gboolean exists = FALSE;

    for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
        int interval = g_time_zone_find_interval(zone, types[i], local);

        if (interval < 0)
            continue;
        exists = TRUE;
        if (local - g_time_zone_get_offset(zone, interval) > now_s)
            return local - g_time_zone_get_offset(zone, interval);
    }
    return !exists && skipped > now_s ? skipped : 0;
}

gint64 stopby_next(gint64 now_ns, gint minute, GTimeZone *zone)
{
    g_autoptr(GTimeZone) local = zone != NULL ? g_time_zone_ref(zone) : g_time_zone_new_local();
    g_autoptr(GDateTime) utc = g_date_time_new_from_unix_utc(now_ns / CLOCK_NS_PER_S);
    g_autoptr(GDateTime) now = g_date_time_to_timezone(utc, local);
    gint64 at = 0;

    for (int later = 0; minute >= 0 && at == 0 && later <= 2; later++) {
        g_autoptr(GDateTime) date = g_date_time_add_days(now, later);

        at = moment_of(local, date, minute, now_ns / CLOCK_NS_PER_S);
    }
    return at * CLOCK_NS_PER_S;
}

gboolean stopby_init(StopBy *stopby, Engine *engine, GError **error)
{
    gint64 next = stopby_next(clock_wall_ns(), engine->plan->limits.stop_by_minute, NULL);

    *stopby = (StopBy){.block = -1};
    if (next == 0)
        return TRUE;
    return store_campaign_stop_at(engine->store, engine->campaign.id, next, &stopby->stop_at_ns,
                                  error);
}

/* The queued runs of one block (-1: the first block that has any), in order: cell row ids.
 * *ret_block -1 when nothing is queued. */
static GArray *queued_cells(Engine *engine, gint64 *ret_block, GError **error)
{
    g_autoptr(StoreQuery) query = store_query_new(
        engine->store,
        "SELECT block, cell_id FROM run WHERE campaign_id = :c AND state = 'queued' AND block = "
        "(SELECT min(block) FROM run WHERE campaign_id = :c AND state = 'queued') "
        "ORDER BY position",
        error);
    g_autoptr(GArray) cells = g_array_new(FALSE, FALSE, sizeof(gint64));
    StoreStep step = STORE_ROW;
    gint64 block = -1;

    if (query == NULL || !store_query_bind_int(query, ":c", engine->campaign.id))
        return NULL;
    while (store_query_step(query, &step, error) && step == STORE_ROW) {
        gint64 cell = store_query_int(query, 1);

        block = store_query_int(query, 0);
        g_array_append_val(cells, cell);
    }
    if (step == STORE_ROW)
        return NULL; /* the step failed */
    *ret_block = block;
    return g_steal_pointer(&cells);
}

/* Expected duration of the first n of these runs; a cell that was never measured counts as the
 * longest run that is known (of these cells or of the campaign), to be on the safe side. Nothing is
 * known before the first. */
static gboolean expected_ns(Engine *engine, const GArray *cells, guint n, gint64 *ret_ns,
                            GError **error)
{
    gint64 sum = 0, longest = 0;
    guint unknown = 0;

    if (!store_campaign_longest(engine->store, engine->campaign.id, &longest, error))
        return FALSE;
    for (guint i = 0; i < n; i++) {
        gint64 duration;

        if (!store_cell_duration(engine->store, g_array_index(cells, gint64, i), &duration, error))
            return FALSE;
        sum += duration;
        unknown += duration == 0;
        longest = MAX(longest, duration);
    }
    *ret_ns = sum + unknown * longest;
    return TRUE;
}

static gboolean drop_from(Engine *engine, gint64 stop_at_ns, gint64 block, guint *ret_dropped,
                          GError **error)
{
    g_autofree char *when = clock_format_utc(stop_at_ns);
    guint dropped = 0;

    for (gint64 b = block; b < (gint64)engine->matrix->n_blocks; b++) {
        g_autofree char *reason = g_strdup_printf("stop-by: would not have ended by %s", when);
        guint count = 0;

        if (!store_block_drop(engine->store, engine->campaign.id, (guint)b, reason, &count, error))
            return FALSE;
        dropped += count;
    }
    *ret_dropped = dropped;
    return TRUE;
}

gboolean stopby_judge(StopBy *stopby, Engine *engine, StopByResult *ret_result, guint *ret_dropped,
                      GError **error)
{
    g_autoptr(GArray) cells = NULL;
    gint64 block = -1, expected = 0, one = 0;

    *ret_result = STOPBY_GO;
    *ret_dropped = 0;
    if (stopby->stop_at_ns == 0)
        return TRUE;
    cells = queued_cells(engine, &block, error);
    if (cells == NULL)
        return FALSE;
    if (block < 0)
        return TRUE;
    if (!expected_ns(engine, cells, 1, &one, error))
        return FALSE;
    stopby->latest_ns = stopby->stop_at_ns - one;
    /* A block is opened only when all of it fits; inside it, only the next run is asked about. */
    if (!expected_ns(engine, cells, block != stopby->block ? cells->len : 1, &expected, error))
        return FALSE;
    stopby->block = block;
    if (clock_wall_ns() + expected <= stopby->stop_at_ns)
        return TRUE;
    *ret_result = STOPBY_DROPPED;
    return drop_from(engine, stopby->stop_at_ns, block, ret_dropped, error);
}
