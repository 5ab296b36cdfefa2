/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "byhand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "os.h"
#include "peer.h"
#include "runner.h"

#define SAMPLES_USUAL 11
#define SAMPLES_QUICK 5

/* Digits only; *ret_end is what follows them. */
static bool parse_digits(const char *text, int64_t most, int64_t *ret_value, const char **ret_end)
{
    int64_t value = 0;

    if (text == NULL || *text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (value > most / 10)
            return false;
        value = value * 10 + (*text - '0');
    }
    *ret_value = value;
    *ret_end = text;
    return value <= most;
}

bool byhand_parse_number(const char *text, int64_t least, int64_t most, int64_t *ret_value)
{
    const char *end;

    return parse_digits(text, most, ret_value, &end) && *end == '\0' && *ret_value >= least;
}

/* A number and its unit: "20ms". */
bool byhand_parse_duration(const char *text, int64_t *ret_ns)
{
    static const struct {
        const char *unit;
        int64_t ns;
    } units[] = {
        {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000},
    };
    int64_t value;
    const char *end;

    if (!parse_digits(text, RUNNER_TIME_MAX_NS, &value, &end))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].unit) != 0 || value > RUNNER_TIME_MAX_NS / units[i].ns)
            continue;
        *ret_ns = value * units[i].ns;
        return value > 0;
    }
    return false;
}

/* 1, 2, 4, … and as many as there are CPUs. */
static void count_all(struct byhand_options *options)
{
    unsigned cpus = (unsigned)os_cpus(NULL, 0), count = 1;

    cpus = cpus > OS_COPIES_MAX ? OS_COPIES_MAX : cpus;
    options->n_counts = 0;
    for (; count < cpus && options->n_counts < BYHAND_COUNTS_MAX - 1; count *= 2)
        options->counts[options->n_counts++] = count;
    options->counts[options->n_counts++] = cpus;
}

/* "2", "1,2,4" or "all". */
static bool parse_counts(const char *text, bool threads, struct byhand_options *options)
{
    int64_t value;

    options->threads = threads;
    options->n_counts = 0;
    if (text != NULL && strcmp(text, "all") == 0) {
        count_all(options);
        return true;
    }
    for (;;) {
        if (options->n_counts == BYHAND_COUNTS_MAX ||
            !parse_digits(text, OS_COPIES_MAX, &value, &text) || value < 1)
            return false;
        options->counts[options->n_counts++] = (unsigned)value;
        if (*text == '\0')
            return true;
        if (*text++ != ',')
            return false;
    }
}

/* One option with its value; false: it is none, or its value is wrong. ret_reason may say why. */
static bool parse_option(const char *option, const char *value, struct byhand_options *options,
                         char *ret_reason)
{
    int64_t number = 0;
    bool good = false;

    if (strcmp(option, "--samples") == 0) {
        good = byhand_parse_number(value, 1, RUNNER_SAMPLES_MAX, &number);
        options->samples = (unsigned)number;
    } else if (strcmp(option, "--warmup") == 0) {
        good = byhand_parse_number(value, 0, RUNNER_WARMUP_MAX, &number);
        options->warmup = (unsigned)number;
    } else if (strcmp(option, "--copies") == 0 || strcmp(option, "--threads") == 0) {
        good = parse_counts(value, strcmp(option, "--threads") == 0, options);
    } else if (strcmp(option, "--cpu") == 0) {
        good = byhand_parse_number(value, 0, 1000000, &number);
        options->cpu = (int)number;
    } else if (strcmp(option, "--limit") == 0) {
        good = byhand_parse_duration(value, &options->limit_ns);
    } else if (strcmp(option, "--sample-time") == 0) {
        good = byhand_parse_duration(value, &options->sample_ns);
    } else if (strcmp(option, "--folder") == 0) {
        good = value != NULL && *value != '\0' && strlen(value) <= OS_PATH_MAX / 2;
        options->folder = value;
    } else if (strcmp(option, "--peer") == 0) {
        struct os_address ignored;

        good = value != NULL && peer_parse(value, &ignored);
        snprintf(ret_reason, BYHAND_REASON_MAX,
                 "run: --peer is a numeric address and a port, as 192.0.2.1:4000 or "
                 "[2001:db8::1]:4000");
        options->peer = value;
    } else if (strcmp(option, "--token-file") == 0) {
        good = value != NULL && token_read(value, &options->token, ret_reason);
    }
    return good;
}

/* An option without a value; false: it is none. */
static bool parse_switch(const char *option, struct byhand_options *options)
{
    if (strcmp(option, "--human") == 0)
        options->human = true;
    else if (strcmp(option, "--plain") == 0)
        options->human = false;
    else if (strcmp(option, "--quick") == 0)
        options->group = "quick";
    else
        return false;
    return true;
}

static bool matches_something(const char *name)
{
    for (size_t i = 0; i < bench_count; i++)
        if (bench_matches(bench_table[i], name))
            return true;
    return false;
}

static bool check_names(const struct byhand_options *options, char *ret_reason)
{
    for (int i = 0; i < options->n_names; i++) {
        if (matches_something(options->names[i]))
            continue;
        snprintf(ret_reason, BYHAND_REASON_MAX,
                 "run: no benchmark and no group is called \"%.60s\": see vmatrix-agent list",
                 options->names[i]);
        return false;
    }
    return true;
}

bool byhand_parse(int argc, char **argv, struct byhand_options *ret_options, char *ret_reason)
{
    struct byhand_options options = {.human = os_on_terminal(),
                                     .warmup = 1,
                                     .counts = {1},
                                     .n_counts = 1,
                                     .cpu = -1,
                                     .group = "all"};

    while (argc > 0 && argv[0][0] == '-') {
        int used = parse_switch(argv[0], &options) ? 1 : 2;

        snprintf(ret_reason, BYHAND_REASON_MAX,
                 "run: not an option, or not a value for it: %.40s (times are as \"20ms\", "
                 "\"30s\"; samples 1..%d; copies and threads \"2\", \"1,2,4\" or \"all\", up "
                 "to %d)",
                 argv[0], RUNNER_SAMPLES_MAX, OS_COPIES_MAX);
        if (used == 2 && !parse_option(argv[0], argc > 1 ? argv[1] : NULL, &options, ret_reason))
            return false;
        argc -= used;
        argv += used;
    }
    snprintf(ret_reason, BYHAND_REASON_MAX,
             "run: --peer and --token-file go together: serve prints the token");
    if ((options.peer == NULL) != (options.token.text[0] == '\0'))
        return false;
    options.names = argv;
    options.n_names = argc;
    if (options.samples == 0)
        options.samples = strcmp(options.group, "quick") == 0 ? SAMPLES_QUICK : SAMPLES_USUAL;
    *ret_options = options;
    return check_names(&options, ret_reason);
}
