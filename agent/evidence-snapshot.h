/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is read of a host at one moment, and who is asked about. Times are nanoseconds since the
 * thing began; EVIDENCE_ABSENT: the host does not say. evidence-linux*.c fill it; on other systems
 * evidence-none.c says that they are not supported. */
#ifndef VMATRIX_AGENT_EVIDENCE_SNAPSHOT_H
#define VMATRIX_AGENT_EVIDENCE_SNAPSHOT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os.h"

#define EVIDENCE_ABSENT (-1)
#define EVIDENCE_PIDS_MAX 256
#define EVIDENCE_NAME_MAX 64 /* bytes with the end, of a task's name */
#define EVIDENCE_UNIT_MAX 128
#define EVIDENCE_DMESG_MAX 8
#define EVIDENCE_DMESG_BYTES 200

/* --- a set of CPUs --- */

struct evidence_cpus {
    unsigned char bits[OS_CPUS_MAX / 8];
};
/* A list as Linux writes it: "0-1,4"; "" is empty. false: it is none, or has a CPU beyond
 * OS_CPUS_MAX. */
bool evidence_cpus_parse(const char *list, struct evidence_cpus *ret_cpus);
bool evidence_cpus_have(const struct evidence_cpus *cpus, int cpu);
void evidence_cpus_add(struct evidence_cpus *cpus, int cpu);
bool evidence_cpus_empty(const struct evidence_cpus *cpus);

/* --- who --- */

struct evidence_request {
    int64_t id;
    struct evidence_cpus cpus; /* the subject's */
    int64_t pids[EVIDENCE_PIDS_MAX], n_pids;
    int64_t observers[EVIDENCE_PIDS_MAX], n_observers; /* the reader is one of them */
    char cgroup[OS_PATH_MAX];                          /* "": none */
    bool no_reports; /* the kernel is not asked to report which tasks end */
};

enum evidence_role { EVIDENCE_FOREIGN, EVIDENCE_SUBJECT, EVIDENCE_OBSERVER };
#define EVIDENCE_ROLES 3

/* --- tasks --- */

/* CPU time of a task by each way to know it, the best first. */
struct evidence_time {
    int64_t clock_ns; /* CPU clock */
    int64_t sched_ns; /* schedstat; of a process: only with one thread */
    int64_t ticks_ns; /* rounded down to the kernel's tick */
};

struct evidence_process {
    int64_t pid, parent;
    uint64_t start; /* with pid: who it is, even where numbers are used again */
    bool kernel;
    bool meets;  /* may run on a CPU of the subject */
    bool within; /* may run on those only */
    bool afar; /* ran on other CPUs last: its leader, and its threads where these were looked at */
    bool in_cgroup;
    int64_t threads;
    struct evidence_time time;
    int64_t children_ns; /* of those it reaped, in ticks */
    int64_t most_ns;     /* no more of its time can have been on the subject's CPUs; or absent */
    char name[EVIDENCE_NAME_MAX];
    char unit[EVIDENCE_UNIT_MAX]; /* "": none */
    enum evidence_role role;
};

struct evidence_thread { /* of the subject */
    int64_t pid, tid;
    uint64_t start;
    struct evidence_time time;
    int64_t delay_ns, involuntary;
    bool within;
    char name[EVIDENCE_NAME_MAX];
};

struct evidence_ended {  /* a task, by the kernel's report */
    int64_t pid, parent; /* of its process */
    bool leader;
    int64_t cpu_ns;
    char name[EVIDENCE_NAME_MAX];
};

/* --- the host --- */

struct evidence_cpu {
    bool online;
    int64_t idle_ns;                               /* waiting for I/O included */
    int64_t work_ns, steal_ns, irq_ns, softirq_ns; /* work: all but idle and steal */
};

enum evidence_pressure {
    EVIDENCE_CPU_SOME,
    EVIDENCE_IO_SOME,
    EVIDENCE_IO_FULL,
    EVIDENCE_MEMORY_SOME,
    EVIDENCE_MEMORY_FULL,
    EVIDENCE_PRESSURES,
};
enum evidence_vm {
    EVIDENCE_PGPGIN,
    EVIDENCE_PGPGOUT,
    EVIDENCE_PSWPIN,
    EVIDENCE_PSWPOUT,
    EVIDENCE_PGMAJFAULT,
    EVIDENCE_VMS,
};
extern const char *const evidence_vm_names[EVIDENCE_VMS]; /* as Linux and the protocol have them */

struct evidence_host {
    struct evidence_cpu cpus[OS_CPUS_MAX];
    int64_t pressure_ns[EVIDENCE_PRESSURES];
    int64_t interrupts, softirqs, core_throttle, package_throttle;
    int64_t min_khz, max_khz, max_mc;
    int64_t vm[EVIDENCE_VMS];
    char clocksource[32];
};

/* --- a snapshot --- */

enum evidence_source {
    EVIDENCE_FROM_CLOCK = 1,
    EVIDENCE_FROM_SCHEDSTAT = 2,
    EVIDENCE_FROM_TICKS = 4,
    EVIDENCE_FROM_TASKSTATS = 8,
    EVIDENCE_TASKSTATS_LOST = 16,
    EVIDENCE_FROM_CHILDREN = 32,
    EVIDENCE_FROM_AFFINITY = 64,
    EVIDENCE_LIMITED_VIEW = 128,
    EVIDENCE_FROM_CGROUP = 256,
    EVIDENCE_FROM_KMSG = 512,
    EVIDENCE_KMSG_LOST = 1024,
};
#define EVIDENCE_SOURCES 11

struct evidence_dmesg {
    char lines[EVIDENCE_DMESG_MAX][EVIDENCE_DMESG_BYTES + 1];
    int64_t count, left_out;
};

struct evidence_snapshot {
    int64_t at_ns;   /* os_clock_ns of the CPUs' times, which are read before all else at the begin,
                        and   after all else at the end */
    int64_t took_ns; /* to read it all */
    int64_t self;    /* this process, 0 where it is not among those that are read */
    int64_t self_ns; /* CPU time it had used at at_ns */
    int64_t tick_ns; /* of the kernel's figures in ticks */
    unsigned sources;
    struct evidence_process *processes; /* by pid, ascending */
    size_t n_processes, room_processes;
    struct evidence_thread *threads; /* of the subject, by tid, ascending */
    size_t n_threads, room_threads;
    struct evidence_ended *ended; /* at the end only */
    size_t n_ended, room_ended;
    struct evidence_host host;
    struct evidence_dmesg dmesg; /* at the end only */
    int64_t observer_switches;   /* of the observer's processes */
    int64_t observer_written;    /* bytes */
    int64_t reader_ns;           /* CPU time of this process when it was done */
};

/* The process of this number; NULL: there is none. */
const struct evidence_process *evidence_find(const struct evidence_snapshot *snapshot, int64_t pid);
/* The one of the snapshot that is this one, by number and start. */
const struct evidence_process *evidence_find_same(const struct evidence_snapshot *snapshot,
                                                  const struct evidence_process *process);
/* Each process gets its role: by its own number, else by its cgroup, else that of its parent, or
 * of the process that a kernel thread serves. At the end, before is the first snapshot: numbers of
 * request mean who had them then; NULL: this is the first. */
void evidence_roles(struct evidence_snapshot *snapshot, const struct evidence_request *request,
                    const struct evidence_snapshot *before);

/* --- readers --- */

struct evidence_reader;
/* root: "" for the real files. NULL: there is no memory. */
struct evidence_reader *evidence_reader_new(const char *root);
void evidence_reader_free(struct evidence_reader *reader);
/* The reader's own process, 0 where it is not among those it reads. */
int64_t evidence_reader_self(const struct evidence_reader *reader);
/* NULL, or why there is no evidence on this system. */
const char *evidence_unsupported(void);
/* The two snapshots; before is NULL for the first. reason has room for OS_REASON_MAX bytes. What
 * ret_snapshot holds is used again. */
bool evidence_read(struct evidence_reader *reader, const struct evidence_request *request,
                   const struct evidence_snapshot *before, struct evidence_snapshot *ret_snapshot,
                   char *reason);
void evidence_snapshot_finish(struct evidence_snapshot *snapshot);
/* Room for one more item; NULL: there is no memory. */
void *evidence_grow(void *items, size_t count, size_t *room, size_t size);

#endif
