/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Block devices that are memory: zram compresses what is written to it, ram holds it. */
#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* major, minor */
#endif
#include "os-posix.h"
#include "os.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* "zram0" of the device that holds the folder; "": it has none, or /sys does not tell. */
static void device_name(const char *folder, char *ret_name, size_t size)
{
    char link[64], target[512];
    const char *name;
    struct stat st;
    ssize_t length;

    ret_name[0] = '\0';
    if (stat(folder, &st) < 0)
        return;
    snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
    length = readlink(link, target, sizeof(target) - 1);
    if (length < 0)
        return;
    target[length] = '\0';
    name = strrchr(target, '/');
    snprintf(ret_name, size, "%.*s", (int)size - 1, name == NULL ? target : name + 1);
}

bool os_device_is_disk(const char *folder, char *reason)
{
    static const char *const memory[] = {"zram", "ram"};
    char name[64];

    device_name(folder, name, sizeof(name));
    for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
        if (strncmp(name, memory[i], strlen(memory[i])) == 0) {
            snprintf(reason, OS_REASON_MAX, "the device %s, which is kept in memory", name);
            return false;
        }
    }
    return true;
}
#else
typedef int os_file_linux_is_empty_here;
#endif
