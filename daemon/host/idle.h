/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gate: is the host idle enough to measure? Sampling and verdict are apart; the verdict is
 * pure. */
#pragma once
#include <glib.h>

#include "util/wait.h"

typedef struct {
    gint64 mono_ns;
    guint64 busy_ticks; /* user+nice+system+irq+softirq+steal of all CPUs, /proc/stat */
    guint64 total_ticks;
    guint cpus;
} IdleSample;

/* Read one sample below root ("" is the real one). */
gboolean idle_sample(const char *root, IdleSample *ret_sample, GError **error);

/* Fraction of all CPUs that was busy between two samples, 0..1. */
double idle_busy(const IdleSample *from, const IdleSample *to);

typedef enum { IDLE_OPEN, IDLE_TIMEOUT } IdleResult;

typedef struct {
    double cpu_busy;  /* bound, 0..1 */
    gint64 settle_ns; /* must stay below the bound this long without a break */
    gint64 wait_ns;   /* give up after this; never sooner than settle_ns */
} IdleLimits;

typedef enum { IDLE_STEP_OPEN, IDLE_STEP_GO_ON, IDLE_STEP_RESTART } IdleStep;

/* The verdict after one more sample: the slice since last must be below the bound, else the window
 * starts again at now; a window settle_ns long opens the gate. Pure. */
IdleStep idle_judge(const IdleLimits *limits, const IdleSample *window, const IdleSample *last,
                    const IdleSample *now);

/* Wait until the host was below the bound for settle_ns. *ret_who (transfer full): after a
 * time-out, the processes that took the most CPU, by name: "apt-get (pid 412) 0.93 CPUs, …". FALSE
 * with error only on cancel or when /proc cannot be read. settle_ns 0 opens at once. */
gboolean idle_wait(const Wait *wait, const IdleLimits *limits, IdleResult *ret_result,
                   double *ret_busy, char **ret_who, GError **error);

/* Own CPU time and voluntary + involuntary context switches so far: the observer's cost. */
typedef struct {
    gint64 cpu_ns;
    gint64 switches;
} ObserverCost;

void observer_cost(ObserverCost *ret_cost);
