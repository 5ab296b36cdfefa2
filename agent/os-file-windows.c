/* SPDX-License-Identifier: GPL-3.0-or-later */
#if defined(_WIN32)
#include "os-file.h"
#include "os.h"

#include <windows.h>
#include <stdio.h>

static HANDLE open_handle(const char *path, DWORD how, DWORD flags)
{
    return CreateFileA(path, GENERIC_READ | GENERIC_WRITE,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, how,
                       FILE_ATTRIBUTE_NORMAL | flags, NULL);
}

/* Write-through as well: a write that comes back is on the disk, or in its own cache. */
intptr_t os_file_open(const char *path, int flags)
{
    HANDLE file =
        open_handle(path, flags & OS_FILE_CREATE ? CREATE_ALWAYS : OPEN_EXISTING,
                    flags & OS_FILE_DIRECT ? FILE_FLAG_NO_BUFFERING | FILE_FLAG_WRITE_THROUGH : 0);

    return file == INVALID_HANDLE_VALUE ? OS_FILE_NONE : (intptr_t)file;
}

void os_file_close(intptr_t file)
{
    if (file != OS_FILE_NONE)
        CloseHandle((HANDLE)file);
}

static OVERLAPPED position(uint64_t offset)
{
    OVERLAPPED at = {0};

    at.Offset = (DWORD)offset;
    at.OffsetHigh = (DWORD)(offset >> 32);
    return at;
}

bool os_file_write_at(intptr_t file, const void *data, size_t size, uint64_t offset)
{
    OVERLAPPED at = position(offset);
    DWORD put = 0;

    if (!WriteFile((HANDLE)file, data, (DWORD)size, &put, &at))
        return false;
    SetLastError(put == size ? ERROR_SUCCESS : ERROR_DISK_FULL);
    return put == size;
}

bool os_file_read_at(intptr_t file, void *data, size_t size, uint64_t offset)
{
    OVERLAPPED at = position(offset);
    DWORD got = 0;

    if (!ReadFile((HANDLE)file, data, (DWORD)size, &got, &at))
        return false;
    SetLastError(got == size ? ERROR_SUCCESS : ERROR_HANDLE_EOF);
    return got == size;
}

bool os_file_sync(intptr_t file, bool data_only)
{
    (void)data_only;
    return FlushFileBuffers((HANDLE)file);
}

/* A handle without buffering makes the cache of a file that nobody else has open go. */
bool os_file_drop_cache(const char *path)
{
    HANDLE file = open_handle(path, OPEN_EXISTING, FILE_FLAG_NO_BUFFERING);

    if (file == INVALID_HANDLE_VALUE)
        return false;
    CloseHandle(file);
    return true;
}

int64_t os_file_allocated(const char *path)
{
    DWORD high = 0, low = GetCompressedFileSizeA(path, &high);

    if (low == INVALID_FILE_SIZE && GetLastError() != NO_ERROR)
        return -1;
    return (int64_t)((uint64_t)high << 32 | low);
}

void os_file_reason(char *reason)
{
    snprintf(reason, OS_REASON_MAX, "Windows error %lu", GetLastError());
}

uint64_t os_folder_free(const char *folder)
{
    ULARGE_INTEGER free_bytes;

    return GetDiskFreeSpaceExA(folder, &free_bytes, NULL, NULL) ? free_bytes.QuadPart : UINT64_MAX;
}

bool os_folder_on_disk(const char *folder, char *reason)
{
    char root[MAX_PATH + 1];

    if (GetVolumePathNameA(folder, root, sizeof(root)) && GetDriveTypeA(root) == DRIVE_RAMDISK) {
        snprintf(reason, OS_REASON_MAX, "the drive %.100s, which is kept in memory", root);
        return false;
    }
    return true;
}
#else
typedef int os_file_windows_is_empty_here;
#endif
