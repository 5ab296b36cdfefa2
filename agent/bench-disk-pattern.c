/* SPDX-License-Identifier: GPL-3.0-or-later */
/* disk.buffered-*, disk.direct-*: iozone's patterns (iozone 3, src/current/iozone.c), one metric
 * each, over a file of 8 MiB in records of 4 KiB, 64 KiB and 1 MiB:
 *   write         a new file (iozone's "write")
 *   rewrite       the same file again, in order
 *   random-write  each record once, in random order
 *   read          in order; buffered: what is cached of the file was dropped before
 *   reread        the same again; buffered: from the cache
 *   random-read   each record once, in random order
 *   stride-read   every 17th record (iozone's -j 17), until all were read
 * As in iozone, opening, closing and syncing are not in the times, so that buffered writes go into
 * the cache; disk.sync has what it takes until the disk has them. Unlike in iozone, a pattern works
 * for the time of a sample at most, the whole file's data are random, since a record that is
 * written again and again compresses well, and the cache is dropped between writing and reading, as
 * iozone does with -U. Where a system has no way to drop it, there is no buffered read. */
#include "bench-disk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_SIZE ((size_t)8 << 20)
#define STRIDE 17
#define STRIDE_SHORT 5                /* for files of fewer records than two strides */
#define CLOCK_STEP ((size_t)64 << 10) /* bytes between two looks at the clock */

enum pattern { WRITE, REWRITE, RANDOM_WRITE, READ, REREAD, RANDOM_READ, STRIDE_READ, PATTERNS };

static const struct bench_metric pattern_metrics[PATTERNS] = {
    [WRITE] = {"write", "bytes/s", "higher"},
    [REWRITE] = {"rewrite", "bytes/s", "higher"},
    [RANDOM_WRITE] = {"random-write", "bytes/s", "higher"},
    [READ] = {"read", "bytes/s", "higher"},
    [REREAD] = {"reread", "bytes/s", "higher"},
    [RANDOM_READ] = {"random-read", "bytes/s", "higher"},
    [STRIDE_READ] = {"stride-read", "bytes/s", "higher"},
};

struct patterns {
    struct disk_file file;
    size_t record, records;
    char *data;       /* of the whole file */
    char *into;       /* one record */
    uint32_t *random; /* each record once */
};

static size_t nth_record(const struct patterns *patterns, enum pattern pattern, size_t i)
{
    size_t stride = patterns->records >= (size_t)2 * STRIDE ? STRIDE : STRIDE_SHORT;

    switch (pattern) {
    case RANDOM_WRITE:
    case RANDOM_READ:
        return patterns->random[i];
    case STRIDE_READ: /* both strides have no divisor in common with a power of two */
        return i * stride % patterns->records;
    default:
        return i;
    }
}

static bool is_write(enum pattern pattern)
{
    return pattern == WRITE || pattern == REWRITE || pattern == RANDOM_WRITE;
}

static bool one_record(const struct patterns *patterns, enum pattern pattern, intptr_t handle,
                       size_t number)
{
    size_t at = number * patterns->record;

    return is_write(pattern) ? os_file_write_at(handle, patterns->data + at, patterns->record, at)
                             : os_file_read_at(handle, patterns->into, patterns->record, at);
}

/* Records in the pattern's order until all were, or the sample's time is over. */
static bool walk(struct bench_ctx *ctx, enum pattern pattern, intptr_t handle, double *ret_value)
{
    const struct patterns *patterns = ctx->state;
    size_t look = CLOCK_STEP > patterns->record ? CLOCK_STEP / patterns->record : 1, done = 0;
    int64_t begin = os_clock_ns(), ns = 0;

    while (done < patterns->records && ns < ctx->sample_ns) {
        if (!one_record(patterns, pattern, handle, nth_record(patterns, pattern, done)))
            return disk_fail(ctx, is_write(pattern) ? "write" : "read");
        if (++done % look == 0)
            ns = os_clock_ns() - begin;
    }
    ns = os_clock_ns() - begin;
    *ret_value = (double)(done * patterns->record) * 1e9 / (double)(ns > 0 ? ns : 1);
    return true;
}

static bool write_new(struct bench_ctx *ctx, double *ret_value)
{
    const struct patterns *patterns = ctx->state;
    struct disk_file fresh = {.handle = OS_FILE_NONE};
    bool written;

    if (snprintf(fresh.path, sizeof(fresh.path), "%s/new", ctx->folder) >= (int)sizeof(fresh.path))
        return bench_fail(ctx, "the work folder's path is too long: name another one");
    fresh.handle = os_file_open(fresh.path, OS_FILE_CREATE | patterns->file.flags);
    if (fresh.handle == OS_FILE_NONE)
        return disk_fail(ctx, "make");
    written = walk(ctx, WRITE, fresh.handle, ret_value);
    disk_file_remove(&fresh);
    return written;
}

static bool reopen(struct bench_ctx *ctx, struct disk_file *file)
{
    file->handle = os_file_open(file->path, file->flags);
    return file->handle != OS_FILE_NONE || disk_fail(ctx, "open");
}

/* Buffered: from the disk, NaN where the cache cannot be dropped; then the whole file is cached. */
static bool read_first(struct bench_ctx *ctx, double *ret_value)
{
    struct patterns *patterns = ctx->state;
    struct disk_file *file = &patterns->file;
    bool dropped = true;

    if (!(file->flags & OS_FILE_DIRECT)) {
        if (!os_file_sync(file->handle, false))
            return disk_fail(ctx, "sync");
        os_file_close(file->handle); /* some systems drop only what nobody has open */
        dropped = os_file_drop_cache(file->path);
        if (!reopen(ctx, file))
            return false;
    }
    if (!walk(ctx, READ, file->handle, ret_value))
        return false;
    if (!dropped)
        *ret_value = NAN;
    for (size_t i = 0; !(file->flags & OS_FILE_DIRECT) && i < patterns->records; i++)
        if (!one_record(patterns, READ, file->handle, i))
            return disk_fail(ctx, "read");
    return true;
}

static bool pattern_sample(struct bench_ctx *ctx, double *ret_values)
{
    const struct patterns *patterns = ctx->state;
    const intptr_t *handle = &patterns->file.handle;

    return write_new(ctx, &ret_values[WRITE]) &&
           walk(ctx, REWRITE, *handle, &ret_values[REWRITE]) &&
           walk(ctx, RANDOM_WRITE, *handle, &ret_values[RANDOM_WRITE]) &&
           read_first(ctx, &ret_values[READ]) && walk(ctx, REREAD, *handle, &ret_values[REREAD]) &&
           walk(ctx, RANDOM_READ, *handle, &ret_values[RANDOM_READ]) &&
           walk(ctx, STRIDE_READ, *handle, &ret_values[STRIDE_READ]);
}

static void shuffle(uint32_t *numbers, size_t count)
{
    uint64_t seed = 5;

    for (size_t i = 0; i < count; i++)
        numbers[i] = (uint32_t)i;
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = (size_t)(bench_random(&seed) % (i + 1));
        uint32_t kept = numbers[i];

        numbers[i] = numbers[j];
        numbers[j] = kept;
    }
}

static bool pattern_setup(struct bench_ctx *ctx, size_t record, int flags)
{
    struct patterns *patterns = calloc(1, sizeof(*patterns));

    ctx->state = patterns;
    if (patterns == NULL)
        return bench_fail(ctx, "no memory");
    patterns->file = (struct disk_file){.flags = flags, .size = FILE_SIZE, .handle = OS_FILE_NONE};
    patterns->record = record;
    patterns->records = FILE_SIZE / record;
    patterns->data = os_pages_new(FILE_SIZE, false);
    patterns->into = os_pages_new(record, false);
    patterns->random = malloc(patterns->records * sizeof(*patterns->random));
    if (patterns->data == NULL || patterns->into == NULL || patterns->random == NULL)
        return bench_fail(ctx, "no memory for %u MiB of data", (unsigned)(FILE_SIZE >> 20));
    disk_fill(patterns->data, FILE_SIZE, 11 + (uint64_t)ctx->copy);
    shuffle(patterns->random, patterns->records);
    return disk_file_make(ctx, &patterns->file, "file", patterns->data);
}

static void pattern_teardown(struct bench_ctx *ctx)
{
    struct patterns *patterns = ctx->state;

    if (patterns == NULL)
        return;
    disk_file_remove(&patterns->file);
    os_pages_free(patterns->data, FILE_SIZE);
    os_pages_free(patterns->into, patterns->record);
    free(patterns->random);
    free(patterns);
    ctx->state = NULL;
}

static bool buffered_supported(struct bench_ctx *ctx)
{
    return disk_supported(ctx, 2 * FILE_SIZE, 0) && bench_needs_memory(ctx, 3 * FILE_SIZE);
}

static bool direct_supported(struct bench_ctx *ctx)
{
    return disk_supported(ctx, 2 * FILE_SIZE, OS_FILE_DIRECT) && bench_needs_memory(ctx, FILE_SIZE);
}

#define PATTERN_BENCH(id, dashed, how, open_flags, bytes, text)                                    \
    static bool pattern_##id##_setup(struct bench_ctx *ctx)                                        \
    {                                                                                              \
        return pattern_setup(ctx, bytes, open_flags);                                              \
    }                                                                                              \
    extern const struct bench bench_disk_##id;                                                     \
    const struct bench bench_disk_##id = {                                                         \
        .name = "disk." dashed,                                                                    \
        .groups = "iozone all",                                                                    \
        .summary = "writing and reading a file of 8 MiB " text,                                    \
        .os = "linux freebsd windows",                                                             \
        .revision = 1,                                                                             \
        .needs_folder = true,                                                                      \
        .supported = how##_supported,                                                              \
        .setup = pattern_##id##_setup,                                                             \
        .metrics = pattern_metrics,                                                                \
        .n_metrics = PATTERNS,                                                                     \
        .sample = pattern_sample,                                                                  \
        .teardown = pattern_teardown,                                                              \
    };

PATTERN_BENCH(buffered_4k, "buffered-4k", buffered, 0, (size_t)4 << 10,
              "in records of 4 KiB through the cache")
PATTERN_BENCH(buffered_64k, "buffered-64k", buffered, 0, (size_t)64 << 10,
              "in records of 64 KiB through the cache")
PATTERN_BENCH(buffered_1m, "buffered-1m", buffered, 0, (size_t)1 << 20,
              "in records of 1 MiB through the cache")
PATTERN_BENCH(direct_4k, "direct-4k", direct, OS_FILE_DIRECT, (size_t)4 << 10,
              "in records of 4 KiB past the cache")
PATTERN_BENCH(direct_64k, "direct-64k", direct, OS_FILE_DIRECT, (size_t)64 << 10,
              "in records of 64 KiB past the cache")
PATTERN_BENCH(direct_1m, "direct-1m", direct, OS_FILE_DIRECT, (size_t)1 << 20,
              "in records of 1 MiB past the cache")
