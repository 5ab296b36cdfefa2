/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the Linux reader of host evidence. Everything may be missing, and is absent then. */
#ifndef VMATRIX_AGENT_EVIDENCE_LINUX_H
#define VMATRIX_AGENT_EVIDENCE_LINUX_H
#include "evidence-snapshot.h"

/* --- files (evidence-linux-host.c) --- */

/* Descriptor of a folder below root, -1: there is none. */
int evidence_folder(const char *root, const char *path);
/* The beginning of a file, ended by NUL; the bytes read, or -1. */
ptrdiff_t evidence_text(int folder, const char *path, char *ret_text, size_t size);
/* The number that follows `key` at the begin of a line, or EVIDENCE_ABSENT. */
int64_t evidence_line_number(const char *text, const char *key);

/* CPU times of every CPU that is online. */
void evidence_host_cpus(const char *root, struct evidence_host *ret_host);
/* The other counters, those of the wanted CPUs among them. Which CPUs are online is known. */
void evidence_host_read(const char *root, const struct evidence_cpus *wanted,
                        struct evidence_host *ret_host);

/* --- tasks (evidence-linux-tasks.c) --- */

struct evidence_tasks {
    const char *root;
    int proc; /* descriptor of /proc */
    bool real;
    int64_t tick_ns;
};
/* Processes, their roles, threads of the subject, and the observer's figures. */
bool evidence_tasks_read(const struct evidence_tasks *tasks, const struct evidence_request *request,
                         const struct evidence_snapshot *before, struct evidence_snapshot *snapshot,
                         char *reason);

/* --- cgroups (evidence-linux-cgroup.c) --- */

/* Mark the processes that are in the cgroup at path (below its mount), or below it. false: there
 * is no such cgroup. */
bool evidence_cgroup_mark(const char *root, const char *path, struct evidence_snapshot *snapshot);
/* The unit of systemd that a process belongs to, from the text of its /proc/PID/cgroup. "": none.
 * ret_unit has room for EVIDENCE_UNIT_MAX bytes. */
void evidence_cgroup_unit(const char *text, char *ret_unit);

/* --- reports of tasks that ended (evidence-linux-ended.c): taskstats over netlink --- */

/* -1: this kernel or this user has none. */
int evidence_ended_open(void);
/* Ask for the reports of tasks that end on any CPU, or no longer. */
bool evidence_ended_listen(int fd, bool on);
/* What has been reported since; NULL: it is thrown away. Sets EVIDENCE_FROM_TASKSTATS, and
 * EVIDENCE_TASKSTATS_LOST where there was no room for all. false: there is no memory. */
bool evidence_ended_drain(int fd, struct evidence_snapshot *snapshot);

/* --- the kernel's log (evidence-linux-log.c) --- */

int evidence_log_open(const char *root); /* -1: it cannot be read */
void evidence_log_skip(int fd);
void evidence_log_read(int fd, struct evidence_snapshot *snapshot);

#endif
