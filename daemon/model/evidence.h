/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evidence: what the host did while one invocation ran, read at its begin and its end, and the
 * judge, who says from that alone whether the run may count. The judge never sees a value. Pure. */
#pragma once
#include <glib.h>

/* A number that the host does not have. */
#define EVIDENCE_ABSENT G_GINT64_CONSTANT(-1)

/* Somebody who is not the subject and took CPU time of the subject's CPUs. */
typedef struct {
    char *name;       /* of the process; never NULL */
    char *unit;       /* unit of systemd, or NULL */
    gint64 pid;       /* of the greediest of its processes, or EVIDENCE_ABSENT */
    gint64 processes; /* how many they are, or EVIDENCE_ABSENT */
    gint64 cpu_ns;    /* of all of them */
    gboolean ended;   /* it was gone at the end */
} EvidenceCulprit;

/* One thread of the subject. */
typedef struct {
    char *name;
    gint64 cpu_ns, run_delay_ns, involuntary; /* each may be EVIDENCE_ABSENT */
} EvidenceThread;

/* Differences between begin and end, from 0, or EVIDENCE_ABSENT. Times are of the subject's CPUs
 * where nothing else is said. */
typedef struct {
    char *cpus;     /* the subject's CPUs, "2-3" */
    guint n_cpus;   /* how many, at least 1 */
    char *pids;     /* of the subject, "412,413"; NULL: none was told */
    char *cgroup;   /* of the subject; NULL: it has none of its own */
    char *sources;  /* where times come from: "schedstat,taskstats"; NULL: not told */
    gint64 span_ns; /* EVIDENCE_ABSENT: nothing is known of the host */
    gint64 subject_cpu_ns, subject_run_delay_ns, subject_involuntary;
    gint64 foreign_cpu_ns; /* by anything that is neither subject nor observer */
    gint64 foreign_eligible_ns, foreign_ended_ns, foreign_unexplained_ns;
    gint64 reader_cpu_ns, reader_begin_ns, reader_end_ns; /* the reader's own, and its snapshots */
    gint64 observer_cpu_ns, observer_switches, observer_written_bytes; /* on any CPU */
    gint64 cpu_busy_ns, cpu_steal_ns, cpu_irq_ns, cpu_softirq_ns;
    gint64 psi_cpu_some_ns, psi_io_some_ns, psi_io_full_ns; /* of the whole host */
    gint64 psi_memory_some_ns, psi_memory_full_ns;
    gint64 interrupts, softirqs;
    gint64 throttle;
    gint64 frequency_min_khz, frequency_max_khz;
    gint64 temperature_max_mc; /* thousandths of a degree Celsius */
    gint64 vm_pgpgin, vm_pgpgout, vm_pswpin, vm_pswpout, vm_pgmajfault; /* of the whole host */
    char *clocksource;                                                  /* at the end, or NULL */
    char *clocksource_before; /* where it was another one at the begin, else NULL */
    GPtrArray *named;         /* EvidenceCulprit*, the greediest first */
    GPtrArray *threads;       /* EvidenceThread* */
    GPtrArray *dmesg;         /* char*: lines of concern */
    gint64 dmesg_left_out;
    /* What the guest's kernel counted (all its CPUs together). */
    gint64 guest_span_ns, guest_cpus, guest_busy_ns, guest_steal_ns;
    gint64 guest_swapped_in_pages, guest_switches;
    char *guest_clocksource, *guest_clocksource_before; /* as the host's */
} EvidenceRecord;

EvidenceRecord *evidence_record_new(void);         /* everything absent, 1 CPU, empty lists */
void evidence_record_free(EvidenceRecord *record); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EvidenceRecord, evidence_record_free)

void evidence_culprit_free(EvidenceCulprit *culprit);
void evidence_thread_free(EvidenceThread *thread);

/* Every number of the record, by its column in the database and its place in the reader's line. */
typedef struct {
    const char *column;
    const char *group; /* the object that holds the member; NULL: the line itself; "guest": the
                          evidence that a session's agent sends */
    const char *member;
    gsize offset;
} EvidenceNumber;

extern const EvidenceNumber evidence_numbers[];
extern const guint evidence_numbers_length;

gint64 evidence_number_get(const EvidenceRecord *record, const EvidenceNumber *number);
void evidence_number_set(EvidenceRecord *record, const EvidenceNumber *number, gint64 value);

/* Move what the guest's kernel counted from guest into record. */
void evidence_record_take_guest(EvidenceRecord *record, EvidenceRecord *guest);

/* ---- limits ---- */

typedef enum { EVIDENCE_REJECT, EVIDENCE_FLAG } EvidenceUse;
typedef enum { EVIDENCE_MISSING_FLAG, EVIDENCE_MISSING_FAIL } EvidenceMissing;

/* Shares are of the time of all of the subject's CPUs together, 0..1, unless said otherwise. */
typedef struct {
    gboolean read;           /* FALSE: "evidence: off" */
    EvidenceUse foreign;     /* what foreign CPU time beyond the limit does */
    EvidenceMissing missing; /* what an invocation without evidence is */
    double cpu;              /* foreign CPU time */
    gint64 cpu_floor_ns;     /* foreign CPU time up to this is never too much */
    double steal;            /* taken by the hypervisor that this host runs on */
    double interrupts;       /* in interrupts and softirqs */
    double run_delay;        /* the subject's threads waited for a CPU; of n CPUs' time */
    double pressure_cpu;     /* PSI "some"; of the span */
    double pressure_io;      /* PSI "some"; of the span */
    double pressure_memory;  /* PSI "some"; of the span */
    double frequency;        /* fall of the frequency; of the highest seen */
    double observer;         /* vmatrix's own CPU time; of the span */
} EvidenceLimits;

/* The defaults, explained in vmatrix(1). */
void evidence_limits_init(EvidenceLimits *limits);

/* ---- the judge ---- */

typedef struct {
    gboolean contaminated;
    char *reason; /* who took how much; NULL: foreign CPU time stayed below the limit */
    char *flags;  /* comma-separated, or NULL */
} EvidenceVerdict;

void evidence_verdict_clear(EvidenceVerdict *verdict);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(EvidenceVerdict, evidence_verdict_clear)

/* Only foreign CPU time can contaminate: it is the evidence that every compared cell has. The rest
 * flags. A record without span_ns: none could be read (flag "no-evidence"; with evidence off no
 * flag). ret_verdict need not be zeroed. */
void evidence_judge(const EvidenceLimits *limits, const EvidenceRecord *record,
                    EvidenceVerdict *ret_verdict);
