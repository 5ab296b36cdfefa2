/* SPDX-License-Identifier: GPL-3.0-or-later */
#if defined(_WIN32)
#include "os-kernel.h"

#include <stdio.h>
#include <windows.h>

/* --- files --- */

intptr_t os_open(const char *path, bool writing)
{
    HANDLE handle = CreateFileA(path, writing ? GENERIC_WRITE : GENERIC_READ,
                                FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);

    return handle == INVALID_HANDLE_VALUE ? OS_NO_HANDLE : (intptr_t)handle;
}

void os_close(intptr_t handle)
{
    if (handle != OS_NO_HANDLE)
        CloseHandle((HANDLE)handle);
}

const char *os_zero_device(void)
{
    return NULL;
}

const char *os_null_device(void)
{
    return "NUL";
}

bool os_read_byte(intptr_t handle)
{
    char byte;
    DWORD got;

    return ReadFile((HANDLE)handle, &byte, 1, &got, NULL) && got == 1;
}

bool os_write_byte(intptr_t handle)
{
    DWORD put;

    return WriteFile((HANDLE)handle, "", 1, &put, NULL) && put == 1;
}

bool os_stat(const char *path)
{
    WIN32_FILE_ATTRIBUTE_DATA data;

    return GetFileAttributesExA(path, GetFileExInfoStandard, &data);
}

bool os_fstat(intptr_t handle)
{
    BY_HANDLE_FILE_INFORMATION information;

    return GetFileInformationByHandle((HANDLE)handle, &information);
}

/* --- signals: there are none --- */

bool os_signal_install(void)
{
    return false;
}

bool os_signal_send(void)
{
    return false;
}

bool os_signal_probe(void)
{
    return false;
}

void os_signal_restore(void)
{
}

/* --- processes and threads --- */

/* No word may have a quote in it. */
bool os_run(const char *const *argv)
{
    STARTUPINFOA startup = {.cb = sizeof(startup)};
    PROCESS_INFORMATION process;
    char line[2048] = "";
    size_t used = 0;
    DWORD status = 1;

    for (size_t i = 0; argv[i] != NULL && used < sizeof(line); i++)
        used += (size_t)snprintf(line + used, sizeof(line) - used, "\"%s\" ", argv[i]);
    if (used >= sizeof(line) || !CreateProcessA(NULL, line, NULL, NULL, FALSE, CREATE_NO_WINDOW,
                                                NULL, NULL, &startup, &process))
        return false;
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &status);
    CloseHandle(process.hThread);
    CloseHandle(process.hProcess);
    return status == 0;
}

static DWORD WINAPI end_at_once(void *arg)
{
    (void)arg;
    return 0;
}

bool os_thread_start_join(void)
{
    HANDLE thread = CreateThread(NULL, 0, end_at_once, NULL, 0, NULL);

    if (thread == NULL)
        return false;
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    return true;
}

bool os_program_path(char *ret_path, size_t size)
{
    DWORD length = GetModuleFileNameA(NULL, ret_path, (DWORD)size);

    return length > 0 && length < size;
}

/* --- memory --- */

bool os_map_file(const char *path, struct os_map *ret_map)
{
    intptr_t file = os_open(path, false);
    HANDLE mapping = NULL;
    LARGE_INTEGER size = {.QuadPart = 0};
    void *at = NULL;

    if (file != OS_NO_HANDLE && GetFileSizeEx((HANDLE)file, &size))
        mapping = CreateFileMappingA((HANDLE)file, NULL, PAGE_READONLY, 0, 0, NULL);
    if (mapping != NULL) {
        at = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
        CloseHandle(mapping);
    }
    os_close(file);
    if (at == NULL)
        return false;
    *ret_map = (struct os_map){at, (size_t)size.QuadPart};
    return true;
}

void os_unmap(struct os_map *map)
{
    if (map->at != NULL)
        UnmapViewOfFile(map->at);
    *map = (struct os_map){NULL, 0};
}
#endif
