/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/morning.h"

#include <string.h>

#include "report/look.h"

static void cell_free(gpointer data)
{
    MorningCell *cell = data;

    g_free(cell->cell_key);
    g_free(cell->workload);
    g_free(cell->blocks);
    g_free(cell);
}

static void group_free(gpointer data)
{
    MorningGroup *group = data;

    g_free(group->reason);
    g_ptr_array_unref(group->cells);
    g_free(group);
}

static void phase_free(gpointer data)
{
    MorningPhase *phase = data;

    g_free(phase->name);
    g_free(phase);
}

static Morning *morning_new(void)
{
    Morning *morning = g_new0(Morning, 1);

    morning->failed = g_ptr_array_new_with_free_func(group_free);
    morning->contaminated = g_ptr_array_new_with_free_func(group_free);
    morning->skipped = g_ptr_array_new_with_free_func(group_free);
    morning->phases = g_ptr_array_new_with_free_func(phase_free);
    morning->look = g_ptr_array_new_with_free_func(g_free);
    return morning;
}

void morning_free(Morning *morning)
{
    if (morning == NULL)
        return;
    g_clear_pointer(&morning->status, g_ptr_array_unref);
    g_ptr_array_unref(morning->failed);
    g_ptr_array_unref(morning->contaminated);
    g_ptr_array_unref(morning->skipped);
    g_ptr_array_unref(morning->phases);
    g_ptr_array_unref(morning->look);
    g_free(morning);
}

/* ---- runs by reason ---- */

/* What two reasons must have in common to be one: all but domain names and long numbers; where
 * somebody took CPU time (evidence_judge()), who it was, whatever was measured meanwhile. */
static char *group_key(const char *reason)
{
    g_autoptr(GRegex) regex = g_regex_new("vmatrix-[0-9a-f]{8}-[0-9]+|[0-9]{4,}", 0, 0, NULL);
    g_autoptr(GRegex) took = g_regex_new(
        "^\\S+: (.+?)(?: \\(pid [^)]*\\))? took [0-9.]+ CPU-seconds of CPU", 0, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;

    if (g_regex_match(took, reason, 0, &match))
        return g_match_info_fetch(match, 1);
    return g_regex_replace_literal(regex, reason, -1, 0, "#", 0, NULL);
}

/* The cell (and workload) in the group, or NULL. */
static MorningCell *find_cell(const MorningGroup *group, const char *cell_key, const char *workload)
{
    for (guint i = 0; i < group->cells->len; i++) {
        MorningCell *cell = g_ptr_array_index(group->cells, i);

        if (g_str_equal(cell->cell_key, cell_key) && g_strcmp0(cell->workload, workload) == 0)
            return cell;
    }
    return NULL;
}

/* Runs of a cell: columns as below. */
static void add_to_cell(MorningGroup *group, const StoreQuery *query)
{
    const char *key = store_query_text(query, 0), *workload = store_query_text(query, 1);
    MorningCell *cell = find_cell(group, key, workload);
    g_autofree char *before = cell != NULL ? g_steal_pointer(&cell->blocks) : NULL;

    if (cell == NULL) {
        cell = g_new0(MorningCell, 1);
        cell->cell_key = g_strdup(key);
        cell->workload = g_strdup(workload);
        cell->run = store_query_int(query, 5);
        g_ptr_array_add(group->cells, cell);
    }
    cell->runs += (guint)store_query_int(query, 3);
    cell->blocks = before != NULL ? g_strdup_printf("%s, %s", before, store_query_text(query, 4))
                                  : g_strdup(store_query_text(query, 4));
    cell->run = MIN(cell->run, store_query_int(query, 5));
}

/* Columns: cell key, workload, reason, number of runs, their blocks, the first. */
static void add_to_group(GPtrArray *groups, GHashTable *by_key, const StoreQuery *query)
{
    const char *reason = store_query_text(query, 2);
    g_autofree char *key = group_key(reason);
    MorningGroup *group = g_hash_table_lookup(by_key, key);

    if (group == NULL) {
        group = g_new0(MorningGroup, 1);
        group->reason = g_strdup(reason);
        group->cells = g_ptr_array_new_with_free_func(cell_free);
        g_ptr_array_add(groups, group);
        g_hash_table_insert(by_key, g_steal_pointer(&key), group);
    }
    group->runs += (guint)store_query_int(query, 3);
    add_to_cell(group, query);
}

static gint by_runs(gconstpointer a, gconstpointer b)
{
    const MorningGroup *first = *(const MorningGroup *const *)a;
    const MorningGroup *second = *(const MorningGroup *const *)b;

    return second->runs > first->runs ? 1 : second->runs < first->runs ? -1 : 0;
}

#define GROUPS(condition)                                                                          \
    "SELECT cell_key, workload, ifnull(reason, ''), count(*), group_concat(block + 1, ', '), "     \
    "min(id)"                                                                                      \
    " FROM (SELECT c.number, c.key AS cell_key, r.* FROM run r INDEXED BY run_by_state"            \
    "   JOIN cell c ON c.id = r.cell_id WHERE r.campaign_id = :campaign AND " condition            \
    "   ORDER BY c.number, r.block) GROUP BY number, workload, reason ORDER BY number, min(id)"

/* A later try of the same cell, block and workload. */
#define LATER                                                                                      \
    "EXISTS (SELECT 1 FROM run l WHERE l.cell_id = r.cell_id AND l.block = r.block"                \
    " AND ifnull(l.workload, '') = ifnull(r.workload, '')"                                         \
    " AND (l.attempt, l.interruptions) > (r.attempt, r.interruptions))"

static const char failed_sql[] = GROUPS("r.state = 'done' AND r.verdict = 'failed' AND NOT " LATER);
static const char contaminated_sql[] = GROUPS("r.state = 'done' AND r.verdict = 'contaminated'");
static const char skipped_sql[] = GROUPS("r.state = 'skipped'");

static gboolean load_groups(Store *store, gint64 campaign, const char *sql, GPtrArray *groups,
                            GError **error)
{
    g_autoptr(StoreQuery) query = store_query_new(store, sql, error);
    g_autoptr(GHashTable) by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    StoreStep step = STORE_ROW;

    if (query == NULL)
        return FALSE;
    store_query_bind_int(query, ":campaign", campaign);
    while (store_query_step(query, &step, error) && step == STORE_ROW)
        add_to_group(groups, by_key, query);
    g_ptr_array_sort(groups, by_runs);
    return step == STORE_END;
}

/* ---- phases ---- */

/* The phases of all runs, and what the invocations took, which are none of them. "create" is the
 * part of "start" that the hypervisor answers for. */
static const char phases_sql[] =
    "SELECT name, count(*), sum(ns), max(ns) FROM ("
    " SELECT p.name, p.duration_ns AS ns FROM run r JOIN phase p ON p.run_id = r.id"
    "  WHERE r.campaign_id = :campaign AND p.name <> 'create'"
    " UNION ALL SELECT 'invocations', sum(ifnull(i.host_ns, 0) + ifnull(i.prepare_ns, 0))"
    "  FROM run r JOIN invocation i ON i.run_id = r.id WHERE r.campaign_id = :campaign"
    "  GROUP BY r.id) GROUP BY name ORDER BY 3 DESC";

static gboolean load_phases(Store *store, Morning *morning, GError **error)
{
    g_autoptr(StoreQuery) query = store_query_new(store, phases_sql, error);
    StoreStep step = STORE_ROW;

    if (query == NULL)
        return FALSE;
    store_query_bind_int(query, ":campaign", morning->campaign->id);
    while (store_query_step(query, &step, error) && step == STORE_ROW) {
        MorningPhase *phase = g_new0(MorningPhase, 1);

        phase->name = g_strdup(store_query_text(query, 0));
        phase->runs = (guint)store_query_int(query, 1);
        phase->total_ns = store_query_int(query, 2);
        phase->max_ns = store_query_int(query, 3);
        morning->phases_ns += phase->total_ns;
        g_ptr_array_add(morning->phases, phase);
    }
    return step == STORE_END;
}

static guint count_runs(const GPtrArray *groups)
{
    guint runs = 0;

    for (guint i = 0; i < groups->len; i++)
        runs += ((const MorningGroup *)g_ptr_array_index(groups, i))->runs;
    return runs;
}

Morning *morning_load(Store *store, const char *campaign, gint64 now_ns, GError **error)
{
    const StatusSelect select = {.campaign = campaign};
    g_autoptr(Morning) morning = morning_new();
    gint64 id;

    morning->status = status_load(store, &select, now_ns, error);
    if (morning->status == NULL)
        return NULL;
    morning->campaign = g_ptr_array_index(morning->status, 0);
    id = morning->campaign->id;
    if (!load_groups(store, id, failed_sql, morning->failed, error) ||
        !load_groups(store, id, contaminated_sql, morning->contaminated, error) ||
        !load_groups(store, id, skipped_sql, morning->skipped, error) ||
        !load_phases(store, morning, error))
        return NULL;
    morning->failed_once = (guint)morning->campaign->failed - count_runs(morning->failed);
    return look_first(store, morning, error) ? g_steal_pointer(&morning) : NULL;
}
