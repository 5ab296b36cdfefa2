/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vm.*: mapping a file, and the first touch of its pages. The file is in the page cache: nothing is
 * read from a disk. */
#include "bench.h"
#include "os-kernel.h"
#include "os.h"

#include <stdio.h>
#include <stdlib.h>

#define FILE_SIZE (4u << 20)
/* Linux maps the neighbours of a page too, 64 KiB of them at a time (fault_around_bytes). */
#define TOUCH_STEP (64u << 10)
enum { TOUCHES = FILE_SIZE / TOUCH_STEP };

static bool vm_setup(struct bench_ctx *ctx)
{
    char *path = malloc(OS_PATH_MAX);
    void *data = os_pages_new(FILE_SIZE, false);
    bool written;

    ctx->state = path;
    if (path == NULL || data == NULL) {
        os_pages_free(data, FILE_SIZE);
        return bench_fail(ctx, "no memory");
    }
    written = snprintf(path, OS_PATH_MAX, "%s/file", ctx->folder) < OS_PATH_MAX &&
              os_file_create(path, data, FILE_SIZE);
    os_pages_free(data, FILE_SIZE);
    return written ||
           bench_fail(ctx, "cannot write a file of %u MiB in %.150s: no space, or read-only",
                      FILE_SIZE >> 20, ctx->folder);
}

static void vm_teardown(struct bench_ctx *ctx)
{
    if (ctx->state != NULL)
        os_file_delete(ctx->state);
    free(ctx->state);
    ctx->state = NULL;
}

static bool map_run(struct bench_ctx *ctx, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations; i++) {
        struct os_map map;

        if (!os_map_file(ctx->state, &map))
            return bench_fail(ctx, "the file cannot be mapped");
        os_unmap(&map);
    }
    return true;
}

static bool touch_run(struct bench_ctx *ctx, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations; i++) {
        struct os_map map;

        if (!os_map_file(ctx->state, &map))
            return bench_fail(ctx, "the file cannot be mapped");
        for (size_t at = 0; at < map.size; at += TOUCH_STEP)
            (void)*(volatile const char *)((const char *)map.at + at);
        os_unmap(&map);
    }
    return true;
}

extern const struct bench bench_vm_map, bench_vm_page_fault;

const struct bench bench_vm_map = {
    .name = "vm.map",
    .groups = "lmbench all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "mapping and unmapping a file of 4 MiB, with nothing touched",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .needs_folder = true,
    .setup = vm_setup,
    .run = map_run,
    .teardown = vm_teardown,
};

const struct bench bench_vm_page_fault = {
    .name = "vm.page-fault",
    .groups = "lmbench all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "first touch of a page of a mapped file",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = TOUCHES,
    .needs_folder = true,
    .setup = vm_setup,
    .run = touch_run,
    .overhead = map_run,
    .teardown = vm_teardown,
};
