/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/daemon.h"

#include "run/lock.h"
#include "store/steer.h"
#include "store/watch.h"
#include "util/clock.h"
#include "util/error.h"

static Wait daemon_wait(const DaemonOptions *options)
{
    return (Wait){.deadline_ns = WAIT_FOREVER,
                  .cancel = options->campaign.cancel,
                  .guard_fd = -1,
                  .step = "queue"};
}

static void tell(const DaemonOptions *options, gint64 campaign)
{
    if (options->status != NULL)
        options->status(options->status_data, campaign);
}

/* Sleep until somebody writes into the database (watch may be NULL), span_ns has passed, or the
 * end. The only wake-up in between is the watchdog's, where there is one. */
static void sleep_until_heard(const DaemonOptions *options, StoreWatch *watch, gint64 span_ns)
{
    Wait root = daemon_wait(options);
    Wait whole = wait_within(&root, span_ns);
    gint64 beat = options->heartbeat_ns > 0 ? options->heartbeat_ns : WAIT_FOREVER;

    for (;;) {
        Wait wait = wait_within(&whole, beat);
        WaitResult result;

        if (options->campaign.alive != NULL)
            options->campaign.alive(options->campaign.alive_data, 2 * options->heartbeat_ns);
        result = wait_fd(&wait, watch != NULL ? store_watch_fd(watch) : -1, POLLIN);
        if (result == WAIT_CANCELLED || (result == WAIT_READY && store_watch_drain(watch)))
            return;
        if (wait_left_ns(&whole) == 0)
            return;
    }
}

/* The whole failed: say so, and give people (or libvirtd, or the disk) time. Nothing is lost. */
static void back_off(const DaemonOptions *options, gint64 campaign, const GError *failure)
{
    Wait root = daemon_wait(options);
    g_autofree char *span = clock_format_duration(options->retry_ns);

    if (vm_error_is(failure, VM_ERROR_CANCELLED))
        return;
    if (vm_error_is(failure, VM_ERROR_BUSY)) {
        g_message("campaign %" G_GINT64_FORMAT " waits: %s", campaign, failure->message);
        host_lock_wait(&root, NULL);
        return;
    }
    g_warning("campaign %" G_GINT64_FORMAT " is stopped, the next try is in %s: %s", campaign, span,
              failure->message);
    sleep_until_heard(options, NULL, options->retry_ns);
}

static void work_on(Store *store, const DaemonOptions *options, gint64 campaign)
{
    g_autoptr(GError) error = NULL;
    CampaignTotals totals = {0};

    tell(options, campaign);
    if (!campaign_run(store, campaign, &options->campaign, &totals, &error)) {
        back_off(options, campaign, error);
        return;
    }
    g_message("campaign %" G_GINT64_FORMAT ": %" G_GINT64_FORMAT " runs, %" G_GINT64_FORMAT
              " failed, %" G_GINT64_FORMAT " dropped",
              campaign, totals.done, totals.failed, totals.dropped);
}

/* Whatever was in flight when the last process died, also where nothing of it is queued any more.
 */
static void clean_up(Store *store, const DaemonOptions *options)
{
    g_autoptr(GError) error = NULL;

    if (!campaign_recover(store, &options->campaign, &error) && !vm_error_is(error, VM_ERROR_BUSY))
        g_warning("recover: %s", error->message);
}

gboolean daemon_run(Store *store, const DaemonOptions *options, GError **error)
{
    g_autoptr(StoreWatch) watch = store_watch_new(store_path(store), error);

    if (watch == NULL)
        return FALSE;
    clean_up(store, options);
    while (!cancel_is_set(options->campaign.cancel)) {
        gint64 now = clock_wall_ns(), campaign = 0, at = 0;
        StoreNext next;

        /* What was written until here is seen by the query below; what comes later wakes the wait.
         */
        store_watch_drain(watch);
        if (!store_next_campaign(store, now, &campaign, &at, &next, error))
            return FALSE;
        if (next == STORE_NEXT_READY) {
            work_on(store, options, campaign);
            continue;
        }
        tell(options, 0);
        sleep_until_heard(options, watch, next == STORE_NEXT_LATER ? at - now : WAIT_FOREVER);
    }
    return TRUE;
}
