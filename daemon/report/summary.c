/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/summary.h"

#include <math.h>
#include <string.h>

#include "report/dataset.h"

/* What is left out first on a narrow terminal. */
enum { RANK_RATIO = 1, RANK_SPREAD, RANK_COUNTS };

static const DatasetMetric *metric_at(const Dataset *dataset, guint metric)
{
    return g_ptr_array_index(dataset->metrics, metric);
}

/* ---- columns and cells that both tables have ---- */

/* An axis may be named as one of our own columns. */
static char *axis_column_name(const char *axis)
{
    static const char *const taken[] = {
        "cell",   "workload", "metric",  "unit",      "direction", "revision",    "median", "mean",
        "stddev", "n",        "pairs",   "replicate", "attempts",  "rejected",    "ratio",  "value",
        "failed", "skipped",  "fragile", "reason",    "label",     "interrupted", "base",   NULL};

    return g_strv_contains(taken, axis) ? g_strconcat("axis-", axis, NULL) : g_strdup(axis);
}

static const PlanAxis *axis_at(const Dataset *dataset, guint axis)
{
    return g_ptr_array_index(dataset->plan->axes, axis);
}

/* Whether the cells selected differ along this axis. */
static gboolean varies(const Dataset *dataset, guint axis)
{
    const Matrix *matrix = dataset->matrix;

    for (guint i = 1; i < dataset->cells->len; i++)
        if (matrix_level(matrix, g_array_index(dataset->cells, guint, i), axis) !=
            matrix_level(matrix, g_array_index(dataset->cells, guint, 0), axis))
            return TRUE;
    return FALSE;
}

/* Programs get every axis, people those that they need to tell rows apart. */
static void add_axis_columns(Table *table, const Dataset *dataset, gboolean with_baseline_axes)
{
    for (guint axis = 0; axis < dataset->matrix->n_axes; axis++) {
        const char *title = axis_at(dataset, axis)->name;
        g_autofree char *name = axis_column_name(title);
        gboolean wanted = with_baseline_axes || !dataset_is_baseline_axis(dataset, axis);

        table_column(table, name, title, COLUMN_TEXT);
        table_audience(table, wanted && varies(dataset, axis) ? AUDIENCE_ALL : AUDIENCE_PROGRAMS);
    }
}

static void add_axis_cells(Table *table, const Dataset *dataset, guint cell)
{
    for (guint axis = 0; axis < dataset->matrix->n_axes; axis++)
        table_text(table, matrix_level(dataset->matrix, cell, axis)->name);
}

static void add_column_for(Table *table, const char *name, const char *title, ColumnKind kind,
                           Audience audience)
{
    table_column(table, name, title, kind);
    table_audience(table, audience);
}

static void add_metric_columns(Table *table)
{
    add_column_for(table, "workload", "workload", COLUMN_TEXT, AUDIENCE_PROGRAMS);
    add_column_for(table, "metric", "metric", COLUMN_TEXT, AUDIENCE_PROGRAMS);
    add_column_for(table, "unit", "unit", COLUMN_TEXT, AUDIENCE_PROGRAMS);
    add_column_for(table, "direction", "direction", COLUMN_TEXT, AUDIENCE_PROGRAMS);
    add_column_for(table, "revision", "revision", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    add_column_for(table, "label", "metric", COLUMN_TEXT, AUDIENCE_PEOPLE);
}

/* metric NULL: a cell that has no value of any. */
static void add_metric_cells(Table *table, const DatasetMetric *metric)
{
    table_text(table, metric != NULL ? metric->metric.workload : NULL);
    table_text(table, metric != NULL ? metric->metric.name : NULL);
    table_text(table, metric != NULL ? metric->metric.unit : NULL);
    table_text(table, metric != NULL ? direction_name(metric->metric.direction) : NULL);
    if (metric != NULL)
        table_int(table, metric->metric.revision);
    else
        table_text(table, NULL);
    table_text(table, metric != NULL ? metric->label : "-");
}

static void add_key(Table *table, const Dataset *dataset, gint64 cell)
{
    g_autofree char *key = cell >= 0 ? matrix_key(dataset->matrix, (guint)cell) : NULL;

    table_text(table, key);
}

/* The values of the runs, one a replicate; at least room for one. */
static double *values_of(const Dataset *dataset, guint cell, guint metric, gsize *ret_n)
{
    const GArray *series = dataset_series(dataset, cell, metric);
    gsize n = series != NULL ? series->len : 0;
    double *values = g_new0(double, n + 1);

    for (gsize i = 0; i < n; i++)
        values[i] = g_array_index(series, DatasetPoint, i).value;
    *ret_n = n;
    return values;
}

static double median_of(const Dataset *dataset, guint cell, guint metric)
{
    gsize n;
    g_autofree double *values = values_of(dataset, cell, metric, &n);

    return n > 0 ? stats_median(values, n) : NAN;
}

static void add_scaled(Table *table, double value, const DatasetMetric *metric)
{
    g_autofree char *shown = table_scale(value, metric != NULL ? metric->metric.unit : NULL);

    table_real(table, value, shown);
}

/* main: the table is about the ratio; else it is one column among others, where there is any. */
static void add_ratio_columns(Table *table, const Dataset *dataset, gboolean main)
{
    gboolean any = dataset->plan->baseline != NULL;

    add_column_for(table, "ratio", "ratio", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    add_column_for(table, "ratio_low", "low", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    add_column_for(table, "ratio_high", "high", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    add_column_for(table, "ratio_text", "ratio [95 %]", COLUMN_NUMBER,
                   any ? AUDIENCE_PEOPLE : AUDIENCE_PROGRAMS);
    table_rank(table, main ? 0 : RANK_RATIO);
    add_column_for(table, "pairs", "n", COLUMN_NUMBER, main ? AUDIENCE_ALL : AUDIENCE_PROGRAMS);
    add_column_for(table, "blocks_left_out", "left out", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    add_column_for(table, "ratio_all_attempts", "all", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    add_column_for(table, "fragile", "fragile", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
}

/* "0.982 [0.975, 0.990]", without the interval when there is none, "-" without a ratio; "fragile"
 * behind it where it is. */
static char *show_ratio(const DatasetPairs *pairs)
{
    const Interval *ratio = &pairs->ratio;
    const char *fragile = pairs->fragile ? " fragile" : "";
    g_autofree char *centre = table_digits(ratio->centre, 3);
    g_autofree char *low = table_digits(ratio->low, 3);
    g_autofree char *high = table_digits(ratio->high, 3);

    if (!isfinite(ratio->low))
        return g_strdup_printf("%s%s", centre, fragile);
    return g_strdup_printf("%s [%s, %s]%s", centre, low, high, fragile);
}

/* baseline -1: nothing to compare with. */
static void add_ratio_cells(Table *table, const Dataset *dataset, guint cell, gint64 baseline,
                            gint metric)
{
    const Interval none = {.centre = NAN, .low = NAN, .high = NAN};
    DatasetPairs pairs = {.ratio = none, .all = none};

    if (baseline >= 0 && metric >= 0)
        dataset_compare(dataset, cell, (guint)baseline, (guint)metric, &pairs);
    g_autofree char *shown = show_ratio(&pairs);

    table_real(table, pairs.ratio.centre, NULL);
    table_real(table, pairs.ratio.low, NULL);
    table_real(table, pairs.ratio.high, NULL);
    table_text(table, shown);
    table_int(table, (gint64)pairs.ratio.n);
    table_int(table, pairs.left_out);
    table_real(table, pairs.all.centre, NULL);
    table_int(table, pairs.fragile);
}

/* ---- summary_results: a row a cell and metric ---- */

static gboolean any_without_values(const Dataset *dataset)
{
    for (guint i = 0; i < dataset->cells->len; i++)
        if (!dataset_has_values(dataset, g_array_index(dataset->cells, guint, i)))
            return TRUE;
    return FALSE;
}

static void add_result_columns(Table *table, const Dataset *dataset)
{
    add_column_for(table, "cell", "cell", COLUMN_TEXT, AUDIENCE_PROGRAMS);
    add_axis_columns(table, dataset, TRUE);
    add_metric_columns(table);
    table_column(table, "median", "median", COLUMN_NUMBER);
    add_column_for(table, "mean", "mean", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    add_column_for(table, "mean_low", "low", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    add_column_for(table, "mean_high", "high", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    add_column_for(table, "interval_text", "95 %", COLUMN_NUMBER, AUDIENCE_PEOPLE);
    add_column_for(table, "stddev", "stddev", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    add_column_for(table, "stddev_text", "stddev", COLUMN_NUMBER, AUDIENCE_PEOPLE);
    table_rank(table, RANK_SPREAD);
    table_column(table, "n", "n", COLUMN_NUMBER);
    add_column_for(table, "replicate", "replicate", COLUMN_TEXT, AUDIENCE_PROGRAMS);
    add_ratio_columns(table, dataset, FALSE);
    table_column(table, "attempts", "attempts", COLUMN_NUMBER);
    table_rank(table, RANK_COUNTS);
    add_column_for(table, "rejected", "rejected", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    table_column(table, "rejection_rate", "rejected", COLUMN_NUMBER);
    table_rank(table, RANK_COUNTS);
    add_column_for(table, "failed", "failed", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    add_column_for(table, "interrupted", "interrupted", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    add_column_for(table, "skipped", "skipped", COLUMN_NUMBER, AUDIENCE_PROGRAMS);
    table_column(table, "reason", "why not", COLUMN_TEXT);
    if (!any_without_values(dataset))
        table_audience(table, AUDIENCE_PROGRAMS);
}

/* A part of the centre in per cent, with a sign before it: "±2.1 %"; "-" when there is none. */
static void add_relative(Table *table, const char *sign, double part, double centre)
{
    double percent = fabs(part / centre) * 100;
    g_autofree char *digits = table_digits(percent, 2);

    if (!isfinite(percent)) {
        table_text(table, "-");
        return;
    }
    g_autofree char *text = g_strdup_printf("%s%s %%", sign, digits);

    table_text(table, text);
}

static void add_centre_cells(Table *table, const Dataset *dataset, guint cell, gint metric)
{
    g_autofree double *values = NULL;
    gsize n = 0;
    Interval mean;

    if (metric >= 0)
        values = values_of(dataset, cell, (guint)metric, &n);
    stats_t_interval(values, n, DATASET_LEVEL, &mean);
    double stddev = stats_stddev(values, n);
    double median = n > 0 ? stats_median(values, n) : NAN;

    add_scaled(table, median, metric >= 0 ? metric_at(dataset, (guint)metric) : NULL);
    table_real(table, mean.centre, NULL);
    table_real(table, mean.low, NULL);
    table_real(table, mean.high, NULL);
    add_relative(table, "±", mean.high - mean.centre, mean.centre);
    table_real(table, stddev, NULL);
    add_relative(table, "", stddev, mean.centre);
    table_int(table, (gint64)n);
}

/* People see "1 (33 %)", or "0". */
static void add_rejection_cell(Table *table, const DatasetCounts *counts)
{
    double rate = dataset_rejection_rate(counts);
    g_autofree char *shown = counts->rejected > 0
                                 ? g_strdup_printf("%u (%.0f %%)", counts->rejected, rate * 100)
                                 : g_strdup("0");

    table_real(table, rate, shown);
}

static void add_result_row(Table *table, const Dataset *dataset, guint cell, gint metric)
{
    const DatasetMetric *what = metric >= 0 ? metric_at(dataset, (guint)metric) : NULL;
    DatasetCounts counts;

    dataset_count(dataset, cell, what != NULL ? what->metric.workload : NULL, &counts);
    table_row(table);
    add_key(table, dataset, cell);
    add_axis_cells(table, dataset, cell);
    add_metric_cells(table, what);
    add_centre_cells(table, dataset, cell, metric);
    table_text(table, counts.replicate);
    add_ratio_cells(table, dataset, cell, dataset_baseline_of(dataset, cell), metric);
    table_int(table, counts.attempts);
    table_int(table, counts.rejected);
    add_rejection_cell(table, &counts);
    table_int(table, counts.failed);
    table_int(table, counts.interrupted);
    table_int(table, counts.skipped);
    table_text(table, counts.last_reason);
}

static Table *results_from(const Dataset *dataset)
{
    Table *table = table_new();

    add_result_columns(table, dataset);
    for (guint i = 0; i < dataset->cells->len; i++) {
        guint cell = g_array_index(dataset->cells, guint, i);

        for (guint metric = 0; metric < dataset->metrics->len; metric++)
            if (dataset_series(dataset, cell, metric) != NULL)
                add_result_row(table, dataset, cell, (gint)metric);
        if (!dataset_has_values(dataset, cell))
            add_result_row(table, dataset, cell, -1);
    }
    return table;
}

Table *summary_results(Store *store, const SummarySelect *select, GError **error)
{
    g_autoptr(Dataset) dataset = dataset_load(store, select, error);

    return dataset != NULL ? results_from(dataset) : NULL;
}

/* ---- summary_comparison: a row a compared cell and metric ---- */

/* Adds "qemu" for a hypervisor, which needs no more, or "vcpus=2"; after others, "/qemu". */
static void append_level(GString *label, const PlanAxis *axis, const PlanLevel *level)
{
    if (label->len > 0)
        g_string_append_c(label, '/');
    if (!g_str_equal(axis->name, "hypervisor"))
        g_string_append_printf(label, "%s=", axis->name);
    g_string_append(label, level->name);
}

/* The cell's levels along the baseline's axes: "qemu", or "qemu/mitigations=off". */
static char *side_label(const Dataset *dataset, guint cell)
{
    g_autoptr(GString) label = g_string_new(NULL);

    for (guint axis = 0; axis < dataset->matrix->n_axes; axis++)
        if (dataset_is_baseline_axis(dataset, axis))
            append_level(label, axis_at(dataset, axis), matrix_level(dataset->matrix, cell, axis));
    return g_string_free(g_steal_pointer(&label), FALSE);
}

static char *baseline_label(const Dataset *dataset)
{
    const PlanMatch *baseline = dataset->plan->baseline;
    g_autoptr(GString) label = g_string_new(NULL);

    for (guint i = 0; i < baseline->axis->len; i++) {
        const PlanAxis *axis = axis_at(dataset, g_array_index(baseline->axis, guint, i));

        append_level(label, axis,
                     g_ptr_array_index(axis->levels, g_array_index(baseline->level, guint, i)));
    }
    return g_string_free(g_steal_pointer(&label), FALSE);
}

/* guint: the selected cells that are not baseline. */
static GArray *subjects_of(const Dataset *dataset)
{
    GArray *subjects = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint i = 0; i < dataset->cells->len; i++) {
        guint cell = g_array_index(dataset->cells, guint, i);

        if (!dataset_is_baseline(dataset, cell))
            g_array_append_val(subjects, cell);
    }
    return subjects;
}

/* The one label that all subjects have, or NULL when they differ. */
static char *common_label(const Dataset *dataset, const GArray *subjects)
{
    g_autofree char *first = side_label(dataset, g_array_index(subjects, guint, 0));

    for (guint i = 1; i < subjects->len; i++) {
        g_autofree char *other = side_label(dataset, g_array_index(subjects, guint, i));

        if (!g_str_equal(first, other))
            return NULL;
    }
    return g_steal_pointer(&first);
}

/* Where all subjects are of one kind, that kind heads a column; else a column names it. */
static void add_comparison_columns(Table *table, const Dataset *dataset, const char *common)
{
    g_autofree char *baseline = baseline_label(dataset);

    add_column_for(table, "cell", "cell", COLUMN_TEXT, AUDIENCE_PROGRAMS);
    add_column_for(table, "baseline_cell", "baseline", COLUMN_TEXT, AUDIENCE_PROGRAMS);
    add_axis_columns(table, dataset, FALSE);
    add_metric_columns(table);
    table_column(table, "baseline_value", baseline, COLUMN_NUMBER);
    add_column_for(table, "side", "cell", COLUMN_TEXT,
                   common != NULL ? AUDIENCE_PROGRAMS : AUDIENCE_PEOPLE);
    table_column(table, "value", common != NULL ? common : "value", COLUMN_NUMBER);
    add_ratio_columns(table, dataset, TRUE);
}

static void add_comparison_row(Table *table, const Dataset *dataset, guint cell, gint metric)
{
    gint64 baseline = dataset_baseline_of(dataset, cell);
    const DatasetMetric *what = metric >= 0 ? metric_at(dataset, (guint)metric) : NULL;
    g_autofree char *side = side_label(dataset, cell);
    double reference = NAN, value = NAN;

    if (metric >= 0) {
        value = median_of(dataset, cell, (guint)metric);
        if (baseline >= 0)
            reference = median_of(dataset, (guint)baseline, (guint)metric);
    }
    table_row(table);
    add_key(table, dataset, cell);
    add_key(table, dataset, baseline);
    add_axis_cells(table, dataset, cell);
    add_metric_cells(table, what);
    add_scaled(table, reference, what);
    table_text(table, side);
    add_scaled(table, value, what);
    add_ratio_cells(table, dataset, cell, baseline, metric);
}

/* Cells that differ along the baseline's axes only are of one group; groups in the order of their
 * levels, and within a group the matrix's order. */
static gint compare_groups(const Dataset *dataset, guint a, guint b)
{
    const Matrix *matrix = dataset->matrix;

    for (guint axis = 0; axis < matrix->n_axes; axis++) {
        gint left = matrix->levels[(gsize)a * matrix->n_axes + axis];
        gint right = matrix->levels[(gsize)b * matrix->n_axes + axis];

        if (left != right && !dataset_is_baseline_axis(dataset, axis))
            return left - right;
    }
    return 0;
}

static gint compare_subjects(gconstpointer a, gconstpointer b, gpointer data)
{
    guint left = *(const guint *)a, right = *(const guint *)b;
    gint order = compare_groups(data, left, right);

    return order != 0 ? order : left < right ? -1 : left > right;
}

static gboolean group_has_values(const Dataset *dataset, const guint *group, guint n, guint metric)
{
    gint64 baseline = dataset_baseline_of(dataset, group[0]);
    gboolean any = baseline >= 0 && dataset_series(dataset, (guint)baseline, metric) != NULL;

    for (guint i = 0; i < n; i++)
        any = any || dataset_series(dataset, group[i], metric) != NULL;
    return any;
}

/* Every cell of the group has a row for every metric, so that what is missing shows. */
static void add_group(Table *table, const Dataset *dataset, const guint *group, guint n)
{
    gboolean any = FALSE;

    for (guint metric = 0; metric < dataset->metrics->len; metric++) {
        if (!group_has_values(dataset, group, n, metric))
            continue;
        any = TRUE;
        for (guint i = 0; i < n; i++)
            add_comparison_row(table, dataset, group[i], (gint)metric);
    }
    for (guint i = 0; i < n && !any; i++)
        add_comparison_row(table, dataset, group[i], -1);
}

Table *summary_comparison(Store *store, const SummarySelect *select, GError **error)
{
    g_autoptr(Dataset) dataset = dataset_load(store, select, error);

    if (dataset == NULL)
        return NULL;
    g_autoptr(GArray) subjects = subjects_of(dataset);

    /* Without a baseline, or with nothing but baseline, there is nothing to compare. */
    if (dataset->plan->baseline == NULL || subjects->len == 0)
        return results_from(dataset);
    g_autofree char *common = common_label(dataset, subjects);
    Table *table = table_new();

    add_comparison_columns(table, dataset, common);
    g_array_sort_with_data(subjects, compare_subjects, dataset);
    for (guint from = 0, to = 0; from < subjects->len; from = to) {
        const guint *group = &g_array_index(subjects, guint, from);

        while (to < subjects->len &&
               compare_groups(dataset, *group, g_array_index(subjects, guint, to)) == 0)
            to++;
        add_group(table, dataset, group, to - from);
    }
    return table;
}
