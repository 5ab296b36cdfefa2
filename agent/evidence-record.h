/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The difference between two snapshots, and its JSON: schema/agent-protocol.md, "The evidence
 * record". */
#ifndef VMATRIX_AGENT_EVIDENCE_RECORD_H
#define VMATRIX_AGENT_EVIDENCE_RECORD_H
#include <stdio.h>

#include "evidence-snapshot.h"

#define EVIDENCE_NAMED_MAX 8
#define EVIDENCE_THREADS_MAX 256

struct evidence_named {
    char name[EVIDENCE_NAME_MAX + 16];
    char unit[EVIDENCE_UNIT_MAX];
    int64_t pid, pid_ns, cpu_ns, processes; /* pid_ns: the time of pid alone */
    bool ended, kernel, servant, afar;      /* all of them */
};

struct evidence_record {
    int64_t id, span_ns;
    struct evidence_cpus cpus; /* online at both ends */
    struct {
        bool gone;
        int64_t processes, cpu_ns, run_delay_ns, involuntary;
        struct evidence_thread
            threads[EVIDENCE_THREADS_MAX]; /* differences; clock_ns is the time */
        size_t n_threads;
    } subject;
    struct {
        int64_t cpu_ns, eligible_ns, ended_ns, kernel_ns, served_ns, unexplained_ns;
        struct evidence_named named[EVIDENCE_NAMED_MAX];
        size_t n_named;
    } foreign;
    struct {
        int64_t cpu_ns, switches, written_bytes;
    } observer;
    struct {
        int64_t begin_ns, end_ns, cpu_ns;
    } reader;
    struct {
        int64_t busy_ns, steal_ns, irq_ns, softirq_ns;
    } cpu;
    int64_t pressure_ns[EVIDENCE_PRESSURES], vm[EVIDENCE_VMS];
    int64_t interrupts, softirqs, throttle, min_khz, max_khz, max_mc;
    const char *clocksource, *clocksource_before; /* ""; NULL: did not change */
    const struct evidence_dmesg *dmesg;
    unsigned sources;
};

/* Pure. The record points into the snapshots. false: there is no memory. */
bool evidence_difference(const struct evidence_request *request,
                         const struct evidence_snapshot *before,
                         const struct evidence_snapshot *after, struct evidence_record *ret_record);

/* One line, flushed. */
void evidence_emit(FILE *out, const struct evidence_record *record);

#endif
