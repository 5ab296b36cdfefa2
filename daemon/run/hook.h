/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hooks: programs of the user's in a folder, told what happened. Each gets the event's name as its
 * argument and the facts as one JSON object on standard input; it has 30 s; whatever it does harms
 * nothing. */
#pragma once
#include <glib.h>

#include "store/store.h"
#include "util/clock.h"
#include "util/wait.h"

typedef enum { HOOK_CAMPAIGN_FINISHED, HOOK_RUN_FAILED, HOOK_PAUSED } HookEvent;

typedef struct {
    HookEvent event;
    const StoreCampaign *campaign;
    gint64 run;           /* 0: none */
    const char *cell_key; /* or NULL */
    const char *reason;   /* or NULL */
    gint64 done, failed, total;
} HookFacts;

/* "campaign-finished", "run-failed", "paused". */
const char *hook_event_name(HookEvent event);

#define HOOK_LIMIT_NS (30 * CLOCK_NS_PER_S)

/* Run every executable file of folder (NULL: nothing to do), in the order of their names, each for
 * limit_ns at most. */
void hook_run_all(const char *folder, const HookFacts *facts, gint64 limit_ns, Cancel *cancel);
