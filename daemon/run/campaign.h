/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine: takes a campaign from the store and runs it to its end, one guest at a time. */
#pragma once
#include <glib.h>

#include "store/store.h"
#include "util/wait.h"

typedef enum {
    CAMPAIGN_DONE,      /* nothing is queued any more */
    CAMPAIGN_PAUSED,    /* somebody asked for a pause; the rest is queued */
    CAMPAIGN_CANCELLED, /* somebody asked for a cancel */
    CAMPAIGN_STOPPED,   /* the cancel token was set: this process is to end */
} CampaignOutcome;

typedef struct {
    gint64 done, total; /* runs, reruns included; done counts those below too */
    gint64 failed, contaminated, interrupted, skipped;
    gint64 spoiled; /* of the contaminated ones: those that were the last attempt */
    gint64 partial; /* clean runs in which some invocation failed */
    gint64 dropped; /* runs that stop-by took away */
    CampaignOutcome outcome;
} CampaignTotals;

/* What the caller shows while it runs. Called between steps, never while an invocation runs. */
typedef struct {
    /* step is the name of the step that begins; eta_ns -1: not known yet. */
    void (*step)(void *data, const StoreRun *run, const char *step, const CampaignTotals *totals,
                 gint64 eta_ns);
    /* The gate waits for somebody: why, and who. Once for each culprit. May be NULL. */
    void (*waiting)(void *data, const StoreRun *run, const char *what,
                    const CampaignTotals *totals);
    void (*finished)(void *data, const StoreRun *run, const char *verdict, const char *reason,
                     gint64 duration_ns, const CampaignTotals *totals);
    void *data;
} CampaignWatch;

typedef struct {
    const char *agent; /* path of the static Linux agent; NULL: searched for */
    const char *work;  /* folder for runs; NULL: "runs" beside the database */
    Cancel *cancel;
    const CampaignWatch *watch; /* or NULL */
    const char *hooks;          /* folder of hooks, or NULL */
    /* A sign of life: the next one comes within this time. For a watchdog; may be NULL. */
    void (*alive)(void *data, gint64 within_ns);
    void *alive_data;
    gboolean resumable; /* when stopped, stay in the queue (daemon) instead of being cancelled */
} CampaignOptions;

/* Run until nothing of it is queued, somebody pauses or cancels it, or cancel is set (then the run
 * in flight is interrupted and queued again). FALSE only for failures of the whole (environment,
 * store, another measurement holds the host); failed runs are counted. */
gboolean campaign_run(Store *store, gint64 campaign, const CampaignOptions *options,
                      CampaignTotals *ret_totals, GError **error);

/* Clean up after a process that died in the middle of a run, whatever its campaign: what
 * campaign_run() does first. For a daemon that has nothing to run. VM_ERROR_BUSY when another
 * process measures. */
gboolean campaign_recover(Store *store, const CampaignOptions *options, GError **error);

/* The exit code for these totals: VM_EXIT_DONE, _CELL_FAILED or _PARTIAL. */
int campaign_exit_code(const CampaignTotals *totals);
