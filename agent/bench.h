/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a benchmark is. One benchmark (or one family of siblings) is one bench-*.c file and one line
 * a benchmark in benches.def; bench-skeleton.c is the example to copy.
 *
 * The runner owns all timing: clock, calibration, warm-up, repetition, and the subtraction of
 * overhead. A benchmark only says what one iteration is, and does `iterations` of them when told.
 * Nothing may be static and writable: copies of a benchmark may be threads of one process. */
#ifndef VMATRIX_AGENT_BENCH_H
#define VMATRIX_AGENT_BENCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent.h"

#define BENCH_REASON_MAX 256
#define BENCH_METRICS_MAX 32

/* One copy of a benchmark at work. Lives from before supported() to after teardown(). */
struct bench_ctx {
    int copy, copies;              /* 0 <= copy < copies */
    int cpu;                       /* this copy is pinned to it; -1: could not be pinned */
    int peer_cpu;                  /* another CPU that may be used, for two-CPU benchmarks; or -1 */
    const int *cpus;               /* all that may be used, ascending */
    int n_cpus;                    /* of them */
    const char *folder;            /* exists, empty, this copy's own; only with needs_folder */
    int64_t sample_ns;             /* how long a sample is to take; for sample() */
    const char *peer;              /* "HOST:PORT" of a `vmatrix-agent serve`; NULL: none */
    const char *peer_token;        /* its token */
    void *state;                   /* the benchmark's own */
    char reason[BENCH_REASON_MAX]; /* why something returned false; for people */
};

/* One figure of a benchmark that has several. */
struct bench_metric {
    const char *name;      /* [a-z0-9-]+ */
    const char *unit;      /* "ns", "bytes/s", … */
    const char *direction; /* "lower" or "higher" is better; the value itself is never turned */
};

struct bench {
    const char *name;      /* "family.name", [a-z0-9-]+ each */
    const char *groups;    /* space-separated, beside the family, which is a group by itself */
    const char *metric;    /* "latency", "bandwidth" */
    const char *unit;      /* "ns" or "bytes/s": see direction */
    const char *direction; /* "lower": a value is nanoseconds per operation;
                            * "higher": a value is amounts per second */
    const char *summary;   /* what is measured, one line */
    const char *os;        /* space-separated: where it can run at all */
    unsigned revision;     /* of the metric's definition, from 1; raised when the values change */
    double amount;         /* operations (lower) or units (higher) in one iteration, above 0 */
    uint64_t fixed;        /* above 0: always so many iterations a sample, uncalibrated */
    bool needs_folder;     /* makes files: ctx->folder is there */
    bool process_wide;     /* works on what all threads of a process share (which of them gets a
                            * signal, …): several copies are processes, or there are none */

    /* Each may be NULL but run (or sample). Those that return bool leave ctx->reason when false. */
    bool (*supported)(struct bench_ctx *ctx); /* cheap; false: "unsupported", not a failure */
    bool (*setup)(struct bench_ctx *ctx);
    bool (*run)(struct bench_ctx *ctx, uint64_t iterations);
    /* The same loop without what is measured: its time per iteration is subtracted from run's. */
    bool (*overhead)(struct bench_ctx *ctx, uint64_t iterations);
    void (*teardown)(struct bench_ctx *ctx); /* called after a failed setup too */

    /* In place of metric, unit, direction, amount, fixed, run and overhead, for what is no loop of
     * equal iterations (percentiles of single events, an external command): one sample of all
     * metrics, which the benchmark times itself. A metric that there is not on this machine is NaN,
     * always. */
    const struct bench_metric *metrics;
    size_t n_metrics; /* 1 to BENCH_METRICS_MAX */
    bool (*sample)(struct bench_ctx *ctx, double *ret_values);
};

/* The registry, in the order of benches.def. */
extern const struct bench *const bench_table[];
extern const size_t bench_count;

/* NULL: there is none of that name. */
const struct bench *bench_find(const char *name);

/* Whether bench is of that name, or in that group, or its family is called so. */
bool bench_matches(const struct bench *bench, const char *name_or_group);

/* How many metrics it has, at least 1, and the one of that index. */
size_t bench_n_metrics(const struct bench *bench);
struct bench_metric bench_metric(const struct bench *bench, size_t i);

/* Whether it can run on the OS of this build. */
bool bench_is_for_os(const struct bench *bench, const char *os);

/* Sets ctx->reason; returns false, to be returned. */
bool bench_fail(struct bench_ctx *ctx, const char *format, ...) AGENT_PRINTF(2, 3);

/* supported() of one that needs so many bytes a copy: false if they, and something for the rest of
 * the machine, are not free. */
bool bench_needs_memory(struct bench_ctx *ctx, uint64_t bytes);

/* run() of an empty loop: the overhead of a loop whose body does not overlap with its counter. */
bool bench_empty_loop(struct bench_ctx *ctx, uint64_t iterations);

/* splitmix64 (Steele, Lea, Flood 2014): a seeded stream, the same on every machine. */
uint64_t bench_random(uint64_t *state);

/* The compiler must have computed x here, and knows nothing of its value afterwards: no operation
 * on it can be folded, moved out of a loop, or left out. */
#define BENCH_KEEP(x) __asm__ volatile("" : "+r"(x))
#if defined(__x86_64__) || defined(__i386__)
#define BENCH_KEEP_FLOAT(x) __asm__ volatile("" : "+x"(x))
#elif defined(__aarch64__)
#define BENCH_KEEP_FLOAT(x) __asm__ volatile("" : "+w"(x))
#elif defined(__riscv)
#define BENCH_KEEP_FLOAT(x) __asm__ volatile("" : "+f"(x))
#else
#define BENCH_KEEP_FLOAT(x) __asm__ volatile("" : "+m"(x)) /* adds a store and a load */
#endif
/* Memory may have been read and written by anyone here. */
#define BENCH_CLOBBER() __asm__ volatile("" : : : "memory")

#endif
