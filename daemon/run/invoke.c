/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/invoke.h"

#include "host/idle.h"
#include "model/workload.h"
#include "run/caches.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fault.h"
#include "util/log.h"

enum { PINGS = 5 };

/* Warm-up floors: emulation translates code first, and its translation cache must be hot; a native
 * CPU must have left its idle states and ramped its clock. */
static const gint64 warmup_tcg_ns = 100 * CLOCK_NS_PER_MS;
static const gint64 warmup_native_ns = 20 * CLOCK_NS_PER_MS;

typedef struct {
    Attempt *attempt;
    Store *store;
    StoreInvocation record;
    Workload workload; /* what the record's label says */
    AgentRequest request;
    ClockProbe before[PINGS], after[PINGS];
    AgentMarks marks;
    EvidenceRecord *evidence; /* NULL: it never came to its end, or nothing is known */
    EvidenceVerdict verdict;
    GString *flags; /* comma-separated */
    gint64 started_mono_ns;
} Invocation;

static void invocation_clear(Invocation *invocation)
{
    workload_clear(&invocation->workload);
    evidence_record_free(invocation->evidence);
    evidence_verdict_clear(&invocation->verdict);
    g_string_free(invocation->flags, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Invocation, invocation_clear)

void invoke_totals_clear(InvokeTotals *totals)
{
    g_clear_pointer(&totals->reason, g_free);
    g_clear_pointer(&totals->culprit, g_free);
    *totals = (InvokeTotals){0};
}

/* A plan that asks for no warm-up gets none. */
static gint64 warmup_floor_ns(const Plan *plan, gboolean tcg)
{
    if (plan->repeat.warmup == 0)
        return 0;
    return tcg ? warmup_tcg_ns : warmup_native_ns;
}

static void invocation_init(Invocation *invocation, Attempt *attempt, Store *store, gint64 run,
                            const char *workload, guint position, guint ordinal, gint64 number)
{
    const Plan *plan = attempt->spec.plan;
    gboolean tcg = attempt->spec.hypervisor->accelerator == ACCELERATOR_TCG;

    *invocation = (Invocation){.attempt = attempt, .store = store, .flags = g_string_new(NULL)};
    /* Labels were made by workload_read() and the catalogue; what is none is a bench by that name,
     * which the agent does not have. */
    if (!workload_parse(workload, &invocation->workload))
        invocation->workload = (Workload){.name = g_strdup(workload), .copies = 1, .threads = 1};
    invocation->record = (StoreInvocation){.run = run,
                                           .position = position,
                                           .ordinal = ordinal,
                                           .workload = workload,
                                           .state = "done",
                                           .started_wall_ns = clock_wall_ns()};
    invocation->request = (AgentRequest){
        .number = number,
        .bench = invocation->workload.name,
        .samples = plan->repeat.samples,
        .warmup = plan->repeat.warmup,
        .copies = invocation->workload.copies,
        .threads = invocation->workload.threads,
        .sample_ns = plan->repeat.sample_ns,
        .limit_ns = plan->limits.invocation_ns,
        .warmup_min_ns = warmup_floor_ns(plan, tcg),
        .folder = attempt->guest_folder != NULL ? attempt->guest_folder : attempt->folder};
    invocation->started_mono_ns = clock_mono_ns();
}

/* ---- one invocation ---- */

static gboolean prepare(Invocation *invocation, const Wait *wait, AgentPrepare *ret_outcome,
                        char **ret_reason, GError **error)
{
    gint64 since = clock_mono_ns();

    /* Caches last: setting up and warming up read and write what is to be cold. */
    if (!agent_link_prepare(invocation->attempt->link, wait, &invocation->request, ret_outcome,
                            ret_reason, error) ||
        (*ret_outcome == AGENT_PREPARED && !caches_set(invocation->attempt, wait, error)))
        return FALSE;
    invocation->record.prepare_ns = clock_mono_ns() - since;
    return TRUE;
}

/* The invocation has this flag, and so has its run. */
static void flag(Invocation *invocation, const char *word)
{
    g_string_append_printf(invocation->flags, "%s%s", invocation->flags->len > 0 ? "," : "", word);
    attempt_flag(invocation->attempt, word);
}

/* Each of these comma-separated ones. NULL: none. */
static void flag_all(Invocation *invocation, const char *flags)
{
    g_auto(GStrv) words = g_strsplit(flags != NULL ? flags : "", ",", -1);

    for (char **word = words; *word != NULL; word++)
        if (**word != '\0')
            flag(invocation, *word);
}

/* From go to end the daemon is silent: no log, no database, no packet but the marks. */
static gboolean measure_silently(Invocation *invocation, const Wait *wait,
                                 AgentPrepare *ret_outcome, char **ret_reason, GError **error)
{
    ObserverCost from, to;
    gboolean ok;

    fault_point("measure", "before");
    log_hold();
    observer_cost(&from);
    ok = agent_link_measure(invocation->attempt->link, wait, invocation->request.number,
                            &invocation->marks, ret_outcome, ret_reason, error);
    observer_cost(&to);
    log_release();
    fault_point("measure", "after");
    invocation->record.observer_cpu_ns = to.cpu_ns - from.cpu_ns;
    invocation->record.observer_switches = to.switches - from.switches;
    return ok;
}

/* The first reading. The time it takes is not the invocation's. */
static gboolean begin_evidence(Invocation *invocation, Wait *wait, GError **error)
{
    gint64 since = clock_mono_ns();

    if (invocation->attempt->reader == NULL)
        return TRUE;
    if (!reader_begin(invocation->attempt->reader, wait, error))
        return FALSE;
    wait->deadline_ns += clock_mono_ns() - since;
    return TRUE;
}

/* What was seen of the host meanwhile, and the verdict on it: before any value is read. */
static gboolean judge_host(Invocation *invocation, Wait *wait, GError **error)
{
    const Attempt *attempt = invocation->attempt;
    EvidenceVerdict *verdict = &invocation->verdict;
    gint64 since = clock_mono_ns();
    g_autofree char *missing = NULL;

    if (attempt->reader == NULL)
        return TRUE;
    if (!reader_end(attempt->reader, wait, &invocation->evidence, &missing, error))
        return FALSE;
    wait->deadline_ns += clock_mono_ns() - since;
    evidence_judge(&attempt->spec.plan->evidence, invocation->evidence, verdict);
    if (missing != NULL)
        verdict->reason = g_strdup_printf("no evidence of the host: %s", missing);
    flag_all(invocation, verdict->flags);
    return TRUE;
}

static gboolean measure(Invocation *invocation, Wait *wait, AgentPrepare *ret_outcome,
                        char **ret_reason, GError **error)
{
    AgentLink *link = invocation->attempt->link;

    if (!agent_link_ping(link, wait, PINGS, invocation->before, error) ||
        !begin_evidence(invocation, wait, error) ||
        !measure_silently(invocation, wait, ret_outcome, ret_reason, error) ||
        !judge_host(invocation, wait, error))
        return FALSE;
    return *ret_outcome != AGENT_PREPARED ||
           agent_link_ping(link, wait, PINGS, invocation->after, error);
}

static void judge_clocks(Invocation *invocation)
{
    TwoClock *clocks = &invocation->record.clocks;

    twoclock_judge(&invocation->marks.begin, &invocation->marks.end, invocation->before, PINGS,
                   invocation->after, PINGS, invocation->attempt->spec.plan->limits.drift_ppm,
                   clocks);
    if (clocks->flagged)
        flag(invocation, "drift");
}

static gboolean store_message(Invocation *invocation, gint64 id, const AgentMessage *message,
                              GError **error)
{
    if (message->type == AGENT_RAW)
        return store_raw_add(invocation->store, invocation->record.run, id, message->stream,
                             message->raw, error);
    return store_samples_add(invocation->store, id, &message->metric,
                             (const double *)(void *)message->values->data, message->values->len,
                             message->iterations, error);
}

/* What the guest says of itself beside its samples: flags, and its kernel's counters. */
static void take_guest(Invocation *invocation, AgentMessage *done)
{
    flag_all(invocation, done->flags);
    if (done->evidence == NULL)
        return;
    if (invocation->evidence == NULL)
        invocation->evidence = evidence_record_new();
    evidence_record_take_guest(invocation->evidence, done->evidence);
}

static gboolean collect_into(Invocation *invocation, const Wait *wait, gint64 id, GError **error)
{
    AgentLink *link = invocation->attempt->link;
    gint64 number = invocation->request.number;

    if (!agent_link_collect(link, wait, number, error))
        return FALSE;
    for (;;) {
        g_auto(AgentMessage) message = {0};

        if (!agent_link_next(link, wait, number, &message, error))
            return FALSE;
        if (message.type == AGENT_DONE) {
            take_guest(invocation, &message);
            return TRUE;
        }
        /* The guest names the metric; which workload it belongs to is ours to say. */
        g_free(message.metric.workload);
        message.metric.workload = g_strdup(invocation->record.workload);
        if (!store_message(invocation, id, &message, error))
            return FALSE;
    }
}

/* The row of the invocation is there already, from before the guest told its flags. */
static gboolean store_evidence(Invocation *invocation, gint64 id, GError **error)
{
    const char *flags = invocation->flags->str;

    return (*flags == '\0' || store_invocation_flags(invocation->store, id, flags, error)) &&
           (invocation->evidence == NULL ||
            store_evidence_add(invocation->store, id, invocation->evidence, &invocation->verdict,
                               error));
}

/* Store a row without samples: failed or unsupported, with the reason. */
static gboolean store_reason(Invocation *invocation, const char *state, const char *reason,
                             GError **error)
{
    gint64 id;

    invocation->record.state = state;
    invocation->record.reason = reason;
    if (!store_invocation_begin(invocation->store, &invocation->record, &id, error))
        return FALSE;
    if (!store_evidence(invocation, id, error)) {
        store_invocation_abort(invocation->store);
        return FALSE;
    }
    return store_invocation_commit(invocation->store, error);
}

static gboolean store_measured(Invocation *invocation, const Wait *wait, GError **error)
{
    gint64 id;

    if (!store_invocation_begin(invocation->store, &invocation->record, &id, error))
        return FALSE;
    fault_point("collect", "before");
    if (!collect_into(invocation, wait, id, error) || !store_evidence(invocation, id, error)) {
        store_invocation_abort(invocation->store);
        return FALSE;
    }
    fault_point("collect", "after");
    if (!store_invocation_commit(invocation->store, error))
        return FALSE;
    fault_point("commit", "after");
    return TRUE;
}

/* Prepare, measure, collect; *ret_outcome other than AGENT_PREPARED: the agent said no, and why. */
static gboolean invocation_work(Invocation *invocation, AgentPrepare *ret_outcome,
                                char **ret_reason, GError **error)
{
    Wait wait = attempt_wait(invocation->attempt, invocation->record.workload,
                             invocation->request.limit_ns);

    fault_point("prepare", "before");
    if (!prepare(invocation, &wait, ret_outcome, ret_reason, error))
        return FALSE;
    fault_point("prepare", "after");
    if (*ret_outcome != AGENT_PREPARED)
        return TRUE;
    if (!measure(invocation, &wait, ret_outcome, ret_reason, error))
        return FALSE;
    if (*ret_outcome != AGENT_PREPARED)
        return TRUE;
    judge_clocks(invocation);
    return store_measured(invocation, &wait, error);
}

static void note_reason(InvokeTotals *totals, const char *workload, const char *reason)
{
    if (totals->reason == NULL)
        totals->reason = g_strdup_printf("%s: %s", workload, reason);
}

static void note_verdict(InvokeTotals *totals, const Invocation *invocation)
{
    if (!invocation->verdict.contaminated)
        return;
    totals->contaminated++;
    if (totals->culprit == NULL)
        totals->culprit =
            g_strdup_printf("%s: %s", invocation->record.workload, invocation->verdict.reason);
}

static gboolean invoke_one(Invocation *invocation, InvokeTotals *totals, GError **error)
{
    AgentPrepare outcome = AGENT_PREPARED;
    g_autofree char *reason = NULL;

    if (!invocation_work(invocation, &outcome, &reason, error)) {
        g_prefix_error(error, "workload %s: ", invocation->record.workload);
        attempt_explain(invocation->attempt, error);
        totals->failed++;
        note_reason(totals, invocation->record.workload, (*error)->message);
        /* The first error is the one to tell, should the store fail too. */
        store_reason(invocation, "failed", (*error)->message, NULL);
        return FALSE;
    }
    switch (outcome) {
    case AGENT_PREPARED:
        totals->done++;
        note_verdict(totals, invocation);
        return TRUE;
    case AGENT_NOT_SUPPORTED:
        totals->unsupported++;
        return store_reason(invocation, "unsupported", reason, error);
    case AGENT_REFUSED:
        break;
    }
    totals->failed++;
    note_reason(totals, invocation->record.workload, reason);
    return store_reason(invocation, "failed", reason, error);
}

/* The guest has fewer CPUs online than it was given: what it measures is another cell's. */
static void check_cpus(Attempt *attempt)
{
    const char *online = attempt->guest_facts == NULL
                             ? NULL
                             : g_hash_table_lookup(attempt->guest_facts, "agent.cpus");

    if (online != NULL && g_ascii_strtoull(online, NULL, 10) < attempt->spec.vcpus)
        attempt_flag(attempt, "cpus-missing");
}

gboolean invoke_all(Attempt *attempt, Store *store, gint64 run, const GPtrArray *workloads,
                    const guint *order, guint n_order, InvokeTotals *ret_totals, GError **error)
{
    guint invocations = attempt->spec.plan->repeat.invocations;
    gint64 number = 0;

    check_cpus(attempt);
    for (guint i = 0; i < n_order; i++) {
        for (guint ordinal = 1; ordinal <= invocations; ordinal++) {
            g_auto(Invocation) invocation;

            invocation_init(&invocation, attempt, store, run,
                            g_ptr_array_index(workloads, order[i]), i, ordinal, ++number);
            if (!invoke_one(&invocation, ret_totals, error))
                return FALSE;
        }
    }
    return TRUE;
}
