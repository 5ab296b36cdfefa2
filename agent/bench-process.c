/* SPDX-License-Identifier: GPL-3.0-or-later */
/* process.*: processes that wait for each other, switch, start and end. Both processes of a pair
 * are on one CPU, so that the figure means the same with one vCPU and with many; -cross is the
 * variant on two, where waking the other costs an inter-processor interrupt. */
#include "bench.h"
#include "echo.h"
#include "os.h"

static bool pipe_setup(struct bench_ctx *ctx)
{
    return echo_setup(ctx, OS_LINK_PIPE, -1);
}

static bool cross_supported(struct bench_ctx *ctx)
{
    return ctx->peer_cpu >= 0
               ? true
               : bench_fail(ctx, "needs two CPUs, and only one may be used: give the guest more");
}

static bool cross_setup(struct bench_ctx *ctx)
{
    return echo_setup(ctx, OS_LINK_PIPE, ctx->peer_cpu);
}

/* What a ring of two costs without its two switches: the token through one pipe of its own, twice,
 * within this process. */
static bool switch_overhead(struct bench_ctx *ctx, uint64_t iterations)
{
    struct os_link near_end, far_end;
    bool moved = true;
    char token = 't';

    if (!os_link_pair(OS_LINK_PIPE, &near_end, &far_end, ctx->reason))
        return false;
    for (uint64_t i = 0; moved && i < iterations; i++)
        moved = os_link_send(&near_end, &token, 1) && os_link_receive(&far_end, &token, 1) &&
                os_link_send(&far_end, &token, 1) && os_link_receive(&near_end, &token, 1);
    os_link_close(&near_end);
    os_link_close(&far_end);
    return moved ? true : bench_fail(ctx, "a pipe of this process does not carry its token");
}

static bool fork_run(struct bench_ctx *ctx, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations; i++)
        if (!os_fork_exit())
            return bench_fail(ctx, "cannot start a process: too many, or no memory");
    return true;
}

extern const struct bench bench_process_pipe_latency, bench_process_pipe_latency_cross,
    bench_process_context_switch, bench_process_fork_exit;

const struct bench bench_process_pipe_latency = {
    .name = "process.pipe-latency",
    .groups = "all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "round trip of one byte between two processes on one CPU, through two pipes",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .setup = pipe_setup,
    .run = echo_run,
    .teardown = echo_teardown,
};

const struct bench bench_process_pipe_latency_cross = {
    .name = "process.pipe-latency-cross",
    .groups = "smp all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "round trip of one byte between two processes on two CPUs, through two pipes",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .supported = cross_supported,
    .setup = cross_setup,
    .run = echo_run,
    .teardown = echo_teardown,
};

const struct bench bench_process_context_switch = {
    .name = "process.context-switch",
    .groups = "quick all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "one switch in a token ring of two processes on one CPU, less the pipe's own cost",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 2,
    .setup = pipe_setup,
    .run = echo_run,
    .overhead = switch_overhead,
    .teardown = echo_teardown,
};

const struct bench bench_process_fork_exit = {
    .name = "process.fork-exit",
    .groups = "quick all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "fork of a small process that exits at once, until it is reaped",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .run = fork_run,
};
