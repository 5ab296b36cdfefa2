/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/dataset.h"

#include <math.h>
#include <string.h>

#include "util/error.h"
#include "util/text.h"

static void metric_free(gpointer data)
{
    DatasetMetric *metric = data;

    metric_clear(&metric->metric);
    g_free(metric->label);
    g_free(metric);
}

static void run_free(gpointer data)
{
    DatasetRun *run = data;

    g_free(run->workload);
    g_free(run->state);
    g_free(run->verdict);
    g_free(run->reason);
    g_free(run->flags);
    g_free(run->replicate);
    g_free(run->boot_id);
    g_free(run);
}

void dataset_free(Dataset *dataset)
{
    if (dataset == NULL)
        return;
    store_campaign_clear(&dataset->campaign);
    g_free(dataset->first_run);
    matrix_free(dataset->matrix);
    plan_free(dataset->plan);
    g_ptr_array_unref(dataset->metrics);
    g_ptr_array_unref(dataset->runs);
    g_array_unref(dataset->cells);
    g_hash_table_unref(dataset->series);
    g_hash_table_unref(dataset->all);
    g_free(dataset);
}

static GHashTable *series_table_new(void)
{
    return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                 (GDestroyNotify)g_array_unref);
}

/* Empty; the containers are always there. */
static Dataset *dataset_new(void)
{
    Dataset *dataset = g_new0(Dataset, 1);

    dataset->metrics = g_ptr_array_new_with_free_func(metric_free);
    dataset->runs = g_ptr_array_new_with_free_func(run_free);
    dataset->cells = g_array_new(FALSE, FALSE, sizeof(guint));
    dataset->series = series_table_new();
    dataset->all = series_table_new();
    return dataset;
}

static gint64 *series_key(guint cell, guint metric)
{
    gint64 *key = g_new(gint64, 1);

    *key = ((gint64)cell << 32) | metric;
    return key;
}

static const GArray *find_series(GHashTable *table, guint cell, guint metric)
{
    g_autofree gint64 *key = series_key(cell, metric);

    return g_hash_table_lookup(table, key);
}

const GArray *dataset_series(const Dataset *dataset, guint cell, guint metric)
{
    return find_series(dataset->series, cell, metric);
}

gboolean dataset_has_values(const Dataset *dataset, guint cell)
{
    for (guint i = 0; i < dataset->metrics->len; i++)
        if (dataset_series(dataset, cell, i) != NULL)
            return TRUE;
    return FALSE;
}

/* ---- which cells ---- */

static gboolean cell_has(const Matrix *matrix, guint cell, guint axis, guint level)
{
    return matrix->levels[(gsize)cell * matrix->n_axes + axis] == level;
}

gboolean dataset_is_baseline(const Dataset *dataset, guint cell)
{
    const PlanMatch *baseline = dataset->plan->baseline;

    if (baseline == NULL)
        return FALSE;
    for (guint i = 0; i < baseline->axis->len; i++)
        if (!cell_has(dataset->matrix, cell, g_array_index(baseline->axis, guint, i),
                      g_array_index(baseline->level, guint, i)))
            return FALSE;
    return TRUE;
}

gint64 dataset_baseline_of(const Dataset *dataset, guint cell)
{
    if (dataset->plan->baseline == NULL || dataset_is_baseline(dataset, cell))
        return -1;
    return matrix_baseline_of(dataset->matrix, cell);
}

gboolean dataset_is_baseline_axis(const Dataset *dataset, guint axis)
{
    const PlanMatch *baseline = dataset->plan->baseline;

    for (guint i = 0; baseline != NULL && i < baseline->axis->len; i++)
        if (g_array_index(baseline->axis, guint, i) == axis)
            return TRUE;
    return FALSE;
}

/* "; did you mean "X"?" or the list of what there is. names is NULL-terminated. */
static char *suggest(const char *word, GPtrArray *names)
{
    /* Of one or two letters everything is near: "16" is not meant as "1". */
    const char *nearest =
        strlen(word) > 2 ? text_nearest(word, (const char *const *)names->pdata) : NULL;
    g_autofree char *all = NULL;

    if (nearest != NULL)
        return g_strdup_printf("; did you mean \"%s\"?", nearest);
    all = g_strjoinv(", ", (char **)names->pdata);
    return g_strdup_printf("; there are: %s", all);
}

static const PlanAxis *axis_at(const Plan *plan, guint axis)
{
    return g_ptr_array_index(plan->axes, axis);
}

static gboolean fail_axis(const Plan *plan, const char *condition, const char *axis, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (guint i = 0; i < plan->axes->len; i++)
        g_ptr_array_add(names, axis_at(plan, i)->name);
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = suggest(axis, names);

    g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "--where %s: plan %s has no axis \"%s\"%s",
                condition, plan->name, axis, hint);
    return FALSE;
}

static gboolean fail_level(const PlanAxis *axis, const char *condition, const char *level,
                           GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (guint i = 0; i < axis->levels->len; i++)
        g_ptr_array_add(names, ((PlanLevel *)g_ptr_array_index(axis->levels, i))->name);
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = suggest(level, names);

    g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "--where %s: axis \"%s\" has no level \"%s\"%s",
                condition, axis->name, level, hint);
    return FALSE;
}

/* allowed: for each axis NULL (any level), or a gboolean a level. */
static gboolean allow(const Plan *plan, const char *condition, gboolean **allowed, GError **error)
{
    const char *mark = strchr(condition, '=');
    g_autofree char *name = mark != NULL ? g_strndup(condition, (gsize)(mark - condition)) : NULL;

    if (mark == NULL) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "--where %s: not of the form axis=level, such as vcpus=2", condition);
        return FALSE;
    }
    int at = plan_axis_index(plan, name);

    if (at < 0)
        return fail_axis(plan, condition, name, error);
    const PlanAxis *axis = axis_at(plan, (guint)at);

    for (guint i = 0; i < axis->levels->len; i++) {
        if (!g_str_equal(((PlanLevel *)g_ptr_array_index(axis->levels, i))->name, mark + 1))
            continue;
        if (allowed[at] == NULL)
            allowed[at] = g_new0(gboolean, axis->levels->len);
        allowed[at][i] = TRUE;
        return TRUE;
    }
    return fail_level(axis, condition, mark + 1, error);
}

static gboolean is_allowed(const Matrix *matrix, guint cell, gboolean *const *allowed)
{
    for (guint axis = 0; axis < matrix->n_axes; axis++)
        if (allowed[axis] != NULL &&
            !allowed[axis][matrix->levels[(gsize)cell * matrix->n_axes + axis]])
            return FALSE;
    return TRUE;
}

static gboolean select_cells(Dataset *dataset, const char *const *where, GError **error)
{
    const Matrix *matrix = dataset->matrix;
    /* A NULL-terminated vector would end at the first axis without a condition. */
    g_autoptr(GPtrArray) allowed = g_ptr_array_new_with_free_func(g_free);

    g_ptr_array_set_size(allowed, (gint)matrix->n_axes);
    for (; where != NULL && *where != NULL; where++)
        if (!allow(dataset->plan, *where, (gboolean **)allowed->pdata, error))
            return FALSE;
    for (guint cell = 0; cell < matrix->n_cells; cell++)
        if (is_allowed(matrix, cell, (gboolean *const *)allowed->pdata))
            g_array_append_val(dataset->cells, cell);
    return TRUE;
}

/* ---- what was measured ---- */

/* A query over the campaign's rows; sql has the parameter :campaign. */
static StoreQuery *query_campaign(Store *store, const Dataset *dataset, const char *sql,
                                  GError **error)
{
    g_autoptr(StoreQuery) query = store_query_new(store, sql, error);

    if (query == NULL)
        return NULL;
    store_query_bind_int(query, ":campaign", dataset->campaign.id);
    return g_steal_pointer(&query);
}

static guint workload_position(const Dataset *dataset, const char *workload)
{
    guint at;

    if (g_ptr_array_find_with_equal_func(dataset->campaign.workloads, workload, g_str_equal, &at))
        return at;
    return G_MAXUINT;
}

static gint compare_metrics(gconstpointer a, gconstpointer b, gpointer data)
{
    const Metric *left = &(*(DatasetMetric *const *)a)->metric;
    const Metric *right = &(*(DatasetMetric *const *)b)->metric;
    guint at = workload_position(data, left->workload);
    guint other = workload_position(data, right->workload);
    gint order = at < other ? -1 : at > other;

    if (order == 0)
        order = strcmp(left->workload, right->workload);
    if (order == 0)
        order = strcmp(left->name, right->name);
    return order != 0 ? order : (gint)left->revision - (gint)right->revision;
}

static DatasetMetric *metric_from_row(const StoreQuery *query)
{
    DatasetMetric *metric = g_new0(DatasetMetric, 1);

    metric->id = store_query_int(query, 0);
    metric->metric.workload = g_strdup(store_query_text(query, 1));
    metric->metric.name = g_strdup(store_query_text(query, 2));
    metric->metric.unit = g_strdup(store_query_text(query, 3));
    if (!direction_parse(store_query_text(query, 4), &metric->metric.direction))
        metric->metric.direction = DIRECTION_LOWER; /* the schema allows nothing else */
    metric->metric.revision = (guint)store_query_int(query, 5);
    return metric;
}

/* Index of the metric among those selected, or -1. */
static gint find_metric(const Dataset *dataset, gint64 id)
{
    for (guint i = 0; i < dataset->metrics->len; i++)
        if (((DatasetMetric *)g_ptr_array_index(dataset->metrics, i))->id == id)
            return (gint)i;
    return -1;
}

static void label_metrics(Dataset *dataset)
{
    for (guint i = 0; i < dataset->metrics->len; i++) {
        DatasetMetric *metric = g_ptr_array_index(dataset->metrics, i);
        guint same = 0;

        for (guint k = 0; k < dataset->metrics->len; k++) {
            const DatasetMetric *other = g_ptr_array_index(dataset->metrics, k);

            same += g_str_equal(other->metric.workload, metric->metric.workload);
        }
        metric->label =
            same == 1 ? g_strdup(metric->metric.workload)
                      : g_strdup_printf("%s.%s", metric->metric.workload, metric->metric.name);
    }
}

static gboolean fail_metric(const char *pattern, const GPtrArray *all, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (guint i = 0; i < all->len; i++) {
        char *workload = ((DatasetMetric *)g_ptr_array_index(all, i))->metric.workload;

        if (!g_ptr_array_find_with_equal_func(names, workload, g_str_equal, NULL))
            g_ptr_array_add(names, workload);
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = suggest(pattern, names);

    g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                "--metric %s: nothing that this campaign measured matches%s", pattern, hint);
    return FALSE;
}

static gboolean load_metrics(Store *store, Dataset *dataset, const char *pattern, GError **error)
{
    /* Through run_metric's small rows: the samples are not touched. */
    g_autoptr(StoreQuery) query =
        query_campaign(store, dataset,
                       "SELECT DISTINCT metric_id, workload, metric, unit, direction, revision"
                       "  FROM run_summary WHERE campaign = :campaign",
                       error);
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(metric_free);
    StoreStep step = STORE_ROW;

    if (query == NULL)
        return FALSE;
    for (;;) {
        if (!store_query_step(query, &step, error))
            return FALSE;
        if (step == STORE_END)
            break;
        g_ptr_array_add(all, metric_from_row(query));
    }
    for (guint i = all->len; i-- > 0;) {
        const DatasetMetric *metric = g_ptr_array_index(all, i);

        if (pattern == NULL || metric_matches(&metric->metric, pattern))
            g_ptr_array_add(dataset->metrics, g_ptr_array_steal_index(all, i));
    }
    if (dataset->metrics->len == 0 && all->len > 0)
        return fail_metric(pattern, all, error);
    g_ptr_array_sort_with_data(dataset->metrics, compare_metrics, dataset);
    label_metrics(dataset);
    return TRUE;
}

/* Column 0 is a cell's number: it must be one of the plan's. */
static gboolean read_cell(const Dataset *dataset, const StoreQuery *query, guint *ret_cell,
                          GError **error)
{
    gint64 cell = store_query_int(query, 0);

    if (cell < 0 || cell >= dataset->matrix->n_cells) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "campaign %" G_GINT64_FORMAT ": its stored plan has %u cells, but the database "
                    "has a cell number %" G_GINT64_FORMAT "; was it edited by hand?",
                    dataset->campaign.id, dataset->matrix->n_cells, cell);
        return FALSE;
    }
    *ret_cell = (guint)cell;
    return TRUE;
}

static DatasetRun *run_from_row(const StoreQuery *query, guint cell)
{
    DatasetRun *run = g_new0(DatasetRun, 1);

    run->cell = cell;
    run->block = (guint)store_query_int(query, 1);
    run->workload = g_strdup(store_query_text(query, 2));
    run->state = g_strdup(store_query_text(query, 3));
    run->verdict = g_strdup(store_query_text(query, 4));
    run->reason = g_strdup(store_query_text(query, 5));
    run->flags = g_strdup(store_query_text(query, 6));
    run->replicate = g_strdup(store_query_text(query, 7));
    run->boot_id = g_strdup(store_query_text(query, 8));
    return run;
}

static void index_runs(Dataset *dataset)
{
    guint cells = dataset->matrix->n_cells, run = 0;

    dataset->first_run = g_new(guint, (gsize)cells + 1);
    for (guint cell = 0; cell <= cells; cell++) {
        while (run < dataset->runs->len &&
               ((DatasetRun *)g_ptr_array_index(dataset->runs, run))->cell < cell)
            run++;
        dataset->first_run[cell] = run;
    }
}

static gboolean load_runs(Store *store, Dataset *dataset, GError **error)
{
    g_autoptr(StoreQuery) query = query_campaign(
        store, dataset,
        "SELECT cell.number, r.block, r.workload, r.state, r.verdict, r.reason, r.flags,"
        "       r.replicate, r.boot_id"
        "  FROM run r JOIN cell ON cell.id = r.cell_id"
        " WHERE r.campaign_id = :campaign ORDER BY cell.number, r.block, r.position",
        error);
    StoreStep step = STORE_ROW;
    guint cell;

    if (query == NULL)
        return FALSE;
    for (;;) {
        if (!store_query_step(query, &step, error))
            return FALSE;
        if (step == STORE_END)
            break;
        if (!read_cell(dataset, query, &cell, error))
            return FALSE;
        g_ptr_array_add(dataset->runs, run_from_row(query, cell));
    }
    index_runs(dataset);
    return TRUE;
}

static GArray *take_series(GHashTable *table, guint cell, guint metric)
{
    g_autofree gint64 *key = series_key(cell, metric);
    GArray *series = g_hash_table_lookup(table, key);

    if (series == NULL) {
        series = g_array_new(FALSE, FALSE, sizeof(DatasetPoint));
        g_hash_table_insert(table, g_steal_pointer(&key), series);
    }
    return series;
}

/* Whether the last point of series is of this block. */
static gboolean ends_with_block(const GArray *series, guint block)
{
    return series->len > 0 && g_array_index(series, DatasetPoint, series->len - 1).block == block;
}

/* Rows come by block and then run: of two clean runs in one block the later one stands. */
static void add_clean(GArray *series, DatasetPoint point)
{
    if (ends_with_block(series, point.block))
        g_array_set_size(series, series->len - 1);
    g_array_append_val(series, point);
}

/* Of all attempts of a block the mean of the logarithms, as ratios are compared; their sum stands
 * there until mean_attempts(). A single attempt's value stays what it is, to the last bit. */
static void add_attempt(GArray *series, DatasetPoint point)
{
    DatasetPoint *last;

    point.attempts = 1;
    if (!ends_with_block(series, point.block)) {
        g_array_append_val(series, point);
        return;
    }
    last = &g_array_index(series, DatasetPoint, series->len - 1);
    if (last->attempts++ == 1)
        last->value = log(last->value);
    last->value += log(point.value);
}

static void mean_attempts(GHashTable *table)
{
    GHashTableIter iter;
    gpointer series;

    g_hash_table_iter_init(&iter, table);
    while (g_hash_table_iter_next(&iter, NULL, &series))
        for (guint i = 0; i < ((GArray *)series)->len; i++) {
            DatasetPoint *point = &g_array_index((GArray *)series, DatasetPoint, i);

            if (point->attempts > 1)
                point->value = exp(point->value / point->attempts);
            if (isnan(point->value)) /* one that was below 0: no ratio can be taken */
                point->value = 0;
        }
}

static void add_point(Dataset *dataset, guint cell, guint metric, const StoreQuery *query)
{
    const DatasetPoint point = {.block = (guint)store_query_int(query, 1),
                                .value = store_query_real(query, 2)};

    if (g_str_equal(store_query_text(query, 4), "clean"))
        add_clean(take_series(dataset->series, cell, metric), point);
    add_attempt(take_series(dataset->all, cell, metric), point);
}

static gboolean load_points(Store *store, Dataset *dataset, GError **error)
{
    g_autoptr(StoreQuery) query =
        query_campaign(store, dataset,
                       "SELECT cell_number, block, median, metric_id, verdict FROM run_summary"
                       " WHERE campaign = :campaign AND verdict IN ('clean', 'contaminated')"
                       " ORDER BY block, run",
                       error);
    StoreStep step = STORE_ROW;
    guint cell;

    if (query == NULL)
        return FALSE;
    for (;;) {
        if (!store_query_step(query, &step, error))
            return FALSE;
        if (step == STORE_END)
            break;
        if (!read_cell(dataset, query, &cell, error))
            return FALSE;
        gint metric = find_metric(dataset, store_query_int(query, 3));

        if (metric >= 0)
            add_point(dataset, cell, (guint)metric, query);
    }
    mean_attempts(dataset->all);
    return TRUE;
}

Dataset *dataset_load(Store *store, const SummarySelect *select, GError **error)
{
    g_autoptr(Dataset) dataset = dataset_new();

    if (!store_campaign_get(store, select->campaign, &dataset->campaign, error))
        return NULL;
    /* The stored text, not the file: that may have changed since. */
    dataset->plan = plan_parse(dataset->campaign.plan_path, dataset->campaign.plan_text, -1, error);
    if (dataset->plan == NULL)
        return NULL;
    dataset->matrix = matrix_new(dataset->plan, error);
    if (dataset->matrix == NULL || !select_cells(dataset, select->where, error) ||
        !load_metrics(store, dataset, select->metric, error) || !load_runs(store, dataset, error) ||
        !load_points(store, dataset, error))
        return NULL;
    return g_steal_pointer(&dataset);
}

/* ---- comparing and counting ---- */

/* Both series are sorted by block: one walk over both. */
static guint pair_up(const GArray *left, const GArray *right, double *ret_left, double *ret_right)
{
    guint i = 0, k = 0, pairs = 0;

    while (i < left->len && k < right->len) {
        const DatasetPoint *a = &g_array_index(left, DatasetPoint, i);
        const DatasetPoint *b = &g_array_index(right, DatasetPoint, k);

        if (a->block == b->block) {
            ret_left[pairs] = a->value;
            ret_right[pairs++] = b->value;
        }
        i += a->block <= b->block;
        k += b->block <= a->block;
    }
    return pairs;
}

/* *ret_left_out: blocks in which only one side has a value. */
static void compare_series(const GArray *left, const GArray *right, Direction direction,
                           Interval *ret_ratio, guint *ret_left_out)
{
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(DatasetPoint));

    left = left != NULL ? left : none;
    right = right != NULL ? right : none;
    g_autofree double *subjects = g_new0(double, left->len + 1);
    g_autofree double *baselines = g_new0(double, left->len + 1);
    guint pairs = pair_up(left, right, subjects, baselines);

    if (direction == DIRECTION_HIGHER)
        stats_ratio_interval(subjects, baselines, pairs, DATASET_LEVEL, ret_ratio);
    else
        stats_ratio_interval(baselines, subjects, pairs, DATASET_LEVEL, ret_ratio);
    *ret_left_out = left->len + right->len - 2 * pairs;
}

DatasetVerdict dataset_verdict(const Interval *ratio)
{
    if (!isfinite(ratio->low) || !isfinite(ratio->high))
        return DATASET_UNDECIDED;
    return ratio->low > 1 ? DATASET_BETTER : ratio->high < 1 ? DATASET_WORSE : DATASET_EQUAL;
}

void dataset_compare(const Dataset *dataset, guint subject, guint baseline, guint metric,
                     DatasetPairs *ret_pairs)
{
    const DatasetMetric *what = g_ptr_array_index(dataset->metrics, metric);
    Direction direction = what->metric.direction;
    guint ignored;

    compare_series(dataset_series(dataset, subject, metric),
                   dataset_series(dataset, baseline, metric), direction, &ret_pairs->ratio,
                   &ret_pairs->left_out);
    compare_series(find_series(dataset->all, subject, metric),
                   find_series(dataset->all, baseline, metric), direction, &ret_pairs->all,
                   &ignored);
    ret_pairs->fragile = dataset_verdict(&ret_pairs->ratio) != dataset_verdict(&ret_pairs->all);
}

double dataset_rejection_rate(const DatasetCounts *counts)
{
    guint judged = counts->clean + counts->rejected;

    return judged > 0 ? (double)counts->rejected / judged : NAN;
}

void dataset_count(const Dataset *dataset, guint cell, const char *workload,
                   DatasetCounts *ret_counts)
{
    DatasetCounts counts = {0};

    for (guint i = dataset->first_run[cell]; i < dataset->first_run[cell + 1]; i++) {
        const DatasetRun *run = g_ptr_array_index(dataset->runs, i);

        if (workload != NULL && run->workload != NULL && !g_str_equal(run->workload, workload))
            continue;
        counts.attempts += run->verdict != NULL;
        counts.clean += g_strcmp0(run->verdict, "clean") == 0;
        counts.rejected += g_strcmp0(run->verdict, "contaminated") == 0;
        counts.failed += g_strcmp0(run->verdict, "failed") == 0;
        counts.interrupted += g_strcmp0(run->verdict, "interrupted") == 0;
        counts.skipped += g_str_equal(run->state, "skipped");
        counts.waiting += g_str_equal(run->state, "queued") || g_str_equal(run->state, "running");
        if (run->replicate != NULL)
            counts.replicate = run->replicate;
        if (run->reason != NULL)
            counts.last_reason = run->reason;
    }
    *ret_counts = counts;
}
