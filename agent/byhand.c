/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "byhand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "emit.h"
#include "os.h"
#include "runner.h"

enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_INTERRUPTED = 130 };

/* --- options --- */

static bool parse_number(const char *text, long least, long most, long *ret_value)
{
    char *end;
    long value;

    if (text == NULL || *text < '0' || *text > '9')
        return false;
    value = strtol(text, &end, 10);
    if (*end != '\0' || value < least || value > most)
        return false;
    *ret_value = value;
    return true;
}

static bool matches_something(const char *name)
{
    for (size_t i = 0; i < bench_count; i++)
        if (bench_matches(bench_table[i], name))
            return true;
    return false;
}

/* One option with its value; false: it is none, or its value is wrong. */
static bool parse_option(const char *option, const char *value, struct byhand_options *options,
                         char *reason)
{
    long number;

    if (strcmp(option, "--samples") == 0 && parse_number(value, 1, RUNNER_SAMPLES_MAX, &number))
        options->samples = (unsigned)number;
    else if (strcmp(option, "--copies") == 0 && parse_number(value, 1, OS_COPIES_MAX, &number))
        options->copies = (unsigned)number;
    else if (strcmp(option, "--cpu") == 0 && parse_number(value, 0, 1000000, &number))
        options->cpu = (int)number;
    else if (strcmp(option, "--folder") == 0 && value != NULL && *value != '\0' &&
             strlen(value) <= OS_PATH_MAX / 2)
        options->folder = value;
    else {
        snprintf(reason, BYHAND_REASON_MAX,
                 "run: not an option, or not a value for it: %.40s (--samples 1..%d, "
                 "--copies 1..%d, --cpu N, --folder DIR)",
                 option, RUNNER_SAMPLES_MAX, OS_COPIES_MAX);
        return false;
    }
    return true;
}

bool byhand_parse(int argc, char **argv, struct byhand_options *ret_options, char *ret_reason)
{
    struct byhand_options options = {.samples = 11, .copies = 1, .cpu = -1};

    while (argc > 0 && argv[0][0] == '-') {
        int used = strcmp(argv[0], "--human") == 0 ? 1 : 2;

        if (used == 1)
            options.human = true;
        else if (!parse_option(argv[0], argc > 1 ? argv[1] : NULL, &options, ret_reason))
            return false;
        argc -= used;
        argv += used;
    }
    options.names = argv;
    options.n_names = argc;
    if (argc == 0) {
        snprintf(ret_reason, BYHAND_REASON_MAX, "run: no benchmark and no group is named");
        return false;
    }
    for (int i = 0; i < argc; i++) {
        if (!matches_something(argv[i])) {
            snprintf(ret_reason, BYHAND_REASON_MAX,
                     "run: no benchmark and no group is called \"%.60s\": see vmatrix-agent list",
                     argv[i]);
            return false;
        }
    }
    *ret_options = options;
    return true;
}

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

/* value in its unit, or scaled for people. ret_text has room for 32 bytes. */
static void format_value(double value, const char *unit, bool human, char *ret_text)
{
    static const char *const times[] = {"ns", "us", "ms", "s"};
    static const char *const rates[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    bool time = strcmp(unit, "ns") == 0, rate = strcmp(unit, "bytes/s") == 0;
    size_t step = 0, steps = time ? 4 : 5;

    if (!human || (!time && !rate)) {
        snprintf(ret_text, 32, "%.6g", value);
        return;
    }
    for (; value >= 999.5 && step + 1 < steps; step++)
        value /= 1000;
    snprintf(ret_text, 32, "%.3g %s", value, time ? times[step] : rates[step]);
}

static void print_row(const char *name, const struct bench_metric *metric, const double *sorted,
                      size_t count, bool human, const char *flags)
{
    char median[32], least[32], most[32];

    format_value((sorted[(count - 1) / 2] + sorted[count / 2]) / 2, metric->unit, human, median);
    format_value(sorted[0], metric->unit, human, least);
    format_value(sorted[count - 1], metric->unit, human, most);
    printf("%-28s %-10s %-8s %12s %12s %12s %6zu  %s\n", name, metric->name, metric->unit, median,
           least, most, count, flags);
}

static int print_rows(struct runner *runner, const struct runner_request *request, bool human)
{
    const char *flags = runner_flags(runner);

    for (size_t i = 0; i < bench_n_metrics(request->bench); i++) {
        struct bench_metric metric = bench_metric(request->bench, i);
        size_t count;
        double *values = sorted_values(runner, request, i, &count);

        if (values == NULL) {
            fprintf(stderr, "%s: no memory for its values\n", request->bench->name);
            return STATUS_FAILED;
        }
        if (count > 0)
            print_row(request->bench->name, &metric, values, count, human, flags);
        free(values);
    }
    return STATUS_DONE;
}

static int run_one(const struct runner_request *request, const struct stopwatch *clock, bool human)
{
    char reason[OS_REASON_MAX];
    enum runner_event event;
    struct runner *runner = runner_start(request, clock, &event, reason);
    int status;

    if (runner != NULL) {
        event = run_to_end(runner);
        snprintf(reason, sizeof(reason), "%s", runner_reason(runner));
    }
    if (event == RUNNER_FINISHED) {
        runner_watch_end(runner);
        status = print_rows(runner, request, human);
    } else if (event == RUNNER_NOTHING) {
        status = STATUS_INTERRUPTED;
    } else {
        printf("%-28s %s: ", request->bench->name,
               event == RUNNER_UNSUPPORTED ? "unsupported" : "failed");
        emit_text(stdout, reason);
        putchar('\n');
        status = event == RUNNER_UNSUPPORTED ? STATUS_DONE : STATUS_FAILED;
    }
    runner_free(runner);
    fflush(stdout);
    return status;
}

int byhand_run(const struct byhand_options *options)
{
    struct stopwatch clock;
    int status = STATUS_DONE;

    stopwatch_measure(&clock);
    printf("%-28s %-10s %-8s %12s %12s %12s %6s  %s\n", "BENCHMARK", "METRIC", "UNIT", "MEDIAN",
           "MIN", "MAX", "N", "FLAGS");
    fflush(stdout);
    for (size_t i = 0; i < bench_count && status != STATUS_INTERRUPTED; i++) {
        struct runner_request request = {
            .bench = bench_table[i],
            .samples = options->samples,
            .warmup = 1,
            .copies = options->copies,
            .folder = options->folder,
            .cpu = options->cpu,
        };
        bool wanted = false;
        int one;

        for (int j = 0; j < options->n_names; j++)
            wanted |= bench_matches(bench_table[i], options->names[j]);
        if (!wanted)
            continue;
        one = run_one(&request, &clock, options->human);
        status = one > status ? one : status;
    }
    return status;
}
