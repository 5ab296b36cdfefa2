/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "byhand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "byhand-table.h"
#include "os.h"
#include "runner.h"

enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_INTERRUPTED = 130 };

/* --- one benchmark --- */

/* The runner's last event; RUNNER_NOTHING: a signal. */
static enum runner_event run_to_end(struct runner *runner)
{
    for (;;) {
        int woke = os_wait(OS_INPUT_IGNORED, runner_workers(runner), runner_deadline(runner));
        enum runner_event event;

        if (woke & OS_WAKE_STOP)
            return RUNNER_NOTHING;
        event = runner_step(runner);
        if (event == RUNNER_READY) {
            runner_watch_begin(runner);
            runner_go(runner);
        } else if (event != RUNNER_NOTHING) {
            return event;
        }
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The values of a metric of all copies, sorted; none where there is no such metric here. NULL: no
 * memory. */
static double *sorted_values(const struct runner *runner, const struct runner_request *request,
                             size_t metric, size_t *ret_count)
{
    double *all = malloc((size_t)request->samples * request->copies * sizeof(double));

    *ret_count = 0;
    for (unsigned i = 0; all != NULL && i < request->copies; i++) {
        const double *values = runner_values(runner, i, metric);

        if (values == NULL)
            continue;
        memcpy(all + *ret_count, values, request->samples * sizeof(double));
        *ret_count += request->samples;
    }
    if (*ret_count > 0)
        qsort(all, *ret_count, sizeof(double), compare_doubles);
    return all;
}

/* What one run of one benchmark is to print. */
struct round {
    struct runner_request request;
    const struct stopwatch *stopwatch;
    bool human;
    double *first; /* medians of the first count of copies, a metric each; 0: there was none */
};

/* What each of more copies does of what each of the first row's did: 1 is all. */
static double efficiency_of(const struct round *round, const struct byhand_row *row, size_t metric)
{
    double first = round->first[metric];

    round->first[metric] = first == 0 ? row->median : first;
    if (first == 0 || row->median == 0)
        return 0;
    return strcmp(row->metric.direction, "lower") == 0 ? first / row->median : row->median / first;
}

static int print_rows(struct runner *runner, const struct round *round)
{
    const struct runner_request *request = &round->request;
    struct byhand_row row = {.name = request->bench->name,
                             .overhead_ns = runner_totals(runner, 0)->overhead_ns,
                             .copies = request->copies,
                             .copies_are = request->threads ? "threads" : "copies",
                             .flags = runner_flags(runner)};

    for (size_t i = 0; i < bench_n_metrics(request->bench); i++) {
        double *sorted = sorted_values(runner, request, i, &row.count);

        if (sorted == NULL) {
            fprintf(stderr, "%s: no memory for its values\n", request->bench->name);
            return STATUS_FAILED;
        }
        if (row.count > 0) {
            row.metric = bench_metric(request->bench, i);
            row.median = (sorted[(row.count - 1) / 2] + sorted[row.count / 2]) / 2;
            row.least = sorted[0];
            row.most = sorted[row.count - 1];
            row.efficiency = efficiency_of(round, &row, i);
            byhand_print_row(round->human, &row);
        }
        free(sorted);
    }
    return STATUS_DONE;
}

static int run_one(const struct round *round)
{
    const struct runner_request *request = &round->request;
    char reason[OS_REASON_MAX];
    enum runner_event event;
    struct runner *runner = runner_start(request, round->stopwatch, &event, reason);
    int status;

    if (runner != NULL) {
        event = run_to_end(runner);
        snprintf(reason, sizeof(reason), "%s", runner_reason(runner));
    }
    if (event == RUNNER_FINISHED) {
        runner_watch_end(runner);
        status = print_rows(runner, round);
    } else if (event == RUNNER_NOTHING) {
        status = STATUS_INTERRUPTED;
    } else {
        byhand_print_reason(round->human, request->bench->name,
                            event == RUNNER_UNSUPPORTED ? "unsupported" : "failed", reason);
        status = event == RUNNER_UNSUPPORTED ? STATUS_DONE : STATUS_FAILED;
    }
    runner_free(runner);
    fflush(stdout);
    return status;
}

/* One benchmark with each count of copies. */
static int run_counts(const struct byhand_options *options, const struct bench *bench,
                      const struct stopwatch *stopwatch)
{
    double first[BENCH_METRICS_MAX] = {0};
    struct round round = {.request = {.bench = bench,
                                      .samples = options->samples,
                                      .warmup = options->warmup,
                                      .threads = options->threads,
                                      .sample_ns = options->sample_ns,
                                      .limit_ns = options->limit_ns,
                                      .folder = options->folder,
                                      .peer = options->peer,
                                      .peer_token = options->token.text,
                                      .cpu = options->cpu},
                          .stopwatch = stopwatch,
                          .human = options->human,
                          .first = first};
    int status = STATUS_DONE;

    for (int i = 0; i < options->n_counts && status != STATUS_INTERRUPTED; i++) {
        int one;

        round.request.copies = options->counts[i];
        one = run_one(&round);
        status = one > status ? one : status;
    }
    return status;
}

static bool is_wanted(const struct byhand_options *options, const struct bench *bench)
{
    if (options->n_names == 0)
        return bench_matches(bench, options->group);
    for (int i = 0; i < options->n_names; i++)
        if (bench_matches(bench, options->names[i]))
            return true;
    return false;
}

/* What all of it was timed by. */
static void print_clock(const struct stopwatch *stopwatch)
{
    struct stopwatch_moment now;
    struct stopwatch_rate rate;

    stopwatch_end(stopwatch, &now);
    rate = stopwatch_tsc_rate(stopwatch, &now);
    printf("%s: steps of %ld ns, %.3g ns a reading\n", os_clock_name(),
           (long)stopwatch->resolution_ns, stopwatch->cost_ns);
    if (rate.hz > 0)
        printf("TSC beside it: %.1f MHz\n", rate.hz / 1e6);
}

int byhand_run(const struct byhand_options *options)
{
    struct stopwatch stopwatch;
    int status = STATUS_DONE, one;

    stopwatch_measure(&stopwatch);
    byhand_print_header(options->human);
    fflush(stdout);
    for (size_t i = 0; i < bench_count && status != STATUS_INTERRUPTED; i++) {
        if (!is_wanted(options, bench_table[i]))
            continue;
        one = run_counts(options, bench_table[i], &stopwatch);
        status = one > status ? one : status;
    }
    if (options->human)
        print_clock(&stopwatch);
    return status;
}
