/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `vmatrix-agent run`: benchmarks by hand, as a table for people. */
#ifndef VMATRIX_AGENT_BYHAND_H
#define VMATRIX_AGENT_BYHAND_H
#include <stdbool.h>
#include <stdint.h>

#include "token.h"

#define BYHAND_REASON_MAX 256
#define BYHAND_COUNTS_MAX 16

struct byhand_options {
    bool human; /* 80 columns and scaled units ("1.2 us", "3.4 GB/s"), not one line a row */
    unsigned samples, warmup;
    unsigned counts[BYHAND_COUNTS_MAX]; /* copies or threads, one after the other */
    int n_counts;
    bool threads; /* the counts are of threads */
    int cpu;      /* -1: chosen */
    int64_t limit_ns, sample_ns;
    const char *folder;
    const char *peer; /* NULL: none */
    struct token token;
    char **names; /* benchmarks or groups; each matches something. None: group */
    int n_names;
    const char *group; /* what is run where nothing is named */
};

/* argv is what follows "run". false: ret_reason says what is wrong with it. */
bool byhand_parse(int argc, char **argv, struct byhand_options *ret_options, char *ret_reason);

/* A number, and a time as "20ms"; false: text (NULL too) is none, or not in range. */
bool byhand_parse_number(const char *text, int64_t least, int64_t most, int64_t *ret_value);
bool byhand_parse_duration(const char *text, int64_t *ret_ns);

/* Returns the exit status: 0; 1 if a benchmark failed; 130 if it was interrupted. */
int byhand_run(const struct byhand_options *options);

#endif
