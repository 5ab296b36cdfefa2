/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench-disk.h"

#include <stdio.h>

bool disk_fail(struct bench_ctx *ctx, const char *what)
{
    char reason[OS_REASON_MAX];

    os_file_reason(reason);
    return bench_fail(ctx, "cannot %s a file in %.100s: %.80s: name another folder", what,
                      ctx->folder, reason);
}

bool disk_has_room(struct bench_ctx *ctx, uint64_t bytes)
{
    const uint64_t rest = (uint64_t)4 << 20; /* for what the file system needs beside */
    uint64_t needed = bytes * (uint64_t)ctx->copies + rest, there = os_folder_free(ctx->folder);

    return there >= needed ||
           bench_fail(ctx,
                      "needs %u MiB of free space in %.100s, and %u MiB are there: make room, "
                      "or name another folder",
                      (unsigned)(needed >> 20), ctx->folder, (unsigned)(there >> 20));
}

static bool path_of(struct bench_ctx *ctx, const char *name, char *ret_path)
{
    return snprintf(ret_path, OS_PATH_MAX, "%s/%s", ctx->folder, name) < OS_PATH_MAX ||
           bench_fail(ctx, "the work folder's path is too long: name another one");
}

bool disk_supported(struct bench_ctx *ctx, uint64_t bytes, int flags)
{
    char path[OS_PATH_MAX], reason[OS_REASON_MAX];
    intptr_t probe;

    if (!os_folder_on_disk(ctx->folder, reason))
        return bench_fail(ctx, "%.100s is on %.80s: no disk: name a folder that is on one",
                          ctx->folder, reason);
    if (!disk_has_room(ctx, bytes) || !path_of(ctx, "probe", path))
        return false;
    probe = os_file_open(path, OS_FILE_CREATE | flags);
    if (probe == OS_FILE_NONE)
        disk_fail(ctx, flags & OS_FILE_DIRECT ? "open for direct I/O" : "make");
    os_file_close(probe);
    os_file_delete(path);
    return probe != OS_FILE_NONE;
}

void disk_fill(void *data, size_t size, uint64_t seed)
{
    uint64_t *words = data;

    for (size_t i = 0; i < size / sizeof(*words); i++)
        words[i] = bench_random(&seed);
}

/* A disk that is told what it could leave out (zeros, copies, what compresses) is not measured. */
static bool check_allocated(struct bench_ctx *ctx, const struct disk_file *file)
{
    int64_t allocated = os_file_allocated(file->path);
    char name[32];
    bool memory;

    os_file_system(ctx->folder, name, sizeof(name), &memory);
    /* 0: not counted (or, on ZFS, not yet: some seconds after the sync). */
    if (allocated <= 0 || (uint64_t)allocated >= file->size / 10 * 9)
        return true;
    return bench_fail(ctx,
                      "%u KiB of data that cannot be compressed take up %u KiB on the %.31s of "
                      "%.80s: it is no disk's speed: name a folder on another file system",
                      (unsigned)(file->size >> 10), (unsigned)(allocated >> 10), name, ctx->folder);
}

static bool write_through(struct bench_ctx *ctx, const struct disk_file *file, const char *data)
{
    for (size_t at = 0; at < file->size; at += DISK_BLOCK)
        if (!os_file_write_at(file->handle, data + at, DISK_BLOCK, at))
            return disk_fail(ctx, "write");
    return os_file_sync(file->handle, false) || disk_fail(ctx, "sync");
}

bool disk_file_make(struct bench_ctx *ctx, struct disk_file *file, const char *name,
                    const void *data)
{
    file->handle = OS_FILE_NONE;
    if (!path_of(ctx, name, file->path)) {
        file->path[0] = '\0';
        return false;
    }
    file->handle = os_file_open(file->path, OS_FILE_CREATE | file->flags);
    if (file->handle == OS_FILE_NONE)
        return disk_fail(ctx, "make");
    return write_through(ctx, file, data) && check_allocated(ctx, file);
}

void disk_file_remove(struct disk_file *file)
{
    if (file->path[0] == '\0')
        return;
    os_file_close(file->handle);
    file->handle = OS_FILE_NONE;
    os_file_delete(file->path);
    file->path[0] = '\0';
}
