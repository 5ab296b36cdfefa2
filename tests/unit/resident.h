/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files whose pages are looked for in the page cache. */
#pragma once
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RESIDENT_SIZE = 4 * 1024 * 1024 };

/* A file of RESIDENT_SIZE bytes in the build folder (the temporary folder may be a tmpfs). */
static inline char *resident_file(void)
{
    char *path = g_strdup("cache-test-XXXXXX");
    int fd = g_mkstemp(path);
    g_autofree char *content = g_malloc(RESIDENT_SIZE);

    memset(content, 0x5a, RESIDENT_SIZE);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, content, RESIDENT_SIZE), ==, RESIDENT_SIZE);
    g_assert_cmpint(fsync(fd), ==, 0);
    close(fd);
    return path;
}

/* Fraction of the file's pages that are in the cache. */
static inline double resident(const char *path)
{
    static unsigned char pages[RESIDENT_SIZE / 4096];
    int fd = open(path, O_RDONLY);
    void *map = mmap(NULL, RESIDENT_SIZE, PROT_READ, MAP_SHARED, fd, 0);
    gsize n = RESIDENT_SIZE / (gsize)sysconf(_SC_PAGESIZE), in = 0;

    g_assert_true(map != MAP_FAILED);
    g_assert_cmpint(mincore(map, RESIDENT_SIZE, pages), ==, 0);
    for (gsize i = 0; i < n; i++)
        in += pages[i] & 1;
    munmap(map, RESIDENT_SIZE);
    close(fd);
    return (double)in / (double)n;
}

/* Push the file out, without the rest of the host. */
static inline void resident_push_out(const char *path)
{
    int fd = open(path, O_RDONLY);

    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}
