/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One campaign as the tables need it: the matrix, the runs, and each clean run's value of each
 * metric by cell and block. Between the database and the statistics. */
#pragma once
#include <glib.h>

#include "model/matrix.h"
#include "report/stats.h"
#include "report/summary.h"
#include "store/store.h"

#define DATASET_LEVEL 0.95 /* of all intervals */

typedef struct {
    gint64 id; /* row of the table metric */
    Metric metric;
    char *label; /* "workload", or "workload.metric" where the workload has several */
} DatasetMetric;

typedef struct {
    guint cell; /* index in the matrix */
    guint block;
    char *workload;                    /* boot-per workload; else NULL */
    char *state, *verdict, *reason;    /* verdict and reason may be NULL */
    char *flags, *replicate, *boot_id; /* may be NULL */
} DatasetRun;

/* The summary (median) of one run, or of all attempts of a block together. */
typedef struct {
    guint block;
    double value;
    guint attempts; /* of Dataset.all: how many there are */
} DatasetPoint;

typedef struct {
    StoreCampaign campaign;
    Plan *plan;
    Matrix *matrix;
    GPtrArray *metrics; /* DatasetMetric*, those selected, in the campaign's order */
    GPtrArray *runs;    /* DatasetRun*, all, by cell, block and position */
    guint *first_run;   /* n_cells + 1: where each cell's runs begin in runs */
    GArray *cells;      /* guint: the cells selected, in the matrix's order */
    GHashTable *series; /* gint64* cell * metrics + metric -> GArray* of DatasetPoint */
    GHashTable *all;    /* the same of clean and contaminated runs together */
} Dataset;

/* An unknown axis or level in select->where, and a metric that matches nothing, are
 * VM_ERROR_INVALID with a suggestion. Conditions on one axis are alternatives; on several axes all
 * must hold. */
Dataset *dataset_load(Store *store, const SummarySelect *select, GError **error);
void dataset_free(Dataset *dataset); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Dataset, dataset_free)

/* The points of a cell and metric by block, or NULL when it has none. */
const GArray *dataset_series(const Dataset *dataset, guint cell, guint metric);

/* Whether the cell has a value of any of the metrics. */
gboolean dataset_has_values(const Dataset *dataset, guint cell);

/* Whether the cell is one that the others are compared with. */
gboolean dataset_is_baseline(const Dataset *dataset, guint cell);

/* The cell that this one is compared with, or -1: there is none, or this is a baseline itself. */
gint64 dataset_baseline_of(const Dataset *dataset, guint cell);

/* Whether the plan's baseline names a level of this axis (then cells are compared along it). */
gboolean dataset_is_baseline_axis(const Dataset *dataset, guint axis);

/* What a comparison says: where the whole interval of the ratio lies. */
typedef enum {
    DATASET_UNDECIDED, /* there is no interval */
    DATASET_WORSE,     /* below 1 */
    DATASET_EQUAL,     /* around 1: no difference is shown */
    DATASET_BETTER,    /* above 1 */
} DatasetVerdict;

DatasetVerdict dataset_verdict(const Interval *ratio);

typedef struct {
    Interval ratio;   /* turned so that above 1 is better than the baseline; n is the pairs used */
    guint left_out;   /* blocks in which only one side has a value */
    Interval all;     /* the same ratio with contaminated attempts too: a block's value is then the
                         geometric mean of its attempts */
    gboolean fragile; /* that gives another verdict */
} DatasetPairs;

/* Compare two cells by the blocks that both have. */
void dataset_compare(const Dataset *dataset, guint subject, guint baseline, guint metric,
                     DatasetPairs *ret_pairs);

/* How a cell's runs ended; workload NULL counts all, else those that could have measured it. */
typedef struct {
    guint attempts, clean, rejected, failed, interrupted, skipped, waiting;
    const char *replicate;   /* "boot", "process", or NULL */
    const char *last_reason; /* owned by the dataset, or NULL */
} DatasetCounts;

void dataset_count(const Dataset *dataset, guint cell, const char *workload,
                   DatasetCounts *ret_counts);

/* Contaminated of those that were judged (clean or contaminated), 0..1; NAN where none was. */
double dataset_rejection_rate(const DatasetCounts *counts);
