/* SPDX-License-Identifier: GPL-3.0-or-later */
/* syscalls.*: what it costs to ask the kernel. */
#include "bench.h"
#include "os.h"

static bool null_run(struct bench_ctx *ctx, uint64_t iterations)
{
    (void)ctx;
    for (uint64_t i = 0; i < iterations; i++)
        os_null_syscall();
    return true;
}

static bool clock_run(struct bench_ctx *ctx, uint64_t iterations)
{
    (void)ctx;
    for (uint64_t i = 0; i < iterations; i++) {
        int64_t now = os_clock_ns();
        __asm__ volatile("" : : "g"(now));
    }
    return true;
}

extern const struct bench bench_syscalls_null, bench_syscalls_clock_gettime;

const struct bench bench_syscalls_null = {
    .name = "syscalls.null",
    .groups = "quick all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "one system call that does next to nothing (getppid)",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .run = null_run,
    .overhead = bench_empty_loop,
};

const struct bench bench_syscalls_clock_gettime = {
    .name = "syscalls.clock-gettime",
    .groups = "all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "one reading of the raw monotonic clock (no kernel entry where the clock allows)",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .run = clock_run,
    .overhead = bench_empty_loop,
};
