/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What more CPUs bring: the same work on one CPU, on 2, 4, … and on all of them at once, by threads
 * of one process and by processes, each pinned to a CPU of its own.
 *
 * The work is a chain of dependent 64-bit multiplications and additions (the step of a linear
 * congruential generator, Knuth's MMIX), which needs no memory: what it loses is lost to shared
 * cores, to clock rates, and to who else runs there. Members begin together; a rate is all their
 * steps by the time from the first one's begin to the last one's end. Efficiency is the rate of
 * all by the rate of one times their number: 1 is perfect. No tool has the same; UnixBench's index
 * of parallel copies and sysbench's --threads are of this kind. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "os-crew.h"
#include "os.h"

#define POWERS 8 /* 1, 2, … 128 */
#define RATE(name)                                                                                 \
    {                                                                                              \
        (name), "1/s", "higher"                                                                    \
    }

static const struct bench_metric scaling_metrics[] = {
    RATE("rate-1"),   RATE("rate-2"),
    RATE("rate-4"),   RATE("rate-8"),
    RATE("rate-16"),  RATE("rate-32"),
    RATE("rate-64"),  RATE("rate-128"),
    RATE("rate-all"), {"efficiency", "ratio", "higher"},
};
enum { METRIC_ALL = POWERS, METRIC_EFFICIENCY, METRICS };
_Static_assert(METRICS == sizeof(scaling_metrics) / sizeof(scaling_metrics[0]), "each has a name");

/* What a member is told, and what it tells. Processes send these over their links. */
struct task {
    int64_t start_ns; /* nobody begins before */
    uint64_t steps;
};
struct span {
    int64_t begin_ns, end_ns;
};

struct member {
    struct os_link link;
    struct os_helper *helper;
};

struct scaling {
    uint64_t steps; /* of a member in a sample */
    struct task task;
    const int *cpus;
    int n_cpus;
    struct span *spans;     /* of each member */
    struct member *members; /* processes; else NULL */
    int n_members;
};

static void work_through(const struct task *task, struct span *ret_span)
{
    uint64_t x = 1;

    while (os_clock_ns() < task->start_ns)
        ;
    ret_span->begin_ns = os_clock_ns();
    for (uint64_t i = 0; i < task->steps; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        BENCH_KEEP(x);
    }
    ret_span->end_ns = os_clock_ns();
}

/* --- members --- */

static void thread_main(struct os_crew *crew, void *arg, int number)
{
    struct scaling *scaling = arg;

    os_pin(scaling->cpus[number]);
    os_crew_meet(crew);
    work_through(&scaling->task, &scaling->spans[number]);
}

static bool run_threads(struct bench_ctx *ctx, int count)
{
    char reason[OS_REASON_MAX];
    struct os_crew *crew = os_crew_start(count, thread_main, ctx->state, reason);

    if (crew == NULL)
        return bench_fail(ctx, "%s", reason);
    os_crew_meet(crew);
    os_crew_free(crew);
    return true;
}

static void process_main(struct os_link *link)
{
    struct task task;
    struct span span;

    while (os_link_receive(link, &task, sizeof(task))) {
        work_through(&task, &span);
        if (!os_link_send(link, &span, sizeof(span)))
            return;
    }
}

static bool run_processes(struct bench_ctx *ctx, int count)
{
    enum { TELLING_NS = 100000 }; /* one process of what it is to do, generously */
    struct scaling *scaling = ctx->state;

    scaling->task.start_ns = os_clock_ns() + (int64_t)count * TELLING_NS;
    for (int i = 0; i < count; i++)
        if (!os_link_send(&scaling->members[i].link, &scaling->task, sizeof(scaling->task)))
            return bench_fail(ctx, "a process of the benchmark has ended");
    for (int i = 0; i < count; i++)
        if (!os_link_receive(&scaling->members[i].link, &scaling->spans[i], sizeof(struct span)))
            return bench_fail(ctx, "a process of the benchmark has ended");
    return true;
}

static bool start_process(struct bench_ctx *ctx, struct member *member, int cpu)
{
    struct os_link far_end;
    char reason[OS_REASON_MAX];

    if (!os_link_pair(OS_LINK_UNIX, &member->link, &far_end, reason))
        return bench_fail(ctx, "%s", reason);
    member->helper = os_helper_start(process_main, &member->link, &far_end, cpu, reason);
    if (member->helper == NULL) {
        os_link_close(&member->link);
        return bench_fail(ctx, "%s", reason);
    }
    return true;
}

/* --- the benchmark --- */

static bool scaling_supported(struct bench_ctx *ctx)
{
    if (ctx->copies > 1)
        return bench_fail(ctx, "it takes all CPUs itself: ask for one copy");
    return true;
}

/* How many steps take as long as a sample is to take. */
static void calibrate(struct bench_ctx *ctx, struct scaling *scaling)
{
    struct task task = {.steps = 1000};
    struct span span;
    int64_t ns = 0;

    while (ns < ctx->sample_ns / 10 && task.steps < (uint64_t)1 << 40) {
        task.steps *= 4;
        work_through(&task, &span);
        ns = span.end_ns - span.begin_ns;
    }
    scaling->steps = (uint64_t)((double)task.steps * (double)ctx->sample_ns / (double)(ns + 1)) + 1;
    scaling->task.steps = scaling->steps;
}

static bool threads_setup(struct bench_ctx *ctx)
{
    struct scaling *scaling = calloc(1, sizeof(*scaling));

    ctx->state = scaling;
    if (scaling == NULL)
        return bench_fail(ctx, "no memory");
    scaling->cpus = ctx->cpus;
    scaling->n_cpus = ctx->n_cpus > OS_COPIES_MAX ? OS_COPIES_MAX : ctx->n_cpus;
    scaling->spans = calloc((size_t)scaling->n_cpus, sizeof(struct span));
    if (scaling->spans == NULL)
        return bench_fail(ctx, "no memory");
    calibrate(ctx, scaling);
    return true;
}

static bool processes_setup(struct bench_ctx *ctx)
{
    struct scaling *scaling;

    if (!threads_setup(ctx))
        return false;
    scaling = ctx->state;
    scaling->members = calloc((size_t)scaling->n_cpus, sizeof(struct member));
    if (scaling->members == NULL)
        return bench_fail(ctx, "no memory");
    for (int i = 0; i < scaling->n_cpus; i++, scaling->n_members++)
        if (!start_process(ctx, &scaling->members[i], scaling->cpus[i]))
            return false;
    return true;
}

static void scaling_teardown(struct bench_ctx *ctx)
{
    struct scaling *scaling = ctx->state;

    if (scaling == NULL)
        return;
    for (int i = 0; i < scaling->n_members; i++) {
        os_link_close(&scaling->members[i].link);
        os_helper_stop(scaling->members[i].helper);
    }
    free(scaling->members);
    free(scaling->spans);
    free(scaling);
    ctx->state = NULL;
}

/* Steps a second of so many members. */
static bool rate_of(struct bench_ctx *ctx, int count, double *ret_rate)
{
    const struct scaling *scaling = ctx->state;
    int64_t begin = INT64_MAX, end = INT64_MIN;

    if (!(scaling->members == NULL ? run_threads : run_processes)(ctx, count))
        return false;
    for (int i = 0; i < count; i++) {
        const struct span *span = &scaling->spans[i];

        begin = span->begin_ns < begin ? span->begin_ns : begin;
        end = span->end_ns > end ? span->end_ns : end;
    }
    *ret_rate = (double)scaling->steps * count * 1e9 / (double)(end > begin ? end - begin : 1);
    return true;
}

static bool scaling_sample(struct bench_ctx *ctx, double *ret_values)
{
    const struct scaling *scaling = ctx->state;
    double all = 0;

    for (int i = 0; i < POWERS; i++) {
        int count = 1 << i;

        ret_values[i] = NAN;
        if (count > scaling->n_cpus)
            continue;
        if (!rate_of(ctx, count, &ret_values[i]))
            return false;
        all = count == scaling->n_cpus ? ret_values[i] : 0;
    }
    if (all == 0 && !rate_of(ctx, scaling->n_cpus, &all))
        return false;
    ret_values[METRIC_ALL] = all;
    ret_values[METRIC_EFFICIENCY] = all / (ret_values[0] * scaling->n_cpus);
    return true;
}

extern const struct bench bench_scaling_threads;
extern const struct bench bench_scaling_copies;

const struct bench bench_scaling_threads = {
    .name = "scaling.threads",
    .groups = "all smp",
    .metrics = scaling_metrics,
    .n_metrics = METRICS,
    .summary = "steps of multiplication by 1, 2, 4, ... and all CPUs at once, as threads",
    .os = "linux freebsd windows",
    .revision = 1,
    .supported = scaling_supported,
    .setup = threads_setup,
    .sample = scaling_sample,
    .teardown = scaling_teardown,
};

const struct bench bench_scaling_copies = {
    .name = "scaling.copies",
    .groups = "all smp",
    .metrics = scaling_metrics,
    .n_metrics = METRICS,
    .summary = "steps of multiplication by 1, 2, 4, ... and all CPUs at once, as processes",
    .os = "linux freebsd",
    .revision = 1,
    .supported = scaling_supported,
    .setup = processes_setup,
    .sample = scaling_sample,
    .teardown = scaling_teardown,
};
