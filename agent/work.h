/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one worker of the runner does: set up, calibrate, warm up, wait at the gate, measure. The
 * results lie in shared memory, until the runner has been told by a word that they are there. */
#ifndef VMATRIX_AGENT_WORK_H
#define VMATRIX_AGENT_WORK_H
#include "os.h"
#include "runner.h"
#include "stopwatch.h"

/* The words of a worker. */
enum { WORD_READY = 'r', WORD_UNSUPPORTED = 'u', WORD_FAILED = 'f', WORD_MEASURED = 'm' };

/* One copy's results, in shared memory: written by its worker, read after its last word. */
struct copy {
    struct runner_totals totals;
    bool pinned;
    bool overhead_too_big;
    bool tsc_disagrees;
    char last_word; /* the runner's: the last that was heard */
    char reason[OS_REASON_MAX];
};

/* What the runner gives its workers. */
struct work_plan {
    struct runner_request request;
    struct stopwatch stopwatch;
    int *cpus;    /* copies + 1: of each copy, and the one after the last */
    int *allowed; /* n_cpus: all that may be used */
    int n_cpus;
    char scratch[OS_PATH_MAX]; /* "": none */
    struct copy *copies;       /* shared */
    double *values;            /* shared: samples of the first copy's first metric, of its second
                                * one, … */
    size_t n_metrics;          /* of the benchmark */
};

/* Where the samples of one metric of one copy begin. */
double *work_values(const struct work_plan *plan, unsigned copy, size_t metric);

/* How many workers do it. */
int work_workers(const struct work_plan *plan);

/* An os_worker_main; arg is the plan. */
void work_main(void *arg, int copy, struct os_port *port);

#endif
