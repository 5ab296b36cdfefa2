/* SPDX-License-Identifier: GPL-3.0-or-later */
/* file.copy-*: UnixBench's file copy (UnixBench/src/fstime.c, c_test): one file is read and another
 * written by turns, a buffer at a time and from the beginning again after the last one. Both are in
 * the cache and are not synced. The pairs of buffer and file are UnixBench's: 256 B of 500 KiB,
 * 1024 B of 2000 KiB, 4096 B of 8000 KiB. It counts bytes that were copied, as UnixBench does.
 * Unlike there, reads and writes name their position (pread, pwrite), and the data are random. */
#include "bench-disk.h"

#include <stdlib.h>

#define KIB ((size_t)1 << 10)
#define BUFFER_MAX 4096

struct copy {
    struct disk_file from, to;
    size_t buffer, size, at;
    uint64_t data[BUFFER_MAX / sizeof(uint64_t)];
};

static bool copy_setup(struct bench_ctx *ctx, size_t buffer, size_t size)
{
    struct copy *copy = calloc(1, sizeof(*copy));
    size_t whole = (size + DISK_BLOCK - 1) / DISK_BLOCK * DISK_BLOCK;
    void *data;
    bool made;

    ctx->state = copy;
    if (copy == NULL)
        return bench_fail(ctx, "no memory");
    copy->buffer = buffer;
    copy->size = size / buffer * buffer;
    copy->from.size = copy->to.size = whole;
    data = os_pages_new(whole, false);
    if (data == NULL)
        return bench_fail(ctx, "no memory for %u KiB of data", (unsigned)(whole / KIB));
    disk_fill(data, whole, 11 + (uint64_t)ctx->copy);
    made = disk_file_make(ctx, &copy->from, "from", data) &&
           disk_file_make(ctx, &copy->to, "to", data);
    os_pages_free(data, whole);
    return made;
}

static bool copy_run(struct bench_ctx *ctx, uint64_t iterations)
{
    struct copy *copy = ctx->state;

    for (uint64_t i = 0; i < iterations; i++) {
        if (!os_file_read_at(copy->from.handle, copy->data, copy->buffer, copy->at))
            return disk_fail(ctx, "read");
        if (!os_file_write_at(copy->to.handle, copy->data, copy->buffer, copy->at))
            return disk_fail(ctx, "write");
        copy->at += copy->buffer;
        if (copy->at == copy->size)
            copy->at = 0;
    }
    return true;
}

static void copy_teardown(struct bench_ctx *ctx)
{
    struct copy *copy = ctx->state;

    if (copy == NULL)
        return;
    disk_file_remove(&copy->from);
    disk_file_remove(&copy->to);
    free(copy);
    ctx->state = NULL;
}

#define COPY_BENCH(bytes, blocks)                                                                  \
    static bool copy_##bytes##_supported(struct bench_ctx *ctx)                                    \
    {                                                                                              \
        return disk_has_room(ctx, 2 * ((blocks)*KIB + DISK_BLOCK));                                \
    }                                                                                              \
    static bool copy_##bytes##_setup(struct bench_ctx *ctx)                                        \
    {                                                                                              \
        return copy_setup(ctx, (bytes), (blocks)*KIB);                                             \
    }                                                                                              \
    extern const struct bench bench_file_copy_##bytes;                                             \
    const struct bench bench_file_copy_##bytes = {                                                 \
        .name = "file.copy-" #bytes,                                                               \
        .groups = "unixbench all",                                                                 \
        .metric = "bandwidth",                                                                     \
        .unit = "bytes/s",                                                                         \
        .direction = "higher",                                                                     \
        .summary = "copying a cached file of " #blocks " KiB by buffers of " #bytes " bytes",      \
        .os = "linux freebsd windows",                                                             \
        .revision = 1,                                                                             \
        .amount = (bytes),                                                                         \
        .needs_folder = true,                                                                      \
        .supported = copy_##bytes##_supported,                                                     \
        .setup = copy_##bytes##_setup,                                                             \
        .run = copy_run,                                                                           \
        .teardown = copy_teardown,                                                                 \
    };

COPY_BENCH(256, 500)
COPY_BENCH(1024, 2000)
COPY_BENCH(4096, 8000)
