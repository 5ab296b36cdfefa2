/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A benchmark to copy. It is compiled, so that it cannot rot, and is in no table.
 *
 *   1. Copy this file to bench-FAMILY.c and rename what is in it. A family of siblings (the same
 *      code with other sizes or types) shares one file; see bench-memory-latency.c.
 *   2. Add the line BENCH(family_name) to benches.def. `.name` is "family.name".
 *   3. Add the file to meson.build, build, and try it:
 *          vmatrix-agent run --human family.name
 *   4. Look at the disassembly of run(): what is to be measured must stand in its loop
 *      (tests/unit/agent/ looks there too).
 *
 * Timing, calibration, warm-up, repetition, copies, pinning and time limits are the runner's. */
#include "bench.h"

#include <stdlib.h>

#define LENGTH 1000

/* What run() needs, made outside the measured time. One a copy; never static and writable. */
struct skeleton {
    uint32_t *numbers;
};

/* Cheap, before setup(). What is missing on this machine is "unsupported", with a reason that also
 * names the way out; what goes wrong later is a failure. */
static bool skeleton_supported(struct bench_ctx *ctx)
{
    return bench_needs_memory(ctx, LENGTH * sizeof(uint32_t));
}

static bool skeleton_setup(struct bench_ctx *ctx)
{
    struct skeleton *skeleton = calloc(1, sizeof(*skeleton));
    uint64_t seed = 7; /* the same numbers on every machine */

    ctx->state = skeleton; /* at once: teardown() is called whatever comes next */
    if (skeleton != NULL)
        skeleton->numbers = malloc(LENGTH * sizeof(uint32_t));
    if (skeleton == NULL || skeleton->numbers == NULL)
        return bench_fail(ctx, "no memory");
    for (size_t i = 0; i < LENGTH; i++)
        skeleton->numbers[i] = (uint32_t)bench_random(&seed);
    return true;
}

/* Time must grow with iterations and with nothing else. BENCH_KEEP makes the compiler compute the
 * sum, which nobody reads. */
static bool skeleton_run(struct bench_ctx *ctx, uint64_t iterations)
{
    const struct skeleton *skeleton = ctx->state;

    for (uint64_t i = 0; i < iterations; i++) {
        uint32_t sum = 0;
        for (size_t j = 0; j < LENGTH; j++)
            sum += skeleton->numbers[j];
        BENCH_KEEP(sum);
        BENCH_CLOBBER(); /* the numbers must be read again by the next iteration */
    }
    return true;
}

static void skeleton_teardown(struct bench_ctx *ctx)
{
    struct skeleton *skeleton = ctx->state;

    if (skeleton == NULL)
        return;
    free(skeleton->numbers);
    free(skeleton);
    ctx->state = NULL;
}

extern const struct bench bench_skeleton_sum;

const struct bench bench_skeleton_sum = {
    .name = "skeleton.sum",
    .groups = "all", /* every benchmark that is meant for measuring guests is in "all" */
    .metric = "latency",
    .unit = "ns",
    .direction = "lower", /* nanoseconds per operation; "higher": amounts per second */
    .summary = "one addition in the sum of an array",
    .os = "linux freebsd windows",
    .revision = 1,    /* raise it when a change here changes the values */
    .amount = LENGTH, /* operations in one iteration */
    .supported = skeleton_supported,
    .setup = skeleton_setup,
    .run = skeleton_run,
    .teardown = skeleton_teardown,
    /* .overhead: the same loop without what is measured, where the two cannot overlap; see
     * bench_syscalls_null and bench_process_context_switch. */
};
