/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The invocations of one run: prepare, read evidence, measure in silence, read evidence, collect,
 * store. */
#pragma once
#include <glib.h>

#include "run/attempt.h"

typedef struct {
    guint done, failed, unsupported;
    char *reason;       /* of the first that failed, or NULL; transfer full */
    guint contaminated; /* of those that are done */
    char *culprit;      /* of the first contaminated one: "WORKLOAD: who took how much" */
} InvokeTotals;

void invoke_totals_clear(InvokeTotals *totals);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(InvokeTotals, invoke_totals_clear)

/* Do all invocations of the run on a started attempt: workloads[order[i]] for each i, each
 * plan->repeat.invocations times. A workload that the agent refuses or that it cannot do is a row
 * with its reason, and the next one goes on. FALSE: the link is broken, the time is up or the run
 * was cancelled; the invocation in flight is stored as failed, with the reason, when the store
 * works. */
gboolean invoke_all(Attempt *attempt, Store *store, gint64 run, const GPtrArray *workloads,
                    const guint *order, guint n_order, InvokeTotals *ret_totals, GError **error);
