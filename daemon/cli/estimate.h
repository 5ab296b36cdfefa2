/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long a plan will take: from the times of earlier runs in the database where there are any,
 * else from stated defaults; it always says which. */
#pragma once
#include <glib.h>

#include "model/matrix.h"
#include "store/store.h"

typedef struct {
    double seconds; /* the whole, gate's settle time included, waiting for idleness not */
    guint64 runs;   /* boots and processes */
    guint64 invocations;
    guint cells_measured; /* cells whose times come from the database */
    guint64 earlier_runs; /* how many runs these times were taken from */
    guint workloads;      /* benchmarks a cell */
    gboolean expanded;    /* workloads were expanded by the agent's catalogue, not just counted */
} Estimate;

/* store: NULL when there is no database yet. workloads: number of benchmarks. */
gboolean estimate_make(const Matrix *matrix, const Inventory *inventory, Store *store,
                       guint workloads, gboolean expanded, Estimate *ret_estimate, GError **error);

/* Two or three lines for people that end with a newline; transfer full. */
char *estimate_text(const Estimate *estimate, const Matrix *matrix);

/* The defaults: seconds of one run without its invocations, and of one invocation. */
double estimate_default_run(gboolean bare);
double estimate_default_invocation(const Plan *plan);
