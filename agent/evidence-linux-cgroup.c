/* SPDX-License-Identifier: GPL-3.0-or-later */
#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "evidence-linux.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CGROUP_DEPTH_MAX 8

/* --- the subject's cgroup --- */

static void mark_text(const char *text, struct evidence_snapshot *snapshot)
{
    for (const char *at = text; *at >= '0' && *at <= '9';) {
        char *end;
        int64_t pid = strtoll(at, &end, 10);
        const struct evidence_process *found = evidence_find(snapshot, pid);

        if (found != NULL)
            snapshot->processes[found - snapshot->processes].in_cgroup = true;
        at = end + (*end == '\n');
    }
}

/* This folder and those below it. In a threaded cgroup of version 2 the file cannot be read: its
 * processes are listed where the threads' domain is. */
static void mark_folder(int folder, int depth, struct evidence_snapshot *snapshot)
{
    static char text[1 << 18]; /* used up before a deeper call */
    DIR *open_folder = fdopendir(folder);
    struct dirent *entry;

    if (evidence_text(folder, "cgroup.procs", text, sizeof(text)) > 0)
        mark_text(text, snapshot);
    while (open_folder != NULL && depth < CGROUP_DEPTH_MAX &&
           (entry = readdir(open_folder)) != NULL) {
        int below = -1;

        if (entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
            below = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (below >= 0)
            mark_folder(below, depth + 1, snapshot);
    }
    if (open_folder != NULL)
        closedir(open_folder);
    else
        close(folder);
}

bool evidence_cgroup_mark(const char *root, const char *path, struct evidence_snapshot *snapshot)
{
    /* Version 2, version 2 beside version 1, then the hierarchies that have all processes sorted.
     */
    static const char *const mounts[] = {"",         "/unified",     "/systemd", "/cpuset", "/cpu",
                                         "/cpuacct", "/cpu,cpuacct", "/memory",  "/pids"};

    for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
        char full[2 * OS_PATH_MAX];
        int folder;

        snprintf(full, sizeof(full), "/sys/fs/cgroup%s%s", mounts[i], path);
        folder = evidence_folder(root, full);
        if (folder < 0)
            continue;
        if (faccessat(folder, "cgroup.procs", R_OK, 0) == 0) {
            mark_folder(folder, 0, snapshot);
            return true;
        }
        close(folder);
    }
    return false;
}

/* --- a process's unit --- */

static bool is_unit(const char *name, size_t length)
{
    static const char *const endings[] = {".service", ".scope", ".mount", ".swap", ".socket"};

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t ending = strlen(endings[i]);

        if (length > ending && strncmp(name + length - ending, endings[i], ending) == 0)
            return true;
    }
    return false;
}

/* The innermost component of a path, up to the line's end, that is a unit. */
static void unit_of_path(const char *path, char *ret_unit)
{
    for (const char *at = path; *at == '/'; at += 1 + strcspn(at + 1, "/\n")) {
        size_t length = strcspn(at + 1, "/\n");

        if (is_unit(at + 1, length))
            snprintf(ret_unit, EVIDENCE_UNIT_MAX, "%.*s", (int)length, at + 1);
    }
}

void evidence_cgroup_unit(const char *text, char *ret_unit)
{
    static const char *const hierarchies[] = {":name=systemd:", "0::"};

    ret_unit[0] = '\0';
    for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++) {
        const char *found = strstr(text, hierarchies[i]);

        if (found != NULL)
            unit_of_path(found + strlen(hierarchies[i]), ret_unit);
    }
}
#else
typedef int evidence_linux_cgroup_is_empty_here;
#endif
