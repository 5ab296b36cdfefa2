/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix run: a whole campaign in the foreground. */
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "report/summary.h"
#include "run/campaign.h"
#include "run/submit.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/log.h"

static const OptionSpec options[] = {
    {.name = "dry-run",
     .letter = 'n',
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(Settings, dry_run),
     .help = "run nothing: the same as \"vmatrix plan\""},
    {.name = "no-estimate",
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(Settings, no_estimate),
     .help = "with --dry-run: cells and order only"},
    {.name = "work",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(Settings, work),
     .value = "FOLDER",
     .help = "for overlays (default: runs, beside the database)"},
    {0},
};

static ProgressStyle style_of(const Settings *settings)
{
    if (settings->verbosity < 0)
        return PROGRESS_SILENT;
    if (!isatty(STDERR_FILENO))
        return PROGRESS_LINES;
    return settings->verbosity > 0 ? PROGRESS_ALL : PROGRESS_REDRAW;
}

static gboolean submit(const Settings *settings, Store *store, const char *plan, Cancel *cancel,
                       gint64 *ret_campaign, GError **error)
{
    g_autofree char *inventory = settings_require_inventory(settings, error);
    SubmitRequest request = {.plan_path = plan, .inventory_path = inventory, .cancel = cancel};
    guint cells, skipped;

    if (inventory == NULL ||
        !submit_campaign(store, &request, ret_campaign, &cells, &skipped, error))
        return FALSE;
    g_message("campaign %" G_GINT64_FORMAT ": %u cell%s%s", *ret_campaign, cells,
              cells == 1 ? "" : "s", skipped > 0 ? ", some of which cannot run here" : "");
    return TRUE;
}

/* "campaign 3 in vmatrix.db: 12 runs in 1m 20s, 1 failed" */
static char *totals_text(const Store *store, gint64 campaign, const CampaignTotals *totals,
                         gint64 duration_ns)
{
    const struct {
        gint64 count;
        const char *word;
    } parts[] = {
        {totals->failed, "failed"},           {totals->contaminated, "contaminated"},
        {totals->interrupted, "interrupted"}, {totals->partial, "partial"},
        {totals->skipped, "skipped"},
    };
    g_autofree char *duration = clock_format_duration(duration_ns);
    GString *text = g_string_new(NULL);

    g_string_append_printf(text,
                           "campaign %" G_GINT64_FORMAT " in %s: %" G_GINT64_FORMAT
                           " of %" G_GINT64_FORMAT " runs in %s",
                           campaign, store_path(store), totals->done, totals->total, duration);
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (parts[i].count > 0)
            g_string_append_printf(text, ", %" G_GINT64_FORMAT " %s", parts[i].count,
                                   parts[i].word);
    return g_string_free(text, FALSE);
}

static void wipe_progress(void *data)
{
    progress_finish(data);
}

/* The comparison, with the notes a reviewer needs. */
static gboolean print_summary(const Settings *settings, Store *store, gint64 campaign,
                              GError **error)
{
    g_autofree char *which = g_strdup_printf("%" G_GINT64_FORMAT, campaign);
    SummarySelect select = {.campaign = which};
    g_autoptr(Table) table = summary_comparison(store, &select, error);
    g_autofree char *notes = table != NULL ? summary_notes(store, &select, error) : NULL;

    return notes != NULL && output_report(settings, table, notes, error);
}

static int run_campaign(const Settings *settings, Store *store, const char *plan, Cancel *cancel,
                        GError **error)
{
    Progress progress = {.stream = stderr, .style = style_of(settings)};
    CampaignWatch watch = progress_watch(&progress);
    CampaignOptions campaign_options = {.work = settings->work, .cancel = cancel, .watch = &watch};
    CampaignTotals totals = {0};
    gint64 since = clock_mono_ns(), campaign;
    g_autofree char *text = NULL;
    gboolean ok;

    if (!submit(settings, store, plan, cancel, &campaign, error))
        return VM_EXIT_INVALID;
    log_set_before(wipe_progress, &progress);
    ok = campaign_run(store, campaign, &campaign_options, &totals, error);
    progress_finish(&progress);
    log_set_before(NULL, NULL);
    if (!ok)
        return VM_EXIT_ENVIRONMENT;
    text = totals_text(store, campaign, &totals, clock_mono_ns() - since);
    if (totals.done > totals.interrupted && !print_summary(settings, store, campaign, error))
        return VM_EXIT_ENVIRONMENT;
    g_message("%s", text);
    return cancel_is_set(cancel) ? VM_EXIT_INTERRUPTED : campaign_exit_code(&totals);
}

static int run_run(const Settings *settings, char **words, GError **error)
{
    g_autoptr(Cancel) cancel = cancel_new();
    g_autoptr(Store) store = NULL;
    int code;

    if (settings->dry_run)
        return command_plan.run(settings, words, error);
    store = settings_open_store(settings, STORE_READ_WRITE, error);
    if (store == NULL)
        return VM_EXIT_ENVIRONMENT;
    signals_catch(cancel);
    code = run_campaign(settings, store, words[0], cancel, error);
    signals_release();
    return code;
}

const Command command_run = {
    .name = "run",
    .arguments = "PLAN",
    .group = "Running",
    .summary = "run a plan here and now, and compare",
    .about = "Runs every cell of the plan in every block, one guest at a time, stores every\n"
             "sample, and prints the comparison. Ctrl-C ends the run in flight cleanly, keeps\n"
             "what was measured, and exits with 130.\n",
    .example = "vmatrix run night.yaml --inventory site.yaml --db night.db",
    .min_words = 1,
    .max_words = 1,
    .options = options,
    .run = run_run,
};
