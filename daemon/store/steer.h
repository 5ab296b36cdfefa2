/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steering the queue: what the daemon should do next, and what people ask of it. Everything is a
 * row; whoever writes one (the command line, another program) is heard, since the daemon watches
 * the file. */
#pragma once
#include <glib.h>

#include "store/store.h"

typedef struct {
    gint64 not_before_ns; /* UTC; 0: at once */
    gint priority;        /* higher first; 0 is usual */
} StoreSchedule;

/* store_campaign_add() with its schedule (NULL: at once, priority 0), as one transaction. */
gboolean store_campaign_submit(Store *store, const Matrix *matrix, const Inventory *inventory,
                               const GPtrArray *workloads, const char *const *skip_reasons,
                               const StoreSchedule *schedule, gint64 *ret_campaign, GError **error);
gboolean store_campaign_schedule(Store *store, gint64 campaign, const StoreSchedule *schedule,
                                 GError **error);

typedef enum {
    STORE_NEXT_READY, /* *ret_campaign is to be worked on */
    STORE_NEXT_LATER, /* none now; the earliest becomes ready at *ret_at_ns */
    STORE_NEXT_NONE,  /* the queue is empty, or all that is left is paused */
} StoreNext;

/* The campaign to work on at now_ns (UTC): queued or running, not paused, not to be cancelled, its
 * time come; the highest priority, then the lowest id. One indexed read, however many campaigns are
 * done. */
gboolean store_next_campaign(Store *store, gint64 now_ns, gint64 *ret_campaign, gint64 *ret_at_ns,
                             StoreNext *ret_next, GError **error);

typedef enum { STORE_STEER_GO, STORE_STEER_PAUSE, STORE_STEER_CANCEL } StoreSteer;

/* What is asked of this campaign now. One indexed read. */
gboolean store_campaign_steer(Store *store, gint64 campaign, StoreSteer *ret_steer, GError **error);

/* Ask for a cancel: the flag, and where no run of it is in flight, the state too. A campaign that
 * has ended is VM_ERROR_INVALID. These three write an event. */
gboolean store_campaign_cancel(Store *store, gint64 campaign, GError **error);
/* Pause (after the run in flight) or go on; a campaign that is so already stays so. One that has
 * ended is VM_ERROR_INVALID. */
gboolean store_campaign_pause(Store *store, gint64 campaign, gboolean paused, GError **error);
/* The same for every campaign that has not ended. *ret_count: how many it has changed. */
gboolean store_queue_pause(Store *store, gboolean paused, guint *ret_count, GError **error);

/* Queue again, as the next attempt at the end of its block, each cell and block whose last run
 * failed or stayed contaminated; a campaign that had ended becomes queued, with a stop-by of its
 * own. *ret_count: how many; 0 changes nothing. A campaign that is being cancelled is
 * VM_ERROR_INVALID. */
gboolean store_campaign_retry(Store *store, gint64 campaign, guint *ret_count, GError **error);

/* When this campaign must have stopped (UTC, 0: never): written once, at its first start (and the
 * first after a retry), from the plan's stop-by; read back at each later start. */
gboolean store_campaign_stop_at(Store *store, gint64 campaign, gint64 if_unset_ns,
                                gint64 *ret_stop_at_ns, GError **error);

/* Mean duration, by the monotonic clock, of the runs of this cell that were measured to their end
 * (of this campaign, else the latest of any campaign with the same cell key, else of this cell's
 * failed ones), 0 when there is none. ns. */
gboolean store_cell_duration(Store *store, gint64 cell, gint64 *ret_duration_ns, GError **error);

/* The longest clean run of the campaign so far, 0 when there is none. ns. */
gboolean store_campaign_longest(Store *store, gint64 campaign, gint64 *ret_duration_ns,
                                GError **error);

/* Runs of this block that are still queued become skipped, with the reason. *ret_count. */
gboolean store_block_drop(Store *store, gint64 campaign, guint block, const char *reason,
                          guint *ret_count, GError **error);

/* The intent: this run now enters this step. Replaces the run's row of the table "step", so that
 * others can see where it is, and a killed process shows where it was. Written without a sync of
 * its own, so that a step costs no wait for the disk: after a power cut the last steps may be
 * missing. */
gboolean store_step_enter(Store *store, gint64 run, const char *step, gint64 wall_ns,
                          GError **error);
