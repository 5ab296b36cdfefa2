/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/flight.h"

#include "run/attempt.h"
#include "run/hook.h"
#include "run/invoke.h"
#include "run/recover.h"
#include "store/steer.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fault.h"
#include "util/log.h"

/* One run in flight, and what came of it. */
typedef struct {
    Engine *engine;
    const StoreRun *run;
    CampaignTotals *totals;
    gint64 eta_ns;
    Attempt *attempt;
    GateSpec gate;
    Cancel *pause; /* child of the engine's stop: a pause ends the wait at the gate, not the run */
    char *name, *owner, *host_key;
    InvokeTotals invocations;
    const char *verdict; /* static */
    char *reason;
    GBytes *console;
} Flight;

/* Good-bye, shutdown and the undoing of every step, each with its own deadline below this. */
static const gint64 down_limit_ns = 300 * CLOCK_NS_PER_S;

static void flight_clear(Flight *flight)
{
    g_clear_pointer(&flight->attempt, attempt_free);
    flight->engine->pause = NULL;
    g_clear_pointer(&flight->pause, cancel_free);
    g_clear_pointer(&flight->name, g_free);
    g_clear_pointer(&flight->owner, g_free);
    g_clear_pointer(&flight->host_key, g_free);
    g_clear_pointer(&flight->reason, g_free);
    g_clear_pointer(&flight->console, g_bytes_unref);
    invoke_totals_clear(&flight->invocations);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Flight, flight_clear)

/* The intent is written before the step acts; then people may see it. */
static gboolean enter_step(void *data, const char *step, gint64 limit_ns, GError **error)
{
    const Flight *flight = data;
    const CampaignOptions *options = flight->engine->options;
    const CampaignWatch *watch = options->watch;

    log_set_subject(LOG_STEP, step);
    if (options->alive != NULL)
        options->alive(options->alive_data, limit_ns);
    if (!store_step_enter(flight->engine->store, flight->run->id, step, clock_wall_ns(), error))
        return FALSE;
    if (watch != NULL && watch->step != NULL)
        watch->step(watch->data, flight->run, step, flight->totals, flight->eta_ns);
    return TRUE;
}

/* ---- the gate ---- */

static gboolean tell_gate(void *data, gboolean waits, const char *what, GError **error)
{
    const Flight *flight = data;
    const CampaignWatch *watch = flight->engine->options->watch;

    if (!waits)
        g_message("%s", what);
    else if (watch != NULL && watch->waiting != NULL)
        watch->waiting(watch->data, flight->run, what, flight->totals);
    return store_event_add(flight->engine->store, flight->engine->campaign.id, flight->run->id,
                           waits ? "info" : "warning", "gate", what, error);
}

static void prepare_gate(Flight *flight)
{
    Engine *engine = flight->engine;

    engine->pause = flight->pause = cancel_new_child(engine->stop);
    flight->gate = (GateSpec){.limits = &engine->plan->idle,
                              .inventory = engine->inventory,
                              .has_start = engine->has_temperature,
                              .start_mc = engine->temperature_mc,
                              .pause = flight->pause,
                              .tell = tell_gate,
                              .tell_data = flight};
    if (engine->latest_ns > 0)
        flight->gate.until_ns = clock_mono_ns() + MAX(1, engine->latest_ns - clock_wall_ns());
}

/* It gave its turn back at the gate, since a pause or stop-by was heard: nothing was begun. */
static gboolean gave_way(const Flight *flight, const GError *error)
{
    return vm_error_is(error, VM_ERROR_CANCELLED) && !cancel_is_set(flight->engine->stop);
}

/* ---- what to boot ---- */

/* The edits of all axes' levels of this cell, in the order of the axes; transfer container. */
static GPtrArray *cell_edits(const Matrix *matrix, guint cell)
{
    GPtrArray *edits = g_ptr_array_new();

    for (guint axis = 0; axis < matrix->n_axes; axis++) {
        const PlanLevel *level = matrix_level(matrix, cell, axis);

        for (guint i = 0; level->edits != NULL && i < level->edits->len; i++)
            g_ptr_array_add(edits, g_ptr_array_index(level->edits, i));
    }
    return edits;
}

/* What all axes add to the kernel command line; transfer full, NULL for nothing. */
static char *cell_cmdline(const Matrix *matrix, guint cell)
{
    g_autoptr(GString) line = g_string_new(NULL);

    for (guint axis = 0; axis < matrix->n_axes; axis++) {
        const PlanLevel *level = matrix_level(matrix, cell, axis);

        if (level->cmdline != NULL && *level->cmdline != '\0')
            g_string_append_printf(line, "%s%s", line->len > 0 ? " " : "", level->cmdline);
    }
    return line->len > 0 ? g_strdup(line->str) : NULL;
}

/* The key to pin, by the guest's policy. FALSE: enrolled is asked for and there is none. */
static gboolean pinned_key(Store *store, const InventoryGuest *guest, char **ret_key,
                           GError **error)
{
    switch (guest->host_key) {
    case HOST_KEY_PER_BOOT:
        *ret_key = NULL;
        return TRUE;
    case HOST_KEY_LITERAL:
        *ret_key = g_strdup(guest->host_key_literal);
        return TRUE;
    case HOST_KEY_ENROLLED:
        break;
    }
    if (!store_host_key_get(store, guest->name, ret_key, error))
        return FALSE;
    if (*ret_key != NULL)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_HOST_KEY,
                "guest %s: no host key is known; run \"vmatrix guest enroll %s\" once, or write "
                "host-key: in the inventory",
                guest->name, guest->name);
    return FALSE;
}

static gboolean flight_prepare(Flight *flight, const GPtrArray *edits, const char *cmdline,
                               GError **error)
{
    Engine *engine = flight->engine;
    const Matrix *matrix = engine->matrix;
    guint cell = flight->run->cell;
    const PlanLevel *hypervisor = matrix_level_named(matrix, cell, "hypervisor");
    const PlanLevel *guest = matrix_level_named(matrix, cell, "guest");
    AttemptSpec spec = {.plan = engine->plan,
                        .edits = edits,
                        .cmdline = cmdline,
                        .vcpus = matrix_vcpus(matrix, cell),
                        .emulator = matrix_emulator(matrix, cell),
                        .memory = matrix_memory(matrix, cell),
                        .name = flight->name,
                        .owner = flight->owner,
                        .work = engine->work,
                        .agent_path = engine->agent_path,
                        .cancel = engine->stop,
                        .gate = &flight->gate};

    prepare_gate(flight);
    spec.hypervisor =
        inventory_hypervisor(engine->inventory, hypervisor != NULL ? hypervisor->name : "bare");
    if (hypervisor_driver(spec.hypervisor->driver)->has_domain)
        spec.guest = inventory_guest(engine->inventory, guest->name);
    if (spec.guest != NULL && !pinned_key(engine->store, spec.guest, &flight->host_key, error))
        return FALSE;
    spec.host_key = flight->host_key;
    spec.agent = engine_agent(engine, spec.guest, error);
    if (spec.agent == NULL)
        return FALSE;
    flight->attempt = attempt_new(&spec);
    flight->attempt->on_step = enter_step;
    flight->attempt->on_step_data = flight;
    return spec.guest == NULL ||
           engine_image_facts(engine, spec.guest, flight->attempt->hypervisor_facts, error);
}

/* ---- the work of one run ---- */

/* Which workloads of the campaign this run does, in which order; transfer full. */
static GArray *run_order(const Engine *engine, const StoreRun *run)
{
    const GPtrArray *workloads = engine->campaign.workloads;
    GArray *order = g_array_new(FALSE, FALSE, sizeof(guint));

    if (run->workload == NULL) {
        g_array_set_size(order, workloads->len);
        matrix_workload_order(engine->matrix, run->block, run->cell, workloads->len,
                              (guint *)(void *)order->data);
        return order;
    }
    for (guint i = 0; i < workloads->len; i++)
        if (g_strcmp0(g_ptr_array_index(workloads, i), run->workload) == 0)
            g_array_append_val(order, i);
    return order;
}

/* All invocations of a run together, each at its limit. */
static gint64 measure_limit_ns(const Engine *engine, guint workloads)
{
    return engine->plan->limits.invocation_ns * workloads * engine->plan->repeat.invocations;
}

static gboolean flight_work(Flight *flight, GError **error)
{
    Engine *engine = flight->engine;
    g_autoptr(GArray) order = run_order(engine, flight->run);

    if (!attempt_start(flight->attempt, ATTEMPT_AT_AGENT, error))
        return FALSE;
    if (!enter_step(flight, "measure", measure_limit_ns(engine, order->len), error) ||
        !invoke_all(flight->attempt, engine->store, flight->run->id, engine->campaign.workloads,
                    (const guint *)(const void *)order->data, order->len, &flight->invocations,
                    error))
        return FALSE;
    return enter_step(flight, "shutdown", down_limit_ns, error) &&
           attempt_end(flight->attempt, &flight->console, error);
}

/* A run that came to its end. */
static void flight_judge_whole(Flight *flight)
{
    const InvokeTotals *invocations = &flight->invocations;

    flight->verdict = invocations->contaminated > 0 ? "contaminated" : "clean";
    if (invocations->failed > 0)
        attempt_flag(flight->attempt, "partial");
    if (invocations->contaminated > 1)
        flight->reason =
            g_strdup_printf("%s; and %u more of its %u invocations", invocations->culprit,
                            invocations->contaminated - 1, invocations->done);
    else if (invocations->contaminated > 0)
        flight->reason = g_strdup(invocations->culprit);
    else if (invocations->failed > 0)
        flight->reason =
            g_strdup_printf("%u of %u invocations failed; %s", invocations->failed,
                            invocations->failed + invocations->done, invocations->reason);
}

/* The verdict, from what happened outside: never from a value. */
static void flight_judge(Flight *flight, const GError *error)
{
    const InvokeTotals *invocations = &flight->invocations;

    if (vm_error_is(error, VM_ERROR_CANCELLED) || vm_error_is(error, VM_ERROR_HALT)) {
        flight->verdict = "interrupted";
        flight->reason = g_strdup(error->message);
    } else if (error != NULL) {
        flight->verdict = "failed";
        flight->reason = g_strdup(error->message);
    } else if (invocations->failed > 0 && invocations->done == 0) {
        flight->verdict = "failed";
        flight->reason = g_strdup_printf("every invocation failed; %s", invocations->reason);
    } else {
        flight_judge_whole(flight);
    }
}

/* ---- storing what came of it ---- */

static gboolean store_facts_of(Flight *flight, GError **error)
{
    const Attempt *attempt = flight->attempt;
    const Engine *engine = flight->engine;
    gint64 run = flight->run->id;

    return store_facts_add(engine->store, run, "host", engine->host_facts, error) &&
           store_facts_add(engine->store, run, "hypervisor", attempt->hypervisor_facts, error) &&
           (attempt->guest_facts == NULL ||
            store_facts_add(engine->store, run, "guest", attempt->guest_facts, error));
}

static gboolean store_phases(const Flight *flight, GError **error)
{
    const Attempt *attempt = flight->attempt;

    for (guint i = 0; attempt != NULL && i < attempt->phases->len; i++) {
        const AttemptPhase *phase = &g_array_index(attempt->phases, AttemptPhase, i);

        if (!store_phase_add(flight->engine->store, flight->run->id, i, phase->name,
                             phase->start_wall_ns, phase->duration_ns, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean is_contaminated(const Flight *flight)
{
    return g_str_equal(flight->verdict, "contaminated");
}

/* An interruption is no try; a contaminated one is done again while attempts are left. */
static gboolean flight_again(const Flight *flight)
{
    return g_str_equal(flight->verdict, "interrupted") ||
           (is_contaminated(flight) &&
            flight->run->attempt < flight->engine->plan->limits.attempts);
}

static gboolean store_all(Flight *flight, GError **error)
{
    Store *store = flight->engine->store;
    const Attempt *attempt = flight->attempt;
    gint64 run = flight->run->id;
    const char *flags = attempt != NULL && attempt->flags->len > 0 ? attempt->flags->str : NULL;

    if (!store_phases(flight, error) || (attempt != NULL && !store_facts_of(flight, error)))
        return FALSE;
    if (flight->console != NULL && !store_raw_add(store, run, 0, "console", flight->console, error))
        return FALSE;
    if (flight->reason != NULL &&
        !store_event_add(store, flight->engine->campaign.id, run,
                         g_str_equal(flight->verdict, "failed") ? "error" : "warning", "verdict",
                         flight->reason, error))
        return FALSE;
    if (!store_run_finish(store, run, flight->verdict, flight->reason, flags, error))
        return FALSE;
    /* In the same transaction: a kill between the two would lose the rerun. */
    return !flight_again(flight) || store_run_requeue(store, run, error);
}

static gboolean flight_store(Flight *flight, GError **error)
{
    Store *store = flight->engine->store;

    return store_begin(store, error) && store_end(store, store_all(flight, error), error);
}

static void count_flight(const Flight *flight)
{
    CampaignTotals *totals = flight->totals;

    totals->done++;
    totals->failed += g_str_equal(flight->verdict, "failed");
    totals->interrupted += g_str_equal(flight->verdict, "interrupted");
    totals->contaminated += is_contaminated(flight);
    totals->spoiled += is_contaminated(flight) && !flight_again(flight);
    totals->total += is_contaminated(flight) && flight_again(flight);
    totals->partial += g_str_equal(flight->verdict, "clean") && flight->invocations.failed > 0;
}

static void tell_hooks(const Flight *flight)
{
    const Engine *engine = flight->engine;
    HookFacts facts = {.event = HOOK_RUN_FAILED,
                       .campaign = &engine->campaign,
                       .run = flight->run->id,
                       .cell_key = flight->run->cell_key,
                       .reason = flight->reason,
                       .done = flight->totals->done,
                       .failed = flight->totals->failed,
                       .total = flight->totals->total};

    if (g_str_equal(flight->verdict, "failed"))
        hook_run_all(engine->options->hooks, &facts, HOOK_LIMIT_NS, engine->stop);
}

/* What the journal's lines from here on are about; NULL: no run. */
static void log_flight(const StoreRun *run)
{
    g_autofree char *id = run != NULL ? g_strdup_printf("%" G_GINT64_FORMAT, run->id) : NULL;

    log_set_subject(LOG_RUN, id);
    log_set_subject(LOG_CELL, run != NULL ? run->cell_key : NULL);
    log_set_subject(LOG_STEP, NULL);
}

static gboolean flight_whole(Engine *engine, const StoreRun *run, CampaignTotals *totals,
                             gint64 eta_ns, gint64 *ret_duration_ns, GError **error)
{
    g_auto(Flight) flight = {.engine = engine, .run = run, .totals = totals, .eta_ns = eta_ns};
    const CampaignWatch *watch = engine->options->watch;
    g_autoptr(GPtrArray) edits = cell_edits(engine->matrix, run->cell);
    g_autofree char *cmdline = cell_cmdline(engine->matrix, run->cell);
    g_autoptr(GError) local = NULL;
    gint64 since = clock_mono_ns();

    /* Run ids are unique in one database only; the hypervisor may serve several. */
    flight.name = g_strdup_printf("vmatrix-%.8s-%" G_GINT64_FORMAT, engine->campaign.uuid, run->id);
    flight.owner = recover_owner(engine->campaign.uuid, run->id);
    if (!flight_prepare(&flight, edits, cmdline, &local) || !flight_work(&flight, &local)) {
        /* Whatever is still up comes down before the verdict is written. */
        if (flight.attempt != NULL)
            attempt_end_broken(flight.attempt, &flight.console);
    }
    flight_judge(&flight, local);
    fault_point("finish", "before");
    if (!flight_store(&flight, error))
        return FALSE;
    fault_point("finish", "after");
    if (!gave_way(&flight, local))
        count_flight(&flight);
    *ret_duration_ns = clock_mono_ns() - since;
    if (watch != NULL && watch->finished != NULL)
        watch->finished(watch->data, run, flight.verdict, flight.reason, *ret_duration_ns, totals);
    tell_hooks(&flight);
    if (!vm_error_is(local, VM_ERROR_HALT))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&local));
    return FALSE;
}

gboolean flight_run(Engine *engine, const StoreRun *run, CampaignTotals *totals, gint64 eta_ns,
                    gint64 *ret_duration_ns, GError **error)
{
    gboolean ok;

    log_flight(run);
    ok = flight_whole(engine, run, totals, eta_ns, ret_duration_ns, error);
    log_flight(NULL);
    return ok;
}
