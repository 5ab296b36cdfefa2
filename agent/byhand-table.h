/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table that `vmatrix-agent run` prints: for people in 80 columns, or one line a row. */
#ifndef VMATRIX_AGENT_BYHAND_TABLE_H
#define VMATRIX_AGENT_BYHAND_TABLE_H
#include <stdbool.h>
#include <stddef.h>

#include "bench.h"

struct byhand_row {
    const char *name;
    struct bench_metric metric;
    double median, least, most;
    size_t count;       /* of values */
    double overhead_ns; /* that was subtracted from each operation; 0: none */
    unsigned copies;
    const char *copies_are; /* "copies", "threads" */
    double efficiency;      /* of each, beside the row of fewer; 0: there is none */
    const char *flags;
};

void byhand_print_header(bool human);
void byhand_print_row(bool human, const struct byhand_row *row);
/* In place of rows. what: "unsupported", "failed". */
void byhand_print_reason(bool human, const char *name, const char *what, const char *reason);

#endif
