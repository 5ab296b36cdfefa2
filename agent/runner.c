/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sample is at least so many clock readings or clock steps long. */
#define CLOCKS_PER_SAMPLE 200
/* Where a copy has given all its time to the runner; a worker ends by itself much sooner. */
#define GRACE_NS 1000000000
/* More iterations than any calibration needs, and far from any overflow. */
#define ITERATIONS_MAX ((uint64_t)1 << 48)
/* Shorter times are too coarse to calibrate by: take ten times as many iterations. */
#define CALIBRATION_TRUST 0.1
#define OVERHEAD_SAMPLES 5
#define STEAL_SHARE_MAX 0.01
#define STEAL_NOISE_NS 20000000 /* two ticks of the kernel's accounting */

/* One copy's results, in shared memory: written by its worker, read after its last word. */
struct copy {
    double iterations; /* operations behind each value */
    bool pinned;
    bool overhead_too_big;
    char last_word; /* the runner's: the last that was heard */
    char reason[OS_REASON_MAX];
};

enum phase { PHASE_PREPARING, PHASE_READY, PHASE_MEASURING, PHASE_FINISHED, PHASE_ENDED };
static const char *const phase_names[] = {"preparing (set-up, calibration, warm-up)", "waiting",
                                          "measuring", "finishing", "ending"};

struct runner {
    struct runner_request request;
    struct runner_clock clock;
    int *cpus; /* copies + 1: of each copy, and the one after the last */
    int n_cpus;
    char scratch[OS_PATH_MAX]; /* "": none */
    void *shared;
    size_t shared_size;
    struct copy *copies;
    double *values;   /* samples of the first copy's first metric, of its second one, … */
    size_t n_metrics; /* of the benchmark */
    struct os_workers *workers;
    enum phase phase;
    unsigned told;                /* copies that have reached the phase's end */
    int64_t started_ns, spent_ns; /* of this phase; in those before */
    struct runner_watch watch;
    int64_t watched_ns; /* when watch.before was read */
    bool memory_folder;
    char reason[OS_REASON_MAX];
    char flags[RUNNER_FLAGS_MAX];
};

/* Words of a worker. */
enum { WORD_READY = 'r', WORD_UNSUPPORTED = 'u', WORD_FAILED = 'f', WORD_MEASURED = 'm' };

/* --- the clock --- */

/* Euclid's. */
static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A clock's step divides all differences of its readings, also where a reading takes many steps. */
void runner_clock_measure(struct runner_clock *ret_clock)
{
    /* Enough on a fast machine; under emulation a reading takes microseconds, and the host waits
     * for our hello: so after some rounds the time is what ends it. */
    enum { READINGS = 200, ROUNDS_MIN = 3, ROUNDS_MAX = 100, BUDGET_NS = 2000000 };
    int64_t step = 0, fastest = INT64_MAX, since = os_clock_ns();

    for (int round = 0; round < ROUNDS_MAX; round++) {
        if (round >= ROUNDS_MIN && os_clock_ns() - since > BUDGET_NS)
            break;
        int64_t begin = os_clock_ns(), last = begin;

        for (int i = 0; i < READINGS; i++) {
            int64_t now = os_clock_ns();
            if (now > last)
                step = common_divisor(now - last, step);
            last = now;
        }
        if (last - begin < fastest)
            fastest = last - begin;
    }
    ret_clock->resolution_ns = step == 0 ? 1 : step;
    ret_clock->cost_ns = (double)fastest / READINGS;
}

/* --- a worker --- */

struct work {
    struct runner *runner;
    const struct bench *bench;
    struct bench_ctx ctx;
    uint64_t iterations;
    double overhead_ns; /* of one iteration */
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

typedef bool run_function(struct bench_ctx *ctx, uint64_t iterations);

/* Time of one call in ns, less the clock's own cost. */
static bool timed(struct work *work, run_function *run, uint64_t iterations, double *ret_ns)
{
    int64_t begin = os_clock_ns();
    bool ran = run(&work->ctx, iterations);
    int64_t end = os_clock_ns();

    if (!ran)
        return false;
    if (end < begin)
        return bench_fail(&work->ctx, "the clock %s went backwards by %" PRId64 " ns",
                          os_clock_name(), begin - end);
    *ret_ns = larger((double)(end - begin) - work->runner->clock.cost_ns, 0);
    return true;
}

static double sample_target(const struct runner *runner)
{
    double asked = (double)(runner->request.sample_ns > 0 ? runner->request.sample_ns
                                                          : RUNNER_SAMPLE_DEFAULT_NS);
    double tick = larger((double)runner->clock.resolution_ns, runner->clock.cost_ns);

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
    double target = sample_target(work->runner), trusted = target * CALIBRATION_TRUST, ns, again;

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
    const struct runner_request *request = &work->runner->request;
    int64_t begin = os_clock_ns();
    double shortest = 0, ns;
    unsigned done = 0;

    while (done < request->warmup || os_clock_ns() - begin < request->warmup_min_ns) {
        if (work->bench->sample != NULL) {
            double thrown_away[BENCH_METRICS_MAX];

            if (!work->bench->sample(&work->ctx, thrown_away))
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
            scaled(work->iterations, sample_target(work->runner) / larger(shortest, 1));
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
static double *values_of(const struct runner *runner, unsigned copy, size_t metric)
{
    return runner->values + (copy * runner->n_metrics + metric) * runner->request.samples;
}

static bool measure_one(struct work *work, unsigned sample)
{
    struct runner *runner = work->runner;
    unsigned copy = (unsigned)work->ctx.copy;
    double figures[BENCH_METRICS_MAX], ns;

    if (work->bench->sample != NULL) {
        if (!work->bench->sample(&work->ctx, figures))
            return false;
        for (size_t i = 0; i < runner->n_metrics; i++)
            values_of(runner, copy, i)[sample] = figures[i];
        return true;
    }
    if (!timed(work, work->bench->run, work->iterations, &ns))
        return false;
    if (ns <= 0)
        return bench_fail(&work->ctx,
                          "the clock %s stood still during a sample: ask for longer samples",
                          os_clock_name());
    values_of(runner, copy, 0)[sample] = to_value(work, ns, &runner->copies[copy].overhead_too_big);
    return true;
}

static bool measure(struct work *work)
{
    for (unsigned i = 0; i < work->runner->request.samples; i++)
        if (!measure_one(work, i))
            return false;
    return true;
}

/* The pages of the values are there before the first sample is. */
static void touch_values(struct work *work)
{
    const struct runner *runner = work->runner;

    memset(values_of(runner, (unsigned)work->ctx.copy, 0), 0,
           runner->n_metrics * runner->request.samples * sizeof(double));
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
    struct copy *copy = &work->runner->copies[work->ctx.copy];

    copy->pinned = work->ctx.cpu >= 0;
    copy->iterations =
        work->bench->sample != NULL ? 1 : (double)work->iterations * work->bench->amount;
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

static void worker_main(void *arg, int copy, struct os_port *port)
{
    struct runner *runner = arg;
    char folder[OS_PATH_MAX] = "";
    struct work work = {
        .runner = runner,
        .bench = runner->request.bench,
        .ctx = {.copy = copy,
                .copies = (int)runner->request.copies,
                .cpu = runner->cpus[copy],
                .peer_cpu = runner->n_cpus > 1 ? runner->cpus[copy + 1] : -1,
                .folder = folder,
                .sample_ns = (int64_t)sample_target(runner)},
    };

    if (runner->scratch[0] != '\0')
        os_scratch_copy(runner->scratch, copy, folder);
    if (!os_pin(work.ctx.cpu))
        work.ctx.cpu = -1;
    work_through(&work, port);
}

/* --- the runner --- */

static bool check_request(const struct runner_request *request, enum runner_event *ret_event,
                          char *ret_reason)
{
    if (!bench_is_for_os(request->bench, os_name)) {
        snprintf(ret_reason, OS_REASON_MAX, "%s runs on %s only, and this is %s",
                 request->bench->name, request->bench->os, os_name);
        *ret_event = RUNNER_UNSUPPORTED;
        return false;
    }
    if ((uint64_t)request->samples * request->copies * bench_n_metrics(request->bench) >
        RUNNER_VALUES_MAX) {
        snprintf(ret_reason, OS_REASON_MAX,
                 "%u samples of %u copies and %zu metrics: more than %d values", request->samples,
                 request->copies, bench_n_metrics(request->bench), RUNNER_VALUES_MAX);
        *ret_event = RUNNER_FAILED;
        return false;
    }
    return true;
}

/* Copies take the CPUs from the last one downwards, since interrupts gather at the first; with a
 * CPU asked for, from that one upwards. Round again when there are more copies than CPUs. */
static bool choose_cpus(struct runner *runner, char *ret_reason)
{
    int allowed[OS_CPUS_MAX];
    int n = os_cpus(allowed, OS_CPUS_MAX), first = -1;
    int wanted = runner->request.cpu;

    if (n > OS_CPUS_MAX)
        n = OS_CPUS_MAX;
    for (int i = 0; i < n; i++)
        if (allowed[i] == wanted)
            first = i;
    if (wanted >= 0 && first < 0) {
        snprintf(ret_reason, OS_REASON_MAX,
                 "CPU %d is not one of the %d this process may use (the first is %d, the last %d)",
                 wanted, n, allowed[0], allowed[n - 1]);
        return false;
    }
    runner->n_cpus = n;
    runner->cpus = calloc(runner->request.copies + 1, sizeof(int));
    if (runner->cpus == NULL) {
        snprintf(ret_reason, OS_REASON_MAX, "no memory");
        return false;
    }
    for (unsigned i = 0; i <= runner->request.copies; i++)
        runner->cpus[i] = allowed[wanted >= 0 ? (first + (int)i) % n : n - 1 - (int)i % n];
    return true;
}

static bool make_shared(struct runner *runner, char *ret_reason)
{
    size_t copies = runner->request.copies;
    size_t head = (copies * sizeof(struct copy) + 63) / 64 * 64;

    runner->n_metrics = bench_n_metrics(runner->request.bench);
    runner->shared_size =
        head + copies * runner->n_metrics * runner->request.samples * sizeof(double);
    runner->shared = os_pages_new(runner->shared_size, true);
    if (runner->shared == NULL) {
        snprintf(ret_reason, OS_REASON_MAX, "no memory for %u samples of %u copies",
                 runner->request.samples, runner->request.copies);
        return false;
    }
    runner->copies = runner->shared;
    runner->values = (double *)(void *)((char *)runner->shared + head);
    return true;
}

static bool make_scratch(struct runner *runner, char *ret_reason)
{
    char name[32];

    if (!runner->request.bench->needs_folder)
        return true;
    if (!os_scratch_new(runner->request.folder, (int)runner->request.copies, runner->scratch,
                        ret_reason)) {
        runner->scratch[0] = '\0';
        return false;
    }
    os_file_system(runner->scratch, name, sizeof(name), &runner->memory_folder);
    return true;
}

struct runner *runner_start(const struct runner_request *request, const struct runner_clock *clock,
                            enum runner_event *ret_event, char *ret_reason)
{
    struct runner *runner;

    ret_reason[0] = '\0';
    if (!check_request(request, ret_event, ret_reason))
        return NULL;
    *ret_event = RUNNER_FAILED;
    runner = calloc(1, sizeof(*runner));
    if (runner == NULL) {
        snprintf(ret_reason, OS_REASON_MAX, "no memory");
        return NULL;
    }
    runner->request = *request;
    runner->clock = *clock;
    runner->started_ns = os_clock_ns();
    if (choose_cpus(runner, ret_reason) && make_shared(runner, ret_reason) &&
        make_scratch(runner, ret_reason))
        runner->workers = os_workers_start((int)request->copies, worker_main, runner, ret_reason);
    if (runner->workers == NULL) {
        runner_free(runner);
        return NULL;
    }
    *ret_event = RUNNER_NOTHING;
    return runner;
}

void runner_free(struct runner *runner)
{
    if (runner == NULL)
        return;
    os_workers_free(runner->workers, runner->phase == PHASE_FINISHED ? GRACE_NS : 0);
    if (runner->scratch[0] != '\0')
        os_scratch_remove(runner->scratch);
    os_pages_free(runner->shared, runner->shared_size);
    free(runner->cpus);
    free(runner);
}

struct os_workers *runner_workers(struct runner *runner)
{
    return runner->phase == PHASE_FINISHED ? NULL : runner->workers;
}

int64_t runner_deadline(const struct runner *runner)
{
    bool works = runner->phase == PHASE_PREPARING || runner->phase == PHASE_MEASURING;

    if (!works || runner->request.limit_ns == 0)
        return 0;
    return runner->started_ns + runner->request.limit_ns - runner->spent_ns;
}

void runner_go(struct runner *runner)
{
    runner->told = 0;
    runner->phase = PHASE_MEASURING;
    runner->started_ns = os_clock_ns();
    os_workers_open_gate(runner->workers);
}

static void add_flag(struct runner *runner, const char *flag)
{
    size_t used = strlen(runner->flags);

    snprintf(runner->flags + used, sizeof(runner->flags) - used, "%s%s", used > 0 ? "," : "", flag);
}

void runner_watch_begin(struct runner *runner)
{
    runner->watched_ns = os_clock_ns();
    os_watch_read(&runner->watch.before);
}

/* Of a counter; -1: not known, or it stepped back. */
static int64_t growth(int64_t before, int64_t after)
{
    return before < 0 || after < before ? -1 : after - before;
}

void runner_watch_end(struct runner *runner)
{
    struct runner_watch *watch = &runner->watch;
    const struct os_watch *before = &watch->before, *after = &watch->after;

    os_watch_read(&watch->after);
    watch->span_ns = os_clock_ns() - runner->watched_ns;
    watch->cpus = runner->n_cpus;
    watch->steal_ns = growth(before->steal_ns, after->steal_ns);
    watch->busy_ns = growth(before->busy_ns, after->busy_ns);
    watch->swapped_in_pages = growth(before->swapped_in_pages, after->swapped_in_pages);
    watch->switches = growth(before->switches, after->switches);
    if (strcmp(before->clocksource, after->clocksource) != 0)
        add_flag(runner, "clocksource-changed");
    if ((double)watch->steal_ns >
        larger(STEAL_NOISE_NS, STEAL_SHARE_MAX * (double)watch->span_ns * runner->n_cpus))
        add_flag(runner, "steal");
    if (watch->swapped_in_pages > 0)
        add_flag(runner, "swapped-in");
}

const struct runner_watch *runner_watched(const struct runner *runner)
{
    return &runner->watch;
}

const double *runner_values(const struct runner *runner, unsigned copy, size_t metric,
                            double *ret_iterations)
{
    const double *values = values_of(runner, copy, metric);

    *ret_iterations = runner->copies[copy].iterations;
    return values[0] != values[0] ? NULL : values; /* NaN */
}

const char *runner_flags(struct runner *runner)
{
    bool unpinned = false, overhead = false;

    for (unsigned i = 0; i < runner->request.copies; i++) {
        unpinned |= !runner->copies[i].pinned;
        overhead |= runner->copies[i].overhead_too_big;
    }
    if ((int)runner->request.copies > runner->n_cpus)
        add_flag(runner, "copies-exceed-cpus");
    if (unpinned)
        add_flag(runner, "not-pinned");
    if (overhead)
        add_flag(runner, "overhead-not-subtracted");
    if (runner->memory_folder)
        add_flag(runner, "memory-file-system");
    return runner->flags;
}

const char *runner_reason(const struct runner *runner)
{
    return runner->reason;
}

static enum runner_event ended(struct runner *runner, enum runner_event event, const char *reason)
{
    if (reason != runner->reason)
        snprintf(runner->reason, sizeof(runner->reason), "%s", reason);
    runner->phase = PHASE_ENDED;
    return event;
}

/* A word that ends a phase once every copy has told it. */
static enum runner_event count_word(struct runner *runner, enum phase next, enum runner_event event)
{
    if (++runner->told < runner->request.copies)
        return RUNNER_NOTHING;
    runner->spent_ns += os_clock_ns() - runner->started_ns;
    runner->phase = next;
    return event;
}

static enum runner_event take_word(struct runner *runner, int copy, char word, const char *how)
{
    char last_word = runner->copies[copy].last_word;

    runner->copies[copy].last_word = word;
    switch (word) {
    case WORD_READY:
        return count_word(runner, PHASE_READY, RUNNER_READY);
    case WORD_MEASURED:
        return count_word(runner, PHASE_FINISHED, RUNNER_FINISHED);
    case WORD_UNSUPPORTED:
        return ended(runner, RUNNER_UNSUPPORTED, runner->copies[copy].reason);
    case WORD_FAILED:
        return ended(runner, RUNNER_FAILED, runner->copies[copy].reason);
    default: /* it ended; after its last word that is as it should be */
        if (last_word == WORD_MEASURED)
            return RUNNER_NOTHING;
        snprintf(runner->reason, sizeof(runner->reason), "the benchmark's process %.100s while %s",
                 how, phase_names[runner->phase]);
        return ended(runner, RUNNER_FAILED, runner->reason);
    }
}

enum runner_event runner_step(struct runner *runner)
{
    enum runner_event event = RUNNER_NOTHING;
    char word, how[OS_REASON_MAX];
    int64_t deadline;
    int copy;

    while (event == RUNNER_NOTHING && runner->phase < PHASE_FINISHED &&
           os_workers_next(runner->workers, &copy, &word, how))
        event = take_word(runner, copy, word, how);
    deadline = runner_deadline(runner);
    if (event != RUNNER_NOTHING || deadline == 0 || os_clock_ns() < deadline)
        return event;
    snprintf(runner->reason, sizeof(runner->reason),
             "gave up after the limit of %.3f s while %s: raise the limit, or ask for less",
             (double)runner->request.limit_ns / 1e9, phase_names[runner->phase]);
    return ended(runner, RUNNER_FAILED, runner->reason);
}
