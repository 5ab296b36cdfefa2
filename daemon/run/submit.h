/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From files to a campaign in the queue: parse, check against the site, expand, insert. */
#pragma once
#include <glib.h>

#include "model/benchcat.h"
#include "model/matrix.h"
#include "store/steer.h"
#include "util/wait.h"

typedef struct {
    const char *plan_path;
    const char *inventory_path;
    const char *agent; /* path, or NULL: searched for */
    Cancel *cancel;
    const StoreSchedule *schedule; /* NULL: at once, priority 0 */
} SubmitRequest;

/* The catalogue of the agent's benchmarks, asked from the agent itself. agent NULL: searched for.
 */
BenchCatalogue *submit_catalogue(const char *agent, const Wait *wait, GError **error);

/* Why cells of the matrix cannot run on this machine: an array of n_cells char* (NULL: it can),
 * freed with g_ptr_array_unref. A hypervisor that cannot be reached, a bare cell that asks for more
 * CPUs than there are, an image that is missing: each is a reason, and the rest of the matrix runs.
 */
GPtrArray *submit_skip_reasons(const Matrix *matrix, const Inventory *inventory, const Wait *wait);

/* Insert the campaign. *ret_skipped: cells that cannot run, of *ret_cells. VM_ERROR_INVALID for bad
 * input; VM_ERROR_ENVIRONMENT when no cell can run, with the first reason. */
gboolean submit_campaign(Store *store, const SubmitRequest *request, gint64 *ret_campaign,
                         guint *ret_cells, guint *ret_skipped, GError **error);
