/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "evidence-record.h"

#include <inttypes.h>
#include <string.h>

#include "emit.h"

/* --- objects, whose absent members are left out --- */

struct member {
    const char *key;
    int64_t value;
};

/* ,"key":{…}, or nothing where all members are absent. */
static void object(FILE *out, const char *key, const struct member *members, size_t count)
{
    bool first = true;

    for (size_t i = 0; i < count; i++) {
        if (members[i].value >= 0 && first)
            fprintf(out, ",\"%s\":{", key);
        emit_member(out, members[i].key, members[i].value, &first);
    }
    if (!first)
        putc('}', out);
}

static void cpu_list(FILE *out, const struct evidence_cpus *cpus)
{
    const char *comma = "";

    for (int cpu = 0; cpu < OS_CPUS_MAX; cpu++) {
        int last = cpu;

        if (!evidence_cpus_have(cpus, cpu))
            continue;
        while (last + 1 < OS_CPUS_MAX && evidence_cpus_have(cpus, last + 1))
            last++;
        fprintf(out, last > cpu ? "%s%d-%d" : "%s%d", comma, cpu, last);
        comma = ",";
        cpu = last;
    }
}

/* --- parts --- */

static void thread(FILE *out, const struct evidence_thread *thread)
{
    bool first = false;

    fprintf(out, "{\"tid\":%" PRId64 ",\"name\":", thread->tid);
    emit_string(out, thread->name);
    emit_member(out, "cpu_ns", thread->time.clock_ns, &first);
    emit_member(out, "run_delay_ns", thread->delay_ns, &first);
    emit_member(out, "involuntary", thread->involuntary, &first);
    putc('}', out);
}

static void subject(FILE *out, const struct evidence_record *record)
{
    bool first = true;

    fputs(",\"subject\":{", out);
    emit_member(out, "cpu_ns", record->subject.cpu_ns, &first);
    emit_member(out, "run_delay_ns", record->subject.run_delay_ns, &first);
    emit_member(out, "involuntary", record->subject.involuntary, &first);
    emit_member(out, "processes", record->subject.processes, &first);
    if (record->subject.gone)
        fputs(",\"gone\":true", out);
    fputs(",\"threads\":[", out);
    for (size_t i = 0; i < record->subject.n_threads; i++) {
        fputs(i > 0 ? "," : "", out);
        thread(out, &record->subject.threads[i]);
    }
    fputs("]}", out);
}

static void named(FILE *out, const struct evidence_named *named)
{
    bool first = false;

    fputs("{\"name\":", out);
    emit_string(out, named->name);
    if (named->unit[0] != '\0') {
        fputs(",\"unit\":", out);
        emit_string(out, named->unit);
    }
    emit_member(out, "pid", named->pid, &first);
    emit_member(out, "cpu_ns", named->cpu_ns, &first);
    emit_member(out, "processes", named->processes, &first);
    fprintf(out, ",\"ended\":%s", named->ended ? "true" : "false");
    fputs(named->kernel ? ",\"kernel\":true}" : "}", out);
}

static void foreign(FILE *out, const struct evidence_record *record)
{
    bool first = true;

    fputs(",\"foreign\":{", out);
    emit_member(out, "cpu_ns", record->foreign.cpu_ns, &first);
    emit_member(out, "eligible_ns", record->foreign.eligible_ns, &first);
    emit_member(out, "ended_ns", record->foreign.ended_ns, &first);
    emit_member(out, "kernel_ns", record->foreign.kernel_ns, &first);
    emit_member(out, "served_ns", record->foreign.served_ns, &first);
    emit_member(out, "unexplained_ns", record->foreign.unexplained_ns, &first);
    fputs(",\"named\":[", out);
    for (size_t i = 0; i < record->foreign.n_named; i++) {
        fputs(i > 0 ? "," : "", out);
        named(out, &record->foreign.named[i]);
    }
    fputs("]}", out);
}

#define OBJECT(out, key, ...)                                                                      \
    object(out, key, (const struct member[]){__VA_ARGS__},                                         \
           sizeof((const struct member[]){__VA_ARGS__}) / sizeof(struct member))

static void watchers(FILE *out, const struct evidence_record *record)
{
    OBJECT(out, "observer", {"cpu_ns", record->observer.cpu_ns},
           {"switches", record->observer.switches},
           {"written_bytes", record->observer.written_bytes});
    OBJECT(out, "reader", {"begin_ns", record->reader.begin_ns}, {"end_ns", record->reader.end_ns},
           {"cpu_ns", record->reader.cpu_ns});
}

static void host(FILE *out, const struct evidence_record *record)
{
    struct member vm[EVIDENCE_VMS];
    bool first = false;

    OBJECT(out, "cpu", {"busy_ns", record->cpu.busy_ns}, {"steal_ns", record->cpu.steal_ns},
           {"irq_ns", record->cpu.irq_ns}, {"softirq_ns", record->cpu.softirq_ns});
    OBJECT(out, "psi", {"cpu_some_ns", record->pressure_ns[EVIDENCE_CPU_SOME]},
           {"io_some_ns", record->pressure_ns[EVIDENCE_IO_SOME]},
           {"io_full_ns", record->pressure_ns[EVIDENCE_IO_FULL]},
           {"memory_some_ns", record->pressure_ns[EVIDENCE_MEMORY_SOME]},
           {"memory_full_ns", record->pressure_ns[EVIDENCE_MEMORY_FULL]});
    emit_member(out, "interrupts", record->interrupts, &first);
    emit_member(out, "softirqs", record->softirqs, &first);
    emit_member(out, "throttle", record->throttle, &first);
    OBJECT(out, "frequency", {"min_khz", record->min_khz}, {"max_khz", record->max_khz});
    OBJECT(out, "temperature", {"max_mc", record->max_mc});
    for (int i = 0; i < EVIDENCE_VMS; i++)
        vm[i] = (struct member){evidence_vm_names[i], record->vm[i]};
    object(out, "vm", vm, EVIDENCE_VMS);
}

static void clocksources(FILE *out, const struct evidence_record *record)
{
    if (record->clocksource[0] != '\0') {
        fputs(",\"clocksource\":", out);
        emit_string(out, record->clocksource);
    }
    if (record->clocksource_before != NULL) {
        fputs(",\"clocksource_before\":", out);
        emit_string(out, record->clocksource_before);
    }
}

static void dmesg(FILE *out, const struct evidence_record *record)
{
    bool first = false;

    if ((record->sources & EVIDENCE_FROM_KMSG) == 0)
        return;
    fputs(",\"dmesg\":[", out);
    for (int64_t i = 0; i < record->dmesg->count; i++) {
        fputs(i > 0 ? "," : "", out);
        emit_string(out, record->dmesg->lines[i]);
    }
    putc(']', out);
    if (record->dmesg->left_out > 0)
        emit_member(out, "dmesg_left_out", record->dmesg->left_out, &first);
}

static void sources(FILE *out, unsigned sources)
{
    static const char *const words[EVIDENCE_SOURCES] = {
        "cpu-clock", "schedstat",    "ticks",  "taskstats", "taskstats-lost", "children",
        "affinity",  "limited-view", "cgroup", "kmsg",      "kmsg-lost"};
    const char *comma = "";

    fputs(",\"sources\":[", out);
    for (int i = 0; i < EVIDENCE_SOURCES; i++) {
        if ((sources >> i & 1) == 0)
            continue;
        fprintf(out, "%s\"%s\"", comma, words[i]);
        comma = ",";
    }
    putc(']', out);
}

void evidence_emit(FILE *out, const struct evidence_record *record)
{
    fprintf(out, "{\"type\":\"evidence\",\"id\":%" PRId64 ",\"span_ns\":%" PRId64 ",\"cpus\":\"",
            record->id, record->span_ns);
    cpu_list(out, &record->cpus);
    putc('"', out);
    subject(out, record);
    foreign(out, record);
    watchers(out, record);
    host(out, record);
    clocksources(out, record);
    dmesg(out, record);
    sources(out, record->sources);
    fputs("}\n", out);
    fflush(out);
}
