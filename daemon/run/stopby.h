/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ending in time: a run that would not end before the campaign's hour is not started, and blocks
 * are dropped whole, so that what is there is balanced. */
#pragma once
#include "run/engine.h"

/* The next time (UTC ns, after now_ns) at which the local clock shows this minute of the day; 0 for
 * minute -1. The zone's rules decide, also on the days when the clock is changed: an hour that is
 * skipped counts as the first moment after it. zone NULL: the host's. */
gint64 stopby_next(gint64 now_ns, gint minute, GTimeZone *zone);

typedef struct {
    gint64 stop_at_ns; /* UTC; 0: never */
    gint64 latest_ns;  /* UTC: the next run must begin by then; 0: whenever */
    gint64 block;      /* the block that was judged last, -1 at first */
} StopBy;

/* Read the campaign's hour, or set it at its first start. */
gboolean stopby_init(StopBy *stopby, Engine *engine, GError **error);

typedef enum { STOPBY_GO, STOPBY_DROPPED } StopByResult;

/* Before each claim: whether the next queued run (and, where it opens a block, the whole of that
 * block) would end in time, by measured durations. Where not, that block and all later ones are
 * dropped (state skipped, with the reason) and *ret_dropped is how many runs that were. */
gboolean stopby_judge(StopBy *stopby, Engine *engine, StopByResult *ret_result, guint *ret_dropped,
                      GError **error);
