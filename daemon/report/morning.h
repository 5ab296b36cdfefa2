/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The morning page: what a campaign came to, for somebody who slept meanwhile. */
#pragma once
#include <glib.h>

#include "report/status.h"
#include "store/store.h"

/* Runs of one cell (and workload) that ended in the same way for the same reason. */
typedef struct {
    char *cell_key;
    char *workload; /* boot-per workload; else NULL */
    char *blocks;   /* "1, 3": counted from 1 */
    guint runs;
    gint64 run; /* the first of them */
} MorningCell;

/* Reasons that differ only in what is each run's own (its domain's name, long numbers) are one. */
typedef struct {
    char *reason;     /* of the first; "" where none was told */
    guint runs;       /* of all cells */
    GPtrArray *cells; /* MorningCell* */
} MorningGroup;

typedef struct {
    char *name;
    guint runs;
    gint64 total_ns, max_ns;
} MorningPhase;

typedef struct {
    GPtrArray *status;              /* one StatusCampaign* */
    const StatusCampaign *campaign; /* that one */
    GPtrArray *failed;              /* MorningGroup*: the last try of their cell and block */
    GPtrArray *contaminated;        /* MorningGroup*: all of them */
    GPtrArray *skipped;             /* MorningGroup* */
    guint failed_once;              /* failed runs that were done again since */
    GPtrArray *phases;              /* MorningPhase*, the longest total first */
    gint64 phases_ns;               /* all of them together */
    GPtrArray *look;                /* char*: what to look at first, the most telling first */
} Morning;

Morning *morning_load(Store *store, const char *campaign, gint64 now_ns, GError **error);
void morning_free(Morning *morning); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Morning, morning_free)
