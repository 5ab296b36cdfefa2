/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the disk benchmarks share: a file of data that cannot be compressed, on what is a disk. */
#ifndef VMATRIX_AGENT_BENCH_DISK_H
#define VMATRIX_AGENT_BENCH_DISK_H
#include "bench.h"
#include "os-file.h"
#include "os.h"

#define DISK_BLOCK ((size_t)1 << 20) /* what files are made and read through by */

struct disk_file {
    char path[OS_PATH_MAX];
    int flags;       /* how it is opened: 0 or OS_FILE_DIRECT */
    size_t size;     /* a multiple of DISK_BLOCK */
    intptr_t handle; /* OS_FILE_NONE: not open */
};

/* supported() of those that write bytes a copy: the work folder has room, is on a disk, and takes
 * what flags ask for. */
bool disk_supported(struct bench_ctx *ctx, uint64_t bytes, int flags);
/* Whether the work folder has room. */
bool disk_has_room(struct bench_ctx *ctx, uint64_t bytes);

/* Fills data, whose size is a multiple of 8, with bench_random(). */
void disk_fill(void *data, size_t size, uint64_t seed);

/* A file of that name in the work folder; file is zeroed. It is written with data, of its size,
 * synced, found to take up as much of the disk, and left open with flags. */
bool disk_file_make(struct bench_ctx *ctx, struct disk_file *file, const char *name,
                    const void *data);
/* Closes and deletes it; one that was not made is fine. */
void disk_file_remove(struct disk_file *file);

/* Reason and place of what an os_file_…() has just refused; returns false. */
bool disk_fail(struct bench_ctx *ctx, const char *what);

#endif
