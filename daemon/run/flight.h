/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One claimed run, from its gate to its row in the store. Internal to run/. */
#pragma once
#include "run/campaign.h"
#include "run/engine.h"

/* Do the run, judge it, store it, count it in totals. FALSE only when the store fails, or when what
 * every run needs has gone (VM_ERROR_HALT): a run that failed is a row. */
gboolean flight_run(Engine *engine, const StoreRun *run, CampaignTotals *totals, gint64 eta_ns,
                    gint64 *ret_duration_ns, GError **error);
