/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the store: the views of schema/views.sql, and one a campaign with each axis as a column.
 */
#pragma once
#include "store/db.h"

/* Make all views anew when they were made from another text than this program's. */
gboolean views_refresh(Store *store, GError **error);

/* View "campaign_ID": result, of this campaign alone, with a column for each axis that result does
 * not have ("disk-cache" gives disk_cache; axis_NAME where result has another column of that name).
 * Inside a transaction. */
gboolean views_add_campaign(Store *store, gint64 campaign, GError **error);
