/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a person sees while a campaign runs: on a terminal one line that is redrawn between steps,
 * elsewhere one line a finished run. On standard error; results go to standard output. */
#pragma once
#include <stdio.h>

#include "run/campaign.h"

typedef enum {
    PROGRESS_SILENT, /* -q */
    PROGRESS_LINES,  /* no terminal: a line a finished run */
    PROGRESS_REDRAW, /* terminal: one line, and a line that stays for each run that is not clean */
    PROGRESS_ALL,    /* terminal and -v: the same, and a line that stays for every run */
} ProgressStyle;

typedef struct {
    FILE *stream;
    ProgressStyle style;
    gboolean drawn; /* the redrawn line is on the screen */
} Progress;

/* Functions and data for campaign_run(); progress must outlive it. */
CampaignWatch progress_watch(Progress *progress);

/* Wipe the redrawn line, before anything else is printed. */
void progress_finish(Progress *progress);

/* "[ 3/12] block 1  guest=micro hypervisor=qemu vcpus=2  booting    ETA 1m 20s", at most width
 * columns (0: unlimited): axis names go first, then the end of the cell's key. eta_ns -1: left out.
 * Transfer full. */
char *progress_step_line(guint width, const StoreRun *run, const char *step,
                         const CampaignTotals *totals, gint64 eta_ns);

/* "[ 3/12] block 1  guest=micro vcpus=2  waits: guest mint (qemu-kvm, pid 12)": the gate waits for
 * somebody; cut to width. Transfer full. */
char *progress_waiting_line(guint width, const StoreRun *run, const char *what,
                            const CampaignTotals *totals);

/* The line of a finished run, never cut: verdict, duration, reason. Transfer full. */
char *progress_finished_line(const StoreRun *run, const char *verdict, const char *reason,
                             gint64 duration_ns, const CampaignTotals *totals);
