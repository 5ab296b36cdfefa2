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

/* The values of all copies, sorted; NULL: no memory. */
static double *sorted_values(const struct runner *runner, const struct runner_request *request)
{
    size_t count = (size_t)request->samples * request->copies;
    double *all = malloc(count * sizeof(double)), iterations;

    if (all == NULL)
        return NULL;
    for (unsigned i = 0; i < request->copies; i++)
        memcpy(all + (size_t)i * request->samples, runner_values(runner, i, &iterations),
               request->samples * sizeof(double));
    qsort(all, count, sizeof(double), compare_doubles);
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

static int print_row(struct runner *runner, const struct runner_request *request, bool human)
{
    size_t count = (size_t)request->samples * request->copies;
    double *values = sorted_values(runner, request);
    const struct bench *bench = request->bench;
    char median[32], least[32], most[32];

    if (values == NULL) {
        fprintf(stderr, "%s: no memory for its values\n", bench->name);
        return STATUS_FAILED;
    }
    format_value((values[(count - 1) / 2] + values[count / 2]) / 2, bench->unit, human, median);
    format_value(values[0], bench->unit, human, least);
    format_value(values[count - 1], bench->unit, human, most);
    printf("%-28s %-10s %-8s %12s %12s %12s %6zu  %s\n", bench->name, bench->metric, bench->unit,
           median, least, most, count, runner_flags(runner));
    free(values);
    return STATUS_DONE;
}

static int run_one(const struct runner_request *request, const struct runner_clock *clock,
                   bool human)
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
        status = print_row(runner, request, human);
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
    struct runner_clock clock;
    int status = STATUS_DONE;

    runner_clock_measure(&clock);
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
