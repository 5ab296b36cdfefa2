/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `vmatrix-agent run`: benchmarks by hand, as a table for people. */
#ifndef VMATRIX_AGENT_BYHAND_H
#define VMATRIX_AGENT_BYHAND_H
#include <stdbool.h>

#define BYHAND_REASON_MAX 256

struct byhand_options {
    bool human; /* scaled units: "1.2 us", "3.4 GB/s" */
    unsigned samples, copies;
    int cpu; /* -1: chosen */
    const char *folder;
    char **names; /* benchmarks or groups; each matches something */
    int n_names;
};

/* argv is what follows "run". false: ret_reason says what is wrong with it. */
bool byhand_parse(int argc, char **argv, struct byhand_options *ret_options, char *ret_reason);

/* Returns the exit status: 0; 1 if a benchmark failed; 130 if it was interrupted. */
int byhand_run(const struct byhand_options *options);

#endif
