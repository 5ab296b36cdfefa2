/* SPDX-License-Identifier: GPL-3.0-or-later */
/* disk.iops-q1, disk.iops-q32: requests a second past the cache, one at a time, and 32 at once, as
 * fio's --direct=1 with --rw=read, write, randread, randwrite, --bs=4k, 16k, 32k, and --iodepth=1
 * --ioengine=psync or --iodepth=32 over a file of 64 MiB. Unlike fio's libaio, 32 at once are 32
 * threads with one request each (as fio's --numjobs=32 --thread), which every system has: where
 * CPUs are few and a disk is fast, their switches are part of it. Random offsets are drawn anew for
 * each request, as by fio's --norandommap. Sequential ones are taken from one counter, so that the
 * threads together go through the file in order. */
#include "bench-disk.h"
#include "os-crew.h"

#include <stdlib.h>

#define FILE_SIZE ((size_t)64 << 20)
#define DEPTH_MAX 32
#define SIZE_MAX_BYTES ((size_t)32 << 10)
#define KINDS 4 /* of access */

static const struct bench_metric iops_metrics[] = {
    {"random-read-4k", "1/s", "higher"},       {"random-read-16k", "1/s", "higher"},
    {"random-read-32k", "1/s", "higher"},      {"random-write-4k", "1/s", "higher"},
    {"random-write-16k", "1/s", "higher"},     {"random-write-32k", "1/s", "higher"},
    {"sequential-read-4k", "1/s", "higher"},   {"sequential-read-16k", "1/s", "higher"},
    {"sequential-read-32k", "1/s", "higher"},  {"sequential-write-4k", "1/s", "higher"},
    {"sequential-write-16k", "1/s", "higher"}, {"sequential-write-32k", "1/s", "higher"},
};
#define METRICS (sizeof(iops_metrics) / sizeof(iops_metrics[0]))
#define SIZES (METRICS / KINDS)
static const size_t iops_sizes[SIZES] = {(size_t)4 << 10, (size_t)16 << 10, SIZE_MAX_BYTES};

/* One request after the other, each thread with a handle of its own: a system may do one at a time
 * a handle. */
struct lane {
    intptr_t handle;
    uint64_t seed;
    char *data;  /* of SIZE_MAX_BYTES */
    double rate; /* of its own: they begin together, but for the time it takes to wake them */
    bool failed;
    char reason[OS_REASON_MAX];
};

struct iops {
    struct disk_file file;
    char *data; /* of all lanes */
    int depth;
    struct lane lanes[DEPTH_MAX];
    /* What they all do in a sample of one metric. */
    bool random, writes;
    size_t size;
    uint64_t next; /* request of the sequential ones; threads count it up together */
    int64_t span_ns;
};

static uint64_t next_offset(struct iops *iops, struct lane *lane)
{
    uint64_t number = iops->random ? bench_random(&lane->seed)
                                   : __atomic_fetch_add(&iops->next, 1, __ATOMIC_RELAXED);

    return number % (FILE_SIZE / iops->size) * iops->size;
}

/* At least one, until the sample's time is over. */
static void requests(struct iops *iops, struct lane *lane)
{
    int64_t begin = os_clock_ns(), ns;
    uint64_t done = 0;

    do {
        uint64_t at = next_offset(iops, lane);

        if (!(iops->writes ? os_file_write_at(lane->handle, lane->data, iops->size, at)
                           : os_file_read_at(lane->handle, lane->data, iops->size, at))) {
            os_file_reason(lane->reason);
            lane->failed = true;
            return;
        }
        done++;
        ns = os_clock_ns() - begin;
    } while (ns < iops->span_ns);
    lane->rate = (double)done * 1e9 / (double)(ns > 0 ? ns : 1);
}

static void lane_main(struct os_crew *crew, void *arg, int member)
{
    struct iops *iops = arg;

    (void)crew;
    requests(iops, &iops->lanes[member]);
}

static bool work_in_lanes(struct bench_ctx *ctx)
{
    struct iops *iops = ctx->state;
    struct os_crew *crew;

    if (iops->depth == 1) {
        requests(iops, &iops->lanes[0]);
        return true;
    }
    crew = os_crew_start(iops->depth, lane_main, iops, ctx->reason);
    if (crew == NULL)
        return false;
    os_crew_free(crew);
    return true;
}

static bool one_metric(struct bench_ctx *ctx, size_t metric, double *ret_value)
{
    struct iops *iops = ctx->state;

    iops->random = metric < METRICS / 2;
    iops->writes = metric / SIZES % 2 == 1;
    iops->size = iops_sizes[metric % SIZES];
    iops->span_ns = ctx->sample_ns;
    if (!work_in_lanes(ctx))
        return false;
    *ret_value = 0;
    for (int i = 0; i < iops->depth; i++) {
        if (iops->lanes[i].failed)
            return bench_fail(ctx, "cannot %s a file in %.100s: %.80s: name another folder",
                              iops->writes ? "write" : "read", ctx->folder, iops->lanes[i].reason);
        *ret_value += iops->lanes[i].rate;
    }
    return true;
}

static bool iops_sample(struct bench_ctx *ctx, double *ret_values)
{
    for (size_t i = 0; i < METRICS; i++)
        if (!one_metric(ctx, i, &ret_values[i]))
            return false;
    return true;
}

static bool iops_supported(struct bench_ctx *ctx)
{
    return disk_supported(ctx, FILE_SIZE, OS_FILE_DIRECT) && bench_needs_memory(ctx, FILE_SIZE);
}

static bool open_lanes(struct bench_ctx *ctx)
{
    struct iops *iops = ctx->state;

    for (int i = 0; i < iops->depth; i++) {
        struct lane *lane = &iops->lanes[i];

        lane->seed = (uint64_t)ctx->copy * DEPTH_MAX + (uint64_t)i;
        lane->data = iops->data + (size_t)i * SIZE_MAX_BYTES;
        lane->handle = os_file_open(iops->file.path, OS_FILE_DIRECT);
        if (lane->handle == OS_FILE_NONE)
            return disk_fail(ctx, "open");
    }
    return true;
}

static bool iops_setup(struct bench_ctx *ctx, int depth)
{
    struct iops *iops = calloc(1, sizeof(*iops));

    ctx->state = iops;
    if (iops == NULL)
        return bench_fail(ctx, "no memory");
    for (int i = 0; i < DEPTH_MAX; i++)
        iops->lanes[i].handle = OS_FILE_NONE;
    iops->depth = depth;
    iops->file = (struct disk_file){.flags = OS_FILE_DIRECT, .size = FILE_SIZE};
    iops->data = os_pages_new(FILE_SIZE, false);
    if (iops->data == NULL)
        return bench_fail(ctx, "no memory for %u MiB of data", (unsigned)(FILE_SIZE >> 20));
    disk_fill(iops->data, FILE_SIZE, 11 + (uint64_t)ctx->copy);
    return disk_file_make(ctx, &iops->file, "file", iops->data) && open_lanes(ctx);
}

static bool one_setup(struct bench_ctx *ctx)
{
    return iops_setup(ctx, 1);
}

static bool many_setup(struct bench_ctx *ctx)
{
    return iops_setup(ctx, DEPTH_MAX);
}

static void iops_teardown(struct bench_ctx *ctx)
{
    struct iops *iops = ctx->state;

    if (iops == NULL)
        return;
    for (int i = 0; i < DEPTH_MAX; i++)
        os_file_close(iops->lanes[i].handle);
    disk_file_remove(&iops->file);
    os_pages_free(iops->data, FILE_SIZE);
    free(iops);
    ctx->state = NULL;
}

extern const struct bench bench_disk_iops_q1, bench_disk_iops_q32;

const struct bench bench_disk_iops_q1 = {
    .name = "disk.iops-q1",
    .groups = "all",
    .summary = "requests to a disk past the cache, one at a time, over a file of 64 MiB",
    .os = "linux freebsd windows",
    .revision = 1,
    .needs_folder = true,
    .supported = iops_supported,
    .setup = one_setup,
    .metrics = iops_metrics,
    .n_metrics = METRICS,
    .sample = iops_sample,
    .teardown = iops_teardown,
};

const struct bench bench_disk_iops_q32 = {
    .name = "disk.iops-q32",
    .groups = "all",
    .summary = "requests to a disk past the cache, 32 at once, over a file of 64 MiB",
    .os = "linux freebsd",
    .revision = 1,
    .needs_folder = true,
    .supported = iops_supported,
    .setup = many_setup,
    .metrics = iops_metrics,
    .n_metrics = METRICS,
    .sample = iops_sample,
    .teardown = iops_teardown,
};
