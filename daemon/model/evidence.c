/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evidence.h"

#include <math.h>
#include <string.h>

#include "util/clock.h"

enum { CULPRITS_SHOWN = 3 };

/* ---- the record ---- */

#define NUMBER(column_, group_, member_)                                                           \
    {                                                                                              \
        .column = #column_, .group = (group_), .member = (member_),                                \
        .offset = offsetof(EvidenceRecord, column_)                                                \
    }

const EvidenceNumber evidence_numbers[] = {
    NUMBER(span_ns, NULL, "span_ns"),
    NUMBER(subject_cpu_ns, "subject", "cpu_ns"),
    NUMBER(subject_run_delay_ns, "subject", "run_delay_ns"),
    NUMBER(subject_involuntary, "subject", "involuntary"),
    NUMBER(foreign_cpu_ns, "foreign", "cpu_ns"),
    NUMBER(foreign_eligible_ns, "foreign", "eligible_ns"),
    NUMBER(foreign_ended_ns, "foreign", "ended_ns"),
    NUMBER(foreign_unexplained_ns, "foreign", "unexplained_ns"),
    NUMBER(observer_cpu_ns, "observer", "cpu_ns"),
    NUMBER(observer_switches, "observer", "switches"),
    NUMBER(observer_written_bytes, "observer", "written_bytes"),
    NUMBER(reader_cpu_ns, "reader", "cpu_ns"),
    NUMBER(reader_begin_ns, "reader", "begin_ns"),
    NUMBER(reader_end_ns, "reader", "end_ns"),
    NUMBER(cpu_busy_ns, "cpu", "busy_ns"),
    NUMBER(cpu_steal_ns, "cpu", "steal_ns"),
    NUMBER(cpu_irq_ns, "cpu", "irq_ns"),
    NUMBER(cpu_softirq_ns, "cpu", "softirq_ns"),
    NUMBER(psi_cpu_some_ns, "psi", "cpu_some_ns"),
    NUMBER(psi_io_some_ns, "psi", "io_some_ns"),
    NUMBER(psi_io_full_ns, "psi", "io_full_ns"),
    NUMBER(psi_memory_some_ns, "psi", "memory_some_ns"),
    NUMBER(psi_memory_full_ns, "psi", "memory_full_ns"),
    NUMBER(interrupts, NULL, "interrupts"),
    NUMBER(softirqs, NULL, "softirqs"),
    NUMBER(throttle, NULL, "throttle"),
    NUMBER(frequency_min_khz, "frequency", "min_khz"),
    NUMBER(frequency_max_khz, "frequency", "max_khz"),
    NUMBER(temperature_max_mc, "temperature", "max_mc"),
    NUMBER(vm_pgpgin, "vm", "pgpgin"),
    NUMBER(vm_pgpgout, "vm", "pgpgout"),
    NUMBER(vm_pswpin, "vm", "pswpin"),
    NUMBER(vm_pswpout, "vm", "pswpout"),
    NUMBER(vm_pgmajfault, "vm", "pgmajfault"),
    NUMBER(dmesg_left_out, NULL, "dmesg_left_out"),
    NUMBER(guest_span_ns, "guest", "span_ns"),
    NUMBER(guest_cpus, "guest", "cpus"),
    NUMBER(guest_busy_ns, "guest", "busy_ns"),
    NUMBER(guest_steal_ns, "guest", "steal_ns"),
    NUMBER(guest_swapped_in_pages, "guest", "swapped_in_pages"),
    NUMBER(guest_switches, "guest", "switches"),
};
const guint evidence_numbers_length = G_N_ELEMENTS(evidence_numbers);

gint64 evidence_number_get(const EvidenceRecord *record, const EvidenceNumber *number)
{
    return G_STRUCT_MEMBER(gint64, record, number->offset);
}

void evidence_number_set(EvidenceRecord *record, const EvidenceNumber *number, gint64 value)
{
    G_STRUCT_MEMBER(gint64, record, number->offset) = value;
}

void evidence_culprit_free(EvidenceCulprit *culprit)
{
    g_free(culprit->name);
    g_free(culprit->unit);
    g_free(culprit);
}

void evidence_thread_free(EvidenceThread *thread)
{
    g_free(thread->name);
    g_free(thread);
}

EvidenceRecord *evidence_record_new(void)
{
    EvidenceRecord *record = g_new0(EvidenceRecord, 1);

    for (guint i = 0; i < evidence_numbers_length; i++)
        evidence_number_set(record, &evidence_numbers[i], EVIDENCE_ABSENT);
    record->n_cpus = 1;
    record->named = g_ptr_array_new_with_free_func((GDestroyNotify)evidence_culprit_free);
    record->threads = g_ptr_array_new_with_free_func((GDestroyNotify)evidence_thread_free);
    record->dmesg = g_ptr_array_new_with_free_func(g_free);
    return record;
}

void evidence_record_free(EvidenceRecord *record)
{
    if (record == NULL)
        return;
    g_free(record->cpus);
    g_free(record->pids);
    g_free(record->cgroup);
    g_free(record->sources);
    g_free(record->clocksource);
    g_free(record->clocksource_before);
    g_free(record->guest_clocksource);
    g_free(record->guest_clocksource_before);
    g_ptr_array_unref(record->named);
    g_ptr_array_unref(record->threads);
    g_ptr_array_unref(record->dmesg);
    g_free(record);
}

void evidence_record_take_guest(EvidenceRecord *record, EvidenceRecord *guest)
{
    for (guint i = 0; i < evidence_numbers_length; i++)
        if (g_strcmp0(evidence_numbers[i].group, "guest") == 0)
            evidence_number_set(record, &evidence_numbers[i],
                                evidence_number_get(guest, &evidence_numbers[i]));
    g_free(record->guest_clocksource);
    record->guest_clocksource = g_steal_pointer(&guest->guest_clocksource);
    g_free(record->guest_clocksource_before);
    record->guest_clocksource_before = g_steal_pointer(&guest->guest_clocksource_before);
}

/* ---- limits ---- */

#define OBSERVER_FLOOR_NS (10 * CLOCK_NS_PER_MS)

/* Foreign CPU time: an idle host's kernel threads and timers stay below 1 % of any CPU, and a
 * program that takes 5 % of one is to be caught, so the limit lies between. What a host does once
 * in a while (a timer, a log line) takes a few ms, which is much of a short invocation: hence the
 * floor. The others flag only, where a careful reader would want to know. */
void evidence_limits_init(EvidenceLimits *limits)
{
    *limits = (EvidenceLimits){.read = TRUE,
                               .foreign = EVIDENCE_REJECT,
                               .cpu = 0.02,
                               .cpu_floor_ns = 10 * CLOCK_NS_PER_MS,
                               .steal = 0.01,
                               .interrupts = 0.05,
                               .run_delay = 0.05,
                               .pressure_cpu = 0.10,
                               .pressure_io = 0.10,
                               .pressure_memory = 0.01,
                               .frequency = 0.10,
                               .observer = 0.01};
}

/* ---- the judge ---- */

void evidence_verdict_clear(EvidenceVerdict *verdict)
{
    g_clear_pointer(&verdict->reason, g_free);
    g_clear_pointer(&verdict->flags, g_free);
    verdict->contaminated = FALSE;
}

static double cpus_ns(const EvidenceRecord *record)
{
    return (double)record->span_ns * record->n_cpus;
}

/* What of whole, or NAN where one of them is not known. */
static double share_of(gint64 what, double whole)
{
    return what == EVIDENCE_ABSENT || !(whole > 0) ? NAN : (double)what / whole;
}

static double steal_share(const EvidenceRecord *record)
{
    return share_of(record->cpu_steal_ns, cpus_ns(record));
}

static double interrupt_share(const EvidenceRecord *record)
{
    gint64 irq = record->cpu_irq_ns, softirq = record->cpu_softirq_ns;

    if (irq == EVIDENCE_ABSENT && softirq == EVIDENCE_ABSENT)
        return NAN;
    return share_of(MAX(irq, 0) + MAX(softirq, 0), cpus_ns(record));
}

static double run_delay_share(const EvidenceRecord *record)
{
    return share_of(record->subject_run_delay_ns, cpus_ns(record));
}

static double pressure_cpu(const EvidenceRecord *record)
{
    return share_of(record->psi_cpu_some_ns, (double)record->span_ns);
}

static double pressure_io(const EvidenceRecord *record)
{
    return share_of(record->psi_io_some_ns, (double)record->span_ns);
}

static double pressure_memory(const EvidenceRecord *record)
{
    return share_of(record->psi_memory_some_ns, (double)record->span_ns);
}

static double frequency_fall(const EvidenceRecord *record)
{
    if (record->frequency_min_khz == EVIDENCE_ABSENT)
        return NAN;
    return 1 - share_of(record->frequency_min_khz, (double)record->frequency_max_khz);
}

/* What the reader's second snapshot cost came when the work was done. The first one, and the marks,
 * cost some milliseconds, which is much of a short invocation: hence a floor here too. */
static double observer_share(const EvidenceRecord *record)
{
    gint64 late = MIN(record->reader_cpu_ns, record->reader_end_ns);
    gint64 own = MAX(record->observer_cpu_ns - MAX(late, 0), 0);

    if (record->observer_cpu_ns == EVIDENCE_ABSENT)
        return NAN;
    return own <= OBSERVER_FLOOR_NS ? 0 : share_of(own, (double)record->span_ns);
}

static double throttled(const EvidenceRecord *record)
{
    return share_of(record->throttle, 1);
}

static double swapped(const EvidenceRecord *record)
{
    if (record->vm_pswpin == EVIDENCE_ABSENT && record->vm_pswpout == EVIDENCE_ABSENT)
        return NAN;
    return (double)(MAX(record->vm_pswpin, 0) + MAX(record->vm_pswpout, 0));
}

static double clocksource_changed(const EvidenceRecord *record)
{
    return record->clocksource_before != NULL;
}

static double kernel_lines(const EvidenceRecord *record)
{
    return record->dmesg->len;
}

/* Flagged: a value above its limit. Those without a limit in the plan are flagged above 0. */
static const struct signal_rule {
    const char *flag;
    double (*value)(const EvidenceRecord *record);
    gssize limit; /* offset in EvidenceLimits, or -1: 0 */
} signal_rules[] = {
    {"host-steal", steal_share, offsetof(EvidenceLimits, steal)},
    {"interrupts", interrupt_share, offsetof(EvidenceLimits, interrupts)},
    {"run-delay", run_delay_share, offsetof(EvidenceLimits, run_delay)},
    {"cpu-pressure", pressure_cpu, offsetof(EvidenceLimits, pressure_cpu)},
    {"io-pressure", pressure_io, offsetof(EvidenceLimits, pressure_io)},
    {"memory-pressure", pressure_memory, offsetof(EvidenceLimits, pressure_memory)},
    {"frequency", frequency_fall, offsetof(EvidenceLimits, frequency)},
    {"observer", observer_share, offsetof(EvidenceLimits, observer)},
    {"throttled", throttled, -1},
    {"host-swap", swapped, -1},
    {"host-clocksource", clocksource_changed, -1},
    {"kernel-log", kernel_lines, -1},
};

static void add_flag(GString *flags, const char *flag)
{
    g_string_append_printf(flags, "%s%s", flags->len > 0 ? "," : "", flag);
}

static void judge_signals(const EvidenceLimits *limits, const EvidenceRecord *record,
                          GString *flags)
{
    for (guint i = 0; i < G_N_ELEMENTS(signal_rules); i++) {
        const struct signal_rule *rule = &signal_rules[i];
        double limit = rule->limit < 0 ? 0 : G_STRUCT_MEMBER(double, limits, rule->limit);

        /* FALSE for NAN, which stands for what this host does not have. */
        if (rule->value(record) > limit)
            add_flag(flags, rule->flag);
    }
}

/* "4.1" */
static void append_seconds(GString *text, gint64 ns)
{
    double seconds = (double)ns / (double)CLOCK_NS_PER_S;

    g_string_append_printf(text, "%.*f", seconds >= 1 ? 1 : seconds >= 0.1 ? 2 : 3, seconds);
}

/* "apt-daily.service", or "stress-ng (pid 412)": a service says more than its process. */
static void append_culprit(GString *text, const EvidenceCulprit *culprit)
{
    if (culprit->unit != NULL && g_str_has_suffix(culprit->unit, ".service") &&
        !g_str_has_prefix(culprit->unit, "user@")) {
        g_string_append(text, culprit->unit);
        return;
    }
    g_string_append(text, culprit->name);
    if (culprit->pid != EVIDENCE_ABSENT)
        g_string_append_printf(text, " (pid %" G_GINT64_FORMAT "%s)", culprit->pid,
                               culprit->ended ? ", ended" : "");
    else if (culprit->ended)
        g_string_append(text, " (ended)");
}

/* " of CPUs 2-3 in 38 s (5.4 %)" */
static void append_share(GString *text, const EvidenceRecord *record, gint64 cpu_ns)
{
    g_autofree char *span = clock_format_duration(record->span_ns);

    g_string_append_printf(text, " of CPU%s %s in %s (%.1f %%)", record->n_cpus == 1 ? "" : "s",
                           record->cpus != NULL ? record->cpus : "?", span,
                           (double)cpu_ns * 100 / cpus_ns(record));
}

static const EvidenceCulprit *culprit_at(const EvidenceRecord *record, guint i)
{
    return g_ptr_array_index(record->named, i);
}

/* What all of them took, where the first is not all of it. */
static void append_allowed(GString *text, const EvidenceLimits *limits,
                           const EvidenceRecord *record, gint64 first)
{
    if (first < record->foreign_cpu_ns) {
        g_string_append(text, "; in all ");
        append_seconds(text, record->foreign_cpu_ns);
        g_string_append_printf(text, " (%.1f %%, %.1f %% allowed)",
                               (double)record->foreign_cpu_ns * 100 / cpus_ns(record),
                               limits->cpu * 100);
    } else {
        g_string_append_printf(text, "; %.1f %% is allowed", limits->cpu * 100);
    }
}

/* Who took how much: the greediest with its share, the next ones, and all together. */
static char *tell_who(const EvidenceLimits *limits, const EvidenceRecord *record)
{
    GString *text = g_string_new(NULL);
    guint named = record->named->len;
    gint64 first = named > 0 ? culprit_at(record, 0)->cpu_ns : record->foreign_cpu_ns;

    if (named > 0)
        append_culprit(text, culprit_at(record, 0));
    else
        g_string_append(text, "something without a name");
    g_string_append(text, " took ");
    append_seconds(text, first);
    g_string_append(text, " CPU-seconds");
    append_share(text, record, first);
    for (guint i = 1; i < MIN(named, CULPRITS_SHOWN); i++) {
        g_string_append(text, ", ");
        append_culprit(text, culprit_at(record, i));
        g_string_append_c(text, ' ');
        append_seconds(text, culprit_at(record, i)->cpu_ns);
    }
    append_allowed(text, limits, record, first);
    return g_string_free(text, FALSE);
}

static void judge_foreign(const EvidenceLimits *limits, const EvidenceRecord *record,
                          EvidenceVerdict *verdict, GString *flags)
{
    /* Without this number the cell lacks what the others are judged by. */
    if (record->foreign_cpu_ns == EVIDENCE_ABSENT) {
        add_flag(flags, "no-evidence");
        return;
    }
    if (record->foreign_cpu_ns <= limits->cpu_floor_ns ||
        (double)record->foreign_cpu_ns <= limits->cpu * cpus_ns(record))
        return;
    verdict->reason = tell_who(limits, record);
    verdict->contaminated = limits->foreign == EVIDENCE_REJECT;
    if (!verdict->contaminated)
        add_flag(flags, "foreign-cpu");
}

void evidence_judge(const EvidenceLimits *limits, const EvidenceRecord *record,
                    EvidenceVerdict *ret_verdict)
{
    g_autoptr(GString) flags = g_string_new(NULL);
    EvidenceVerdict verdict = {0};

    if (record->span_ns > 0) {
        judge_foreign(limits, record, &verdict, flags);
        judge_signals(limits, record, flags);
    } else if (limits->read) {
        add_flag(flags, "no-evidence");
    }
    if (flags->len > 0)
        verdict.flags = g_strdup(flags->str);
    *ret_verdict = verdict;
}
