/* SPDX-License-Identifier: GPL-3.0-or-later */
#if !defined(_WIN32)
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* O_DIRECT */
#endif
#include "os-file.h"
#include "os-posix.h"
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define ALLOCATION_UNIT 512 /* of st_blocks, whatever the file system's block is */

intptr_t os_file_open(const char *path, int flags)
{
    int how = O_RDWR | O_CLOEXEC | (flags & OS_FILE_CREATE ? O_CREAT | O_TRUNC : 0);

    if (flags & OS_FILE_DIRECT) {
#ifdef O_DIRECT
        how |= O_DIRECT;
#else
        errno = ENOTSUP;
        return OS_FILE_NONE;
#endif
    }
    return open(path, how, 0600);
}

void os_file_close(intptr_t file)
{
    if (file != OS_FILE_NONE)
        close((int)file);
}

bool os_file_write_at(intptr_t file, const void *data, size_t size, uint64_t offset)
{
    const char *at = data;

    while (size > 0) {
        ssize_t put = pwrite((int)file, at, size, (off_t)offset);

        if (put <= 0) {
            errno = put == 0 ? ENOSPC : errno;
            return false;
        }
        at += put;
        size -= (size_t)put;
        offset += (uint64_t)put;
    }
    return true;
}

bool os_file_read_at(intptr_t file, void *data, size_t size, uint64_t offset)
{
    char *at = data;

    while (size > 0) {
        ssize_t got = pread((int)file, at, size, (off_t)offset);

        if (got <= 0) {
            errno = got == 0 ? EIO : errno;
            return false;
        }
        at += got;
        size -= (size_t)got;
        offset += (uint64_t)got;
    }
    return true;
}

bool os_file_sync(intptr_t file, bool data_only)
{
#if defined(_POSIX_SYNCHRONIZED_IO) && _POSIX_SYNCHRONIZED_IO > 0
    if (data_only)
        return fdatasync((int)file) == 0;
#else
    (void)data_only;
#endif
    return fsync((int)file) == 0;
}

bool os_file_drop_cache(const char *path)
{
#ifdef POSIX_FADV_DONTNEED
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int problem = fd < 0 ? errno : posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);

    if (fd >= 0)
        close(fd);
    errno = problem;
    return problem == 0;
#else
    (void)path;
    errno = ENOTSUP;
    return false;
#endif
}

int64_t os_file_allocated(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (int64_t)st.st_blocks * ALLOCATION_UNIT : -1;
}

void os_file_reason(char *reason)
{
    snprintf(reason, OS_REASON_MAX, "%s", strerror(errno));
}

uint64_t os_folder_free(const char *folder)
{
    struct statvfs info;

    return statvfs(folder, &info) == 0 ? (uint64_t)info.f_bavail * info.f_frsize : UINT64_MAX;
}

#if !defined(__linux__)
bool os_device_is_disk(const char *folder, char *reason)
{
    (void)folder, (void)reason;
    return true;
}
#endif

bool os_folder_on_disk(const char *folder, char *reason)
{
    char name[32];
    bool memory;

    os_file_system(folder, name, sizeof(name), &memory);
    if (memory) {
        snprintf(reason, OS_REASON_MAX, "%s, which is kept in memory", name);
        return false;
    }
    if (strncmp(name, "overlay", strlen("overlay")) == 0) {
        snprintf(reason, OS_REASON_MAX, "%s, whose files lie on another file system", name);
        return false;
    }
    return os_device_is_disk(folder, reason);
}
#else
typedef int os_file_posix_is_empty_here;
#endif
