/* SPDX-License-Identifier: GPL-3.0-or-later */
/* memory.copy, memory.read, memory.write, memory.triad: bandwidth of one CPU to memory. The loops
 * are the agent's own, so that the figure does not depend on a C library. One iteration is 1 MiB;
 * iterations walk round buffers that no private cache holds. */
#include "bench.h"
#include "os.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)1 << 20)
#define BUFFER ((size_t)32 << 20)

typedef uint64_t vector __attribute__((vector_size(16)));
#define CHUNK_VECTORS (CHUNK / sizeof(vector))

struct bandwidth {
    vector *source, *target; /* target: copy and triad only */
    size_t next;             /* offset of the next chunk */
};

static bool read_supported(struct bench_ctx *ctx)
{
    return bench_needs_memory(ctx, BUFFER);
}

static bool copy_supported(struct bench_ctx *ctx)
{
    return bench_needs_memory(ctx, 2 * BUFFER);
}

/* Written once: no page is a shared page of zeros, and none is missing. */
static vector *buffer_new(unsigned char fill)
{
    vector *buffer = os_pages_new(BUFFER, false);

    if (buffer != NULL)
        memset(buffer, fill, BUFFER);
    return buffer;
}

static bool read_setup(struct bench_ctx *ctx)
{
    struct bandwidth *bandwidth = calloc(1, sizeof(*bandwidth));

    ctx->state = bandwidth;
    if (bandwidth != NULL)
        bandwidth->source = buffer_new(0x5a);
    if (bandwidth == NULL || bandwidth->source == NULL)
        return bench_fail(ctx, "no memory for a buffer of %u MiB", (unsigned)(BUFFER >> 20));
    return true;
}

static bool copy_setup(struct bench_ctx *ctx)
{
    struct bandwidth *bandwidth;

    if (!read_setup(ctx))
        return false;
    bandwidth = ctx->state;
    bandwidth->target = buffer_new(0xa5);
    if (bandwidth->target == NULL)
        return bench_fail(ctx, "no memory for a buffer of %u MiB", (unsigned)(BUFFER >> 20));
    return true;
}

static void teardown(struct bench_ctx *ctx)
{
    struct bandwidth *bandwidth = ctx->state;

    if (bandwidth == NULL)
        return;
    os_pages_free(bandwidth->source, BUFFER);
    os_pages_free(bandwidth->target, BUFFER);
    free(bandwidth);
    ctx->state = NULL;
}

static size_t next_chunk(struct bandwidth *bandwidth)
{
    size_t offset = bandwidth->next;

    bandwidth->next = (offset + CHUNK) % BUFFER;
    return offset / sizeof(vector);
}

/* The clobber each cache line keeps the compiler from making this a call of memcpy. */
static void copy_chunk(vector *restrict to, const vector *restrict from)
{
    for (size_t i = 0; i < CHUNK_VECTORS; i += 4) {
        vector a = from[i], b = from[i + 1], c = from[i + 2], d = from[i + 3];

        to[i] = a;
        to[i + 1] = b;
        to[i + 2] = c;
        to[i + 3] = d;
        BENCH_CLOBBER();
    }
}

static bool copy_run(struct bench_ctx *ctx, uint64_t iterations)
{
    struct bandwidth *bandwidth = ctx->state;

    for (uint64_t i = 0; i < iterations; i++) {
        size_t at = next_chunk(bandwidth);
        copy_chunk(bandwidth->target + at, bandwidth->source + at);
    }
    return true;
}

static bool read_run(struct bench_ctx *ctx, uint64_t iterations)
{
    struct bandwidth *bandwidth = ctx->state;
    vector a = {0}, b = {0}, c = {0}, d = {0};

    for (uint64_t i = 0; i < iterations; i++) {
        const vector *from = bandwidth->source + next_chunk(bandwidth);

        for (size_t j = 0; j < CHUNK_VECTORS; j += 4) {
            a ^= from[j];
            b ^= from[j + 1];
            c ^= from[j + 2];
            d ^= from[j + 3];
        }
        a ^= b ^ c ^ d;
        __asm__ volatile("" : : "m"(a) : "memory");
    }
    return true;
}

static bool write_run(struct bench_ctx *ctx, uint64_t iterations)
{
    struct bandwidth *bandwidth = ctx->state;

    for (uint64_t i = 0; i < iterations; i++) {
        vector *to = bandwidth->source + next_chunk(bandwidth);
        const vector value = {i, ~i};

        for (size_t j = 0; j < CHUNK_VECTORS; j += 4) {
            to[j] = value;
            to[j + 1] = value;
            to[j + 2] = value;
            to[j + 3] = value;
            BENCH_CLOBBER(); /* or it would become a call of memset */
        }
    }
    return true;
}

typedef double lanes __attribute__((vector_size(16)));

/* STREAM's triad (McCalpin 1995), in place: a[i] = b[i] + q a[i] moves as many bytes in three
 * streams as a[i] = b[i] + q c[i] does. Its numbers stay small: q is 1/2. */
static bool triad_run(struct bench_ctx *ctx, uint64_t iterations)
{
    struct bandwidth *bandwidth = ctx->state;
    const lanes half = {0.5, 0.5};

    for (uint64_t i = 0; i < iterations; i++) {
        size_t at = next_chunk(bandwidth);
        lanes *to = (lanes *)(void *)(bandwidth->target + at);
        const lanes *from = (const lanes *)(const void *)(bandwidth->source + at);

        for (size_t j = 0; j < CHUNK_VECTORS; j += 4) {
            to[j] = from[j] + half * to[j];
            to[j + 1] = from[j + 1] + half * to[j + 1];
            to[j + 2] = from[j + 2] + half * to[j + 2];
            to[j + 3] = from[j + 3] + half * to[j + 3];
            BENCH_CLOBBER();
        }
    }
    return true;
}

extern const struct bench bench_memory_copy, bench_memory_read, bench_memory_write,
    bench_memory_triad;

const struct bench bench_memory_copy = {
    .name = "memory.copy",
    .groups = "mem-bandwidth quick all",
    .metric = "bandwidth",
    .unit = "bytes/s",
    .direction = "higher",
    .summary = "bytes copied from one 32 MiB buffer to another by one CPU",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = (double)CHUNK,
    .supported = copy_supported,
    .setup = copy_setup,
    .run = copy_run,
    .teardown = teardown,
};

const struct bench bench_memory_read = {
    .name = "memory.read",
    .groups = "mem-bandwidth all",
    .metric = "bandwidth",
    .unit = "bytes/s",
    .direction = "higher",
    .summary = "bytes read from a 32 MiB buffer by one CPU",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = (double)CHUNK,
    .supported = read_supported,
    .setup = read_setup,
    .run = read_run,
    .teardown = teardown,
};

const struct bench bench_memory_write = {
    .name = "memory.write",
    .groups = "mem-bandwidth all",
    .metric = "bandwidth",
    .unit = "bytes/s",
    .direction = "higher",
    .summary = "bytes written to a 32 MiB buffer by one CPU",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = (double)CHUNK,
    .supported = read_supported,
    .setup = read_setup,
    .run = write_run,
    .teardown = teardown,
};

const struct bench bench_memory_triad = {
    .name = "memory.triad",
    .groups = "mem-bandwidth all",
    .metric = "bandwidth",
    .unit = "bytes/s",
    .direction = "higher",
    .summary = "bytes moved by a = b + a / 2 in doubles over 32 MiB buffers (3 streams)",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 3 * (double)CHUNK,
    .supported = copy_supported,
    .setup = copy_setup,
    .run = triad_run,
    .teardown = teardown,
};
