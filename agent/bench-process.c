/* SPDX-License-Identifier: GPL-3.0-or-later */
/* process.*: processes that wait for each other, switch, start and end. Both processes of a pair
 * are on one CPU, so that the figure means the same with one vCPU and with many; -cross is the
 * variant on two, where waking the other costs an inter-processor interrupt. */
#include "bench.h"
#include "echo.h"
#include "os-kernel.h"
#include "os.h"

#include <stdlib.h>

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

/* --- programs --- */

static bool exec_supported(struct bench_ctx *ctx)
{
    char path[OS_PATH_MAX];

    return os_program_path(path, sizeof(path)) ||
           bench_fail(ctx, "this program's own path is not known: /proc is not mounted");
}

static bool exec_setup(struct bench_ctx *ctx)
{
    ctx->state = malloc(OS_PATH_MAX);
    if (ctx->state == NULL)
        return bench_fail(ctx, "no memory");
    return os_program_path(ctx->state, OS_PATH_MAX) ||
           bench_fail(ctx, "this program's own path is not known");
}

static void exec_teardown(struct bench_ctx *ctx)
{
    free(ctx->state);
    ctx->state = NULL;
}

static bool run_program(struct bench_ctx *ctx, const char *const *argv, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations; i++)
        if (!os_run(argv))
            return bench_fail(ctx, "%.200s could not be run", argv[0]);
    return true;
}

static bool exec_run(struct bench_ctx *ctx, uint64_t iterations)
{
    const char *const argv[] = {ctx->state, "version", NULL};

    return run_program(ctx, argv, iterations);
}

static bool shell_supported(struct bench_ctx *ctx)
{
    const char *const argv[] = {"/bin/sh", "-c", ":", NULL};

    return os_run(argv) || bench_fail(ctx, "there is no /bin/sh that can be run");
}

static bool shell_run(struct bench_ctx *ctx, uint64_t iterations)
{
    const char *const argv[] = {"/bin/sh", "-c", ":", NULL};

    return run_program(ctx, argv, iterations);
}

static bool thread_run(struct bench_ctx *ctx, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations; i++)
        if (!os_thread_start_join())
            return bench_fail(ctx, "a thread could not be made: out of memory, or of processes");
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

const struct bench bench_process_fork_exec = {
    .name = "process.fork-exec",
    .groups = "lmbench all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "start of a small static program (this one), until it has ended",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .supported = exec_supported,
    .setup = exec_setup,
    .run = exec_run,
    .teardown = exec_teardown,
};

const struct bench bench_process_shell = {
    .name = "process.shell",
    .groups = "lmbench all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "/bin/sh -c :, until it has ended",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .supported = shell_supported,
    .run = shell_run,
};

const struct bench bench_process_thread = {
    .name = "process.thread",
    .groups = "all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "a thread that ends at once, until it is joined",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .run = thread_run,
};
