/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix submit: into the queue, for vmatrixd. */
#include "cli/command.h"
#include "cli/daytime.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "run/submit.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/text.h"

static const OptionSpec options[] = {
    {.name = "at",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(Settings, at),
     .value = "TIME",
     .help = "not before 22:00, or 2026-12-24T22:00"},
    {.name = "priority",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(Settings, priority),
     .value = "N",
     .help = "-1000 to 1000, higher first (default: 0)"},
    {0},
};

enum { PRIORITY_MAX = 1000 };

static gboolean parse_priority(const char *text, gint *ret_priority, GError **error)
{
    gboolean below = *text == '-';
    guint64 number;

    if (!text_parse_uint(below ? text + 1 : text, &number) || number > PRIORITY_MAX) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "--priority \"%s\": must be a whole number from -%d to %d", text, PRIORITY_MAX,
                    PRIORITY_MAX);
        return FALSE;
    }
    *ret_priority = below ? -(gint)number : (gint)number;
    return TRUE;
}

static gboolean read_schedule(const Settings *settings, StoreSchedule *ret_schedule, GError **error)
{
    StoreSchedule schedule = {0};

    if (settings->at != NULL &&
        !daytime_parse(settings->at, clock_wall_ns(), &schedule.not_before_ns, error)) {
        g_prefix_error(error, "--at ");
        return FALSE;
    }
    if (settings->priority != NULL &&
        !parse_priority(settings->priority, &schedule.priority, error))
        return FALSE;
    *ret_schedule = schedule;
    return TRUE;
}

typedef struct {
    StoreCampaign campaign;
    guint cells, skipped;
    StoreSchedule schedule;
} Submitted;

static Table *submitted_table(const Submitted *done)
{
    g_autofree char *start =
        done->schedule.not_before_ns > 0 ? clock_format_utc(done->schedule.not_before_ns) : NULL;
    Table *table = table_new();

    table_column(table, "campaign", "campaign", COLUMN_NUMBER);
    table_column(table, "uuid", "uuid", COLUMN_TEXT);
    table_column(table, "name", "name", COLUMN_TEXT);
    table_column(table, "cells", "cells", COLUMN_NUMBER);
    table_column(table, "skipped", "cannot run", COLUMN_NUMBER);
    table_column(table, "not_before_utc", "not before", COLUMN_TEXT);
    table_column(table, "priority", "priority", COLUMN_NUMBER);
    table_row(table);
    table_int(table, done->campaign.id);
    table_text(table, done->campaign.uuid);
    table_text(table, done->campaign.name);
    table_int(table, done->cells);
    table_int(table, done->skipped);
    table_text(table, start);
    table_int(table, done->schedule.priority);
    return table;
}

/* "campaign 3 (0f5a…): 12 cells, not before 22:00" */
static gboolean print_submitted(const Settings *settings, const Submitted *done, GError **error)
{
    g_auto(Output) output = {0};
    gint64 at_ns = done->schedule.not_before_ns;
    g_autofree char *start = at_ns > 0 ? daytime_format(at_ns, clock_wall_ns()) : NULL;

    if (!output_open(settings, &output, error))
        return FALSE;
    fprintf(output.stream, "campaign %" G_GINT64_FORMAT " (%s): %u cell%s", done->campaign.id,
            done->campaign.uuid, done->cells, done->cells == 1 ? "" : "s");
    if (done->skipped > 0)
        fprintf(output.stream, ", %u of which cannot run here", done->skipped);
    fprintf(output.stream, "%s%s\n", start != NULL ? ", not before " : "",
            start != NULL ? start : "");
    return output_close(&output, error);
}

static gboolean submit(const Settings *settings, Store *store, const char *plan, Cancel *cancel,
                       Submitted *done, GError **error)
{
    g_autofree char *inventory = settings_require_inventory(settings, error);
    SubmitRequest request = {.plan_path = plan,
                             .inventory_path = inventory,
                             .cancel = cancel,
                             .schedule = &done->schedule};
    g_autofree char *which = NULL;
    gint64 id;

    if (inventory == NULL ||
        !submit_campaign(store, &request, &id, &done->cells, &done->skipped, error))
        return FALSE;
    which = g_strdup_printf("%" G_GINT64_FORMAT, id);
    return store_campaign_get(store, which, &done->campaign, error);
}

static int submit_and_tell(const Settings *settings, const char *plan, Cancel *cancel,
                           Submitted *done, GError **error)
{
    g_autoptr(Store) store = settings_open_store(settings, STORE_READ_WRITE, error);
    g_autoptr(Table) table = NULL;
    gboolean ok;

    if (store == NULL)
        return VM_EXIT_ENVIRONMENT;
    if (!submit(settings, store, plan, cancel, done, error))
        return VM_EXIT_INVALID;
    if (settings_format(settings, FORMAT_TABLE) == FORMAT_TABLE) {
        ok = print_submitted(settings, done, error);
    } else {
        table = submitted_table(done);
        ok = output_table(settings, table, error);
    }
    return ok ? VM_EXIT_DONE : VM_EXIT_ENVIRONMENT;
}

static int run_submit(const Settings *settings, char **words, GError **error)
{
    g_autoptr(Cancel) cancel = cancel_new();
    Submitted done = {0};
    int code;

    if (!read_schedule(settings, &done.schedule, error))
        return VM_EXIT_INVALID;
    signals_catch(cancel);
    code = submit_and_tell(settings, words[0], cancel, &done, error);
    signals_release();
    store_campaign_clear(&done.campaign);
    return code;
}

const Command command_submit = {
    .name = "submit",
    .arguments = "PLAN",
    .group = "Queue",
    .summary = "put a plan into the queue, for vmatrixd",
    .about = "Checks the plan, expands it, puts it into the database as one campaign, and\n"
             "prints the campaign's number and UUID. vmatrixd runs it, after those of a higher\n"
             "priority and those that were submitted before. --at 22:00 is the next time at\n"
             "which this host's clock shows that.\n",
    .example = "vmatrix submit night.yaml --at 22:00",
    .min_words = 1,
    .max_words = 1,
    .options = options,
    .run = run_submit,
};
