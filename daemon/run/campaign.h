/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine: takes a campaign from the store and runs it to its end, one guest at a time. */
#pragma once
#include <glib.h>

#include "store/store.h"
#include "util/wait.h"

typedef struct {
    gint64 done, total; /* runs */
    gint64 failed, contaminated, interrupted, skipped;
} CampaignTotals;

/* What the caller shows while it runs. Called between steps, never while an invocation runs. */
typedef struct {
    void (*step)(void *data, const StoreRun *run, const char *step, const CampaignTotals *totals,
                 gint64 eta_ns);
    void (*finished)(void *data, const StoreRun *run, const char *verdict, const char *reason,
                     const CampaignTotals *totals);
    void *data;
} CampaignWatch;

typedef struct {
    const char *agent; /* path of the static Linux agent; NULL: searched for */
    const char *work;  /* folder for runs; NULL: "runs" beside the database */
    const char *keep;  /* or NULL */
    Cancel *cancel;
    const CampaignWatch *watch; /* or NULL */
} CampaignOptions;

/* Run until the queue is empty or cancel is set. FALSE only for failures of the whole (environment,
 * store); failed runs are counted. */
gboolean campaign_run(Store *store, gint64 campaign, const CampaignOptions *options,
                      CampaignTotals *ret_totals, GError **error);
