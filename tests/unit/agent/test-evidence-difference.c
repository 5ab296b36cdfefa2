/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel reports of tasks that ended cannot be made up in files: the difference of two
 * snapshots that are made up here. */
#include <glib.h>
#include <string.h>

#include "agent/evidence-record.h"

#define MS ((int64_t)1000000)

typedef struct {
    struct evidence_request request;
    struct evidence_snapshot before, after;
    struct evidence_process was[8], is[8];
    struct evidence_ended ended[8];
    struct evidence_record record;
} Case;

static void add_process(struct evidence_snapshot *snapshot, int64_t pid, int64_t parent,
                        int64_t ran_ns, int64_t children_ns)
{
    struct evidence_process *process = &snapshot->processes[snapshot->n_processes++];

    *process = (struct evidence_process){
        .pid = pid,
        .parent = parent,
        .start = 1,
        .meets = true,
        .within = true,
        .threads = 1,
        .time = {.clock_ns = ran_ns, .sched_ns = EVIDENCE_ABSENT, .ticks_ns = ran_ns},
        .children_ns = children_ns,
        .most_ns = EVIDENCE_ABSENT,
    };
    g_snprintf(process->name, sizeof process->name, "p%d", (int)pid);
    g_snprintf(process->unit, sizeof process->unit, "u%d.service", (int)pid);
}

static void add_ended(Case *c, int64_t pid, int64_t parent, gboolean leader, int64_t ran_ns)
{
    struct evidence_ended *ended = &c->ended[c->after.n_ended++];

    *ended = (struct evidence_ended){.pid = pid, .parent = parent, .leader = leader};
    ended->cpu_ns = ran_ns;
    g_snprintf(ended->name, sizeof ended->name, leader ? "p%d" : "t%d", (int)pid);
}

/* init, the subject 40, and 50; CPU 0 is busy for a second. */
static Case *case_new(int64_t init_children_ns, int64_t children_ns)
{
    Case *c = g_new0(Case, 1);

    evidence_cpus_add(&c->request.cpus, 0);
    c->request.pids[c->request.n_pids++] = 40;
    c->before.processes = c->was;
    c->after.processes = c->is;
    c->after.ended = c->ended;
    c->after.at_ns = 2000 * MS;
    c->before.host.cpus[0].online = c->after.host.cpus[0].online = true;
    c->after.host.cpus[0].idle_ns = 1000 * MS;
    add_process(&c->before, 1, 0, 0, 0);
    add_process(&c->before, 40, 1, 100 * MS, 0);
    add_process(&c->before, 50, 1, 0, 0);
    add_process(&c->after, 1, 0, 0, init_children_ns);
    add_process(&c->after, 40, 1, 300 * MS, 0);
    add_process(&c->after, 50, 1, 0, children_ns);
    c->after.sources = EVIDENCE_FROM_TASKSTATS;
    return c;
}

static const struct evidence_record *difference(Case *c)
{
    evidence_roles(&c->before, &c->request, NULL);
    evidence_roles(&c->after, &c->request, &c->before);
    g_assert_true(evidence_difference(&c->request, &c->before, &c->after, &c->record));
    return &c->record;
}

static void assert_named(const struct evidence_record *record, guint i, const char *name,
                         const char *unit, int64_t cpu_ns, int64_t processes)
{
    const struct evidence_named *named = &record->foreign.named[i];

    g_assert_cmpuint(i, <, record->foreign.n_named);
    g_assert_cmpstr(named->name, ==, name);
    g_assert_cmpstr(named->unit, ==, unit);
    g_assert_cmpint(named->cpu_ns, ==, cpu_ns);
    g_assert_cmpint(named->processes, ==, processes);
    g_assert_true(named->ended);
}

static void test_tasks_become_processes(void)
{
    g_autofree Case *c = case_new(0, 0);
    const struct evidence_record *record;

    add_ended(c, 60, 50, FALSE, 70 * MS); /* a thread ends before its process does */
    add_ended(c, 61, 60, TRUE, 7 * MS);   /* its child: 50's unit is the nearest known */
    add_ended(c, 50, 1, FALSE, 400 * MS); /* a thread of a process that lives: in its own clock */
    add_ended(c, 60, 50, TRUE, 30 * MS);
    add_ended(c, 70, 1, TRUE, 5 * MS); /* init's child is not of init's unit */
    record = difference(c);
    g_assert_cmpint(record->foreign.eligible_ns, ==, 112 * MS);
    g_assert_cmpint(record->foreign.ended_ns, ==, 112 * MS);
    g_assert_cmpint(record->foreign.cpu_ns, ==, 112 * MS);
    g_assert_cmpint(record->foreign.unexplained_ns, ==, (1000 - 200 - 112) * MS);
    g_assert_cmpuint(record->foreign.n_named, ==, 3);
    assert_named(record, 0, "p60", "u50.service", 100 * MS, 1);
    assert_named(record, 1, "p61", "u50.service", 7 * MS, 1);
    assert_named(record, 2, "p70", "", 5 * MS, 1);
}

static void test_what_it_had_run_before_is_not_counted(void)
{
    g_autofree Case *c = case_new(0, 0);
    const struct evidence_record *record;

    add_process(&c->before, 60, 1, 90 * MS, 0);
    add_ended(c, 60, 1, TRUE, 95 * MS);
    record = difference(c);
    g_assert_cmpint(record->foreign.ended_ns, ==, 5 * MS);
    assert_named(record, 0, "p60", "u60.service", 5 * MS, 1);
}

static void test_the_subjects_are_its_own(void)
{
    g_autofree Case *c = case_new(0, 0);
    const struct evidence_record *record;

    add_ended(c, 62, 61, TRUE, 20 * MS);
    add_ended(c, 61, 60, TRUE, 10 * MS);
    add_ended(c, 60, 40, TRUE, 40 * MS);
    record = difference(c);
    g_assert_cmpint(record->subject.cpu_ns, ==, (200 + 70) * MS);
    g_assert_cmpint(record->foreign.eligible_ns, ==, 0);
}

/* A cycle of parents can come about when numbers are used again. */
static void test_a_cycle_ends(void)
{
    g_autofree Case *c = case_new(0, 0);

    add_ended(c, 60, 61, TRUE, 10 * MS);
    add_ended(c, 61, 60, TRUE, 10 * MS);
    g_assert_cmpint(difference(c)->foreign.ended_ns, ==, 20 * MS);
}

static void test_not_on_the_subjects_cpus(void)
{
    g_autofree Case *c = case_new(0, 0);

    c->is[2].meets = false;
    c->is[2].within = false;
    add_ended(c, 60, 50, TRUE, 10 * MS);
    g_assert_cmpint(difference(c)->foreign.eligible_ns, ==, 0);
}

/* What the parents reaped fills the gap; what was reported keeps its name. */
static void test_reports_lack_something(void)
{
    g_autofree Case *c = case_new(50 * MS, 100 * MS);
    const struct evidence_record *record;

    add_ended(c, 60, 50, TRUE, 30 * MS);
    add_ended(c, 62, 61, TRUE, 5 * MS); /* 61 reaped it, and 50 has reaped 61 */
    add_ended(c, 61, 50, TRUE, 1 * MS);
    record = difference(c);
    g_assert_cmpint(record->foreign.ended_ns, ==, 150 * MS);
    assert_named(record, 0, "children of p50", "u50.service", 64 * MS, 1);
    assert_named(record, 1, "children of p1", "", 50 * MS, 1);
    assert_named(record, 2, "p60", "u50.service", 30 * MS, 1);
    g_assert_true(record->sources & EVIDENCE_FROM_CHILDREN);
}

/* The parent's two figures are in ticks: less than two of them is nothing. */
static void test_rounding_is_nobodys(void)
{
    g_autofree Case *c = case_new(0, 50 * MS);

    c->after.tick_ns = 10 * MS;
    add_ended(c, 60, 50, TRUE, 30 * MS);
    g_assert_cmpint(difference(c)->foreign.ended_ns, ==, 30 * MS);
    g_assert_false(c->record.sources & EVIDENCE_FROM_CHILDREN);
}

static void test_what_the_subject_reaped(void)
{
    g_autofree Case *c = case_new(0, 0);

    c->is[1].children_ns = 80 * MS;
    add_ended(c, 60, 40, TRUE, 30 * MS);
    g_assert_cmpint(difference(c)->subject.cpu_ns, ==, (200 + 80) * MS);
    g_assert_cmpint(c->record.foreign.eligible_ns, ==, 0);
}

static void test_the_readers_own_time(void)
{
    g_autofree Case *c = case_new(0, 0);
    const struct evidence_record *record;

    c->request.observers[c->request.n_observers++] = 50;
    c->before.self = c->after.self = 50;
    c->before.self_ns = 10 * MS;
    c->before.reader_ns = 11 * MS;
    c->after.self_ns = 14 * MS;
    c->after.reader_ns = 21 * MS;
    add_process(&c->after, 60, 1, 900 * MS, 0);
    record = difference(c);
    g_assert_cmpint(record->observer.cpu_ns, ==, 10 * MS);
    g_assert_cmpint(record->reader.cpu_ns, ==, 10 * MS);
    /* 4 ms of it were between the two moments; the subject has 200 ms. */
    g_assert_cmpint(record->foreign.cpu_ns, ==, (1000 - 200 - 4) * MS);
}

static void test_lists_of_cpus(void)
{
    static const char *const wrong[] = {",", "0,", "1-0", "-1", "0-", "4096", "0-4096", "a", "0 1"};
    struct evidence_cpus cpus = {{0}};

    g_assert_true(evidence_cpus_parse("0-1,9,4095", &cpus));
    g_assert_true(evidence_cpus_have(&cpus, 1) && evidence_cpus_have(&cpus, 9));
    g_assert_true(evidence_cpus_have(&cpus, 4095) && !evidence_cpus_have(&cpus, 2));
    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++)
        g_assert_false(evidence_cpus_parse(wrong[i], &cpus));
    g_assert_true(evidence_cpus_have(&cpus, 9));
    g_assert_true(evidence_cpus_parse("", &cpus) && evidence_cpus_empty(&cpus));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/evidence/ended/tasks-become-processes", test_tasks_become_processes);
    g_test_add_func("/evidence/ended/before", test_what_it_had_run_before_is_not_counted);
    g_test_add_func("/evidence/ended/subject", test_the_subjects_are_its_own);
    g_test_add_func("/evidence/ended/cycle", test_a_cycle_ends);
    g_test_add_func("/evidence/ended/elsewhere", test_not_on_the_subjects_cpus);
    g_test_add_func("/evidence/ended/lacking", test_reports_lack_something);
    g_test_add_func("/evidence/ended/rounding", test_rounding_is_nobodys);
    g_test_add_func("/evidence/ended/reaped", test_what_the_subject_reaped);
    g_test_add_func("/evidence/reader", test_the_readers_own_time);
    g_test_add_func("/evidence/cpus", test_lists_of_cpus);
    return g_test_run();
}
