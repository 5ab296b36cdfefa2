/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix status: the queue at a glance. */
#include <unistd.h>

#include "cli/command.h"
#include "cli/daytime.h"
#include "cli/output.h"
#include "cli/status-text.h"
#include "util/clock.h"
#include "util/error.h"

enum { ENDED_SHOWN = 5 };

static const OptionSpec options[] = {
    {.name = "all",
     .letter = 'a',
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(Settings, all),
     .help = "all campaigns that have ended, not the last 5"},
    {0},
};

static gboolean write_status(const Settings *settings, const GPtrArray *campaigns, gint64 now_ns,
                             GError **error)
{
    gboolean terminal = settings->output == NULL;
    g_auto(Output) output = {0};
    g_autofree char *text =
        status_text(campaigns, now_ns, terminal ? output_width(STDOUT_FILENO) : 0,
                    terminal && output_colour(settings, STDOUT_FILENO), status_is_served());

    if (!output_open(settings, &output, error))
        return FALSE;
    fputs(text, output.stream);
    return output_close(&output, error);
}

static int run_status(const Settings *settings, char **words, GError **error)
{
    StatusSelect select = {.campaign = words[0], .ended = settings->all ? G_MAXINT32 : ENDED_SHOWN};
    gint64 now_ns = clock_wall_ns();
    g_autoptr(Store) store = settings_open_store(settings, STORE_READ_ONLY, error);
    g_autoptr(GPtrArray) campaigns = NULL;
    g_autoptr(Table) table = NULL;
    gboolean ok;

    if (store == NULL)
        return VM_EXIT_ENVIRONMENT;
    campaigns = status_load(store, &select, now_ns, error);
    if (campaigns == NULL)
        return VM_EXIT_INVALID;
    if (settings_format(settings, FORMAT_TABLE) == FORMAT_TABLE) {
        ok = write_status(settings, campaigns, now_ns, error);
    } else {
        table = status_table(campaigns, now_ns, daytime_format);
        ok = output_table(settings, table, error);
    }
    return ok ? VM_EXIT_DONE : VM_EXIT_ENVIRONMENT;
}

const Command command_status = {
    .name = "status",
    .arguments = "[CAMPAIGN]",
    .group = "Queue",
    .summary = "what is done, left, and running now",
    .about = "Prints a row a campaign: those that ended last, then the queue in its order:\n"
             "what is done, left and failed, when it will end by the runs measured so far, and\n"
             "when it must have stopped; then the cell and step that run now.\n",
    .example = "vmatrix status --json",
    .max_words = 1,
    .options = options,
    .run = run_status,
};
