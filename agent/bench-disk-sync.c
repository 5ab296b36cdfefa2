/* SPDX-License-Identifier: GPL-3.0-or-later */
/* disk.sync: what it takes until a disk has 4 KiB that were written through the cache, the write
 * included, as fio's --rw=write --bs=4k --fsync=1 (or --fdatasync=1) does it:
 *   append     at the end of a file that grows, with fsync: its size and its place go to disk too
 *   overwrite  of a file's data, with fdatasync: nothing but the data need go there
 * Each is the mean of as many as a sample has time for, at least one. Windows knows no fdatasync;
 * its overwrite syncs all. */
#include "bench-disk.h"

#include <stdlib.h>

#define RECORD ((size_t)4 << 10)
#define RECORDS (DISK_BLOCK / RECORD)
/* So far a file is appended to before it begins anew. */
#define APPENDED_MAX ((size_t)4 << 20)

enum { APPEND, OVERWRITE, METRICS };

static const struct bench_metric sync_metrics[METRICS] = {
    [APPEND] = {"append", "ns", "lower"},
    [OVERWRITE] = {"overwrite", "ns", "lower"},
};

struct syncs {
    struct disk_file appended, overwritten;
    size_t end;  /* of what was appended */
    char *block; /* of data */
};

static bool sync_supported(struct bench_ctx *ctx)
{
    return disk_supported(ctx, APPENDED_MAX + DISK_BLOCK, 0);
}

static bool sync_setup(struct bench_ctx *ctx)
{
    struct syncs *syncs = calloc(1, sizeof(*syncs));

    ctx->state = syncs;
    if (syncs != NULL)
        syncs->block = os_pages_new(DISK_BLOCK, false);
    if (syncs == NULL || syncs->block == NULL)
        return bench_fail(ctx, "no memory");
    disk_fill(syncs->block, DISK_BLOCK, 11 + (uint64_t)ctx->copy);
    syncs->end = DISK_BLOCK;
    syncs->appended.size = syncs->overwritten.size = DISK_BLOCK;
    return disk_file_make(ctx, &syncs->appended, "appended", syncs->block) &&
           disk_file_make(ctx, &syncs->overwritten, "overwritten", syncs->block);
}

static bool append(struct bench_ctx *ctx)
{
    struct syncs *syncs = ctx->state;
    struct disk_file *file = &syncs->appended;
    const char *data = syncs->block + syncs->end % DISK_BLOCK;

    if (!os_file_write_at(file->handle, data, RECORD, syncs->end))
        return disk_fail(ctx, "write");
    syncs->end += RECORD;
    return os_file_sync(file->handle, false) || disk_fail(ctx, "sync");
}

static bool overwrite(struct bench_ctx *ctx, size_t i)
{
    const struct syncs *syncs = ctx->state;
    intptr_t handle = syncs->overwritten.handle;
    size_t at = i % RECORDS * RECORD;

    if (!os_file_write_at(handle, syncs->block + at, RECORD, at))
        return disk_fail(ctx, "write");
    return os_file_sync(handle, true) || disk_fail(ctx, "sync");
}

/* A file that has become long begins anew, outside the times. */
static bool shorten(struct bench_ctx *ctx)
{
    struct syncs *syncs = ctx->state;

    if (syncs->end < APPENDED_MAX / 2)
        return true;
    disk_file_remove(&syncs->appended);
    syncs->end = DISK_BLOCK;
    return disk_file_make(ctx, &syncs->appended, "appended", syncs->block);
}

static bool sync_sample(struct bench_ctx *ctx, double *ret_values)
{
    const struct syncs *syncs = ctx->state;

    if (!shorten(ctx))
        return false;
    for (int metric = APPEND; metric < METRICS; metric++) {
        int64_t begin = os_clock_ns(), ns = 0;
        size_t done = 0;

        for (; done == 0 || (ns < ctx->sample_ns && syncs->end < APPENDED_MAX); done++) {
            if (!(metric == APPEND ? append(ctx) : overwrite(ctx, done)))
                return false;
            ns = os_clock_ns() - begin;
        }
        ret_values[metric] = (double)(ns > 0 ? ns : 1) / (double)done;
    }
    return true;
}

static void sync_teardown(struct bench_ctx *ctx)
{
    struct syncs *syncs = ctx->state;

    if (syncs == NULL)
        return;
    disk_file_remove(&syncs->appended);
    disk_file_remove(&syncs->overwritten);
    os_pages_free(syncs->block, DISK_BLOCK);
    free(syncs);
    ctx->state = NULL;
}

extern const struct bench bench_disk_sync;

const struct bench bench_disk_sync = {
    .name = "disk.sync",
    .groups = "all",
    .summary = "writing 4 KiB until the disk has it, appended (fsync) or over old data (fdatasync)",
    .os = "linux freebsd windows",
    .revision = 1,
    .needs_folder = true,
    .supported = sync_supported,
    .setup = sync_setup,
    .metrics = sync_metrics,
    .n_metrics = METRICS,
    .sample = sync_sample,
    .teardown = sync_teardown,
};
