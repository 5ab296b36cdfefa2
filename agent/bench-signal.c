/* SPDX-License-Identifier: GPL-3.0-or-later */
/* signal.*: LMbench's lat_sig. Copies are processes where there are signals, so that each has its
 * own handler. */
#include "bench.h"
#include "os-kernel.h"

static bool install_setup(struct bench_ctx *ctx)
{
    return os_signal_install() || bench_fail(ctx, "the system refuses a signal handler");
}

static bool install_run(struct bench_ctx *ctx, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations; i++)
        if (!os_signal_install())
            return bench_fail(ctx, "the system refuses a signal handler");
    return true;
}

static bool catch_run(struct bench_ctx *ctx, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations; i++)
        if (!os_signal_send())
            return bench_fail(ctx, "the system refuses to send a signal");
    return true;
}

/* lat_sig too subtracts what the call alone takes. */
static bool probe_run(struct bench_ctx *ctx, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations; i++)
        if (!os_signal_probe())
            return bench_fail(ctx, "the system refuses to send a signal");
    return true;
}

static void signal_teardown(struct bench_ctx *ctx)
{
    (void)ctx;
    os_signal_restore();
}

extern const struct bench bench_signal_install, bench_signal_catch;

const struct bench bench_signal_install = {
    .name = "signal.install",
    .groups = "lmbench all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "making a signal handler known",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .setup = install_setup,
    .run = install_run,
    .teardown = signal_teardown,
};

const struct bench bench_signal_catch = {
    .name = "signal.catch",
    .groups = "lmbench all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "a signal caught by its handler, until that has returned",
    .os = "linux freebsd",
    .process_wide = true,
    .revision = 1,
    .amount = 1,
    .setup = install_setup,
    .run = catch_run,
    .overhead = probe_run,
    .teardown = signal_teardown,
};
