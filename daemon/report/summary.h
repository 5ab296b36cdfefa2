/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the database to the tables of "vmatrix results" and of the end of a run. */
#pragma once
#include <glib.h>

#include "report/table.h"
#include "store/store.h"

typedef struct {
    const char *campaign;     /* "latest", id or UUID prefix */
    const char *const *where; /* "axis=level", NULL-terminated, or NULL */
    const char *metric;       /* glob over workload or workload.metric, or NULL */
} SummarySelect;

/* A row a cell and metric: cell's axes, metric, median and mean of boots, interval, unit, n (boots
 * or processes), failed, verdict counts, ratio to baseline with interval where the plan names one.
 */
Table *summary_results(Store *store, const SummarySelect *select, GError **error);

/* The comparison people read first: a row a metric, a column a cell (baseline first): value, and
 * the ratio (turned so that above 1 is better than the baseline). At most 80 columns wide for
 * up to 4 cells. */
Table *summary_comparison(Store *store, const SummarySelect *select, GError **error);

/* Lines under a table that a reviewer needs: n of what, chain of virtualisation warning, failed
 * runs with reasons, flags. Transfer full. */
char *summary_notes(Store *store, const SummarySelect *select, GError **error);
