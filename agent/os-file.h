/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files as the disk benchmarks use them: by position, past the system's cache or through it.
 * os-file-posix.c, os-file-linux.c and os-file-windows.c implement it. */
#ifndef VMATRIX_AGENT_OS_FILE_H
#define VMATRIX_AGENT_OS_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OS_FILE_NONE ((intptr_t)-1)

enum {
    OS_FILE_CREATE = 1, /* a new, empty file, in place of one that is there */
    OS_FILE_DIRECT = 2, /* past the system's cache: data, size and offset are multiples of 4 KiB */
};
/* For reading and writing. OS_FILE_NONE: os_file_reason() says why. */
intptr_t os_file_open(const char *path, int flags);
void os_file_close(intptr_t file); /* OS_FILE_NONE is fine */

/* All of it, or false; threads use handles of their own. */
bool os_file_write_at(intptr_t file, const void *data, size_t size, uint64_t offset);
bool os_file_read_at(intptr_t file, void *data, size_t size, uint64_t offset);

/* Until the disk has it. data_only: without times and such, where the system tells them apart. */
bool os_file_sync(intptr_t file, bool data_only);
/* What is synced leaves the system's cache. false: this system has no way. */
bool os_file_drop_cache(const char *path);
/* Bytes the file takes up on its file system; -1: not known. */
int64_t os_file_allocated(const char *path);

/* Why this thread's last call of the above returned false; OS_REASON_MAX bytes. */
void os_file_reason(char *reason);

/* Bytes that can still be written in a folder; UINT64_MAX: not known. */
uint64_t os_folder_free(const char *folder);
/* Whether what is written to a folder goes to a disk. false: it is kept in memory, or it is not
 * known where it goes; reason (OS_REASON_MAX bytes) names it. */
bool os_folder_on_disk(const char *folder, char *reason);

#endif
