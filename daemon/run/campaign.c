/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/campaign.h"

#include "host/cache.h"
#include "host/probe.h"
#include "run/engine.h"
#include "run/eta.h"
#include "run/flight.h"
#include "run/hook.h"
#include "run/lock.h"
#include "run/recover.h"
#include "run/stopby.h"
#include "run/tuning.h"
#include "store/steer.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fault.h"
#include "util/log.h"
#include "util/text.h"

enum { SPACE_MIN_MIB = 64 };

static const gint64 tune_limit_ns = 600 * CLOCK_NS_PER_S;

/* The base of each guest is read once before the first block: the first run must not be the one
 * that finds the host's page cache cold. Reading for the digest does that, but a known digest is
 * not read. */
static void warm_bases(Engine *engine)
{
    int axis = plan_axis_index(engine->plan, "guest");
    const PlanAxis *guests = axis >= 0 ? g_ptr_array_index(engine->plan->axes, axis) : NULL;

    if (engine->plan->cache.host == CACHE_COLD)
        return;
    for (guint i = 0; guests != NULL && i < guests->levels->len; i++) {
        const PlanLevel *level = g_ptr_array_index(guests->levels, i);
        const InventoryGuest *guest = inventory_guest(engine->inventory, level->name);
        const char *const paths[] = {guest->disk, guest->kernel, guest->initrd};

        /* One that cannot be read is for the cells that boot it to report. */
        for (guint j = 0; j < G_N_ELEMENTS(paths); j++)
            if (paths[j] != NULL) {
                engine_tell_reading(engine, paths[j]);
                host_cache_warm(paths[j], NULL);
            }
    }
}

/* What is queued, a cell; and what was skipped before the start. */
static gboolean count_runs(Engine *engine, Eta *eta, CampaignTotals *totals, GError **error)
{
    g_autoptr(StoreQuery) query = store_query_new(
        engine->store,
        "SELECT cell.number, sum(run.state = 'queued'), sum(run.state = 'skipped') FROM run "
        "JOIN cell ON cell.id = run.cell_id WHERE run.campaign_id = :c GROUP BY cell.number",
        error);
    StoreStep step = STORE_ROW;

    if (query == NULL || !store_query_bind_int(query, ":c", engine->campaign.id))
        return FALSE;
    while (store_query_step(query, &step, error) && step == STORE_ROW) {
        gint64 queued = store_query_int(query, 1);

        eta_expect(eta, (guint)store_query_int(query, 0), (guint)queued);
        totals->total += queued;
        totals->skipped += store_query_int(query, 2);
    }
    return step == STORE_END;
}

/* A night that fills the disk loses what it measured last: stop before that. */
static gboolean enough_space(Engine *engine, GError **error)
{
    const char *const paths[] = {store_path(engine->store), engine->work};

    for (guint i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autofree char *size = NULL;
        guint64 bytes;

        if (!host_free_space(paths[i], &bytes, error))
            return FALSE;
        if (bytes >= (guint64)SPACE_MIN_MIB << 20)
            continue;
        size = text_format_size(bytes);
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                    "%s: only %s free on that file system, %d MiB are needed to start a run; make "
                    "room, then start again: nothing is lost",
                    paths[i], size, SPACE_MIN_MIB);
        return FALSE;
    }
    return TRUE;
}

/* What ends the loop before the next claim, if anything; outside a run, so every end is clean. */
static gboolean judge_queue(Engine *engine, StopBy *stopby, CampaignTotals *totals,
                            gboolean *ret_go, GError **error)
{
    StoreSteer steer = STORE_STEER_GO;
    StopByResult result = STOPBY_GO;
    guint dropped = 0;

    *ret_go = FALSE;
    if (!store_campaign_steer(engine->store, engine->campaign.id, &steer, error))
        return FALSE;
    if (steer == STORE_STEER_CANCEL)
        totals->outcome = CAMPAIGN_CANCELLED;
    else if (cancel_is_set(engine->options->cancel))
        totals->outcome = CAMPAIGN_STOPPED;
    else if (steer == STORE_STEER_PAUSE)
        totals->outcome = CAMPAIGN_PAUSED;
    else if (!stopby_judge(stopby, engine, &result, &dropped, error) ||
             !enough_space(engine, error))
        return FALSE;
    else
        *ret_go = TRUE;
    totals->dropped += dropped;
    return TRUE;
}

static gboolean run_queue(Engine *engine, StopBy *stopby, Eta *eta, CampaignTotals *totals,
                          GError **error)
{
    const char *boot_id = g_hash_table_lookup(engine->host_facts, "host.boot-id");
    gboolean go;

    while (judge_queue(engine, stopby, totals, &go, error)) {
        g_auto(StoreRun) run = {0};
        StoreClaim claim;
        gint64 duration = 0, total = totals->total;

        if (!go)
            return TRUE;
        engine->latest_ns = stopby->latest_ns;
        fault_point("claim", "before");
        if (!store_run_claim(engine->store, engine->campaign.id, boot_id, &run, &claim, error))
            return FALSE;
        if (claim == STORE_EMPTY)
            return TRUE;
        fault_point("claim", "after");
        if (!flight_run(engine, &run, totals, eta_left_ns(eta), &duration, error))
            return FALSE;
        eta_note(eta, run.cell, duration);
        /* A contaminated run is done again. */
        eta_expect(eta, run.cell, (guint)(totals->total - total));
    }
    return FALSE;
}

static const char *state_after(const CampaignOptions *options, CampaignOutcome outcome)
{
    switch (outcome) {
    case CAMPAIGN_DONE:
        return "done";
    case CAMPAIGN_CANCELLED:
        return "cancelled";
    case CAMPAIGN_STOPPED:
        return options->resumable ? "queued" : "cancelled";
    case CAMPAIGN_PAUSED:
        break;
    }
    return "queued";
}

static void tell_hooks(const Engine *engine, const CampaignTotals *totals)
{
    HookFacts facts = {.campaign = &engine->campaign,
                       .done = totals->done,
                       .failed = totals->failed,
                       .total = totals->total};

    if (totals->outcome == CAMPAIGN_STOPPED)
        return;
    facts.event = totals->outcome == CAMPAIGN_PAUSED ? HOOK_PAUSED : HOOK_CAMPAIGN_FINISHED;
    hook_run_all(engine->options->hooks, &facts, HOOK_LIMIT_NS, engine->options->cancel);
}

/* The campaigns that have a run in flight: row ids. Under the host lock nobody alive has one. */
static GArray *campaigns_in_flight(Store *store, GError **error)
{
    g_autoptr(StoreQuery) query = store_query_new(
        store, "SELECT DISTINCT campaign_id FROM run WHERE state = 'running' ORDER BY 1", error);
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    StoreStep step = STORE_ROW;

    if (query == NULL)
        return NULL;
    while (store_query_step(query, &step, error) && step == STORE_ROW) {
        gint64 id = store_query_int(query, 0);

        g_array_append_val(ids, id);
    }
    return step == STORE_END ? g_steal_pointer(&ids) : NULL;
}

/* Under the lock: each of them, also those that will not be run again (cancelled meanwhile). */
static gboolean recover_in_flight(Store *store, const CampaignOptions *options, GError **error)
{
    g_autoptr(GArray) ids = campaigns_in_flight(store, error);

    for (guint i = 0; ids != NULL && i < ids->len; i++) {
        g_auto(Engine) engine = {0};

        if (!engine_init(&engine, store, g_array_index(ids, gint64, i), options, error) ||
            !recover_all(&engine, error))
            return FALSE;
    }
    return ids != NULL;
}

/* What an earlier life, or this one, has changed. Whoever died in a run had the host tuned: it is
 * given back before all else. */
static gboolean give_back(Store *store, GError **error)
{
    g_autoptr(GPtrArray) outcomes = tuning_restore(store, TUNING_OF_CAMPAIGNS, error);

    return outcomes != NULL;
}

static gboolean recover(Store *store, const CampaignOptions *options, GError **error)
{
    return give_back(store, error) && recover_in_flight(store, options, error);
}

/* As the plan wants it. The facts are those of the host as it is measured. */
static gboolean tune_host(Engine *engine, Tuning **ret_tuning, GError **error)
{
    g_autoptr(GHashTable) facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    GHashTableIter each;
    gpointer name, value;

    if (!tuning_begin(engine->store, engine->campaign.id, engine->plan, facts, ret_tuning, error))
        return FALSE;
    if (g_hash_table_size(facts) == 0)
        return TRUE;
    engine_read_host(engine);
    g_hash_table_iter_init(&each, facts);
    while (g_hash_table_iter_next(&each, &name, &value)) {
        g_hash_table_iter_steal(&each);
        g_hash_table_replace(engine->host_facts, name, value);
    }
    return TRUE;
}

static gboolean run_tuned(Engine *engine, CampaignTotals *totals, GError **error)
{
    g_auto(Eta) eta = {0};
    StopBy stopby;

    if (!engine_note_temperature(engine, "", error))
        return FALSE;
    warm_bases(engine);
    eta_init(&eta, engine->matrix->n_cells);
    return count_runs(engine, &eta, totals, error) && stopby_init(&stopby, engine, error) &&
           store_campaign_set_state(engine->store, engine->campaign.id, "running", error) &&
           run_queue(engine, &stopby, &eta, totals, error);
}

/* Units may take their time to stop or start: before that a sign of life that says how long. */
static void tell_tuning(const Engine *engine)
{
    const CampaignOptions *options = engine->options;

    if (options->alive != NULL && tune_wants_any(&engine->plan->tune))
        options->alive(options->alive_data, tune_limit_ns);
}

/* However it ends, the host is given back; the first error counts. */
static gboolean tune_and_run(Engine *engine, CampaignTotals *totals, GError **error)
{
    g_autoptr(Tuning) tuning = NULL;
    gboolean ok;

    tell_tuning(engine);
    ok = tune_host(engine, &tuning, error) && run_tuned(engine, totals, error);
    tell_tuning(engine);
    g_clear_pointer(&tuning, tuning_free);
    return give_back(engine->store, ok ? error : NULL) && ok;
}

static gboolean run_whole(Store *store, gint64 campaign, const CampaignOptions *options,
                          CampaignTotals *ret_totals, GError **error)
{
    g_auto(Engine) engine = {0};
    g_autoptr(HostLock) lock = host_lock_new(error);
    CampaignTotals totals = {0};

    if (lock == NULL || !recover(store, options, error) ||
        !engine_init(&engine, store, campaign, options, error) || !recover_all(&engine, error) ||
        !tune_and_run(&engine, &totals, error))
        return FALSE;
    fault_point("campaign-end", "before");
    if (!store_campaign_set_state(store, campaign, state_after(options, totals.outcome), error))
        return FALSE;
    fault_point("campaign-end", "after");
    tell_hooks(&engine, &totals);
    *ret_totals = totals;
    return TRUE;
}

gboolean campaign_recover(Store *store, const CampaignOptions *options, GError **error)
{
    g_autoptr(HostLock) lock = host_lock_new(error);

    return lock != NULL && recover(store, options, error);
}

gboolean campaign_run(Store *store, gint64 campaign, const CampaignOptions *options,
                      CampaignTotals *ret_totals, GError **error)
{
    g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, campaign);
    gboolean ok;

    log_set_subject(LOG_CAMPAIGN, id);
    ok = run_whole(store, campaign, options, ret_totals, error);
    log_set_subject(LOG_CAMPAIGN, NULL);
    return ok;
}

int campaign_exit_code(const CampaignTotals *totals)
{
    if (totals->outcome == CAMPAIGN_STOPPED || totals->interrupted > 0)
        return VM_EXIT_INTERRUPTED;
    if (totals->failed > 0 || totals->skipped > 0 || totals->partial > 0)
        return VM_EXIT_CELL_FAILED;
    if (totals->spoiled > 0 || totals->dropped > 0 || totals->outcome != CAMPAIGN_DONE)
        return VM_EXIT_PARTIAL;
    return VM_EXIT_DONE;
}
