/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/status.h"

#include <math.h>

#include "util/clock.h"

static void campaign_free(gpointer data)
{
    StatusCampaign *campaign = data;

    g_free(campaign->uuid);
    g_free(campaign->name);
    g_free(campaign->state);
    g_free(campaign->cell_key);
    g_free(campaign->workload);
    g_free(campaign->step);
    g_free(campaign);
}

#define COLUMNS                                                                                    \
    "SELECT c.id, c.uuid, c.name, c.state, c.paused, c.cancel, c.priority, c.created_ns,"          \
    " c.not_before_ns, c.started_ns, c.ended_ns, c.stop_at_ns, c.stop_by_minute FROM campaign c "

/* NULL reads as 0. */
static StatusCampaign *read_campaign(const StoreQuery *query)
{
    StatusCampaign *campaign = g_new0(StatusCampaign, 1);

    campaign->id = store_query_int(query, 0);
    campaign->uuid = g_strdup(store_query_text(query, 1));
    campaign->name = g_strdup(store_query_text(query, 2));
    campaign->state = g_strdup(store_query_text(query, 3));
    campaign->paused = store_query_int(query, 4) != 0;
    campaign->cancel = store_query_int(query, 5) != 0;
    campaign->priority = (gint)store_query_int(query, 6);
    campaign->created_ns = store_query_int(query, 7);
    campaign->not_before_ns = store_query_int(query, 8);
    campaign->started_ns = store_query_int(query, 9);
    campaign->ended_ns = store_query_int(query, 10);
    campaign->stop_at_ns = store_query_int(query, 11);
    campaign->stop_by_minute =
        store_query_type(query, 12) == STORE_NULL ? -1 : (gint)store_query_int(query, 12);
    return campaign;
}

/* Append what sql finds; its parameter is :value. */
static gboolean add_campaigns(Store *store, const char *sql, gint64 value, GPtrArray *campaigns,
                              GError **error)
{
    g_autoptr(StoreQuery) query = store_query_new(store, sql, error);
    StoreStep step = STORE_ROW;

    if (query == NULL)
        return FALSE;
    store_query_bind_int(query, ":value", value);
    while (store_query_step(query, &step, error) && step == STORE_ROW)
        g_ptr_array_add(campaigns, read_campaign(query));
    return step == STORE_END;
}

/* ---- of each campaign ---- */

/* The query about this campaign, at its first row. NULL with error; *ret_step STORE_END: no row. */
static StoreQuery *first_row(Store *store, const char *sql, gint64 campaign, StoreStep *ret_step,
                             GError **error)
{
    g_autoptr(StoreQuery) query = store_query_new(store, sql, error);

    if (query == NULL)
        return NULL;
    store_query_bind_int(query, ":campaign", campaign);
    return store_query_step(query, ret_step, error) ? g_steal_pointer(&query) : NULL;
}

static void count_runs(StatusCampaign *campaign, const char *state, const char *verdict,
                       gint64 count)
{
    const struct {
        const char *name;
        gint64 *count;
    } kinds[] = {
        {"queued", &campaign->left},
        {"running", &campaign->left},
        {"skipped", &campaign->skipped},
        {"clean", &campaign->clean},
        {"contaminated", &campaign->contaminated},
        {"failed", &campaign->failed},
        {"interrupted", &campaign->interrupted},
    };
    const char *name = verdict != NULL ? verdict : state;

    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (g_str_equal(kinds[i].name, name))
            *kinds[i].count += count;
}

/* One pass over the campaign's part of the index run_by_state, which has all of these columns. */
static const char count_sql[] =
    "SELECT state, verdict, count(*), total(duration_ns), count(duration_ns)"
    " FROM run INDEXED BY run_by_state WHERE campaign_id = :campaign GROUP BY state, verdict";

static gboolean load_counts(Store *store, StatusCampaign *campaign, GError **error)
{
    g_autoptr(StoreQuery) query = store_query_new(store, count_sql, error);
    StoreStep step = STORE_ROW;
    double spent_ns = 0, measured = 0;

    if (query == NULL)
        return FALSE;
    store_query_bind_int(query, ":campaign", campaign->id);
    while (store_query_step(query, &step, error) && step == STORE_ROW) {
        const char *verdict = store_query_text(query, 1);

        count_runs(campaign, store_query_text(query, 0), verdict, store_query_int(query, 2));
        if (g_strcmp0(verdict, "clean") != 0 && g_strcmp0(verdict, "contaminated") != 0)
            continue;
        spent_ns += store_query_real(query, 3);
        measured += store_query_real(query, 4);
    }
    campaign->mean_ns = measured > 0 ? llround(spent_ns / measured) : 0;
    return step == STORE_END;
}

/* Nothing of it was measured yet: the mean of earlier runs of some of its cells. */
static const char earlier_sql[] =
    "SELECT avg(mean) FROM (SELECT (SELECT avg(r.duration_ns) FROM cell e JOIN run r"
    "   ON r.cell_id = e.id WHERE e.key = c.key AND r.verdict IN ('clean', 'contaminated')) AS mean"
    "  FROM cell c WHERE c.campaign_id = :campaign ORDER BY c.number LIMIT 20)";

static gboolean load_earlier(Store *store, StatusCampaign *campaign, GError **error)
{
    StoreStep step = STORE_END;
    g_autoptr(StoreQuery) query = first_row(store, earlier_sql, campaign->id, &step, error);

    if (query == NULL)
        return FALSE;
    if (step == STORE_ROW)
        campaign->mean_ns = llround(store_query_real(query, 0));
    return TRUE;
}

static const char flight_sql[] =
    "SELECT r.id, r.block, r.attempt, r.workload, r.started_ns, c.key, s.name, s.entered_ns"
    " FROM run r INDEXED BY run_running JOIN cell c ON c.id = r.cell_id"
    " LEFT JOIN step s ON s.run_id = r.id"
    " WHERE r.campaign_id = :campaign AND r.state = 'running' ORDER BY r.id DESC LIMIT 1";

static gboolean load_flight(Store *store, StatusCampaign *campaign, GError **error)
{
    StoreStep step = STORE_END;
    g_autoptr(StoreQuery) query = first_row(store, flight_sql, campaign->id, &step, error);

    if (query == NULL)
        return FALSE;
    if (step == STORE_END)
        return TRUE;
    campaign->run = store_query_int(query, 0);
    campaign->block = (guint)store_query_int(query, 1);
    campaign->attempt = (guint)store_query_int(query, 2);
    campaign->workload = g_strdup(store_query_text(query, 3));
    campaign->run_started_ns = store_query_int(query, 4);
    campaign->cell_key = g_strdup(store_query_text(query, 5));
    campaign->step = g_strdup(store_query_text(query, 6));
    campaign->step_entered_ns = store_query_int(query, 7);
    return TRUE;
}

static gboolean load_details(Store *store, StatusCampaign *campaign, GError **error)
{
    if (!load_counts(store, campaign, error))
        return FALSE;
    if (campaign->left == 0)
        return TRUE;
    return (campaign->mean_ns > 0 || load_earlier(store, campaign, error)) &&
           load_flight(store, campaign, error);
}

/* ---- when it will end ---- */

static gboolean has_ended(const StatusCampaign *campaign)
{
    return campaign->ended_ns != 0;
}

/* What is left at the mean of what was measured; the run in flight has a part of it behind it. */
static gint64 time_left(const StatusCampaign *campaign, gint64 now_ns)
{
    gint64 flown = campaign->run != 0 ? now_ns - campaign->run_started_ns : 0;

    return campaign->left * campaign->mean_ns - CLAMP(flown, 0, campaign->mean_ns);
}

/* One campaign at a time, in the order of the queue: each begins when the one before it has ended,
 * and not before its own time. */
static void expect_ends(GPtrArray *campaigns, gint64 now_ns)
{
    gint64 free_ns = now_ns;

    for (guint i = 0; i < campaigns->len; i++) {
        StatusCampaign *campaign = g_ptr_array_index(campaigns, i);

        if (has_ended(campaign) || campaign->paused || campaign->cancel)
            continue;
        if (free_ns > 0 && campaign->mean_ns > 0)
            campaign->eta_ns = MAX(free_ns, campaign->not_before_ns) + time_left(campaign, now_ns);
        if (campaign->stop_at_ns > 0)
            campaign->eta_ns = MIN(campaign->eta_ns, campaign->stop_at_ns);
        free_ns = campaign->eta_ns;
    }
}

/* ---- all together ---- */

static gboolean load_list(Store *store, const StatusSelect *select, GPtrArray *campaigns,
                          GError **error)
{
    g_auto(StoreCampaign) one = {0};

    if (select->campaign != NULL)
        return store_campaign_get(store, select->campaign, &one, error) &&
               add_campaigns(store, COLUMNS "WHERE c.id = :value", one.id, campaigns, error);
    return add_campaigns(store,
                         COLUMNS "JOIN (SELECT id FROM campaign"
                                 " WHERE state NOT IN ('queued', 'running')"
                                 " ORDER BY id DESC LIMIT :value) l ON l.id = c.id ORDER BY c.id",
                         select->ended, campaigns, error) &&
           add_campaigns(store,
                         COLUMNS "INDEXED BY campaign_open WHERE c.state IN ('queued', 'running')"
                                 " ORDER BY c.priority DESC, c.id",
                         0, campaigns, error);
}

GPtrArray *status_load(Store *store, const StatusSelect *select, gint64 now_ns, GError **error)
{
    g_autoptr(GPtrArray) campaigns = g_ptr_array_new_with_free_func(campaign_free);

    if (!load_list(store, select, campaigns, error))
        return NULL;
    for (guint i = 0; i < campaigns->len; i++)
        if (!load_details(store, g_ptr_array_index(campaigns, i), error))
            return NULL;
    expect_ends(campaigns, now_ns);
    return g_steal_pointer(&campaigns);
}

gint64 status_done(const StatusCampaign *campaign)
{
    return campaign->clean + campaign->contaminated + campaign->failed;
}

const char *status_word(const StatusCampaign *campaign, gint64 now_ns)
{
    if (has_ended(campaign))
        return campaign->state;
    if (campaign->cancel)
        return "cancelling";
    if (campaign->paused)
        return campaign->run != 0 ? "pausing" : "paused";
    if (campaign->run == 0 && campaign->not_before_ns > now_ns)
        return "waiting";
    return campaign->state;
}

/* ---- as a table ---- */

static void add_column(Table *table, const char *name, const char *title, ColumnKind kind,
                       Audience audience)
{
    table_column(table, name, title, kind);
    table_audience(table, audience);
}

static void add_columns(Table *table)
{
    static const struct {
        const char *name, *title;
        ColumnKind kind;
        Audience audience;
        guint rank;
    } columns[] = {
        {"campaign", "id", COLUMN_NUMBER, AUDIENCE_ALL, 0},
        {"uuid", "uuid", COLUMN_TEXT, AUDIENCE_PROGRAMS, 0},
        {"name", "campaign", COLUMN_TEXT, AUDIENCE_ALL, 0},
        {"status", "state", COLUMN_TEXT, AUDIENCE_ALL, 0},
        {"state", "", COLUMN_TEXT, AUDIENCE_PROGRAMS, 0},
        {"paused", "", COLUMN_NUMBER, AUDIENCE_PROGRAMS, 0},
        {"cancel", "", COLUMN_NUMBER, AUDIENCE_PROGRAMS, 0},
        {"priority", "prio", COLUMN_NUMBER, AUDIENCE_ALL, 3},
        {"done", "done", COLUMN_NUMBER, AUDIENCE_ALL, 0},
        {"left", "left", COLUMN_NUMBER, AUDIENCE_ALL, 0},
        {"failed", "failed", COLUMN_NUMBER, AUDIENCE_ALL, 0},
        {"contaminated", "contam.", COLUMN_NUMBER, AUDIENCE_ALL, 2},
        {"clean", "", COLUMN_NUMBER, AUDIENCE_PROGRAMS, 0},
        {"interrupted", "", COLUMN_NUMBER, AUDIENCE_PROGRAMS, 0},
        {"skipped", "skipped", COLUMN_NUMBER, AUDIENCE_ALL, 4},
        {"", "starts", COLUMN_TEXT, AUDIENCE_PEOPLE, 1},
        {"", "ends", COLUMN_TEXT, AUDIENCE_PEOPLE, 0},
        {"", "stop by", COLUMN_TEXT, AUDIENCE_PEOPLE, 0},
        {"created_utc", "", COLUMN_TEXT, AUDIENCE_PROGRAMS, 0},
        {"not_before_utc", "", COLUMN_TEXT, AUDIENCE_PROGRAMS, 0},
        {"started_utc", "", COLUMN_TEXT, AUDIENCE_PROGRAMS, 0},
        {"ended_utc", "", COLUMN_TEXT, AUDIENCE_PROGRAMS, 0},
        {"stop_at_utc", "", COLUMN_TEXT, AUDIENCE_PROGRAMS, 0},
        {"eta_utc", "", COLUMN_TEXT, AUDIENCE_PROGRAMS, 0},
        {"mean_run_s", "", COLUMN_NUMBER, AUDIENCE_PROGRAMS, 0},
        {"run", "", COLUMN_NUMBER, AUDIENCE_PROGRAMS, 0},
        {"cell", "", COLUMN_TEXT, AUDIENCE_PROGRAMS, 0},
        {"block", "", COLUMN_NUMBER, AUDIENCE_PROGRAMS, 0},
        {"attempt", "", COLUMN_NUMBER, AUDIENCE_PROGRAMS, 0},
        {"workload", "", COLUMN_TEXT, AUDIENCE_PROGRAMS, 0},
        {"step", "", COLUMN_TEXT, AUDIENCE_PROGRAMS, 0},
        {"step_entered_utc", "", COLUMN_TEXT, AUDIENCE_PROGRAMS, 0},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(columns); i++) {
        add_column(table, columns[i].name, columns[i].title, columns[i].kind, columns[i].audience);
        table_rank(table, columns[i].rank);
    }
}

static void add_utc(Table *table, gint64 ns)
{
    g_autofree char *text = ns > 0 ? clock_format_utc(ns) : NULL;

    table_text(table, text);
}

static void add_time(Table *table, gint64 ns, gint64 now_ns, StatusShowTime show, gboolean about)
{
    g_autofree char *time = ns > 0 ? show(ns, now_ns) : NULL;
    g_autofree char *text = time != NULL ? g_strconcat(about ? "~" : "", time, NULL) : NULL;

    table_text(table, text);
}

static void add_stop(Table *table, const StatusCampaign *campaign, gint64 now_ns,
                     StatusShowTime show)
{
    gint minute = campaign->stop_by_minute;
    g_autofree char *text =
        minute >= 0 ? g_strdup_printf("%02d:%02d", minute / 60, minute % 60) : NULL;

    if (campaign->stop_at_ns > 0)
        add_time(table, campaign->stop_at_ns, now_ns, show, FALSE);
    else
        table_text(table, text);
}

static void add_people(Table *table, const StatusCampaign *campaign, gint64 now_ns,
                       StatusShowTime show)
{
    gint64 start = campaign->started_ns > 0 ? campaign->started_ns : campaign->not_before_ns;

    add_time(table, start, now_ns, show, FALSE);
    if (has_ended(campaign))
        add_time(table, campaign->ended_ns, now_ns, show, FALSE);
    else
        add_time(table, campaign->eta_ns, now_ns, show, TRUE);
    add_stop(table, campaign, now_ns, show);
}

static void add_number_if(Table *table, gboolean present, gint64 number)
{
    if (present)
        table_int(table, number);
    else
        table_text(table, NULL);
}

static void add_flight(Table *table, const StatusCampaign *campaign)
{
    gboolean flies = campaign->run != 0;

    add_number_if(table, flies, campaign->run);
    table_text(table, campaign->cell_key);
    add_number_if(table, flies, campaign->block);
    add_number_if(table, flies, campaign->attempt);
    table_text(table, campaign->workload);
    table_text(table, campaign->step);
    add_utc(table, campaign->step_entered_ns);
}

static void add_row(Table *table, const StatusCampaign *campaign, gint64 now_ns,
                    StatusShowTime show)
{
    table_row(table);
    table_int(table, campaign->id);
    table_text(table, campaign->uuid);
    table_text(table, campaign->name);
    table_text(table, status_word(campaign, now_ns));
    table_text(table, campaign->state);
    table_int(table, campaign->paused);
    table_int(table, campaign->cancel);
    table_int(table, campaign->priority);
    table_int(table, status_done(campaign));
    table_int(table, campaign->left);
    table_int(table, campaign->failed);
    table_int(table, campaign->contaminated);
    table_int(table, campaign->clean);
    table_int(table, campaign->interrupted);
    table_int(table, campaign->skipped);
    add_people(table, campaign, now_ns, show);
    add_utc(table, campaign->created_ns);
    add_utc(table, campaign->not_before_ns);
    add_utc(table, campaign->started_ns);
    add_utc(table, campaign->ended_ns);
    add_utc(table, campaign->stop_at_ns);
    add_utc(table, campaign->eta_ns);
    table_real(table, campaign->mean_ns > 0 ? (double)campaign->mean_ns / CLOCK_NS_PER_S : NAN,
               NULL);
    add_flight(table, campaign);
}

Table *status_table(const GPtrArray *campaigns, gint64 now_ns, StatusShowTime show)
{
    Table *table = table_new();

    add_columns(table);
    for (guint i = 0; i < campaigns->len; i++)
        add_row(table, g_ptr_array_index(campaigns, i), now_ns, show);
    return table;
}
