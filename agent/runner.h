/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs one benchmark: the copies are workers (os.h), each sets up, calibrates, warms up, waits at a
 * gate, measures, and keeps its values in shared memory. The runner's own process only waits. */
#ifndef VMATRIX_AGENT_RUNNER_H
#define VMATRIX_AGENT_RUNNER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench.h"
#include "os.h"
#include "stopwatch.h"

#define RUNNER_SAMPLES_MAX 1000000
#define RUNNER_WARMUP_MAX 1000000
#define RUNNER_VALUES_MAX 4000000         /* samples x copies: 32 MB */
#define RUNNER_SAMPLE_DEFAULT_NS 20000000 /* target time of one sample */
#define RUNNER_TIME_MAX_NS 86400000000000 /* a day: of any time that can be asked for */
#define RUNNER_FLAGS_MAX 160

struct runner_request {
    const struct bench *bench;
    unsigned samples;      /* 1 to RUNNER_SAMPLES_MAX */
    unsigned warmup;       /* samples thrown away at first; at most RUNNER_WARMUP_MAX */
    unsigned copies;       /* 1 to OS_COPIES_MAX */
    bool threads;          /* the copies are threads of one process */
    int64_t sample_ns;     /* 0: RUNNER_SAMPLE_DEFAULT_NS */
    int64_t warmup_min_ns; /* warm up at least so long */
    int64_t limit_ns;      /* of all the work, preparing and measuring; 0: none */
    const char *folder;    /* NULL: the OS's place for temporary files */
    const char *peer;      /* of a `serve`, "HOST:PORT"; NULL: none */
    const char *peer_token;
    int cpu; /* pin the first copy there, the next to those after; -1: chosen */
};

enum runner_event {
    RUNNER_NOTHING,
    RUNNER_READY,       /* every copy is at the gate */
    RUNNER_UNSUPPORTED, /* with runner_reason(); the runner has ended */
    RUNNER_FAILED,      /* likewise */
    RUNNER_FINISHED,    /* every copy has measured; results can be read */
};

struct runner;

/* NULL with *ret_event RUNNER_UNSUPPORTED or RUNNER_FAILED and a reason (OS_REASON_MAX bytes): it
 * could not be started. request's strings must outlive the runner. */
struct runner *runner_start(const struct runner_request *request, const struct stopwatch *stopwatch,
                            enum runner_event *ret_event, char *ret_reason);
void runner_free(struct runner *runner); /* ends what still runs; NULL is fine */

/* To wait with os_wait: its workers, and when to call runner_step even so (0: never). */
struct os_workers *runner_workers(struct runner *runner);
int64_t runner_deadline(const struct runner *runner);

/* After RUNNER_READY: open the gate. The time between is not counted against the limit. */
void runner_go(struct runner *runner);

/* Note the machine's counters before the begin mark and after the end mark: what may have spoiled
 * the invocation becomes a flag. */
void runner_watch_begin(struct runner *runner);
void runner_watch_end(struct runner *runner);

/* The guest's own evidence; -1: not known. */
struct runner_watch {
    struct os_watch before, after;
    int64_t span_ns, cpus, busy_ns, steal_ns, swapped_in_pages, switches; /* cpus: at the end */
};
/* After runner_watch_end; valid while runner is. */
const struct runner_watch *runner_watched(const struct runner *runner);

/* What has happened; call until RUNNER_NOTHING or an event that ends the runner. */
enum runner_event runner_step(struct runner *runner);
const char *runner_reason(const struct runner *runner);

/* After RUNNER_FINISHED. request->samples values of one metric. NULL: there is no such metric on
 * this machine. */
const double *runner_values(const struct runner *runner, unsigned copy, size_t metric);
/* What belongs to all samples of a copy. */
struct runner_totals {
    double iterations;  /* operations behind each value */
    double overhead_ns; /* the loop's own time an operation, which was subtracted */
    double time_ns;     /* of all samples, by the clock */
    double tsc_ns;      /* likewise by the time stamp counter */
    double tsc_hz;      /* its ticks a second; 0: it is not read */
};
const struct runner_totals *runner_totals(const struct runner *runner, unsigned copy);
/* Comma-separated, "" for none (schema/agent-protocol.md lists them); valid while runner is. To be
 * called once. */
const char *runner_flags(struct runner *runner);

#endif
