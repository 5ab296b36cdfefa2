/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os-crew.h"
#include "work.h"

/* Where a copy has given all its time to the runner; a worker ends by itself much sooner. */
#define GRACE_NS 1000000000
#define STEAL_SHARE_MAX 0.01
#define STEAL_NOISE_NS 20000000 /* two ticks of the kernel's accounting */

enum phase { PHASE_PREPARING, PHASE_READY, PHASE_MEASURING, PHASE_FINISHED, PHASE_ENDED };
static const char *const phase_names[] = {"preparing (set-up, calibration, warm-up)", "waiting",
                                          "measuring", "finishing", "ending"};

struct runner {
    struct work_plan plan;
    void *shared;
    size_t shared_size;
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

/* As fmax, which would need -lm. */
static double larger(double a, double b)
{
    return a > b ? a : b;
}

static bool check_request(const struct runner_request *request, enum runner_event *ret_event,
                          char *ret_reason)
{
    if (!bench_is_for_os(request->bench, os_name)) {
        snprintf(ret_reason, OS_REASON_MAX, "%s runs on %s only, and this is %s",
                 request->bench->name, request->bench->os, os_name);
        *ret_event = RUNNER_UNSUPPORTED;
        return false;
    }
    if (request->bench->process_wide && request->copies > 1 &&
        (request->threads || os_workers_are_threads)) {
        snprintf(ret_reason, OS_REASON_MAX, "%s works on what all threads of a process share: %s",
                 request->bench->name,
                 os_workers_are_threads ? "ask for one copy"
                                        : "ask for copies in place of threads");
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
    int wanted = runner->plan.request.cpu;

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
    runner->plan.n_cpus = n;
    runner->plan.cpus = calloc(runner->plan.request.copies + 1, sizeof(int));
    runner->plan.allowed = calloc((size_t)n, sizeof(int));
    if (runner->plan.cpus == NULL || runner->plan.allowed == NULL) {
        snprintf(ret_reason, OS_REASON_MAX, "no memory");
        return false;
    }
    memcpy(runner->plan.allowed, allowed, (size_t)n * sizeof(int));
    for (unsigned i = 0; i <= runner->plan.request.copies; i++)
        runner->plan.cpus[i] = allowed[wanted >= 0 ? (first + (int)i) % n : n - 1 - (int)i % n];
    return true;
}

static bool make_shared(struct runner *runner, char *ret_reason)
{
    size_t copies = runner->plan.request.copies;
    size_t head = (copies * sizeof(struct copy) + 63) / 64 * 64;

    runner->plan.n_metrics = bench_n_metrics(runner->plan.request.bench);
    runner->shared_size =
        head + copies * runner->plan.n_metrics * runner->plan.request.samples * sizeof(double);
    runner->shared = os_pages_new(runner->shared_size, true);
    if (runner->shared == NULL) {
        snprintf(ret_reason, OS_REASON_MAX, "no memory for %u samples of %u copies",
                 runner->plan.request.samples, runner->plan.request.copies);
        return false;
    }
    runner->plan.copies = runner->shared;
    runner->plan.values = (double *)(void *)((char *)runner->shared + head);
    return true;
}

static bool make_scratch(struct runner *runner, char *ret_reason)
{
    char name[32];

    if (!runner->plan.request.bench->needs_folder)
        return true;
    if (!os_scratch_new(runner->plan.request.folder, (int)runner->plan.request.copies,
                        runner->plan.scratch, ret_reason)) {
        runner->plan.scratch[0] = '\0';
        return false;
    }
    os_file_system(runner->plan.scratch, name, sizeof(name), &runner->memory_folder);
    return true;
}

struct runner *runner_start(const struct runner_request *request, const struct stopwatch *stopwatch,
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
    runner->plan.request = *request;
    runner->plan.stopwatch = *stopwatch;
    runner->started_ns = os_clock_ns();
    if (choose_cpus(runner, ret_reason) && make_shared(runner, ret_reason) &&
        make_scratch(runner, ret_reason))
        runner->workers =
            os_workers_start(work_workers(&runner->plan), work_main, &runner->plan, ret_reason);
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
    if (runner->plan.scratch[0] != '\0')
        os_scratch_remove(runner->plan.scratch);
    os_pages_free(runner->shared, runner->shared_size);
    free(runner->plan.cpus);
    free(runner->plan.allowed);
    free(runner);
}

struct os_workers *runner_workers(struct runner *runner)
{
    return runner->phase == PHASE_FINISHED ? NULL : runner->workers;
}

int64_t runner_deadline(const struct runner *runner)
{
    bool works = runner->phase == PHASE_PREPARING || runner->phase == PHASE_MEASURING;

    if (!works || runner->plan.request.limit_ns == 0)
        return 0;
    return runner->started_ns + runner->plan.request.limit_ns - runner->spent_ns;
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
    watch->cpus = runner->plan.n_cpus;
    watch->steal_ns = growth(before->steal_ns, after->steal_ns);
    watch->busy_ns = growth(before->busy_ns, after->busy_ns);
    watch->swapped_in_pages = growth(before->swapped_in_pages, after->swapped_in_pages);
    watch->switches = growth(before->switches, after->switches);
    if (strcmp(before->clocksource, after->clocksource) != 0)
        add_flag(runner, "clocksource-changed");
    if ((double)watch->steal_ns >
        larger(STEAL_NOISE_NS, STEAL_SHARE_MAX * (double)watch->span_ns * runner->plan.n_cpus))
        add_flag(runner, "steal");
    if (watch->swapped_in_pages > 0)
        add_flag(runner, "swapped-in");
}

const struct runner_watch *runner_watched(const struct runner *runner)
{
    return &runner->watch;
}

const double *runner_values(const struct runner *runner, unsigned copy, size_t metric)
{
    const double *values = work_values(&runner->plan, copy, metric);

    return values[0] != values[0] ? NULL : values; /* NaN */
}

const struct runner_totals *runner_totals(const struct runner *runner, unsigned copy)
{
    return &runner->plan.copies[copy].totals;
}

const char *runner_flags(struct runner *runner)
{
    bool unpinned = false, overhead = false, tsc = false;

    for (unsigned i = 0; i < runner->plan.request.copies; i++) {
        unpinned |= !runner->plan.copies[i].pinned;
        overhead |= runner->plan.copies[i].overhead_too_big;
        tsc |= runner->plan.copies[i].tsc_disagrees;
    }
    if ((int)runner->plan.request.copies > runner->plan.n_cpus)
        add_flag(runner, "copies-exceed-cpus");
    if (unpinned)
        add_flag(runner, "not-pinned");
    if (overhead)
        add_flag(runner, "overhead-not-subtracted");
    if (tsc)
        add_flag(runner, "tsc-disagrees");
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
    if ((int)++runner->told < work_workers(&runner->plan))
        return RUNNER_NOTHING;
    runner->spent_ns += os_clock_ns() - runner->started_ns;
    runner->phase = next;
    return event;
}

static enum runner_event take_word(struct runner *runner, int copy, char word, const char *how)
{
    char last_word = runner->plan.copies[copy].last_word;

    runner->plan.copies[copy].last_word = word;
    switch (word) {
    case WORD_READY:
        return count_word(runner, PHASE_READY, RUNNER_READY);
    case WORD_MEASURED:
        return count_word(runner, PHASE_FINISHED, RUNNER_FINISHED);
    case WORD_UNSUPPORTED:
        return ended(runner, RUNNER_UNSUPPORTED, runner->plan.copies[copy].reason);
    case WORD_FAILED:
        return ended(runner, RUNNER_FAILED, runner->plan.copies[copy].reason);
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
             (double)runner->plan.request.limit_ns / 1e9, phase_names[runner->phase]);
    return ended(runner, RUNNER_FAILED, runner->reason);
}
