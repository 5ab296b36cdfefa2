/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A sample is at least so many clock readings or clock steps long. */
#define CLOCKS_PER_SAMPLE 200
/* More iterations than any calibration needs, and far from any overflow. */
#define ITERATIONS_MAX ((uint64_t)1 << 48)
/* Shorter times are too coarse to calibrate by: take ten times as many iterations. */
#define CALIBRATION_TRUST 0.1
#define OVERHEAD_SAMPLES 5

struct work {
    struct work_plan *plan;
    const struct bench *bench;
    struct bench_ctx ctx;
    uint64_t iterations;
    double overhead_ns;                   /* of one iteration */
    struct stopwatch_moment begin, ended; /* of what was timed last */
    struct stopwatch_rate rate;           /* of the time stamp counter */
};

/* As fmax and fmin, which would need -lm. */
static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* What was timed between begin and ended, less the clock's own cost. */
static bool span(struct work *work, double *ret_ns)
{
    int64_t ns = work->ended.ns - work->begin.ns;

    if (ns < 0)
        return bench_fail(&work->ctx, "the clock %s went backwards by %" PRId64 " ns",
                          os_clock_name(), -ns);
    *ret_ns = larger((double)ns - work->plan->stopwatch.cost_ns, 0);
    return true;
}

typedef bool run_function(struct bench_ctx *ctx, uint64_t iterations);

/* Time of one call in ns. */
static bool timed(struct work *work, run_function *run, uint64_t iterations, double *ret_ns)
{
    bool ran;

    stopwatch_begin(&work->plan->stopwatch, &work->begin);
    ran = run(&work->ctx, iterations);
    stopwatch_end(&work->plan->stopwatch, &work->ended);
    return ran && span(work, ret_ns);
}

/* Likewise, of a benchmark that times itself. */
static bool timed_sample(struct work *work, double *ret_values, double *ret_ns)
{
    bool ran;

    stopwatch_begin(&work->plan->stopwatch, &work->begin);
    ran = work->bench->sample(&work->ctx, ret_values);
    stopwatch_end(&work->plan->stopwatch, &work->ended);
    return ran && span(work, ret_ns);
}

static double sample_target(const struct work_plan *plan)
{
    double asked =
        (double)(plan->request.sample_ns > 0 ? plan->request.sample_ns : RUNNER_SAMPLE_DEFAULT_NS);
    double tick = larger((double)plan->stopwatch.resolution_ns, plan->stopwatch.cost_ns);

    return larger(asked, CLOCKS_PER_SAMPLE * tick);
}

static uint64_t scaled(uint64_t iterations, double factor)
{
    double wanted = (double)iterations * factor;

    return wanted < 1 ? 1 : wanted > (double)ITERATIONS_MAX ? ITERATIONS_MAX : (uint64_t)wanted;
}

static bool is_calibrated(const struct bench *bench)
{
    return bench->fixed == 0 && bench->sample == NULL;
}

/* How many iterations take as long as a sample is to take. A time that is long enough to go by is
 * taken twice, and the shorter one believed: the other may be an interruption's. */
static bool calibrate(struct work *work)
{
    const struct bench *bench = work->bench;
    double target = sample_target(work->plan), trusted = target * CALIBRATION_TRUST, ns, again;

    work->iterations = bench->fixed > 0 ? bench->fixed : 1;
    while (is_calibrated(bench)) {
        if (!timed(work, bench->run, work->iterations, &ns))
            return false;
        if (ns >= trusted) {
            if (!timed(work, bench->run, work->iterations, &again))
                return false;
            ns = smaller(ns, again);
        }
        if (ns >= trusted || work->iterations == ITERATIONS_MAX) {
            work->iterations = scaled(work->iterations, target / larger(ns, 1));
            break;
        }
        work->iterations = scaled(work->iterations, smaller(10, target * 0.3 / larger(ns, 1)) + 1);
    }
    return true;
}

/* Whole samples thrown away. The calibration ran cold code (an emulator translates it first): it
 * is corrected by the shortest of them. */
static bool warm_up(struct work *work)
{
    const struct runner_request *request = &work->plan->request;
    int64_t begin = os_clock_ns();
    double shortest = 0, ns;
    unsigned done = 0;

    while (done < request->warmup || os_clock_ns() - begin < request->warmup_min_ns) {
        if (work->bench->sample != NULL) {
            double thrown_away[BENCH_METRICS_MAX];

            if (!timed_sample(work, thrown_away, &ns))
                return false;
            done++;
            continue;
        }
        if (!timed(work, work->bench->run, work->iterations, &ns))
            return false;
        shortest = done == 0 ? ns : smaller(shortest, ns);
        done++;
    }
    if (done > 0 && is_calibrated(work->bench))
        work->iterations =
            scaled(work->iterations, sample_target(work->plan) / larger(shortest, 1));
    return true;
}

/* The least of a few: noise only adds. A fifth of a sample each. */
static bool measure_overhead(struct work *work)
{
    uint64_t iterations = scaled(work->iterations, 0.2);
    double least = 0, ns;

    if (work->bench->overhead == NULL)
        return true;
    for (int i = 0; i < OVERHEAD_SAMPLES; i++) {
        if (!timed(work, work->bench->overhead, iterations, &ns))
            return false;
        least = i == 0 ? ns : smaller(least, ns);
    }
    work->overhead_ns = least / (double)iterations;
    return true;
}

/* A sample's time as a value; whole_ns must be above 0. */
static double to_value(const struct work *work, double whole_ns, bool *ret_overhead_too_big)
{
    double net = whole_ns - work->overhead_ns * (double)work->iterations;
    double amount = work->bench->amount * (double)work->iterations;

    if (net <= 0) {
        *ret_overhead_too_big = true;
        net = whole_ns;
    }
    return strcmp(work->bench->direction, "lower") == 0 ? net / amount : amount * 1e9 / net;
}

/* Where the samples of one metric of one copy begin. */
double *work_values(const struct work_plan *plan, unsigned copy, size_t metric)
{
    return plan->values + (copy * plan->n_metrics + metric) * plan->request.samples;
}

/* What the sample that was timed last took, by both clocks. */
static void add_times(struct work *work)
{
    struct copy *copy = &work->plan->copies[work->ctx.copy];

    copy->totals.time_ns += (double)(work->ended.ns - work->begin.ns);
    if (work->rate.hz <= 0)
        return;
    copy->totals.tsc_ns +=
        (double)(int64_t)(work->ended.tsc - work->begin.tsc) * 1e9 / work->rate.hz;
    copy->tsc_disagrees |= stopwatch_disagrees(&work->begin, &work->ended, &work->rate);
}

static bool measure_one(struct work *work, unsigned sample)
{
    struct work_plan *plan = work->plan;
    unsigned copy = (unsigned)work->ctx.copy;
    double figures[BENCH_METRICS_MAX], ns;

    if (work->bench->sample != NULL) {
        if (!timed_sample(work, figures, &ns))
            return false;
        for (size_t i = 0; i < plan->n_metrics; i++)
            work_values(plan, copy, i)[sample] = figures[i];
    } else {
        if (!timed(work, work->bench->run, work->iterations, &ns))
            return false;
        if (ns <= 0)
            return bench_fail(&work->ctx,
                              "the clock %s stood still during a sample: ask for longer samples",
                              os_clock_name());
        work_values(plan, copy, 0)[sample] =
            to_value(work, ns, &plan->copies[copy].overhead_too_big);
    }
    add_times(work);
    return true;
}

static bool measure(struct work *work)
{
    struct runner_totals *totals = &work->plan->copies[work->ctx.copy].totals;
    struct stopwatch_moment now;

    stopwatch_begin(&work->plan->stopwatch, &now);
    work->rate = stopwatch_tsc_rate(&work->plan->stopwatch, &now);
    totals->tsc_hz = work->rate.hz;
    for (unsigned i = 0; i < work->plan->request.samples; i++)
        if (!measure_one(work, i))
            return false;
    return true;
}

/* The pages of the values are there before the first sample is. */
static void touch_values(struct work *work)
{
    const struct work_plan *plan = work->plan;

    memset(work_values(plan, (unsigned)work->ctx.copy, 0), 0,
           plan->n_metrics * plan->request.samples * sizeof(double));
}

static bool prepare(struct work *work)
{
    const struct bench *bench = work->bench;

    touch_values(work);
    return (bench->setup == NULL || bench->setup(&work->ctx)) && calibrate(work) && warm_up(work) &&
           measure_overhead(work);
}

static void tell(struct work *work, struct os_port *port, char word)
{
    const struct bench *bench = work->bench;
    struct copy *copy = &work->plan->copies[work->ctx.copy];

    copy->pinned = work->ctx.cpu >= 0;
    copy->totals.iterations = bench->sample != NULL ? 1 : (double)work->iterations * bench->amount;
    if (bench->overhead != NULL)
        copy->totals.overhead_ns = work->overhead_ns / bench->amount;
    memcpy(copy->reason, work->ctx.reason, sizeof(copy->reason));
    os_port_tell(port, word);
}

static void work_through(struct work *work, struct os_port *port)
{
    const struct bench *bench = work->bench;

    if (bench->supported != NULL && !bench->supported(&work->ctx)) {
        tell(work, port, WORD_UNSUPPORTED);
        return;
    }
    if (!prepare(work)) {
        tell(work, port, WORD_FAILED);
    } else {
        tell(work, port, WORD_READY);
        os_port_wait_gate(port);
        tell(work, port, measure(work) ? WORD_MEASURED : WORD_FAILED);
    }
    if (bench->teardown != NULL)
        bench->teardown(&work->ctx);
}

void work_main(void *arg, int copy, struct os_port *port)
{
    struct work_plan *plan = arg;
    char folder[OS_PATH_MAX] = "";
    struct work work = {
        .plan = plan,
        .bench = plan->request.bench,
        .ctx = {.copy = copy,
                .copies = (int)plan->request.copies,
                .cpu = plan->cpus[copy],
                .peer_cpu = plan->n_cpus > 1 ? plan->cpus[copy + 1] : -1,
                .folder = folder,
                .sample_ns = (int64_t)sample_target(plan)},
    };

    if (plan->scratch[0] != '\0')
        os_scratch_copy(plan->scratch, copy, folder);
    if (!os_pin(work.ctx.cpu))
        work.ctx.cpu = -1;
    work_through(&work, port);
}
