/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judge: what rejects, what flags, and what is said. */
#include <glib.h>
#include <string.h>

#include "model/evidence.h"
#include "util/clock.h"

#define S CLOCK_NS_PER_S
#define MS CLOCK_NS_PER_MS

/* 38 s of CPUs 2-3, and nothing else known. */
static EvidenceRecord *record_new(void)
{
    EvidenceRecord *record = evidence_record_new();

    record->cpus = g_strdup("2-3");
    record->n_cpus = 2;
    record->span_ns = 38 * S;
    record->foreign_cpu_ns = 0;
    return record;
}

static void add_culprit(EvidenceRecord *record, const char *name, const char *unit, gint64 pid,
                        gint64 cpu_ns, gboolean ended)
{
    EvidenceCulprit *culprit = g_new0(EvidenceCulprit, 1);

    *culprit = (EvidenceCulprit){.name = g_strdup(name),
                                 .unit = g_strdup(unit),
                                 .pid = pid,
                                 .cpu_ns = cpu_ns,
                                 .ended = ended};
    g_ptr_array_add(record->named, culprit);
}

static void judge(const EvidenceRecord *record, EvidenceVerdict *ret_verdict)
{
    EvidenceLimits limits;

    evidence_limits_init(&limits);
    evidence_judge(&limits, record, ret_verdict);
}

static void test_absent(void)
{
    g_autoptr(EvidenceRecord) record = evidence_record_new();

    for (guint i = 0; i < evidence_numbers_length; i++)
        g_assert_cmpint(evidence_number_get(record, &evidence_numbers[i]), ==, EVIDENCE_ABSENT);
    for (guint i = 0; i < evidence_numbers_length; i++)
        evidence_number_set(record, &evidence_numbers[i], i);
    for (guint i = 0; i < evidence_numbers_length; i++)
        g_assert_cmpint(evidence_number_get(record, &evidence_numbers[i]), ==, i);
    g_assert_cmpint(record->span_ns, ==, 0);
}

/* Foreign CPU time against 2 % of the subject's CPUs' time, and a floor of 10 ms. */
static void test_foreign(void)
{
    static const struct {
        gint64 span_ns;
        guint cpus;
        gint64 foreign_ns;
        gboolean contaminated;
    } cases[] = {
        {10 * S, 1, 0, FALSE},
        {10 * S, 1, 200 * MS, FALSE},    /* the limit itself is allowed */
        {10 * S, 1, 200 * MS + 1, TRUE}, /* and no more */
        {10 * S, 1, 500 * MS, TRUE},     /* a hog of 5 % */
        {10 * S, 2, 400 * MS, FALSE},    /* shares are of all CPUs together */
        {10 * S, 2, 500 * MS, TRUE},
        {10 * S, 4, 500 * MS, FALSE},
        {100 * MS, 1, 10 * MS, FALSE}, /* 10 %, but not above the floor */
        {100 * MS, 1, 11 * MS, TRUE},
        {500 * MS, 1, 10 * MS, FALSE},
        {1, 1, G_MAXINT64, TRUE},
        {3600 * S, 64, 4600 * S, FALSE},
        {3600 * S, 64, 4609 * S, TRUE},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(EvidenceRecord) record = record_new();
        g_auto(EvidenceVerdict) verdict = {0};

        record->span_ns = cases[i].span_ns;
        record->n_cpus = cases[i].cpus;
        record->foreign_cpu_ns = cases[i].foreign_ns;
        judge(record, &verdict);
        g_test_message("case %u", i);
        g_assert_cmpint(verdict.contaminated, ==, cases[i].contaminated);
        g_assert_cmpint(verdict.reason != NULL, ==, cases[i].contaminated);
        g_assert_null(verdict.flags);
    }
}

static void assert_reason(const EvidenceRecord *record, const char *expected)
{
    g_auto(EvidenceVerdict) verdict = {0};

    judge(record, &verdict);
    g_assert_cmpstr(verdict.reason, ==, expected);
}

static void test_reason(void)
{
    g_autoptr(EvidenceRecord) record = record_new();

    record->foreign_cpu_ns = 4100 * MS;
    assert_reason(record, "something without a name took 4.1 CPU-seconds of CPUs 2-3 in 38.0 s "
                          "(5.4 %); 2.0 % is allowed");
    add_culprit(record, "apt", "apt-daily.service", 412, 4100 * MS, TRUE);
    assert_reason(record, "apt-daily.service took 4.1 CPU-seconds of CPUs 2-3 in 38.0 s (5.4 %); "
                          "2.0 % is allowed");
    record->foreign_cpu_ns = 4800 * MS;
    add_culprit(record, "stress-ng", "session-3.scope", 77, 500 * MS, FALSE);
    add_culprit(record, "cc1", NULL, 78, 123 * MS, TRUE);
    add_culprit(record, "ended processes", NULL, EVIDENCE_ABSENT, 50 * MS, TRUE);
    assert_reason(record, "apt-daily.service took 4.1 CPU-seconds of CPUs 2-3 in 38.0 s (5.4 %), "
                          "stress-ng (pid 77) 0.50, cc1 (pid 78, ended) 0.12; in all 4.8 (6.3 %, "
                          "2.0 % allowed)");
}

/* One CPU; a user's own manager is no better name than the process. */
static void test_reason_user(void)
{
    g_autoptr(EvidenceRecord) record = record_new();

    g_free(record->cpus);
    record->cpus = g_strdup("0");
    record->n_cpus = 1;
    record->span_ns = 2 * S;
    record->foreign_cpu_ns = 60 * MS;
    add_culprit(record, "firefox", "user@1000.service", 9, 60 * MS, FALSE);
    assert_reason(record, "firefox (pid 9) took 0.060 CPU-seconds of CPU 0 in 2.0 s (3.0 %); "
                          "2.0 % is allowed");
}

/* Nothing but foreign CPU time contaminates, however bad the rest is. */
static void test_signals(void)
{
    static const struct {
        const char *flag, *column;
        gint64 good, bad; /* of 38 s, 2 CPUs */
    } cases[] = {
        {"host-steal", "cpu_steal_ns", 760 * MS, 761 * MS},
        {"interrupts", "cpu_irq_ns", 3800 * MS, 3801 * MS},
        {"interrupts", "cpu_softirq_ns", 3800 * MS, 3801 * MS},
        {"run-delay", "subject_run_delay_ns", 3800 * MS, 3801 * MS},
        {"cpu-pressure", "psi_cpu_some_ns", 3800 * MS, 3801 * MS},
        {"io-pressure", "psi_io_some_ns", 3800 * MS, 3801 * MS},
        {"memory-pressure", "psi_memory_some_ns", 380 * MS, 381 * MS},
        {"observer", "observer_cpu_ns", 380 * MS, 381 * MS},
        {"throttled", "throttle", 0, 1},
        {"host-swap", "vm_pswpin", 0, 1},
        {"host-swap", "vm_pswpout", 0, 1},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (guint bad = 0; bad < 2; bad++) {
            g_autoptr(EvidenceRecord) record = record_new();
            g_auto(EvidenceVerdict) verdict = {0};

            for (guint k = 0; k < evidence_numbers_length; k++)
                if (g_str_equal(evidence_numbers[k].column, cases[i].column))
                    evidence_number_set(record, &evidence_numbers[k],
                                        bad ? cases[i].bad : cases[i].good);
            judge(record, &verdict);
            g_assert_cmpstr(verdict.flags, ==, bad ? cases[i].flag : NULL);
            g_assert_false(verdict.contaminated);
            g_assert_null(verdict.reason);
        }
    }
}

static void test_signals_more(void)
{
    g_autoptr(EvidenceRecord) record = record_new();
    g_auto(EvidenceVerdict) verdict = {0};

    record->frequency_min_khz = 2699000;
    record->frequency_max_khz = 3000000;
    record->clocksource_before = g_strdup("tsc");
    g_ptr_array_add(record->dmesg, g_strdup("clocksource: Marking clocksource 'tsc' as unstable"));
    /* What the reader's second snapshot cost came after the work. */
    record->observer_cpu_ns = 500 * MS;
    record->reader_cpu_ns = 450 * MS;
    record->reader_end_ns = 460 * MS;
    record->foreign_cpu_ns = 10 * S;
    judge(record, &verdict);
    g_assert_cmpstr(verdict.flags, ==, "frequency,host-clocksource,kernel-log");
    g_assert_true(verdict.contaminated);
    evidence_verdict_clear(&verdict);
    record->frequency_min_khz = 2700000;
    record->reader_end_ns = 100 * MS;
    judge(record, &verdict);
    g_assert_cmpstr(verdict.flags, ==, "observer,host-clocksource,kernel-log");
}

/* Reading the host costs some milliseconds, however short the invocation is. */
static void test_observer_floor(void)
{
    g_autoptr(EvidenceRecord) record = record_new();
    g_auto(EvidenceVerdict) few = {0}, more = {0};

    record->span_ns = 200 * MS;
    record->observer_cpu_ns = 10 * MS;
    judge(record, &few);
    g_assert_cmpstr(few.flags, ==, NULL);
    record->observer_cpu_ns = 11 * MS;
    judge(record, &more);
    g_assert_cmpstr(more.flags, ==, "observer");
}

static void test_no_evidence(void)
{
    g_autoptr(EvidenceRecord) record = evidence_record_new();
    g_auto(EvidenceVerdict) verdict = {0};
    EvidenceLimits limits;

    evidence_limits_init(&limits);
    evidence_judge(&limits, record, &verdict);
    g_assert_false(verdict.contaminated);
    g_assert_cmpstr(verdict.flags, ==, "no-evidence");
    evidence_verdict_clear(&verdict);
    limits.read = FALSE;
    evidence_judge(&limits, record, &verdict);
    g_assert_null(verdict.flags);
    /* A host that cannot tell foreign CPU time. */
    record->span_ns = S;
    limits.read = TRUE;
    evidence_judge(&limits, record, &verdict);
    g_assert_false(verdict.contaminated);
    g_assert_cmpstr(verdict.flags, ==, "no-evidence");
}

static void test_flag_only(void)
{
    g_autoptr(EvidenceRecord) record = record_new();
    g_auto(EvidenceVerdict) verdict = {0};
    EvidenceLimits limits;

    evidence_limits_init(&limits);
    limits.foreign = EVIDENCE_FLAG;
    record->foreign_cpu_ns = 10 * S;
    evidence_judge(&limits, record, &verdict);
    g_assert_false(verdict.contaminated);
    g_assert_nonnull(verdict.reason);
    g_assert_cmpstr(verdict.flags, ==, "foreign-cpu");
    evidence_verdict_clear(&verdict);
    limits.foreign = EVIDENCE_REJECT;
    limits.cpu = 0.5;
    evidence_judge(&limits, record, &verdict);
    g_assert_false(verdict.contaminated);
    g_assert_null(verdict.flags);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/evidence/absent", test_absent);
    g_test_add_func("/evidence/foreign", test_foreign);
    g_test_add_func("/evidence/reason", test_reason);
    g_test_add_func("/evidence/reason-user", test_reason_user);
    g_test_add_func("/evidence/signals", test_signals);
    g_test_add_func("/evidence/signals-more", test_signals_more);
    g_test_add_func("/evidence/observer-floor", test_observer_floor);
    g_test_add_func("/evidence/no-evidence", test_no_evidence);
    g_test_add_func("/evidence/flag-only", test_flag_only);
    return g_test_run();
}
