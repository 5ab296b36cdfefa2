/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/status-text.h"

#include <string.h>

#include "cli/daytime.h"
#include "run/lock.h"
#include "util/io.h"

enum { SOCKETS_MAX = 16 << 20 };

/* The kernel's list of sockets: to connect to the holder would leave a connection in its queue. */
gboolean status_is_served(void)
{
    g_autofree char *sockets = io_read_file("/proc/net/unix", SOCKETS_MAX, NULL, NULL);
    g_autofree char *line = g_strdup_printf(" @%s\n", host_lock_name());

    return sockets != NULL && strstr(sockets, line) != NULL;
}

/* "campaign 3: measure since 22:14:03, block 2: guest=micro vcpus=2 (attempt 2)": what may be too
 * long for a screen stands last. */
static void append_flight(GString *text, const StatusCampaign *campaign, gint64 now_ns)
{
    gint64 since = campaign->step != NULL ? campaign->step_entered_ns : campaign->run_started_ns;
    g_autofree char *time = daytime_format_exact(since, now_ns);

    g_string_append_printf(text, "campaign %" G_GINT64_FORMAT ": %s since %s, block %u: %s",
                           campaign->id, campaign->step != NULL ? campaign->step : "begun", time,
                           campaign->block + 1, campaign->cell_key);
    if (campaign->workload != NULL)
        g_string_append_printf(text, " %s", campaign->workload);
    if (campaign->attempt > 1)
        g_string_append_printf(text, " (attempt %u)", campaign->attempt);
    g_string_append_c(text, '\n');
}

static gboolean is_due(const StatusCampaign *campaign, gint64 now_ns)
{
    return campaign->ended_ns == 0 && !campaign->paused && !campaign->cancel &&
           campaign->not_before_ns <= now_ns;
}

static void append_notes(GString *text, const GPtrArray *campaigns, gint64 now_ns, gboolean served)
{
    gboolean due = FALSE, flies = FALSE;

    for (guint i = 0; i < campaigns->len; i++) {
        const StatusCampaign *campaign = g_ptr_array_index(campaigns, i);

        due = due || is_due(campaign, now_ns);
        flies = flies || campaign->run != 0;
        if (campaign->run != 0)
            append_flight(text, campaign, now_ns);
    }
    if (served)
        return;
    if (flies)
        g_string_append(text, "That run's process is gone: vmatrixd will do it again.\n");
    else if (due)
        g_string_append(text, "Nothing is measured now: vmatrixd runs the queue.\n");
}

char *status_text(const GPtrArray *campaigns, gint64 now_ns, guint width, gboolean colour,
                  gboolean served)
{
    g_autoptr(Table) table = status_table(campaigns, now_ns, daytime_format);
    g_autofree char *shown = table_format(table, FORMAT_TABLE, width, colour);
    GString *notes = g_string_new(NULL);

    append_notes(notes, campaigns, now_ns, served);
    if (campaigns->len == 0) {
        g_string_assign(notes, "No campaigns yet: \"vmatrix submit PLAN\" adds one.\n");
        return g_string_free(notes, FALSE);
    }
    g_string_prepend(notes, notes->len > 0 ? "\n" : "");
    g_string_prepend(notes, shown);
    return g_string_free(notes, FALSE);
}
