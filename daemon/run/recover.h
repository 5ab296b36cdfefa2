/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an earlier life of vmatrix left behind: stale claims, orphan domains, run folders. Called
 * under the host lock, so that whatever carries its name belongs to nobody alive. */
#pragma once
#include "run/engine.h"

/* Orphan domains (only with vmatrix's metadata and this lock's name) are destroyed, run folders
 * removed (never a locked overlay), stale claims become interrupted and are queued again. A
 * hypervisor that cannot be reached is a warning (its cells will say so), unless a run was left in
 * flight: then its guest may still be there, and nothing may start. */
gboolean recover_all(Engine *engine, GError **error);

/* The text that marks a domain as ours: "LOCK CAMPAIGN RUN"; transfer full. */
char *recover_owner(const char *campaign_uuid, gint64 run);
