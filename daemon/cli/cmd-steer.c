/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix cancel, pause, resume, retry: rows that the daemon reads between runs. */
#include "cli/command.h"
#include "cli/output.h"
#include "report/status.h"
#include "store/steer.h"
#include "util/clock.h"
#include "util/error.h"

/* What a command did, in words and as a row. */
typedef struct {
    const char *action; /* "cancel" */
    gint64 campaign;    /* 0: the whole queue */
    gint64 count;       /* campaigns, or runs */
    char *message;
} Steered;

static Table *steered_table(const Steered *done)
{
    Table *table = table_new();

    table_column(table, "action", "action", COLUMN_TEXT);
    table_column(table, "campaign", "campaign", COLUMN_NUMBER);
    table_column(table, "count", "count", COLUMN_NUMBER);
    table_column(table, "message", "message", COLUMN_TEXT);
    table_row(table);
    table_text(table, done->action);
    if (done->campaign != 0)
        table_int(table, done->campaign);
    else
        table_text(table, NULL);
    table_int(table, done->count);
    table_text(table, done->message);
    return table;
}

static int print_steered(const Settings *settings, const Steered *done, GError **error)
{
    g_auto(Output) output = {0};
    g_autoptr(Table) table = NULL;

    if (settings_format(settings, FORMAT_TABLE) != FORMAT_TABLE) {
        table = steered_table(done);
        return output_table(settings, table, error) ? VM_EXIT_DONE : VM_EXIT_ENVIRONMENT;
    }
    if (!output_open(settings, &output, error))
        return VM_EXIT_ENVIRONMENT;
    fprintf(output.stream, "%s\n", done->message);
    return output_close(&output, error) ? VM_EXIT_DONE : VM_EXIT_ENVIRONMENT;
}

/* The campaign as it is now: the run in flight goes on to its end. */
static gboolean has_flight(Store *store, const char *which, gboolean *ret_flies, GError **error)
{
    const StatusSelect select = {.campaign = which};
    g_autoptr(GPtrArray) list = status_load(store, &select, clock_wall_ns(), error);

    if (list == NULL)
        return FALSE;
    *ret_flies = list->len > 0 && ((const StatusCampaign *)g_ptr_array_index(list, 0))->run != 0;
    return TRUE;
}

typedef gboolean (*SteerCampaign)(Store *store, const StoreCampaign *campaign, gboolean flies,
                                  Steered *done, GError **error);

static gboolean steer_one(Store *store, const char *which, SteerCampaign steer, Steered *done,
                          GError **error)
{
    g_auto(StoreCampaign) campaign = {0};
    gboolean flies;

    if (!store_campaign_get(store, which, &campaign, error) ||
        !has_flight(store, which, &flies, error))
        return FALSE;
    done->campaign = campaign.id;
    done->count = 1;
    return steer(store, &campaign, flies, done, error);
}

static int run_steer(const Settings *settings, const char *which, SteerCampaign steer,
                     gboolean (*all)(Store *store, Steered *done, GError **error), Steered *done,
                     GError **error)
{
    g_autoptr(Store) store = NULL;
    g_autofree char *path = settings_db_path(settings);
    int code = VM_EXIT_INVALID;

    /* Steering makes no database. */
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        store = settings_open_store(settings, STORE_READ_ONLY, error);
    else
        store = settings_open_store(settings, STORE_READ_WRITE, error);
    if (store == NULL)
        return VM_EXIT_ENVIRONMENT;
    if (which != NULL ? steer_one(store, which, steer, done, error) : all(store, done, error))
        code = print_steered(settings, done, error);
    g_free(done->message);
    return code;
}

/* ---- cancel ---- */

static gboolean cancel_one(Store *store, const StoreCampaign *campaign, gboolean flies,
                           Steered *done, GError **error)
{
    done->message =
        g_strdup_printf("campaign %" G_GINT64_FORMAT " (%s): %s", campaign->id, campaign->name,
                        flies ? "will be cancelled when its run in flight has ended" : "cancelled");
    return store_campaign_cancel(store, campaign->id, error);
}

static int run_cancel(const Settings *settings, char **words, GError **error)
{
    Steered done = {.action = "cancel"};

    return run_steer(settings, words[0], cancel_one, NULL, &done, error);
}

const Command command_cancel = {
    .name = "cancel",
    .arguments = "CAMPAIGN",
    .group = "Queue",
    .summary = "end a campaign; what was measured is kept",
    .about = "Cancels the campaign: its run in flight ends, the rest is skipped and says why.\n"
             "What was measured is kept.\n",
    .example = "vmatrix cancel 3",
    .min_words = 1,
    .max_words = 1,
    .run = run_cancel,
};

/* ---- pause and resume ---- */

static gboolean pause_one(Store *store, const StoreCampaign *campaign, gboolean flies,
                          Steered *done, GError **error)
{
    done->message =
        g_strdup_printf("campaign %" G_GINT64_FORMAT " (%s): %s", campaign->id, campaign->name,
                        flies ? "will pause when its run in flight has ended" : "paused");
    return store_campaign_pause(store, campaign->id, TRUE, error);
}

static gboolean resume_one(Store *store, const StoreCampaign *campaign, gboolean flies,
                           Steered *done, GError **error)
{
    done->message = g_strdup_printf("campaign %" G_GINT64_FORMAT " (%s): resumed", campaign->id,
                                    campaign->name);
    return store_campaign_pause(store, campaign->id, FALSE, error);
}

static gboolean steer_all(Store *store, gboolean paused, Steered *done, GError **error)
{
    guint count;

    if (!store_queue_pause(store, paused, &count, error))
        return FALSE;
    done->count = count;
    done->message = g_strdup_printf(
        "%u campaign%s %s%s", count, count == 1 ? "" : "s", paused ? "paused" : "resumed",
        paused && count > 0 ? "; a run in flight goes on to its end" : "");
    return TRUE;
}

static gboolean pause_all(Store *store, Steered *done, GError **error)
{
    return steer_all(store, TRUE, done, error);
}

static gboolean resume_all(Store *store, Steered *done, GError **error)
{
    return steer_all(store, FALSE, done, error);
}

static int run_pause(const Settings *settings, char **words, GError **error)
{
    Steered done = {.action = "pause"};

    return run_steer(settings, words[0], pause_one, pause_all, &done, error);
}

static int run_resume(const Settings *settings, char **words, GError **error)
{
    Steered done = {.action = "resume"};

    return run_steer(settings, words[0], resume_one, resume_all, &done, error);
}

const Command command_pause = {
    .name = "pause",
    .arguments = "[CAMPAIGN]",
    .group = "Queue",
    .summary = "stop after the run in flight",
    .about = "Pauses the campaign, or without CAMPAIGN each that has not ended: the run in\n"
             "flight goes on to its end, and no other is begun before \"vmatrix resume\".\n",
    .example = "vmatrix pause",
    .max_words = 1,
    .run = run_pause,
};

const Command command_resume = {
    .name = "resume",
    .arguments = "[CAMPAIGN]",
    .group = "Queue",
    .summary = "go on after a pause",
    .about = "Lets the campaign go on, or without CAMPAIGN each that is paused.\n",
    .example = "vmatrix resume 3",
    .max_words = 1,
    .run = run_resume,
};

/* ---- retry ---- */

static gboolean retry_one(Store *store, const StoreCampaign *campaign, gboolean flies,
                          Steered *done, GError **error)
{
    guint count;

    if (!store_campaign_retry(store, campaign->id, &count, error))
        return FALSE;
    done->count = count;
    done->message =
        g_strdup_printf("campaign %" G_GINT64_FORMAT " (%s): %u run%s queued again", campaign->id,
                        campaign->name, count, count == 1 ? " is" : "s are");
    return TRUE;
}

static int run_retry(const Settings *settings, char **words, GError **error)
{
    Steered done = {.action = "retry"};

    return run_steer(settings, words[0], retry_one, NULL, &done, error);
}

const Command command_retry = {
    .name = "retry",
    .arguments = "CAMPAIGN",
    .group = "Queue",
    .summary = "run again what failed or stayed contaminated",
    .about = "Queues each cell and block whose last run failed, or was contaminated in its\n"
             "last attempt, once more, as a new attempt at the end of its block. A campaign\n"
             "that had ended is open again; the earlier runs are kept.\n",
    .example = "vmatrix retry latest",
    .min_words = 1,
    .max_words = 1,
    .run = run_retry,
};
