/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The daemon's loop: whatever campaign is due, one after the other, until it is told to end. */
#pragma once
#include <glib.h>

#include "run/campaign.h"
#include "store/store.h"
#include "util/wait.h"

typedef struct {
    CampaignOptions campaign; /* cancel must be set; resumable is */
    gint64 retry_ns; /* after a failure of the whole (disk full, libvirt gone): wait this long */
    /* Told before the loop sleeps (campaign 0) or works on one; for the service manager. May be
     * NULL. */
    void (*status)(void *data, gint64 campaign);
    void *status_data;
    gint64 heartbeat_ns; /* while asleep, campaign.alive is called this often; 0: never */
} DaemonOptions;

/* Run until the cancel token is set. While nothing is due it sleeps: no wake-up but a write to the
 * database or the time of the next campaign. FALSE: the store is unusable. */
gboolean daemon_run(Store *store, const DaemonOptions *options, GError **error);
