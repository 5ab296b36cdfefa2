/* SPDX-License-Identifier: GPL-3.0-or-later */
/* syscalls.*: what it costs to ask the kernel. */
#include "bench.h"
#include "os-kernel.h"
#include "os.h"

#include <stdio.h>
#include <stdlib.h>

static bool null_run(struct bench_ctx *ctx, uint64_t iterations)
{
    (void)ctx;
    for (uint64_t i = 0; i < iterations; i++)
        os_null_syscall();
    return true;
}

static bool clock_run(struct bench_ctx *ctx, uint64_t iterations)
{
    (void)ctx;
    for (uint64_t i = 0; i < iterations; i++) {
        int64_t now = os_clock_ns();
        __asm__ volatile("" : : "g"(now));
    }
    return true;
}

/* --- one byte to or from nowhere, and questions about a file --- */

struct files {
    intptr_t handle; /* of what is read, written or asked about */
    char path[OS_PATH_MAX];
};

static struct files *files_new(struct bench_ctx *ctx)
{
    struct files *files = calloc(1, sizeof(*files));

    ctx->state = files;
    if (files == NULL)
        bench_fail(ctx, "no memory");
    else
        files->handle = OS_NO_HANDLE;
    return files;
}

static void files_teardown(struct bench_ctx *ctx)
{
    struct files *files = ctx->state;

    if (files != NULL)
        os_close(files->handle);
    free(files);
    ctx->state = NULL;
}

/* Opens it; a guest without the device has a reason, not a failure. */
static bool device_supported(struct bench_ctx *ctx, const char *device, bool writing)
{
    intptr_t handle = device == NULL ? OS_NO_HANDLE : os_open(device, writing);

    if (handle == OS_NO_HANDLE)
        return bench_fail(ctx, "%s cannot be opened", device == NULL ? "no such device" : device);
    os_close(handle);
    return true;
}

static bool zero_supported(struct bench_ctx *ctx)
{
    return device_supported(ctx, os_zero_device(), false);
}

static bool null_supported(struct bench_ctx *ctx)
{
    return device_supported(ctx, os_null_device(), true);
}

static bool device_setup(struct bench_ctx *ctx, const char *device, bool writing)
{
    struct files *files = files_new(ctx);

    if (files == NULL)
        return false;
    files->handle = os_open(device, writing);
    return files->handle != OS_NO_HANDLE || bench_fail(ctx, "%s cannot be opened", device);
}

static bool zero_setup(struct bench_ctx *ctx)
{
    return device_setup(ctx, os_zero_device(), false);
}

static bool null_setup(struct bench_ctx *ctx)
{
    return device_setup(ctx, os_null_device(), true);
}

/* LMbench's lat_syscall read and write: one byte. */
static bool read_run(struct bench_ctx *ctx, uint64_t iterations)
{
    const struct files *files = ctx->state;

    for (uint64_t i = 0; i < iterations; i++)
        if (!os_read_byte(files->handle))
            return bench_fail(ctx, "a byte of %s could not be read", os_zero_device());
    return true;
}

static bool write_run(struct bench_ctx *ctx, uint64_t iterations)
{
    const struct files *files = ctx->state;

    for (uint64_t i = 0; i < iterations; i++)
        if (!os_write_byte(files->handle))
            return bench_fail(ctx, "a byte could not be written to %s", os_null_device());
    return true;
}

static bool file_setup(struct bench_ctx *ctx)
{
    struct files *files = files_new(ctx);

    if (files == NULL)
        return false;
    if ((size_t)snprintf(files->path, sizeof(files->path), "%s/file", ctx->folder) >=
        sizeof(files->path))
        return bench_fail(ctx, "the work folder's path is too long");
    if (!os_file_create(files->path, "x", 1))
        return bench_fail(ctx, "cannot write a file in %.200s: no space, or read-only",
                          ctx->folder);
    files->handle = os_open(files->path, false);
    return files->handle != OS_NO_HANDLE || bench_fail(ctx, "a new file cannot be opened");
}

static void file_teardown(struct bench_ctx *ctx)
{
    struct files *files = ctx->state;

    if (files != NULL && files->handle != OS_NO_HANDLE)
        os_file_delete(files->path);
    files_teardown(ctx);
}

static bool stat_run(struct bench_ctx *ctx, uint64_t iterations)
{
    const struct files *files = ctx->state;

    for (uint64_t i = 0; i < iterations; i++)
        if (!os_stat(files->path))
            return bench_fail(ctx, "the file is gone");
    return true;
}

static bool fstat_run(struct bench_ctx *ctx, uint64_t iterations)
{
    const struct files *files = ctx->state;

    for (uint64_t i = 0; i < iterations; i++)
        if (!os_fstat(files->handle))
            return bench_fail(ctx, "the file is gone");
    return true;
}

static bool open_close_run(struct bench_ctx *ctx, uint64_t iterations)
{
    const struct files *files = ctx->state;

    for (uint64_t i = 0; i < iterations; i++) {
        intptr_t handle = os_open(files->path, false);

        if (handle == OS_NO_HANDLE)
            return bench_fail(ctx, "the file cannot be opened any more");
        os_close(handle);
    }
    return true;
}

extern const struct bench bench_syscalls_null, bench_syscalls_clock_gettime, bench_syscalls_read,
    bench_syscalls_write, bench_syscalls_stat, bench_syscalls_fstat, bench_syscalls_open_close;

const struct bench bench_syscalls_null = {
    .name = "syscalls.null",
    .groups = "lmbench quick all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "one system call that does next to nothing (getppid)",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .run = null_run,
    .overhead = bench_empty_loop,
};

const struct bench bench_syscalls_clock_gettime = {
    .name = "syscalls.clock-gettime",
    .groups = "all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "one reading of the raw monotonic clock (no kernel entry where the clock allows)",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .run = clock_run,
    .overhead = bench_empty_loop,
};

const struct bench bench_syscalls_read = {
    .name = "syscalls.read",
    .groups = "lmbench all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "read of one byte from /dev/zero",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .supported = zero_supported,
    .setup = zero_setup,
    .run = read_run,
    .teardown = files_teardown,
};

const struct bench bench_syscalls_write = {
    .name = "syscalls.write",
    .groups = "lmbench all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "write of one byte to the null device",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .supported = null_supported,
    .setup = null_setup,
    .run = write_run,
    .teardown = files_teardown,
};

const struct bench bench_syscalls_stat = {
    .name = "syscalls.stat",
    .groups = "lmbench all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "attributes of a file in the work folder, by its path",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .needs_folder = true,
    .setup = file_setup,
    .run = stat_run,
    .teardown = file_teardown,
};

const struct bench bench_syscalls_fstat = {
    .name = "syscalls.fstat",
    .groups = "lmbench all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "attributes of an open file",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .needs_folder = true,
    .setup = file_setup,
    .run = fstat_run,
    .teardown = file_teardown,
};

const struct bench bench_syscalls_open_close = {
    .name = "syscalls.open-close",
    .groups = "lmbench all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "opening and closing a file in the work folder",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .needs_folder = true,
    .setup = file_setup,
    .run = open_close_run,
    .teardown = file_teardown,
};
