/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "host/cache.h"
#include "util/error.h"

enum { SIZE = 4 * 1024 * 1024 };

/* A file of SIZE bytes in the build folder (the temporary folder may be a tmpfs). */
static char *make_file(void)
{
    char *path = g_strdup("cache-test-XXXXXX");
    int fd = g_mkstemp(path);
    g_autofree char *content = g_malloc(SIZE);

    memset(content, 0x5a, SIZE);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, content, SIZE), ==, SIZE);
    g_assert_cmpint(fsync(fd), ==, 0);
    close(fd);
    return path;
}

/* Fraction of the file's pages that are in the cache. */
static double resident(const char *path)
{
    static unsigned char pages[SIZE / 4096];
    int fd = open(path, O_RDONLY);
    void *map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
    gsize n = SIZE / (gsize)sysconf(_SC_PAGESIZE), in = 0;

    g_assert_true(map != MAP_FAILED);
    g_assert_cmpint(mincore(map, SIZE, pages), ==, 0);
    for (gsize i = 0; i < n; i++)
        in += pages[i] & 1;
    munmap(map, SIZE);
    close(fd);
    return (double)in / (double)n;
}

static void test_warm(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = make_file();
    int fd = open(path, O_RDONLY);

    /* Pushed out first, without the rest of the host. */
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
    g_assert_true(host_cache_warm(path, &error));
    g_assert_no_error(error);
    g_assert_cmpfloat(resident(path), >, 0.9);
    g_unlink(path);
    g_assert_false(host_cache_warm(path, &error));
    g_assert_true(vm_error_is(error, VM_ERROR_ENVIRONMENT));
    g_assert_nonnull(strstr(error->message, path));
}

static void test_drop(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = make_file();
    struct statfs fs;

    g_assert_cmpint(statfs(path, &fs), ==, 0);
    if (host_cache_drop(&error)) {
        if (fs.f_type != TMPFS_MAGIC)
            g_assert_cmpfloat(resident(path), <, 0.1);
    } else {
        g_assert_true(vm_error_is(error, VM_ERROR_ENVIRONMENT));
        g_assert_nonnull(strstr(error->message, "drop_caches"));
        g_assert_true(geteuid() != 0 || access("/proc/sys/vm/drop_caches", W_OK) != 0);
    }
    g_unlink(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cache/warm", test_warm);
    g_test_add_func("/cache/drop", test_drop);
    return g_test_run();
}
