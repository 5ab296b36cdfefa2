/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "evidence-record.h"

#include <stdlib.h>
#include <string.h>

#define WRAP ((int64_t)1 << 32) /* of counters that are 32 bits wide */

/* A process that ended in between, from the reports of its tasks. */
struct gone {
    struct evidence_ended task;              /* cpu_ns: in between */
    const struct evidence_process *relative; /* itself at the begin, else who is known of its
                                                ancestors; NULL: nobody is */
};

struct difference {
    const struct evidence_request *request;
    const struct evidence_snapshot *before, *after;
    struct evidence_record *record;
    int64_t cpu_ns[EVIDENCE_ROLES];  /* of each role */
    int64_t away_ns[EVIDENCE_ROLES]; /* the part that may have been on other CPUs */
    int64_t *reported_ns;            /* of each process of after: of its ended children */
    struct gone *gone;               /* by pid, ascending */
    size_t n_gone;
    int64_t servants_ns;          /* the part of eligible_ns by them */
    struct evidence_named *named; /* foreign */
    size_t n_named, room_named;
    bool failed; /* no memory */
};

/* --- numbers --- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Of a counter that only grows. One that is 32 bits wide may have begun anew, alone or in a sum;
 * one that stepped back otherwise says nothing. */
static int64_t growth(int64_t before, int64_t after)
{
    if (before < 0 || after < 0)
        return EVIDENCE_ABSENT;
    if (after >= before)
        return after - before;
    return before - after > WRAP / 2 && before - after <= WRAP ? after + WRAP - before
                                                               : EVIDENCE_ABSENT;
}

static void add(int64_t *sum, int64_t value)
{
    if (value >= 0)
        *sum = larger(*sum, 0) + value;
}

/* CPU time between, by the best way that both ends know. before NULL: there was none. */
static int64_t time_between(struct difference *difference, const struct evidence_time *before,
                            const struct evidence_time *after)
{
    static const struct evidence_time none;
    const struct evidence_time *from = before == NULL ? &none : before;
    unsigned source = EVIDENCE_FROM_TICKS;
    int64_t ns = after->ticks_ns - from->ticks_ns;

    if (after->clock_ns >= 0 && from->clock_ns >= 0) {
        source = EVIDENCE_FROM_CLOCK;
        ns = after->clock_ns - from->clock_ns;
    } else if (after->sched_ns >= 0 && from->sched_ns >= 0) {
        source = EVIDENCE_FROM_SCHEDSTAT;
        ns = after->sched_ns - from->sched_ns;
    }
    difference->record->sources |= source;
    return larger(ns, 0);
}

/* --- by name --- */

static struct evidence_named *group_of(struct difference *difference, const char *name,
                                       const char *unit)
{
    struct evidence_named *grown, *group;

    for (size_t i = 0; i < difference->n_named; i++) {
        group = &difference->named[i];
        if (strcmp(group->name, name) == 0 && strcmp(group->unit, unit) == 0)
            return group;
    }
    grown = evidence_grow(difference->named, difference->n_named, &difference->room_named,
                          sizeof(*grown));
    if (grown == NULL) {
        difference->failed = true;
        return NULL;
    }
    difference->named = grown;
    group = &grown[difference->n_named++];
    *group = (struct evidence_named){
        .pid = EVIDENCE_ABSENT, .ended = true, .kernel = true, .servant = true, .afar = true};
    snprintf(group->name, sizeof(group->name), "%s", name);
    snprintf(group->unit, sizeof(group->unit), "%s", unit);
    return group;
}

static void name_foreign(struct difference *difference, const struct evidence_named *one)
{
    struct evidence_named *group = group_of(difference, one->name, one->unit);

    if (group == NULL)
        return;
    if (one->cpu_ns > group->pid_ns) {
        group->pid = one->pid;
        group->pid_ns = one->cpu_ns;
    }
    group->cpu_ns += one->cpu_ns;
    group->processes += one->processes;
    group->ended &= one->ended;
    group->kernel &= one->kernel;
    group->servant &= one->servant;
    group->afar &= one->afar;
}

/* CPU time of somebody foreign that may have been on the subject's CPUs. */
static void add_eligible(struct difference *difference, const struct evidence_named *one)
{
    difference->record->foreign.eligible_ns += one->cpu_ns;
    if (one->ended)
        difference->record->foreign.ended_ns += one->cpu_ns;
    if (one->kernel)
        difference->record->foreign.kernel_ns += one->cpu_ns;
    if (one->servant)
        difference->servants_ns += one->cpu_ns;
    name_foreign(difference, one);
}

static struct evidence_named one_of(const char *name, const char *unit, int64_t pid, int64_t cpu_ns)
{
    struct evidence_named one = {.pid = pid, .cpu_ns = cpu_ns, .processes = 1};

    snprintf(one.name, sizeof(one.name), "%s", name);
    snprintf(one.unit, sizeof(one.unit), "%s", unit);
    return one;
}

/* Threads of the kernel that do what others left to them: writing back, interrupts, reclaiming.
 * Not those that have work of their own or of a network (md0_resync, ksmd, nfsd, vhost-…). */
static bool is_servant(const struct evidence_process *process)
{
    static const char *const names[] = {"kworker/",   "ksoftirqd/", "kswapd",   "kcompactd",
                                        "khugepaged", "jbd2/",      "rcu",      "migration/",
                                        "irq/",       "ktimers/",   "dmcrypt_", "xfsaild/",
                                        "btrfs-tra",  "loop",       "txg_sync", "z_wr_i"};

    for (size_t i = 0; process->kernel && i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(process->name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Which CPUs a process took that may run on any is not known. One that was seen on another at both
 * ends most likely stayed there, and comes after those that were not. */
static int greedier(const void *a, const void *b)
{
    const struct evidence_named *x = a, *y = b;

    if (x->afar != y->afar)
        return x->afar ? 1 : -1;
    if (x->cpu_ns != y->cpu_ns)
        return x->cpu_ns < y->cpu_ns ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void tell_named(struct difference *difference)
{
    struct evidence_record *record = difference->record;

    if (difference->n_named > 0)
        qsort(difference->named, difference->n_named, sizeof(difference->named[0]), greedier);
    for (size_t i = 0; i < difference->n_named && i < EVIDENCE_NAMED_MAX; i++) {
        struct evidence_named *named = &record->foreign.named[i];

        *named = difference->named[i];
        named->cpu_ns = smaller(named->cpu_ns, record->foreign.cpu_ns);
        if (named->cpu_ns > 0)
            record->foreign.n_named++;
    }
}

/* --- processes that live at the end --- */

/* The reader's own time is known to the end of its work; that before and after the times of the
 * CPUs were read is not in these. */
static int64_t count_self(struct difference *difference)
{
    const struct evidence_snapshot *before = difference->before, *after = difference->after;
    int64_t all = after->reader_ns - before->reader_ns, inside = after->self_ns - before->self_ns;

    if (all > inside)
        difference->away_ns[EVIDENCE_OBSERVER] += all - inside;
    return larger(all, inside);
}

static void count_living(struct difference *difference)
{
    for (size_t i = 0; i < difference->after->n_processes; i++) {
        const struct evidence_process *now = &difference->after->processes[i];
        const struct evidence_process *was = evidence_find_same(difference->before, now);
        int64_t ns = time_between(difference, was == NULL ? NULL : &was->time, &now->time);
        struct evidence_named one;

        difference->record->subject.processes += now->role == EVIDENCE_SUBJECT;
        if (now->pid == difference->after->self)
            ns = count_self(difference);
        difference->cpu_ns[now->role] += ns;
        if (!now->within && now->role == EVIDENCE_OBSERVER)
            difference->away_ns[now->role] += ns;
        if (now->role != EVIDENCE_FOREIGN || !now->meets || ns == 0)
            continue;
        if (now->most_ns >= 0)
            ns = smaller(ns, now->most_ns);
        one = one_of(now->name, now->unit, now->pid, ns);
        one.kernel = now->kernel;
        one.servant = is_servant(now);
        one.afar = now->afar && (was == NULL || was->afar);
        add_eligible(difference, &one);
    }
}

/* --- those that ended: the kernel's reports --- */

static int by_process(const void *a, const void *b)
{
    const struct gone *x = a, *y = b;

    if (x->task.pid != y->task.pid)
        return x->task.pid > y->task.pid ? 1 : -1;
    return (int)y->task.leader - (int)x->task.leader;
}

/* A report a task, into one a process. Tasks of processes that still live are in these. */
static void gather_gone(struct difference *difference)
{
    const struct evidence_snapshot *after = difference->after;
    size_t n = 0, kept = 0;

    difference->gone = calloc(after->n_ended + 1, sizeof(difference->gone[0]));
    difference->failed |= difference->gone == NULL;
    for (size_t i = 0; !difference->failed && i < after->n_ended; i++)
        if (evidence_find(after, after->ended[i].pid) == NULL)
            difference->gone[n++].task = after->ended[i];
    if (n > 0)
        qsort(difference->gone, n, sizeof(difference->gone[0]), by_process);
    for (size_t i = 0; i < n; i++) {
        struct gone *last = kept > 0 ? &difference->gone[kept - 1] : NULL;

        if (last != NULL && last->task.pid == difference->gone[i].task.pid)
            last->task.cpu_ns += difference->gone[i].task.cpu_ns;
        else
            difference->gone[kept++] = difference->gone[i];
    }
    difference->n_gone = kept;
}

static const struct gone *find_gone(const struct difference *difference, int64_t pid)
{
    size_t low = 0, high = difference->n_gone;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (difference->gone[middle].task.pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < difference->n_gone && difference->gone[low].task.pid == pid
               ? &difference->gone[low]
               : NULL;
}

/* Itself, or the nearest ancestor that a snapshot knows. */
static const struct evidence_process *relative_of(const struct difference *difference,
                                                  const struct gone *gone)
{
    for (int depth = 0; gone != NULL && depth < 64; depth++) {
        const struct evidence_process *found = evidence_find(difference->before, gone->task.pid);

        if (found == NULL)
            found = evidence_find(difference->after, gone->task.parent);
        if (found == NULL)
            found = evidence_find(difference->before, gone->task.parent);
        if (found != NULL)
            return found;
        gone = find_gone(difference, gone->task.parent);
    }
    return NULL;
}

/* Who reaped it, or will have its time from who did; NULL: nobody is known. */
static const struct evidence_process *living_ancestor(const struct difference *difference,
                                                      const struct gone *gone)
{
    for (int depth = 0; gone != NULL && depth < 64; depth++) {
        const struct evidence_process *parent = evidence_find(difference->after, gone->task.parent);

        if (parent != NULL)
            return parent;
        gone = find_gone(difference, gone->task.parent);
    }
    return NULL;
}

static void count_gone(struct difference *difference, const struct gone *gone)
{
    const struct evidence_process *relative = relative_of(difference, gone);
    bool itself = relative != NULL && relative->pid == gone->task.pid;
    const struct evidence_process *heir = living_ancestor(difference, gone);
    enum evidence_role role = relative == NULL ? EVIDENCE_FOREIGN : relative->role;
    struct evidence_time now = {gone->task.cpu_ns, gone->task.cpu_ns, gone->task.cpu_ns};
    int64_t ns = time_between(difference, itself ? &relative->time : NULL, &now);

    difference->cpu_ns[role] += ns;
    if (heir != NULL)
        difference->reported_ns[heir - difference->after->processes] += ns;
    if (role == EVIDENCE_FOREIGN) {
        /* What init and the kernel started is not of their unit. */
        bool related = relative != NULL && (itself || relative->pid > 2);
        struct evidence_named one =
            one_of(gone->task.name, related ? relative->unit : "", gone->task.pid, ns);

        one.ended = true;
        one.kernel = itself && relative->kernel;
        one.servant = itself && is_servant(relative);
        if ((relative == NULL || relative->meets) && ns > 0)
            add_eligible(difference, &one);
    } else if (!relative->within) {
        difference->away_ns[role] += ns;
    }
}

/* --- those that ended: what their parents reaped --- */

/* Who has, or will have, the time of a process that ended: the nearest ancestor that still lives.
 * NULL: nobody does. */
static const struct evidence_process *heir_of(const struct difference *difference,
                                              const struct evidence_process *process)
{
    for (int depth = 0; process != NULL && depth < 64; depth++) {
        const struct evidence_process *now = evidence_find_same(difference->after, process);

        if (now != NULL)
            return now;
        process = evidence_find(difference->before, process->parent);
    }
    return NULL;
}

/* How much the times of reaped children grew, less what these had run before. */
static int64_t *reaped_of_each(struct difference *difference)
{
    const struct evidence_snapshot *before = difference->before, *after = difference->after;
    int64_t *reaped = calloc(after->n_processes + 1, sizeof(*reaped));

    difference->failed |= reaped == NULL;
    for (size_t i = 0; reaped != NULL && i < after->n_processes; i++) {
        const struct evidence_process *was = evidence_find_same(before, &after->processes[i]);

        reaped[i] = after->processes[i].children_ns - (was == NULL ? 0 : was->children_ns);
    }
    for (size_t i = 0; reaped != NULL && i < before->n_processes; i++) {
        const struct evidence_process *was = &before->processes[i];
        const struct evidence_process *heir =
            evidence_find_same(after, was) != NULL ? NULL : heir_of(difference, was);

        if (heir != NULL)
            reaped[heir - after->processes] -= was->time.ticks_ns + was->children_ns;
    }
    return reaped;
}

static void name_children(struct difference *difference, const struct evidence_process *parent,
                          int64_t ns)
{
    const char *unit = parent->pid > 2 ? parent->unit : "";
    struct evidence_named one = one_of("", unit, EVIDENCE_ABSENT, ns);

    snprintf(one.name, sizeof(one.name), "children of %s", parent->name);
    one.ended = true;
    add_eligible(difference, &one);
}

/* What a parent reaped beyond what was reported. A report lacks what its task ran since the
 * kernel last looked, up to a tick: of a thousand short ones, all. Both figures of the parent are
 * rounded down. */
static void count_reaped(struct difference *difference, bool all_is_reaped)
{
    int64_t *reaped = reaped_of_each(difference);
    int64_t rounding = all_is_reaped ? 0 : 2 * difference->after->tick_ns;

    for (size_t i = 0; reaped != NULL && i < difference->after->n_processes; i++) {
        const struct evidence_process *parent = &difference->after->processes[i];
        int64_t more = reaped[i] - difference->reported_ns[i];

        if (more <= rounding || (parent->role == EVIDENCE_FOREIGN && !parent->meets))
            continue;
        difference->record->sources |= EVIDENCE_FROM_CHILDREN;
        difference->cpu_ns[parent->role] += more;
        if (parent->role == EVIDENCE_FOREIGN)
            name_children(difference, parent, more);
        else if (!parent->within)
            difference->away_ns[parent->role] += more;
    }
    free(reaped);
}

static void count_ended(struct difference *difference)
{
    bool reported = (difference->after->sources & EVIDENCE_FROM_TASKSTATS) != 0;

    gather_gone(difference);
    difference->reported_ns = calloc(difference->after->n_processes + 1, sizeof(int64_t));
    difference->failed |= difference->reported_ns == NULL;
    for (size_t i = 0; !difference->failed && i < difference->n_gone; i++)
        count_gone(difference, &difference->gone[i]);
    if (!reported)
        difference->record->sources |= EVIDENCE_FROM_CHILDREN;
    if (!difference->failed)
        count_reaped(difference, !reported);
}

/* --- threads of the subject --- */

static const struct evidence_thread *find_thread(const struct evidence_snapshot *snapshot,
                                                 const struct evidence_thread *thread)
{
    size_t low = 0, high = snapshot->n_threads;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (snapshot->threads[middle].tid < thread->tid)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == snapshot->n_threads || snapshot->threads[low].tid != thread->tid ||
        snapshot->threads[low].start != thread->start)
        return NULL;
    return &snapshot->threads[low];
}

static void count_threads(struct difference *difference)
{
    struct evidence_record *record = difference->record;

    record->subject.run_delay_ns = record->subject.involuntary = EVIDENCE_ABSENT;
    for (size_t i = 0; i < difference->after->n_threads; i++) {
        const struct evidence_thread *now = &difference->after->threads[i];
        const struct evidence_thread *was = find_thread(difference->before, now);
        struct evidence_thread thread = *now;

        thread.time.clock_ns =
            time_between(difference, was == NULL ? NULL : &was->time, &now->time);
        thread.delay_ns = growth(was == NULL ? 0 : was->delay_ns, now->delay_ns);
        thread.involuntary = growth(was == NULL ? 0 : was->involuntary, now->involuntary);
        add(&record->subject.run_delay_ns, thread.delay_ns);
        add(&record->subject.involuntary, thread.involuntary);
        if (!now->within)
            difference->away_ns[EVIDENCE_SUBJECT] += thread.time.clock_ns;
        if (record->subject.n_threads < EVIDENCE_THREADS_MAX)
            record->subject.threads[record->subject.n_threads++] = thread;
    }
}

static bool subject_is_gone(const struct difference *difference)
{
    const struct evidence_request *request = difference->request;

    for (int64_t i = 0; i < request->n_pids; i++) {
        const struct evidence_process *was = evidence_find(difference->before, request->pids[i]);

        if (was != NULL && evidence_find_same(difference->after, was) != NULL)
            return false;
    }
    return request->n_pids > 0;
}

/* --- CPUs and the host --- */

/* The idle time is exact where the kernel stops its tick, and what is left of the span was busy;
 * the time at work is sampled by the tick. An upper bound is wanted: the larger one. */
static int64_t busy_ns(const struct evidence_cpu *before, const struct evidence_cpu *after,
                       int64_t span_ns)
{
    int64_t idle = larger(after->idle_ns - before->idle_ns, 0);
    int64_t steal = larger(after->steal_ns - before->steal_ns, 0);

    return larger(larger(span_ns - idle - steal, after->work_ns - before->work_ns), 0);
}

static void count_cpus(struct difference *difference)
{
    struct evidence_record *record = difference->record;

    record->cpu.busy_ns = record->cpu.steal_ns = EVIDENCE_ABSENT;
    record->cpu.irq_ns = record->cpu.softirq_ns = EVIDENCE_ABSENT;
    for (int cpu = 0; cpu < OS_CPUS_MAX; cpu++) {
        const struct evidence_cpu *before = &difference->before->host.cpus[cpu];
        const struct evidence_cpu *after = &difference->after->host.cpus[cpu];
        int64_t busy;

        if (!before->online || !after->online ||
            !evidence_cpus_have(&difference->request->cpus, cpu))
            continue;
        evidence_cpus_add(&record->cpus, cpu);
        busy = busy_ns(before, after, record->span_ns);
        if (difference->after->self > 0) /* not of made-up files, which have a time of their own */
            busy = smaller(busy, record->span_ns);
        add(&record->cpu.busy_ns, busy);
        add(&record->cpu.steal_ns, larger(after->steal_ns - before->steal_ns, 0));
        add(&record->cpu.irq_ns, larger(after->irq_ns - before->irq_ns, 0));
        add(&record->cpu.softirq_ns, larger(after->softirq_ns - before->softirq_ns, 0));
    }
}

static int64_t least_seen(int64_t a, int64_t b)
{
    return a < 0 ? b : b < 0 ? a : smaller(a, b);
}

static void count_host(struct difference *difference)
{
    const struct evidence_host *before = &difference->before->host;
    const struct evidence_host *after = &difference->after->host;
    struct evidence_record *record = difference->record;

    for (int i = 0; i < EVIDENCE_PRESSURES; i++)
        record->pressure_ns[i] = growth(before->pressure_ns[i], after->pressure_ns[i]);
    for (int i = 0; i < EVIDENCE_VMS; i++)
        record->vm[i] = growth(before->vm[i], after->vm[i]);
    record->interrupts = growth(before->interrupts, after->interrupts);
    record->softirqs = growth(before->softirqs, after->softirqs);
    record->throttle = EVIDENCE_ABSENT;
    add(&record->throttle, growth(before->core_throttle, after->core_throttle));
    add(&record->throttle, growth(before->package_throttle, after->package_throttle));
    record->min_khz = least_seen(before->min_khz, after->min_khz);
    record->max_khz = larger(before->max_khz, after->max_khz);
    record->max_mc = larger(before->max_mc, after->max_mc);
    record->clocksource = after->clocksource;
    if (before->clocksource[0] != '\0' && strcmp(before->clocksource, after->clocksource) != 0)
        record->clocksource_before = before->clocksource;
    record->dmesg = &difference->after->dmesg;
}

/* --- the whole --- */

/* The kernel does not say for whom its threads worked: they are shared out by what the subject and
 * the others did. */
static void share_servants(struct difference *difference)
{
    struct evidence_record *record = difference->record;
    double subject = (double)difference->cpu_ns[EVIDENCE_SUBJECT];
    double others = (double)(record->foreign.eligible_ns - difference->servants_ns);
    double share = subject > 0 ? subject / (subject + others) : 0;

    record->foreign.served_ns = (int64_t)(share * (double)difference->servants_ns);
    for (size_t i = 0; i < difference->n_named; i++)
        if (difference->named[i].servant)
            difference->named[i].cpu_ns -= (int64_t)(share * (double)difference->named[i].cpu_ns);
}

/* What the subject's CPUs have left for others, and what nobody is known to have taken of it. */
static void bound_foreign(struct difference *difference)
{
    struct evidence_record *record = difference->record;
    int64_t known = record->foreign.served_ns, left;

    record->foreign.cpu_ns = record->foreign.eligible_ns - record->foreign.served_ns;
    record->foreign.unexplained_ns = EVIDENCE_ABSENT;
    if (record->cpu.busy_ns < 0)
        return;
    for (int role = EVIDENCE_SUBJECT; role < EVIDENCE_ROLES; role++)
        known += larger(difference->cpu_ns[role] - difference->away_ns[role], 0);
    left = larger(record->cpu.busy_ns - known, 0);
    record->foreign.unexplained_ns = larger(left - record->foreign.cpu_ns, 0);
    if ((record->sources & EVIDENCE_LIMITED_VIEW) != 0 && record->foreign.unexplained_ns > 0) {
        struct evidence_named unseen = one_of("processes that cannot be seen", "", EVIDENCE_ABSENT,
                                              record->foreign.unexplained_ns);

        record->foreign.cpu_ns += record->foreign.unexplained_ns;
        name_foreign(difference, &unseen);
    }
    record->foreign.cpu_ns = smaller(record->foreign.cpu_ns, left);
}

static void tell_watchers(struct difference *difference)
{
    const struct evidence_snapshot *before = difference->before, *after = difference->after;
    struct evidence_record *record = difference->record;

    record->subject.gone = subject_is_gone(difference);
    record->subject.cpu_ns = difference->cpu_ns[EVIDENCE_SUBJECT];
    record->observer.cpu_ns = difference->cpu_ns[EVIDENCE_OBSERVER];
    record->observer.switches = growth(before->observer_switches, after->observer_switches);
    record->observer.written_bytes = growth(before->observer_written, after->observer_written);
    record->reader.begin_ns = before->took_ns;
    record->reader.end_ns = after->took_ns;
    record->reader.cpu_ns = after->reader_ns - before->reader_ns;
}

bool evidence_difference(const struct evidence_request *request,
                         const struct evidence_snapshot *before,
                         const struct evidence_snapshot *after, struct evidence_record *ret_record)
{
    struct difference difference = {
        .request = request, .before = before, .after = after, .record = ret_record};

    memset(ret_record, 0, sizeof(*ret_record));
    ret_record->id = request->id;
    ret_record->span_ns = after->at_ns - before->at_ns;
    ret_record->sources = after->sources | (before->sources & EVIDENCE_FROM_CGROUP);
    count_cpus(&difference);
    count_living(&difference);
    count_ended(&difference);
    count_threads(&difference);
    count_host(&difference);
    tell_watchers(&difference);
    share_servants(&difference);
    bound_foreign(&difference);
    tell_named(&difference);
    free(difference.gone);
    free(difference.reported_ns);
    free(difference.named);
    return !difference.failed;
}
