/* SPDX-License-Identifier: GPL-3.0-or-later */
/* summary_notes(): what a reviewer must read before the figures. */
#include <string.h>

#include "report/dataset.h"
#include "report/summary.h"
#include "util/text.h"

/* So many reasons of one kind are printed; the rest is counted. */
enum { REASONS_MAX = 6, REJECTIONS_MAX = 8, LINE_MAX_BYTES = 2048 };

typedef struct {
    Store *store;
    const Dataset *dataset;
    GString *text;
} Notes;

static void G_GNUC_PRINTF(2, 3) add_line(const Notes *notes, const char *format, ...)
{
    g_autofree char *line = NULL;
    g_autofree char *safe = NULL;
    va_list arguments;

    va_start(arguments, format);
    line = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    /* Reasons may quote what a guest wrote. */
    safe = text_escape(line, -1, LINE_MAX_BYTES);
    g_string_append_printf(notes->text, "%s\n", safe);
}

/* "1 boot", "3 boots". Transfer full. */
static char *counted(guint n, const char *singular, const char *plural)
{
    return g_strdup_printf("%u %s", n, n == 1 ? singular : plural);
}

/* ---- small queries ---- */

/* First column of all rows, as text; sql has the parameter :campaign. NULL values are left out. */
static GPtrArray *query_texts(const Notes *notes, const char *sql, GError **error)
{
    g_autoptr(StoreQuery) query = store_query_new(notes->store, sql, error);
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    StoreStep step = STORE_ROW;

    if (query == NULL)
        return NULL;
    store_query_bind_int(query, ":campaign", notes->dataset->campaign.id);
    for (;;) {
        if (!store_query_step(query, &step, error))
            return NULL;
        if (step == STORE_END)
            return g_steal_pointer(&texts);
        if (store_query_type(query, 0) != STORE_NULL)
            g_ptr_array_add(texts, g_strdup(store_query_text(query, 0)));
    }
}

static char *join(const GPtrArray *texts, const char *separator)
{
    g_autoptr(GString) joined = g_string_new(NULL);

    for (guint i = 0; i < texts->len; i++)
        g_string_append_printf(joined, "%s%s", i > 0 ? separator : "",
                               (const char *)g_ptr_array_index(texts, i));
    return g_string_free(g_steal_pointer(&joined), FALSE);
}

/* ---- headlines ---- */

static gboolean add_emulation(const Notes *notes, GError **error)
{
    g_autoptr(GPtrArray) names =
        query_texts(notes,
                    "SELECT DISTINCT hypervisor FROM cell WHERE campaign_id = :campaign"
                    " AND accelerator = 'tcg' ORDER BY hypervisor",
                    error);

    if (names == NULL)
        return FALSE;
    for (guint i = 0; i < names->len; i++)
        add_line(notes, "%s is emulation (tcg): not a performance result of hardware.",
                 (const char *)g_ptr_array_index(names, i));
    return TRUE;
}

/* "tcg on kvm, bare on kvm" for a host that is itself a guest. */
static gboolean add_chain(const Notes *notes, GError **error)
{
    g_autoptr(GPtrArray) chains = query_texts(
        notes,
        "SELECT DISTINCT CASE cell.accelerator WHEN 'none' THEN 'bare' WHEN 'native' THEN"
        "   cell.driver ELSE cell.accelerator END || ' on ' ||"
        "   CASE f.value WHEN 'unknown' THEN 'an unknown hypervisor' ELSE f.value END AS chain"
        "  FROM run_fact f JOIN cell ON cell.id = f.cell"
        " WHERE f.campaign = :campaign AND f.scope = 'host' AND f.name = 'virtualisation'"
        "   AND f.value <> 'none' ORDER BY chain",
        error);

    if (chains == NULL)
        return FALSE;
    if (chains->len > 0) {
        g_autofree char *all = join(chains, ", ");

        add_line(notes,
                 "The host is itself virtualised (%s): not a performance result of hardware.", all);
    }
    return TRUE;
}

/* ---- n of what ---- */

typedef struct {
    guint low, high;   /* clean runs a cell, the least and the most */
    GHashTable *names; /* hypervisor levels, or cell keys: a set */
    GHashTable *boots; /* host boot ids: a set */
} Replicates;

/* Whom this cell's replicates are of: its hypervisor, or its key where that is no axis. */
static char *subject_name(const Dataset *dataset, guint cell)
{
    const PlanLevel *level = matrix_level_named(dataset->matrix, cell, "hypervisor");

    return level != NULL ? g_strdup(level->name) : matrix_key(dataset->matrix, cell);
}

static void collect_boots(const Dataset *dataset, guint cell, Replicates *replicates)
{
    for (guint i = dataset->first_run[cell]; i < dataset->first_run[cell + 1]; i++) {
        const DatasetRun *run = g_ptr_array_index(dataset->runs, i);

        if (g_strcmp0(run->verdict, "clean") == 0 && run->boot_id != NULL)
            g_hash_table_add(replicates->boots, run->boot_id);
    }
}

/* Boots: of a series of values, not of runs, as boot-per workload boots once for each workload. */
static guint replicates_of(const Dataset *dataset, guint cell)
{
    guint most = 0;

    for (guint metric = 0; metric < dataset->metrics->len; metric++) {
        const GArray *series = dataset_series(dataset, cell, metric);

        most = series != NULL ? MAX(most, series->len) : most;
    }
    return most;
}

static void collect_replicates(const Dataset *dataset, const char *kind, Replicates *replicates)
{
    for (guint i = 0; i < dataset->matrix->n_cells; i++) {
        DatasetCounts counts;
        guint n = replicates_of(dataset, i);

        dataset_count(dataset, i, NULL, &counts);
        if (n == 0 || g_strcmp0(counts.replicate, kind) != 0)
            continue;
        replicates->low = replicates->high == 0 ? n : MIN(replicates->low, n);
        replicates->high = MAX(replicates->high, n);
        g_hash_table_add(replicates->names, subject_name(dataset, i));
        collect_boots(dataset, i, replicates);
    }
}

static char *join_names(GHashTable *names)
{
    g_autoptr(GList) keys = g_list_sort(g_hash_table_get_keys(names), (GCompareFunc)g_strcmp0);
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();

    for (const GList *at = keys; at != NULL && sorted->len < REASONS_MAX; at = at->next)
        g_ptr_array_add(sorted, at->data);
    if (g_hash_table_size(names) > sorted->len)
        g_ptr_array_add(sorted, (gpointer) "…");
    return join(sorted, ", ");
}

/* "n of bare: 3 processes, 1 host boot" */
static void add_replicates(const Notes *notes, const char *kind, const char *singular,
                           const char *plural)
{
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) boots = g_hash_table_new(g_str_hash, g_str_equal);
    Replicates replicates = {.names = names, .boots = boots};

    collect_replicates(notes->dataset, kind, &replicates);
    if (replicates.high == 0)
        return;
    g_autofree char *who = join_names(names);
    g_autofree char *high = counted(replicates.high, singular, plural);
    g_autofree char *low =
        replicates.low < replicates.high ? g_strdup_printf("%u to ", replicates.low) : g_strdup("");
    g_autofree char *host = counted(g_hash_table_size(boots), "host boot", "host boots");

    if (g_str_equal(kind, "process"))
        add_line(notes, "n of %s: %s%s, %s.", who, low, high, host);
    else
        add_line(notes, "n of %s: %s%s.", who, low, high);
}

/* ---- how the runs ended ---- */

static void add_totals(const Notes *notes)
{
    DatasetCounts all = {0};
    g_autoptr(GString) line = g_string_new(NULL);

    for (guint cell = 0; cell < notes->dataset->matrix->n_cells; cell++) {
        DatasetCounts one;

        dataset_count(notes->dataset, cell, NULL, &one);
        all.attempts += one.attempts;
        all.clean += one.clean;
        all.rejected += one.rejected;
        all.failed += one.failed;
        all.interrupted += one.interrupted;
        all.skipped += one.skipped;
        all.waiting += one.waiting;
    }
    const struct {
        guint n;
        const char *name;
    } parts[] = {{all.clean, "clean"},     {all.rejected, "contaminated"},
                 {all.failed, "failed"},   {all.interrupted, "interrupted"},
                 {all.skipped, "skipped"}, {all.waiting, "not run yet"}};

    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (parts[i].n > 0)
            g_string_append_printf(line, "%s%u %s", line->len > 0 ? ", " : "", parts[i].n,
                                   parts[i].name);
    g_autofree char *runs = counted(notes->dataset->runs->len, "run", "runs");

    add_line(notes, "%s: %s.", runs, line->len > 0 ? line->str : "none");
}

/* "Rejected: KEY 1 of 4 (25 %)": for those that lost any. */
static void add_rejections(const Notes *notes)
{
    guint cells = 0;

    for (guint i = 0; i < notes->dataset->cells->len; i++) {
        guint cell = g_array_index(notes->dataset->cells, guint, i);
        DatasetCounts counts;

        dataset_count(notes->dataset, cell, NULL, &counts);
        if (counts.rejected == 0)
            continue;
        g_autofree char *key = matrix_key(notes->dataset->matrix, cell);

        if (cells++ < REJECTIONS_MAX)
            add_line(notes, "Rejected: %s %u of %u attempts (%.0f %%).", key, counts.rejected,
                     counts.clean + counts.rejected, dataset_rejection_rate(&counts) * 100);
    }
    if (cells > REJECTIONS_MAX)
        add_line(notes,
                 "Rejected: %u more cells: vmatrix sql \"SELECT cell_key, rejection_rate FROM "
                 "contamination WHERE campaign = %" G_GINT64_FORMAT "\"",
                 cells - REJECTIONS_MAX, notes->dataset->campaign.id);
}

static guint count_fragile(const Dataset *dataset, guint cell)
{
    gint64 baseline = dataset_baseline_of(dataset, cell);
    guint fragile = 0;

    for (guint metric = 0; baseline >= 0 && metric < dataset->metrics->len; metric++) {
        DatasetPairs pairs;

        dataset_compare(dataset, cell, (guint)baseline, metric, &pairs);
        fragile += pairs.fragile;
    }
    return fragile;
}

static void add_fragile(const Notes *notes)
{
    guint fragile = 0;

    for (guint i = 0; i < notes->dataset->cells->len; i++)
        fragile += count_fragile(notes->dataset, g_array_index(notes->dataset->cells, guint, i));
    if (fragile > 0)
        add_line(notes,
                 "%u of the comparisons %s fragile: with the rejected attempts in it, the verdict "
                 "(better, worse, no difference shown) is another one.",
                 fragile, fragile == 1 ? "is" : "are");
}

/* One reason and the runs that have it. */
typedef struct {
    char *reason;    /* "failed: no banner", owned */
    GPtrArray *runs; /* DatasetRun*, not owned */
} Why;

static void why_free(gpointer data)
{
    Why *why = data;

    g_free(why->reason);
    g_ptr_array_unref(why->runs);
    g_free(why);
}

static Why *find_why(GPtrArray *whys, const char *reason)
{
    for (guint i = 0; i < whys->len; i++) {
        Why *why = g_ptr_array_index(whys, i);

        if (g_str_equal(why->reason, reason))
            return why;
    }
    Why *why = g_new0(Why, 1);

    why->reason = g_strdup(reason);
    why->runs = g_ptr_array_new();
    g_ptr_array_add(whys, why);
    return why;
}

/* What became of a run that gave no clean value, or NULL. */
static const char *outcome(const DatasetRun *run)
{
    if (g_str_equal(run->state, "skipped"))
        return "skipped";
    return run->verdict != NULL && !g_str_equal(run->verdict, "clean") ? run->verdict : NULL;
}

/* Blocks are stored from 0; people count from 1. */
static void print_why(const Notes *notes, const Why *why)
{
    g_autofree char *first = NULL;
    const DatasetRun *run = g_ptr_array_index(why->runs, 0);
    guint n = why->runs->len;

    first = matrix_key(notes->dataset->matrix, run->cell);
    if (n == 1)
        add_line(notes, "  %s (%s, block %u)", why->reason, first, run->block + 1);
    else
        add_line(notes, "  %s (%u runs; the first: %s, block %u)", why->reason, n, first,
                 run->block + 1);
}

static void add_reasons(const Notes *notes)
{
    g_autoptr(GPtrArray) whys = g_ptr_array_new_with_free_func(why_free);
    const GPtrArray *runs = notes->dataset->runs;

    for (guint i = 0; i < runs->len; i++) {
        DatasetRun *run = g_ptr_array_index(runs, i);

        if (outcome(run) == NULL)
            continue;
        g_autofree char *reason = g_strdup_printf(
            "%s: %s", outcome(run), run->reason != NULL ? run->reason : "no reason was recorded");

        g_ptr_array_add(find_why(whys, reason)->runs, run);
    }
    for (guint i = 0; i < whys->len && i < REASONS_MAX; i++)
        print_why(notes, g_ptr_array_index(whys, i));
    if (whys->len > REASONS_MAX)
        add_line(notes,
                 "  … and %u other reasons: vmatrix sql \"SELECT cell_key, last_reason FROM "
                 "contamination WHERE campaign = %" G_GINT64_FORMAT "\"",
                 whys->len - REASONS_MAX, notes->dataset->campaign.id);
}

/* ---- inside the runs ---- */

/* Benchmarks that could not run, or failed in a run that went on. */
static gboolean add_invocations(const Notes *notes, GError **error)
{
    g_autoptr(GPtrArray) lines = query_texts(
        notes,
        "SELECT i.workload || ' ' || i.state || ' (' || cell.key || '): ' ||"
        "   ifnull(i.reason, 'no reason was recorded') ||"
        "   CASE count(*) WHEN 1 THEN '' ELSE printf(' (%d times)', count(*)) END"
        "  FROM invocation i JOIN run r ON r.id = i.run_id JOIN cell ON cell.id = r.cell_id"
        " WHERE r.campaign_id = :campaign AND i.state <> 'done'"
        " GROUP BY cell.number, i.workload, i.state, i.reason"
        " ORDER BY cell.number, i.workload",
        error);

    if (lines == NULL)
        return FALSE;
    for (guint i = 0; i < lines->len && i < REASONS_MAX; i++)
        add_line(notes, "  %s", (const char *)g_ptr_array_index(lines, i));
    if (lines->len > REASONS_MAX)
        add_line(notes, "  … and %u other benchmarks that did not run", lines->len - REASONS_MAX);
    return TRUE;
}

/* Adds each of the comma-separated flags to counts (char* -> guint). */
static void count_flags(GHashTable *counts, const char *flags)
{
    g_auto(GStrv) words = g_strsplit(flags, ",", -1);

    for (char **word = words; *word != NULL; word++) {
        guint before;

        g_strstrip(*word);
        if (**word == '\0')
            continue;
        before = GPOINTER_TO_UINT(g_hash_table_lookup(counts, *word));
        g_hash_table_insert(counts, g_strdup(*word), GUINT_TO_POINTER(before + 1));
    }
}

/* "Flags of runs: forced 1, steal 2." */
static void print_flags(const Notes *notes, const char *whose, const GPtrArray *all)
{
    g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GString) line = g_string_new(NULL);

    for (guint i = 0; i < all->len; i++)
        count_flags(counts, g_ptr_array_index(all, i));
    g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(counts), (GCompareFunc)g_strcmp0);

    for (const GList *at = names; at != NULL; at = at->next)
        g_string_append_printf(line, "%s%s %u", line->len > 0 ? ", " : "", (const char *)at->data,
                               GPOINTER_TO_UINT(g_hash_table_lookup(counts, at->data)));
    if (line->len > 0)
        add_line(notes, "Flags of %s: %s.", whose, line->str);
}

static gboolean add_flags(const Notes *notes, GError **error)
{
    g_autoptr(GPtrArray) runs =
        query_texts(notes, "SELECT flags FROM run WHERE campaign_id = :campaign", error);
    g_autoptr(GPtrArray) invocations = NULL;

    if (runs == NULL)
        return FALSE;
    invocations = query_texts(notes,
                              "SELECT i.flags FROM invocation i JOIN run r ON r.id = i.run_id"
                              " WHERE r.campaign_id = :campaign",
                              error);
    if (invocations == NULL)
        return FALSE;
    print_flags(notes, "runs", runs);
    print_flags(notes, "invocations", invocations);
    return TRUE;
}

/* ---- how to read the table ---- */

/* Blocks in which a metric that both sides have has a value on one side only, over all compared
 * cells. */
static guint count_left_out(const Dataset *dataset)
{
    guint left_out = 0;

    for (guint i = 0; i < dataset->cells->len; i++) {
        guint cell = g_array_index(dataset->cells, guint, i), most = 0;
        gint64 baseline = dataset_baseline_of(dataset, cell);

        if (baseline < 0)
            continue;
        for (guint metric = 0; metric < dataset->metrics->len; metric++) {
            DatasetPairs pairs;

            /* What one side cannot measure at all shows in the table, as "-". */
            if (dataset_series(dataset, cell, metric) == NULL ||
                dataset_series(dataset, (guint)baseline, metric) == NULL)
                continue;
            dataset_compare(dataset, cell, (guint)baseline, metric, &pairs);
            most = MAX(most, pairs.left_out);
        }
        left_out += most;
    }
    return left_out;
}

static void add_reading(const Notes *notes)
{
    guint left_out;

    if (notes->dataset->plan->baseline == NULL) {
        add_line(notes, "The plan names no baseline: no ratios.");
        return;
    }
    add_line(notes, "Ratio above 1: better than the baseline; 95 %% interval over paired blocks.");
    left_out = count_left_out(notes->dataset);
    if (left_out > 0) {
        g_autofree char *blocks = counted(left_out, "incomplete block is", "incomplete blocks are");

        add_line(notes, "%s left out of the comparisons (one side has no clean run).", blocks);
    }
}

/* Axes along which nothing varies: the table has no column for them. */
static void add_constants(const Notes *notes)
{
    const Matrix *matrix = notes->dataset->matrix;
    g_autoptr(GString) line = g_string_new(NULL);

    for (guint axis = 0; axis < matrix->n_axes; axis++) {
        const PlanAxis *what = g_ptr_array_index(notes->dataset->plan->axes, axis);

        if (what->levels->len == 1)
            g_string_append_printf(line, "%s%s=%s", line->len > 0 ? ", " : "", what->name,
                                   matrix_level(matrix, 0, axis)->name);
    }
    if (line->len > 0)
        add_line(notes, "All cells: %s.", line->str);
}

char *summary_notes(Store *store, const SummarySelect *select, GError **error)
{
    g_autoptr(Dataset) dataset = dataset_load(store, select, error);
    g_autoptr(GString) text = g_string_new(NULL);
    const Notes notes = {.store = store, .dataset = dataset, .text = text};

    if (dataset == NULL || !add_emulation(&notes, error) || !add_chain(&notes, error))
        return NULL;
    add_constants(&notes);
    add_replicates(&notes, "boot", "boot", "boots");
    add_replicates(&notes, "process", "process", "processes");
    add_reading(&notes);
    add_totals(&notes);
    add_rejections(&notes);
    add_fragile(&notes);
    add_reasons(&notes);
    if (!add_invocations(&notes, error) || !add_flags(&notes, error))
        return NULL;
    return g_string_free(g_steal_pointer(&text), FALSE);
}
