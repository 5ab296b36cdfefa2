/* SPDX-License-Identifier: GPL-3.0-or-later */
/* memory.latency-*: a chase through one cycle over all cache lines of a buffer: each address is
 * known only when the load before has come back. The order is that of LMbench's lat_mem_rd -t 64
 * (lmbench-3.0-a9/src/lib_mem.c, thrash_initialize): each load is from another page, the pages in a
 * random order that comes again, and from another line of it, whose number counts up with its bits
 * reversed; no prefetcher can guess it. Beyond the reach of the TLB, the translation's misses are
 * part of it (in a guest: nested ones). As there, pages are touched first in the order of the
 * chase, which is how physical memory is laid out. Unlike there, each size has a buffer of its own,
 * where lat_mem_rd strews the pages of a small range over its largest one; and the lines are linked
 * in the order of the chase, so that what the caches hold at its begin is what they hold ever
 * after, though the first sample does not go round a large cycle once. memory.latency-seq-*: the
 * same in the order of the addresses, which a prefetcher can guess (lat_mem_rd with a stride of
 * 64). */
#include "bench.h"
#include "os.h"

#include <stdlib.h>

#define LINE 64
#define PAGE_LINES 64
#define STEPS 16 /* loads in an iteration */

struct chase {
    void *pages;
    size_t size;
    void *at; /* where the next iteration begins */
};

static void **line_at(const struct chase *chase, size_t index)
{
    return (void **)(void *)((char *)chase->pages + index * LINE);
}

/* A random order of numbers below count; NULL: no memory. */
static uint32_t *random_order(size_t count, uint64_t seed)
{
    uint32_t *order = malloc(count * sizeof(*order));

    for (size_t i = 0; order != NULL && i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count - 1; order != NULL && i > 0; i--) {
        size_t j = (size_t)(bench_random(&seed) % (i + 1));
        uint32_t kept = order[i];

        order[i] = order[j];
        order[j] = kept;
    }
    return order;
}

/* The number of six bits, for the 64 lines of a page, with its bits in reverse. */
static size_t reversed(size_t number)
{
    size_t bits = 0;

    for (size_t bit = 1; bit < PAGE_LINES; bit *= 2)
        bits = bits * 2 + (number & bit ? 1 : 0);
    return bits;
}

static bool chase_link(struct chase *chase, uint64_t seed)
{
    size_t pages = chase->size / ((size_t)PAGE_LINES * LINE);
    uint32_t *order = random_order(pages, seed);
    void **before;

    if (order == NULL)
        return false;
    chase->at = before = line_at(chase, order[0] * (size_t)PAGE_LINES);
    for (size_t round = 0; round < PAGE_LINES; round++) {
        for (size_t i = round == 0 ? 1 : 0; i < pages; i++) {
            size_t line = reversed((i + round) % PAGE_LINES);
            void **next = line_at(chase, order[i] * (size_t)PAGE_LINES + line);

            *before = next;
            before = next;
        }
    }
    *before = chase->at;
    free(order);
    return true;
}

static void chase_link_in_order(struct chase *chase)
{
    size_t lines = chase->size / LINE;

    for (size_t i = 0; i < lines; i++)
        *line_at(chase, i) = line_at(chase, (i + 1) % lines);
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
    return in_order || chase_link(chase, 7 + (uint64_t)ctx->copy) ||
           bench_fail(ctx, "no memory for the order of %u KiB", (unsigned)(size >> 10));
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
        .revision = (in_order) ? 1 : 2,                                                            \
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
