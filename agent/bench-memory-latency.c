/* SPDX-License-Identifier: GPL-3.0-or-later */
/* memory.latency-*: a chase through one cycle over all cache lines of a buffer, in random order:
 * each address is known only when the load before has come back, and no prefetcher can guess it.
 * Beyond the reach of the TLB, the translation's misses are part of it (in a guest: nested ones).
 * memory.latency-seq-*: the same in the order of the addresses, which a prefetcher can guess. */
#include "bench.h"
#include "os.h"

#include <stdlib.h>

#define LINE 64
#define STEPS 16 /* loads in an iteration */

struct chase {
    void *pages;
    size_t size;
    void *at; /* where the next iteration begins */
};

static size_t *line_at(const struct chase *chase, size_t index)
{
    return (size_t *)(void *)((char *)chase->pages + index * LINE);
}

/* Sattolo's algorithm: a random permutation that is one cycle, so that the chase visits every line
 * before it comes round. First indices, then pointers, in the lines themselves. */
static void chase_link(struct chase *chase, uint64_t seed)
{
    size_t lines = chase->size / LINE;

    for (size_t i = 0; i < lines; i++)
        *line_at(chase, i) = i;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t j = (size_t)(bench_random(&seed) % i);
        size_t kept = *line_at(chase, i);
        *line_at(chase, i) = *line_at(chase, j);
        *line_at(chase, j) = kept;
    }
    for (size_t i = 0; i < lines; i++)
        *(void **)(void *)line_at(chase, i) = line_at(chase, *line_at(chase, i));
    chase->at = chase->pages;
}

static void chase_link_in_order(struct chase *chase)
{
    size_t lines = chase->size / LINE;

    for (size_t i = 0; i < lines; i++)
        *(void **)(void *)line_at(chase, i) = line_at(chase, (i + 1) % lines);
    chase->at = chase->pages;
}

static bool chase_setup(struct bench_ctx *ctx, size_t size, bool in_order)
{
    struct chase *chase = calloc(1, sizeof(*chase));

    ctx->state = chase;
    if (chase != NULL) {
        chase->size = size;
        chase->pages = os_pages_new(size, false);
    }
    if (chase == NULL || chase->pages == NULL)
        return bench_fail(ctx, "no memory for a buffer of %u KiB", (unsigned)(size >> 10));
    if (in_order)
        chase_link_in_order(chase);
    else
        chase_link(chase, 7 + (uint64_t)ctx->copy);
    return true;
}

static bool chase_run(struct bench_ctx *ctx, uint64_t iterations)
{
    struct chase *chase = ctx->state;
    void *at = chase->at;

    for (uint64_t i = 0; i < iterations; i++) {
        for (int step = 0; step < STEPS; step++) {
            at = *(void **)at;
            BENCH_KEEP(at);
        }
    }
    chase->at = at;
    return true;
}

static void chase_teardown(struct bench_ctx *ctx)
{
    struct chase *chase = ctx->state;

    if (chase == NULL)
        return;
    os_pages_free(chase->pages, chase->size);
    free(chase);
    ctx->state = NULL;
}

#define CHASE_BENCH(id, dashed, bytes, in_order, more_groups, text)                                \
    static bool chase_##id##_supported(struct bench_ctx *ctx)                                      \
    {                                                                                              \
        return bench_needs_memory(ctx, bytes);                                                     \
    }                                                                                              \
    static bool chase_##id##_setup(struct bench_ctx *ctx)                                          \
    {                                                                                              \
        return chase_setup(ctx, bytes, in_order);                                                  \
    }                                                                                              \
    extern const struct bench bench_memory_latency_##id;                                           \
    const struct bench bench_memory_latency_##id = {                                               \
        .name = "memory.latency-" dashed,                                                          \
        .groups = "mem-latency all" more_groups,                                                   \
        .metric = "latency",                                                                       \
        .unit = "ns",                                                                              \
        .direction = "lower",                                                                      \
        .summary = "one dependent load " text,                                                     \
        .os = "linux freebsd windows",                                                             \
        .revision = 1,                                                                             \
        .amount = STEPS,                                                                           \
        .supported = chase_##id##_supported,                                                       \
        .setup = chase_##id##_setup,                                                               \
        .run = chase_run,                                                                          \
        .teardown = chase_teardown,                                                                \
    };

CHASE_BENCH(16k, "16k", (size_t)16 << 10, false, "", "at random within 16 KiB (first-level cache)")
CHASE_BENCH(256k, "256k", (size_t)256 << 10, false, "",
            "at random within 256 KiB (second-level cache)")
CHASE_BENCH(4m, "4m", (size_t)4 << 20, false, "", "at random within 4 MiB (shared cache)")
CHASE_BENCH(64m, "64m", (size_t)64 << 20, false, " quick",
            "at random within 64 MiB (beyond most caches and the TLB)")
CHASE_BENCH(256m, "256m", (size_t)256 << 20, false, "",
            "at random within 256 MiB (beyond the caches)")
CHASE_BENCH(seq_4m, "seq-4m", (size_t)4 << 20, true, "", "in order within 4 MiB (shared cache)")
CHASE_BENCH(seq_64m, "seq-64m", (size_t)64 << 20, true, "", "in order within 64 MiB (prefetched)")
