/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes and threads. A process costs a few system calls; only the subject's threads are read,
 * and those of processes that did something and whose threads may run on different CPUs. */
#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "evidence-linux.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PF_KTHREAD 0x00200000 /* linux/sched.h: a thread of the kernel */
#define TASK_TEXT_MAX 4096

struct scan {
    const struct evidence_tasks *tasks;
    const struct evidence_request *request;
    const struct evidence_snapshot *before;
    struct evidence_snapshot *snapshot;
};

/* --- /proc/PID/stat --- */

/* Of the fields after the name, proc(5)'s number less 3. */
enum {
    STATE,
    PARENT,
    FLAGS = 6,
    UTIME = 11,
    STIME,
    CUTIME,
    CSTIME,
    THREADS = 17,
    START = 19,
    CPU = 36
};
#define STAT_FIELDS 37

struct stat_line {
    const char *name;
    uint64_t fields[STAT_FIELDS];
};

/* A name may have any bytes in it, ')' too. */
static bool parse_stat(char *text, struct stat_line *ret_stat)
{
    char *name = strchr(text, '('), *end = strrchr(text, ')'), *at;

    if (name == NULL || end == NULL || end < name || end[1] != ' ' || end[2] == '\0')
        return false;
    *end = '\0';
    ret_stat->name = name + 1;
    at = end + 3; /* after the state's letter */
    ret_stat->fields[STATE] = 0;
    for (int i = PARENT; i < STAT_FIELDS; i++) {
        char *before = at;

        ret_stat->fields[i] = (uint64_t)strtoll(at, &at, 10);
        if (at == before)
            return false;
    }
    return true;
}

/* --- CPU time and affinity --- */

/* "RUN DELAY COUNT"; a kernel that does not count says 0 0 0 for ever. */
static bool read_schedstat(int folder, const char *path, int64_t ticks_ns, int64_t *ret_run_ns,
                           int64_t *ret_delay_ns)
{
    char text[96], *at = text;
    int64_t run, delay, count;

    if (evidence_text(folder, path, text, sizeof(text)) <= 0)
        return false;
    run = strtoll(at, &at, 10);
    delay = strtoll(at, &at, 10);
    count = strtoll(at, &at, 10);
    if (count == 0 && ticks_ns > 0)
        return false;
    *ret_run_ns = run;
    *ret_delay_ns = delay;
    return true;
}

/* The CPU clock of any process, as clock_getcpuclockid(3) names it: all its threads, those that
 * have ended too. */
static int64_t process_clock(int64_t pid)
{
    clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2);
    struct timespec time;

    if (clock_gettime(clock, &time) < 0)
        return EVIDENCE_ABSENT;
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool allowed_list(const struct scan *scan, const char *folder,
                         struct evidence_cpus *ret_cpus)
{
    char path[64], text[TASK_TEXT_MAX], *list;

    snprintf(path, sizeof(path), "%s/status", folder);
    if (evidence_text(scan->tasks->proc, path, text, sizeof(text)) <= 0)
        return false;
    list = strstr(text, "\nCpus_allowed_list:");
    if (list == NULL)
        return false;
    list += strlen("\nCpus_allowed_list:");
    list += strspn(list, " \t");
    list[strcspn(list, "\n")] = '\0';
    return evidence_cpus_parse(list, ret_cpus);
}

/* The kernel's mask is of longs, ours of bytes. */
static bool allowed_mask(int64_t tid, struct evidence_cpus *ret_cpus)
{
    unsigned long mask[sizeof(ret_cpus->bits) / sizeof(long)] = {0};

    if (syscall(SYS_sched_getaffinity, (pid_t)tid, sizeof(mask), mask) <= 0)
        return false;
    for (size_t i = 0; i < sizeof(ret_cpus->bits); i++)
        ret_cpus->bits[i] = (unsigned char)(mask[i / sizeof(long)] >> (i % sizeof(long) * 8));
    return true;
}

/* folder: below /proc, of the task. Unknown: it may run everywhere. */
static void read_affinity(struct scan *scan, int64_t tid, const char *folder, bool *ret_meets,
                          bool *ret_within)
{
    const struct evidence_cpus *wanted = &scan->request->cpus;
    struct evidence_cpus allowed = {0};
    bool known =
        scan->tasks->real ? allowed_mask(tid, &allowed) : allowed_list(scan, folder, &allowed);

    *ret_meets = !known;
    *ret_within = known;
    for (size_t i = 0; known && i < sizeof(allowed.bits); i++) {
        *ret_meets |= (allowed.bits[i] & wanted->bits[i]) != 0;
        *ret_within &= (allowed.bits[i] & ~wanted->bits[i]) == 0;
    }
    if (known)
        scan->snapshot->sources |= EVIDENCE_FROM_AFFINITY;
}

/* --- threads --- */

/* Calls each for the number of every entry of a folder below /proc that is one. */
static void each_number(int proc, const char *path, void (*each)(void *data, int64_t number),
                        void *data)
{
    int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            each(data, strtoll(entry->d_name, NULL, 10));
    if (folder != NULL)
        closedir(folder);
    else if (fd >= 0)
        close(fd);
}

struct each_thread {
    struct scan *scan;
    struct evidence_process *process;
    int64_t meeting_ns; /* lifetime of the threads that meet the subject's CPUs */
    bool some_meet, all_meet, failed;
};

static bool was_afar(const struct scan *scan, const struct stat_line *stat)
{
    uint64_t cpu = stat->fields[CPU];

    return cpu >= OS_CPUS_MAX || !evidence_cpus_have(&scan->request->cpus, (int)cpu);
}

/* What the task has run so far, by the best way to know it. */
static int64_t thread_ns(struct scan *scan, const char *folder, bool *ret_afar)
{
    char path[64], text[TASK_TEXT_MAX];
    int64_t ticks_ns = 0, run_ns, delay_ns;
    struct stat_line stat;

    *ret_afar = false;
    snprintf(path, sizeof(path), "%s/stat", folder);
    if (evidence_text(scan->tasks->proc, path, text, sizeof(text)) > 0 && parse_stat(text, &stat)) {
        ticks_ns = (int64_t)(stat.fields[UTIME] + stat.fields[STIME]) * scan->tasks->tick_ns;
        *ret_afar = was_afar(scan, &stat);
    }
    snprintf(path, sizeof(path), "%s/schedstat", folder);
    return read_schedstat(scan->tasks->proc, path, ticks_ns, &run_ns, &delay_ns) ? run_ns
                                                                                 : ticks_ns;
}

static void look_at_thread(void *data, int64_t tid)
{
    struct each_thread *each = data;
    bool meets, within, afar;
    char folder[48];

    snprintf(folder, sizeof(folder), "%" PRId64 "/task/%" PRId64, each->process->pid, tid);
    read_affinity(each->scan, tid, folder, &meets, &within);
    each->some_meet |= meets;
    each->all_meet &= meets;
    each->process->within &= within;
    if (!meets)
        return;
    each->meeting_ns += thread_ns(each->scan, folder, &afar);
    each->process->afar &= afar;
}

/* Threads of one process may be bound to different CPUs: the leader's alone does not tell. */
static void look_at_threads(struct scan *scan, struct evidence_process *process)
{
    struct each_thread each = {.scan = scan, .process = process, .all_meet = true};
    const struct evidence_process *was = evidence_find_same(scan->before, process);
    char path[48];

    if (was != NULL && was->time.clock_ns == process->time.clock_ns &&
        was->time.ticks_ns == process->time.ticks_ns)
        return;
    snprintf(path, sizeof(path), "%" PRId64 "/task", process->pid);
    each_number(scan->tasks->proc, path, look_at_thread, &each);
    process->meets |= each.some_meet;
    if (each.some_meet && !each.all_meet)
        process->most_ns = each.meeting_ns;
}

/* Numbers of /proc/…/status. */
static int64_t status_number(const struct scan *scan, const char *folder, const char *key)
{
    char path[64], text[TASK_TEXT_MAX];

    snprintf(path, sizeof(path), "%s/status", folder);
    if (evidence_text(scan->tasks->proc, path, text, sizeof(text)) <= 0)
        return EVIDENCE_ABSENT;
    return evidence_line_number(text, key);
}

static bool read_thread(struct scan *scan, const char *folder, struct evidence_thread *thread)
{
    char path[64], text[TASK_TEXT_MAX];
    struct stat_line stat;
    bool meets;

    snprintf(path, sizeof(path), "%s/stat", folder);
    if (evidence_text(scan->tasks->proc, path, text, sizeof(text)) <= 0 || !parse_stat(text, &stat))
        return false;
    thread->start = stat.fields[START];
    snprintf(thread->name, sizeof(thread->name), "%s", stat.name);
    thread->time = (struct evidence_time){
        .clock_ns = EVIDENCE_ABSENT,
        .sched_ns = EVIDENCE_ABSENT,
        .ticks_ns = (int64_t)(stat.fields[UTIME] + stat.fields[STIME]) * scan->tasks->tick_ns,
    };
    thread->delay_ns = EVIDENCE_ABSENT;
    snprintf(path, sizeof(path), "%s/schedstat", folder);
    read_schedstat(scan->tasks->proc, path, thread->time.ticks_ns, &thread->time.sched_ns,
                   &thread->delay_ns);
    thread->involuntary = status_number(scan, folder, "nonvoluntary_ctxt_switches");
    read_affinity(scan, thread->tid, folder, &meets, &thread->within);
    return true;
}

static void add_thread(void *data, int64_t tid)
{
    struct each_thread *each = data;
    struct evidence_snapshot *snapshot = each->scan->snapshot;
    struct evidence_thread thread = {.pid = each->process->pid, .tid = tid}, *grown;
    char folder[48];

    snprintf(folder, sizeof(folder), "%" PRId64 "/task/%" PRId64, thread.pid, tid);
    if (!read_thread(each->scan, folder, &thread))
        return; /* it has ended */
    grown = evidence_grow(snapshot->threads, snapshot->n_threads, &snapshot->room_threads,
                          sizeof(thread));
    each->failed |= grown == NULL;
    if (grown == NULL)
        return;
    snapshot->threads = grown;
    snapshot->threads[snapshot->n_threads++] = thread;
}

static int by_tid(const void *a, const void *b)
{
    int64_t x = ((const struct evidence_thread *)a)->tid;
    int64_t y = ((const struct evidence_thread *)b)->tid;

    return (x > y) - (x < y);
}

static bool read_subject(struct scan *scan)
{
    struct evidence_snapshot *snapshot = scan->snapshot;
    struct each_thread each = {.scan = scan};
    char path[48];

    for (size_t i = 0; i < snapshot->n_processes; i++) {
        each.process = &snapshot->processes[i];
        if (each.process->role != EVIDENCE_SUBJECT)
            continue;
        snprintf(path, sizeof(path), "%" PRId64 "/task", each.process->pid);
        each_number(scan->tasks->proc, path, add_thread, &each);
    }
    if (snapshot->n_threads > 0)
        qsort(snapshot->threads, snapshot->n_threads, sizeof(snapshot->threads[0]), by_tid);
    return !each.failed;
}

/* --- processes --- */

static void read_unit(struct scan *scan, const char *folder, struct evidence_process *process)
{
    char path[64], text[TASK_TEXT_MAX];

    snprintf(path, sizeof(path), "%s/cgroup", folder);
    if (!process->kernel && evidence_text(scan->tasks->proc, path, text, sizeof(text)) > 0)
        evidence_cgroup_unit(text, process->unit);
}

static bool read_process(struct scan *scan, struct evidence_process *process)
{
    char folder[24], path[64], text[TASK_TEXT_MAX];
    int64_t tick_ns = scan->tasks->tick_ns, delay_ns;
    struct stat_line stat;

    snprintf(folder, sizeof(folder), "%" PRId64, process->pid);
    snprintf(path, sizeof(path), "%s/stat", folder);
    if (evidence_text(scan->tasks->proc, path, text, sizeof(text)) <= 0 || !parse_stat(text, &stat))
        return false;
    process->afar = was_afar(scan, &stat);
    process->parent = (int64_t)stat.fields[PARENT];
    process->kernel = (stat.fields[FLAGS] & PF_KTHREAD) != 0;
    process->threads = (int64_t)stat.fields[THREADS];
    process->start = stat.fields[START];
    process->children_ns = (int64_t)(stat.fields[CUTIME] + stat.fields[CSTIME]) * tick_ns;
    process->most_ns = EVIDENCE_ABSENT;
    snprintf(process->name, sizeof(process->name), "%s", stat.name);
    process->time = (struct evidence_time){
        .clock_ns = scan->tasks->real ? process_clock(process->pid) : EVIDENCE_ABSENT,
        .sched_ns = EVIDENCE_ABSENT,
        .ticks_ns = (int64_t)(stat.fields[UTIME] + stat.fields[STIME]) * tick_ns,
    };
    snprintf(path, sizeof(path), "%s/schedstat", folder);
    if (process->time.clock_ns < 0 && process->threads == 1)
        read_schedstat(scan->tasks->proc, path, process->time.ticks_ns, &process->time.sched_ns,
                       &delay_ns);
    read_affinity(scan, process->pid, folder, &process->meets, &process->within);
    read_unit(scan, folder, process);
    if (scan->before != NULL && process->threads > 1)
        look_at_threads(scan, process);
    return true;
}

struct each_process {
    struct scan *scan;
    bool failed;
};

static void add_process(void *data, int64_t pid)
{
    struct each_process *each = data;
    struct evidence_snapshot *snapshot = each->scan->snapshot;
    struct evidence_process process = {.pid = pid}, *grown;

    if (!read_process(each->scan, &process))
        return; /* it has ended */
    grown = evidence_grow(snapshot->processes, snapshot->n_processes, &snapshot->room_processes,
                          sizeof(process));
    each->failed |= grown == NULL;
    if (grown == NULL)
        return;
    snapshot->processes = grown;
    snapshot->processes[snapshot->n_processes++] = process;
}

static int by_pid(const void *a, const void *b)
{
    int64_t x = ((const struct evidence_process *)a)->pid;
    int64_t y = ((const struct evidence_process *)b)->pid;

    return (x > y) - (x < y);
}

/* --- the observer --- */

struct switches {
    const struct scan *scan;
    int64_t pid, sum;
};

static void add_switches(void *data, int64_t tid)
{
    struct switches *switches = data;
    char folder[48];
    int64_t willing, unwilling;

    snprintf(folder, sizeof(folder), "%" PRId64 "/task/%" PRId64, switches->pid, tid);
    willing = status_number(switches->scan, folder, "voluntary_ctxt_switches");
    unwilling = status_number(switches->scan, folder, "nonvoluntary_ctxt_switches");
    if (willing >= 0 && unwilling >= 0)
        switches->sum += willing + unwilling;
}

static void read_observer(struct scan *scan)
{
    struct evidence_snapshot *snapshot = scan->snapshot;
    char path[48], text[TASK_TEXT_MAX];

    snapshot->observer_switches = 0;
    snapshot->observer_written = EVIDENCE_ABSENT;
    for (int64_t i = 0; i < scan->request->n_observers; i++) {
        struct switches switches = {.scan = scan, .pid = scan->request->observers[i]};
        int64_t written = EVIDENCE_ABSENT;

        snprintf(path, sizeof(path), "%" PRId64 "/task", switches.pid);
        each_number(scan->tasks->proc, path, add_switches, &switches);
        snapshot->observer_switches += switches.sum;
        snprintf(path, sizeof(path), "%" PRId64 "/io", switches.pid);
        if (evidence_text(scan->tasks->proc, path, text, sizeof(text)) > 0)
            written = evidence_line_number(text, "write_bytes");
        if (written >= 0)
            snapshot->observer_written =
                (snapshot->observer_written < 0 ? 0 : snapshot->observer_written) + written;
    }
}

/* --- all --- */

/* From a namespace of processes, or past hidepid, only some of them are seen. */
static bool view_is_limited(const struct evidence_tasks *tasks,
                            const struct evidence_snapshot *snapshot)
{
    static const char initial[] = "pid:[4026531836]"; /* PROC_PID_INIT_INO: linux/proc_ns.h */
    char name[32];
    ssize_t got = tasks->real ? readlink("/proc/self/ns/pid", name, sizeof(name) - 1) : -1;

    if (got > 0) {
        name[got] = '\0';
        if (strcmp(name, initial) != 0)
            return true;
    }
    return evidence_find(snapshot, 1) == NULL;
}

bool evidence_tasks_read(const struct evidence_tasks *tasks, const struct evidence_request *request,
                         const struct evidence_snapshot *before, struct evidence_snapshot *snapshot,
                         char *reason)
{
    struct scan scan = {tasks, request, before, snapshot};
    struct each_process each = {.scan = &scan};

    snapshot->n_processes = snapshot->n_threads = 0;
    each_number(tasks->proc, ".", add_process, &each);
    if (snapshot->n_processes == 0 || each.failed) {
        snprintf(reason, OS_REASON_MAX, "%s",
                 each.failed ? "no memory" : "no process is seen in /proc: mount it");
        return false;
    }
    qsort(snapshot->processes, snapshot->n_processes, sizeof(snapshot->processes[0]), by_pid);
    if (request->cgroup[0] != '\0' && evidence_cgroup_mark(tasks->root, request->cgroup, snapshot))
        snapshot->sources |= EVIDENCE_FROM_CGROUP;
    if (view_is_limited(tasks, snapshot))
        snapshot->sources |= EVIDENCE_LIMITED_VIEW;
    evidence_roles(snapshot, request, before);
    read_observer(&scan);
    if (read_subject(&scan))
        return true;
    snprintf(reason, OS_REASON_MAX, "no memory");
    return false;
}
#else
typedef int evidence_linux_tasks_is_empty_here;
#endif
