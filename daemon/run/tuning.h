/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host's settings of a campaign, or by hand: changed, journalled in the database, given back.
 * Call under the host lock. */
#pragma once
#include <glib.h>

#include "model/plan.h"
#include "store/undo.h"

/* $VMATRIX_HOST_ROOT (for tests), else "": the prefix of /proc, /sys and /dev. */
const char *tuning_root(void);

/* Whether this process may change the host's settings; VM_ERROR_ENVIRONMENT says what it lacks. */
gboolean tuning_permitted(GError **error);

/* What this process holds: settings that last as long as it does. */
typedef struct Tuning Tuning;
void tuning_free(Tuning *tuning); /* lets them go; accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tuning, tuning_free)

/* Bring about what the plan wants for this campaign, and tell it: in the journal, in an event, and
 * in facts ("tune.governor" -> "performance", "absent", "refused: …"). Not permitted, it changes
 * nothing and says so in the same places. *ret_tuning is NULL where nothing is wanted. FALSE: the
 * journal cannot be written; what was changed is given back. */
gboolean tuning_begin(Store *store, gint64 campaign, const Plan *plan, GHashTable *facts,
                      Tuning **ret_tuning, GError **error);

/* By hand: nothing can be held, and it stays until "vmatrix host restore". plan may be NULL: then
 * the subject's CPUs are wants' own. *ret_since: its rows in the table undo come after this one. */
gboolean tuning_by_hand(Store *store, const TuneWants *wants, const Plan *plan, gint64 *ret_since,
                        GError **error);

/* Whether this row is a refusal that somebody should know of: not of an interrupt that the driver
 * has fixed, or of what cannot be held by hand. */
gboolean tuning_is_refusal(const StoreUndo *undo);

typedef enum {
    TUNING_OF_CAMPAIGNS, /* not what was set by hand */
    TUNING_ALL,
} TuningScope;

/* What became of one row. */
typedef struct {
    gint64 id;
    char *knob, *target;
    char *state;  /* "restored", "left", "stuck", … */
    char *reason; /* or NULL */
} TuningOutcome;

/* Give back what is not given back yet, the last change first. Each that is left or stuck is a
 * warning, and an event of its campaign. TuningOutcome*, transfer full; NULL with error when the
 * journal cannot be read or written. */
GPtrArray *tuning_restore(Store *store, TuningScope scope, GError **error);
