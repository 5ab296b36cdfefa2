/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/look.h"

#include <string.h>

enum { LOOK_MAX = 5, NAMED_MAX = 3 };

/* From these shares on they are worth a sentence. */
static const double contaminated_share = 0.1;
static const double gate_share = 0.25;

static void G_GNUC_PRINTF(2, 3) add(Morning *morning, const char *format, ...)
{
    va_list arguments;

    if (morning->look->len >= LOOK_MAX)
        return;
    va_start(arguments, format);
    g_ptr_array_add(morning->look, g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

/* ---- cells ---- */

/* A cell that was tried. */
typedef struct {
    char *key;
    gboolean clean, failed; /* some run of it is clean; its last try in some block failed */
} LookCell;

static void cell_free(gpointer data)
{
    LookCell *cell = data;

    g_free(cell->key);
    g_free(cell);
}

static GPtrArray *load_cells(Store *store, const Morning *morning, GError **error)
{
    g_autoptr(StoreQuery) query =
        store_query_new(store,
                        "SELECT c.key, total(r.verdict = 'clean') > 0 FROM cell c"
                        " JOIN run r ON r.cell_id = c.id AND r.state = 'done'"
                        " WHERE c.campaign_id = :campaign GROUP BY c.id ORDER BY c.number",
                        error);
    g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(cell_free);
    StoreStep step = STORE_ROW;

    if (query == NULL)
        return NULL;
    store_query_bind_int(query, ":campaign", morning->campaign->id);
    while (store_query_step(query, &step, error) && step == STORE_ROW) {
        LookCell *cell = g_new0(LookCell, 1);

        cell->key = g_strdup(store_query_text(query, 0));
        cell->clean = store_query_int(query, 1) != 0;
        g_ptr_array_add(cells, cell);
    }
    return step == STORE_END ? g_steal_pointer(&cells) : NULL;
}

/* Keys of all cells in the groups: a set of borrowed texts. */
static GHashTable *keys_of(const GPtrArray *groups)
{
    GHashTable *keys = g_hash_table_new(g_str_hash, g_str_equal);

    for (guint i = 0; i < groups->len; i++) {
        const MorningGroup *group = g_ptr_array_index(groups, i);

        for (guint j = 0; j < group->cells->len; j++)
            g_hash_table_add(keys, ((MorningCell *)g_ptr_array_index(group->cells, j))->cell_key);
    }
    return keys;
}

/* "2 cells have no clean run: A; B" */
static void add_empty_cells(Morning *morning, const GPtrArray *cells)
{
    g_autoptr(GString) names = g_string_new(NULL);
    guint count = 0;

    for (guint i = 0; i < cells->len; i++) {
        const LookCell *cell = g_ptr_array_index(cells, i);

        if (cell->clean)
            continue;
        if (count++ < NAMED_MAX)
            g_string_append_printf(names, "%s%s", names->len > 0 ? "; " : "", cell->key);
    }
    if (count > 0)
        add(morning, "%u cell%s no clean run: %s%s", count, count == 1 ? " has" : "s have",
            names->str, count > NAMED_MAX ? "; …" : "");
}

/* Whether the level ("guest=micro") is one of the key's words. */
static gboolean has_level(const char *key, const char *level)
{
    gsize length = strlen(level);

    for (const char *at = strstr(key, level); at != NULL; at = strstr(at + 1, level))
        if ((at == key || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return TRUE;
    return FALSE;
}

/* A level that all failed cells have, and some cell that did not fail has not. */
static gboolean tells_apart(const char *level, const GPtrArray *cells)
{
    gboolean apart = FALSE;

    for (guint i = 0; i < cells->len; i++) {
        const LookCell *cell = g_ptr_array_index(cells, i);

        if (cell->failed && !has_level(cell->key, level))
            return FALSE;
        apart = apart || (!cell->failed && !has_level(cell->key, level));
    }
    return apart;
}

/* "all that failed have guest=victim" */
static void add_common_levels(Morning *morning, const GPtrArray *cells)
{
    g_autoptr(GString) levels = g_string_new(NULL);
    const char *first = NULL;
    guint failed = 0;

    for (guint i = 0; i < cells->len; i++) {
        const LookCell *cell = g_ptr_array_index(cells, i);

        failed += cell->failed;
        if (cell->failed && first == NULL)
            first = cell->key;
    }
    if (failed < 2)
        return;
    g_auto(GStrv) words = g_strsplit(first, " ", -1);

    for (char **word = words; *word != NULL; word++)
        if (tells_apart(*word, cells))
            g_string_append_printf(levels, " %s", *word);
    if (levels->len > 0)
        add(morning, "all %u cells that failed have%s", failed, levels->str);
}

static gboolean look_at_cells(Store *store, Morning *morning, GError **error)
{
    g_autoptr(GPtrArray) cells = load_cells(store, morning, error);
    g_autoptr(GHashTable) failed = keys_of(morning->failed);

    if (cells == NULL)
        return FALSE;
    for (guint i = 0; i < cells->len; i++) {
        LookCell *cell = g_ptr_array_index(cells, i);

        cell->failed = g_hash_table_contains(failed, cell->key);
    }
    /* While it runs, a cell may have its clean run before it yet. */
    if (morning->campaign->left == 0)
        add_empty_cells(morning, cells);
    add_common_levels(morning, cells);
    return TRUE;
}

/* ---- the rest ---- */

static void look_at_failed(Morning *morning)
{
    const MorningGroup *group;
    const MorningCell *cell;

    if (morning->failed->len == 0)
        return;
    group = g_ptr_array_index(morning->failed, 0);
    cell = g_ptr_array_index(group->cells, 0);
    add(morning,
        "\"vmatrix log run:%" G_GINT64_FORMAT "\" tells of the first that failed (--console: what "
        "its guest printed); \"vmatrix retry %" G_GINT64_FORMAT "\" runs what failed again",
        cell->run, morning->campaign->id);
}

static void look_at_contamination(Morning *morning)
{
    const StatusCampaign *campaign = morning->campaign;
    gint64 judged = campaign->clean + campaign->contaminated;
    const MorningGroup *most;

    if (campaign->contaminated == 0 ||
        (double)campaign->contaminated < contaminated_share * (double)judged)
        return;
    most = g_ptr_array_index(morning->contaminated, 0);
    add(morning,
        "%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
        " runs were contaminated: something else worked on the host: %s",
        campaign->contaminated, judged, most->reason);
}

static void look_at_skipped(Morning *morning)
{
    const MorningGroup *most;

    if (morning->skipped->len == 0)
        return;
    most = g_ptr_array_index(morning->skipped, 0);
    add(morning, "%u run%s never begun: %s", most->runs, most->runs == 1 ? " was" : "s were",
        most->reason);
}

static void look_at_time(Morning *morning)
{
    for (guint i = 0; i < morning->phases->len; i++) {
        const MorningPhase *phase = g_ptr_array_index(morning->phases, i);

        if (strcmp(phase->name, "gate") == 0 &&
            (double)phase->total_ns > gate_share * (double)morning->phases_ns)
            add(morning, "%.0f %% of the time went by in waiting for an idle host",
                100.0 * (double)phase->total_ns / (double)morning->phases_ns);
    }
}

/* What flags say that reviewers will ask about. */
static const struct {
    const char *flag, *says;
} flags[] = {
    {"forced", "the guest did not shut down when it was asked to"},
    {"partial", "some of the invocations failed"},
    {"drift", "the guest's clock and the host's disagree"},
    {"steal", "the host's own CPUs were taken away from it"},
    {"busy", "the host was not idle"},
};

static gboolean look_at_flag(Store *store, Morning *morning, const char *flag, const char *says,
                             GError **error)
{
    g_autoptr(StoreQuery) query =
        store_query_new(store,
                        "SELECT count(*) FROM run WHERE campaign_id = :campaign"
                        " AND ',' || flags || ',' LIKE '%,' || :flag || ',%'",
                        error);
    StoreStep step;
    gint64 count;

    if (query == NULL || !store_query_bind_int(query, ":campaign", morning->campaign->id) ||
        !store_query_bind_text(query, ":flag", flag) || !store_query_step(query, &step, error))
        return FALSE;
    count = store_query_int(query, 0);
    if (count > 0)
        add(morning, "%" G_GINT64_FORMAT " run%s flagged \"%s\": %s", count,
            count == 1 ? " is" : "s are", flag, says);
    return TRUE;
}

static gboolean look_at_flags(Store *store, Morning *morning, GError **error)
{
    for (gsize i = 0; i < G_N_ELEMENTS(flags); i++)
        if (!look_at_flag(store, morning, flags[i].flag, flags[i].says, error))
            return FALSE;
    return TRUE;
}

static void look_at_end(Morning *morning)
{
    const StatusCampaign *campaign = morning->campaign;

    if (campaign->interrupted > 0)
        add(morning,
            "%" G_GINT64_FORMAT " run%s interrupted and done again: the log of vmatrixd, libvirtd "
            "or the machine says why",
            campaign->interrupted, campaign->interrupted == 1 ? " was" : "s were");
    if (campaign->ended_ns == 0)
        add(morning, "it has not ended: \"vmatrix status\" says when it will");
    else if (morning->look->len == 0 && campaign->clean > 0)
        add(morning,
            "nothing: no run was lost; \"vmatrix results %" G_GINT64_FORMAT "\" says what they "
            "measured",
            campaign->id);
}

gboolean look_first(Store *store, Morning *morning, GError **error)
{
    if (!look_at_cells(store, morning, error))
        return FALSE;
    look_at_failed(morning);
    look_at_contamination(morning);
    look_at_skipped(morning);
    if (!look_at_flags(store, morning, error))
        return FALSE;
    look_at_time(morning);
    look_at_end(morning);
    return TRUE;
}
