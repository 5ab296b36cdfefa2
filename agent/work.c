/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "os-crew.h"

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

/* What the runner and its reader are told of this copy. */
static void note(struct work *work)
{
    const struct bench *bench = work->bench;
    struct copy *copy = &work->plan->copies[work->ctx.copy];

    copy->pinned = work->ctx.cpu >= 0;
    copy->totals.iterations = bench->sample != NULL ? 1 : (double)work->iterations * bench->amount;
    if (bench->overhead != NULL)
        copy->totals.overhead_ns = work->overhead_ns / bench->amount;
    memcpy(copy->reason, work->ctx.reason, sizeof(copy->reason));
}

static void work_begin(struct work *work, struct work_plan *plan, int copy, char *folder)
{
    folder[0] = '\0';
    *work = (struct work){
        .plan = plan,
        .bench = plan->request.bench,
        .ctx = {.copy = copy,
                .copies = (int)plan->request.copies,
                .cpu = plan->cpus[copy],
                .peer_cpu = plan->n_cpus > 1 ? plan->cpus[copy + 1] : -1,
                .cpus = plan->allowed,
                .n_cpus = plan->n_cpus,
                .folder = folder,
                .sample_ns = (int64_t)sample_target(plan),
                .peer = plan->request.peer,
                .peer_token = plan->request.peer_token},
    };
    if (plan->scratch[0] != '\0')
        os_scratch_copy(plan->scratch, copy, folder);
    if (!os_pin(work->ctx.cpu))
        work->ctx.cpu = -1;
}

/* Up to the gate; a word is how it went. */
static char work_prepare(struct work *work)
{
    const struct bench *bench = work->bench;
    char word = WORD_READY;

    if (bench->supported != NULL && !bench->supported(&work->ctx))
        word = WORD_UNSUPPORTED;
    else if (!prepare(work))
        word = WORD_FAILED;
    note(work);
    return word;
}

/* After the gate. */
static char work_measure(struct work *work)
{
    char word = measure(work) ? WORD_MEASURED : WORD_FAILED;

    note(work);
    return word;
}

/* prepared: the word of work_prepare(). */
static void work_end(struct work *work, char prepared)
{
    if (prepared != WORD_UNSUPPORTED && work->bench->teardown != NULL)
        work->bench->teardown(&work->ctx);
}

/* --- copies that are threads of one worker --- */

struct shift {
    struct work_plan *plan;
    bool goes_on; /* all are ready */
    char words[OS_COPIES_MAX];
};

static void crew_main(struct os_crew *crew, void *arg, int copy)
{
    struct shift *shift = arg;
    char folder[OS_PATH_MAX], prepared;
    struct work work;

    work_begin(&work, shift->plan, copy, folder);
    prepared = work_prepare(&work);
    shift->words[copy] = prepared;
    os_crew_meet(crew); /* the words are there */
    os_crew_meet(crew); /* the gate is open, or will not be */
    if (shift->goes_on)
        shift->words[copy] = work_measure(&work);
    os_crew_meet(crew); /* the results are there */
    work_end(&work, prepared);
}

/* The word of them all: that of the first who has another than wanted, whose reason is told. */
static char word_of_all(struct shift *shift, char wanted)
{
    struct copy *copies = shift->plan->copies;

    for (unsigned i = 0; i < shift->plan->request.copies; i++) {
        if (shift->words[i] == wanted)
            continue;
        memmove(copies[0].reason, copies[i].reason, sizeof(copies[0].reason));
        return shift->words[i];
    }
    return wanted;
}

static void lead_crew(struct work_plan *plan, struct os_port *port)
{
    struct shift shift = {.plan = plan};
    struct os_crew *crew =
        os_crew_start((int)plan->request.copies, crew_main, &shift, plan->copies[0].reason);
    char word;

    if (crew == NULL) {
        os_port_tell(port, WORD_FAILED);
        return;
    }
    os_crew_meet(crew);
    word = word_of_all(&shift, WORD_READY);
    shift.goes_on = word == WORD_READY;
    os_port_tell(port, word);
    if (shift.goes_on)
        os_port_wait_gate(port);
    os_crew_meet(crew);
    os_crew_meet(crew);
    if (shift.goes_on)
        os_port_tell(port, word_of_all(&shift, WORD_MEASURED));
    os_crew_free(crew);
}

/* --- a copy of its own --- */

static void work_alone(struct work_plan *plan, int copy, struct os_port *port)
{
    char folder[OS_PATH_MAX], prepared;
    struct work work;

    work_begin(&work, plan, copy, folder);
    prepared = work_prepare(&work);
    os_port_tell(port, prepared);
    if (prepared == WORD_READY) {
        os_port_wait_gate(port);
        os_port_tell(port, work_measure(&work));
    }
    work_end(&work, prepared);
}

void work_main(void *arg, int copy, struct os_port *port)
{
    struct work_plan *plan = arg;

    if (work_workers(plan) == (int)plan->request.copies)
        work_alone(plan, copy, port);
    else
        lead_crew(plan, port);
}

int work_workers(const struct work_plan *plan)
{
    return plan->request.threads && !os_workers_are_threads ? 1 : (int)plan->request.copies;
}
