/* SPDX-License-Identifier: GPL-3.0-or-later */
/* file.*: making and deleting a file in the work folder. Its data cannot be compressed. */
#include "bench.h"
#include "os.h"

#include <stdio.h>
#include <stdlib.h>

#define DATA_MAX 10240

struct file_bench {
    char path[OS_PATH_MAX];
    size_t size;
    unsigned char data[DATA_MAX];
};

static bool file_setup(struct bench_ctx *ctx, size_t size)
{
    struct file_bench *file = calloc(1, sizeof(*file));
    uint64_t seed = 11;

    ctx->state = file;
    if (file == NULL)
        return bench_fail(ctx, "no memory");
    file->size = size;
    for (size_t i = 0; i < size; i++)
        file->data[i] = (unsigned char)bench_random(&seed);
    if ((size_t)snprintf(file->path, sizeof(file->path), "%s/file", ctx->folder) >=
        sizeof(file->path))
        return bench_fail(ctx, "the work folder's path is too long");
    return true;
}

static bool empty_setup(struct bench_ctx *ctx)
{
    return file_setup(ctx, 0);
}

static bool full_setup(struct bench_ctx *ctx)
{
    return file_setup(ctx, DATA_MAX);
}

static bool file_run(struct bench_ctx *ctx, uint64_t iterations)
{
    const struct file_bench *file = ctx->state;

    for (uint64_t i = 0; i < iterations; i++) {
        if (!os_file_create(file->path, file->data, file->size))
            return bench_fail(ctx, "cannot write a file in %.200s: no space, or read-only",
                              ctx->folder);
        if (!os_file_delete(file->path))
            return bench_fail(ctx, "cannot delete a file in %.200s", ctx->folder);
    }
    return true;
}

static void file_teardown(struct bench_ctx *ctx)
{
    free(ctx->state);
    ctx->state = NULL;
}

extern const struct bench bench_file_create_delete_0k, bench_file_create_delete_10k;

const struct bench bench_file_create_delete_0k = {
    .name = "file.create-delete-0k",
    .groups = "quick all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "create an empty file and delete it",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .needs_folder = true,
    .setup = empty_setup,
    .run = file_run,
    .teardown = file_teardown,
};

const struct bench bench_file_create_delete_10k = {
    .name = "file.create-delete-10k",
    .groups = "all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "create a file, write 10 KiB to it, close it, and delete it (no sync)",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .needs_folder = true,
    .setup = full_setup,
    .run = file_run,
    .teardown = file_teardown,
};
