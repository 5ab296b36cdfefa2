/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test.*: for measuring vmatrix itself; in no group but their own. */
#include "bench.h"
#include "os.h"

#define SECOND 1000000000

/* The clock is read until a second has gone: the work of a sample is the same on every machine, and
 * a clock that runs wrong shows in the host's measure of it. */
static bool spin_run(struct bench_ctx *ctx, uint64_t iterations)
{
    (void)ctx;
    for (uint64_t i = 0; i < iterations; i++) {
        int64_t begin = os_clock_ns();
        while (os_clock_ns() - begin < SECOND)
            ;
    }
    return true;
}

extern const struct bench bench_test_noop, bench_test_spin1s;

const struct bench bench_test_noop = {
    .name = "test.noop",
    .groups = "",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "one turn of an empty loop: what measuring costs by itself",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .run = bench_empty_loop,
};

const struct bench bench_test_spin1s = {
    .name = "test.spin1s",
    .groups = "",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "one second of spinning a sample, whatever sample time is asked for",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .fixed = 1,
    .run = spin_run,
};
