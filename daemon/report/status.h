/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queue as people watch it: what is done and left of each campaign, what runs now, and when it
 * will end. Made to be asked often: counts come out of an index alone. */
#pragma once
#include <glib.h>

#include "report/table.h"
#include "store/store.h"

typedef struct {
    gint64 id;
    char *uuid, *name;
    char *state; /* queued, running, done, cancelled */
    gboolean paused, cancel;
    gint priority;
    gint64 created_ns, not_before_ns, started_ns, ended_ns; /* UTC; 0: not yet, or at once */
    gint64 stop_at_ns;                                      /* UTC; 0: not known yet, or never */
    gint stop_by_minute;                                    /* of the local day, -1: none */
    gint64 clean, contaminated, failed, interrupted, skipped;
    gint64 left;    /* queued, and in flight */
    gint64 mean_ns; /* of the runs measured so far; 0: not known */
    gint64 eta_ns;  /* UTC, when it will have ended; 0: not known, or it is paused */
    /* the run in flight; 0: none */
    gint64 run;
    char *cell_key, *workload, *step; /* step NULL: none was entered yet */
    guint block, attempt;
    gint64 run_started_ns, step_entered_ns;
} StatusCampaign;

typedef struct {
    const char *campaign; /* this one alone: "latest", id or UUID prefix; NULL: see below */
    guint ended;          /* how many of those that have ended, the latest; the rest is left out */
} StatusSelect;

/* StatusCampaign*: those that have ended by id, then the others in the order of the queue. */
GPtrArray *status_load(Store *store, const StatusSelect *select, gint64 now_ns, GError **error);

/* Clean, contaminated and failed together: runs that need not be done again by the engine. */
gint64 status_done(const StatusCampaign *campaign);
/* How its state is called: "running", "paused", "pausing", "cancelling", "waiting"… Static. */
const char *status_word(const StatusCampaign *campaign, gint64 now_ns);

/* How people see a time (UTC, ns) in the table; transfer full. */
typedef char *(*StatusShowTime)(gint64 ns, gint64 now_ns);

/* A row a campaign. */
Table *status_table(const GPtrArray *campaigns, gint64 now_ns, StatusShowTime show);
