/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix summary: the morning page, on one screen. */
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/daytime.h"
#include "cli/output.h"
#include "report/morning.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/text.h"

/* What fits on a screen of 24 rows; the rest is counted. */
enum { GROUPS_MAX = 5, CELLS_MAX = 6, WIDTH_DEFAULT = 80, HEAD = 9, REASON_LINES = 2 };
enum { REASON_MAX = 1000, SHARE_MIN = 1 /* percent */ };

/* ---- text that is wrapped ---- */

/* The line's length from here: as many words as fit into room, at least one character. */
static gsize line_length(const char *text, glong room)
{
    const char *at = text, *space = NULL;

    for (glong used = 0; *at != '\0' && used < room; used++, at = g_utf8_next_char(at))
        if (*at == ' ')
            space = at;
    if (*at == '\0' || *at == ' ' || space == NULL || space == text)
        return (gsize)(at - text);
    return (gsize)(space - text);
}

/* text beside head (printed once), in at most max lines, the last with an ellipsis if there is
 * more. */
static void append_wrapped(GString *out, const char *head, const char *text, guint width, guint max)
{
    glong room = MAX((glong)width - HEAD, 20);

    for (guint line = 0; line == 0 || *text != '\0'; line++) {
        gboolean last = line + 1 == max;
        gsize length = line_length(text, room);

        if (last && text[length] != '\0')
            length = line_length(text, room - 1);
        g_string_append_printf(out, "%-*s%.*s%s\n", HEAD, line == 0 ? head : "", (int)length, text,
                               last && text[length] != '\0' ? "…" : "");
        if (last)
            return;
        text += length;
        text += strspn(text, " ");
    }
}

/* ---- the page ---- */

static char *spent(const StatusCampaign *campaign, gint64 now_ns)
{
    gint64 until = campaign->ended_ns > 0 ? campaign->ended_ns : now_ns;
    g_autofree char *from = daytime_format(campaign->started_ns, now_ns);
    g_autofree char *to = daytime_format(until, now_ns);
    g_autofree char *duration = clock_format_duration(MAX(until - campaign->started_ns, 0));

    if (campaign->started_ns == 0)
        return g_strdup("it has not begun");
    return g_strdup_printf("%s to %s (%s)", from, campaign->ended_ns > 0 ? to : "now", duration);
}

/* "50 runs: 46 clean, 3 failed (and 1 that was done again), 2 left" */
static char *counts_text(const Morning *morning)
{
    const StatusCampaign *campaign = morning->campaign;
    const struct {
        gint64 count;
        const char *word;
    } parts[] = {
        {campaign->clean, "clean"},
        {campaign->contaminated, "contaminated"},
        {campaign->failed - morning->failed_once, "failed"},
        {morning->failed_once, "failed and done again"},
        {campaign->interrupted, "interrupted"},
        {campaign->skipped, "skipped"},
        {campaign->left, "left"},
    };
    GString *text = g_string_new(NULL);
    gint64 all = 0;

    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
        all += parts[i].count;
        if (parts[i].count > 0)
            g_string_append_printf(text, "%s%" G_GINT64_FORMAT " %s", text->len > 0 ? ", " : "",
                                   parts[i].count, parts[i].word);
    }
    g_autofree char *head = g_strdup_printf("%" G_GINT64_FORMAT " run%s%s", all,
                                            all == 1 ? "" : "s", text->len > 0 ? ": " : "");

    g_string_prepend(text, head);
    return g_string_free(text, FALSE);
}

static void append_head(GString *out, const Morning *morning, gint64 now_ns, guint width)
{
    const StatusCampaign *campaign = morning->campaign;
    g_autofree char *title =
        g_strdup_printf("%" G_GINT64_FORMAT " %s (%.8s): %s", campaign->id, campaign->name,
                        campaign->uuid, status_word(campaign, now_ns));
    g_autofree char *when = spent(campaign, now_ns);
    g_autofree char *counts = counts_text(morning);

    append_wrapped(out, "campaign", title, width, 1);
    append_wrapped(out, "ran", when, width, 1);
    append_wrapped(out, "", counts, width, 2);
}

/* "guest=micro vcpus=1 (blocks 1, 3); guest=…; and 4 more" */
static char *cells_text(const MorningGroup *group)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < MIN(group->cells->len, CELLS_MAX); i++) {
        const MorningCell *cell = g_ptr_array_index(group->cells, i);

        g_string_append_printf(text, "%s%s%s%s (block%s %s)", i > 0 ? "; " : "", cell->cell_key,
                               cell->workload != NULL ? " " : "",
                               cell->workload != NULL ? cell->workload : "",
                               cell->runs == 1 ? "" : "s", cell->blocks);
    }
    if (group->cells->len > CELLS_MAX)
        g_string_append_printf(text, "; and %u more cells", group->cells->len - CELLS_MAX);
    return g_string_free(text, FALSE);
}

static void append_groups(GString *out, const char *head, const GPtrArray *groups, guint width)
{
    for (guint i = 0; i < MIN(groups->len, GROUPS_MAX); i++) {
        const MorningGroup *group = g_ptr_array_index(groups, i);
        g_autofree char *cells = cells_text(group);
        g_autofree char *safe = text_escape(group->reason, -1, REASON_MAX);
        g_autofree char *reason =
            g_strdup_printf("%u x %s", group->runs, *safe != '\0' ? safe : "no reason was told");

        append_wrapped(out, i == 0 ? head : "", reason, width, REASON_LINES);
        append_wrapped(out, "", cells, width, CELLS_MAX);
    }
    if (groups->len > GROUPS_MAX) {
        g_autofree char *more =
            g_strdup_printf("and for %u more reasons; --json has all", groups->len - GROUPS_MAX);

        append_wrapped(out, "", more, width, 1);
    }
}

/* "measure 62 % (5h 10m, mean 4.0 s), ssh 12 % (…), others 1 %" */
static char *phases_text(const Morning *morning)
{
    GString *text = g_string_new(NULL);
    double rest = 0;

    for (guint i = 0; i < morning->phases->len; i++) {
        const MorningPhase *phase = g_ptr_array_index(morning->phases, i);
        g_autofree char *total = clock_format_duration(phase->total_ns);
        g_autofree char *mean = clock_format_duration(phase->total_ns / MAX(phase->runs, 1));
        double share = 100.0 * (double)phase->total_ns / (double)MAX(morning->phases_ns, 1);

        if (share < SHARE_MIN)
            rest += share;
        else
            g_string_append_printf(text, "%s%s %.0f %% (%s, mean %s)", i > 0 ? ", " : "",
                                   phase->name, share, total, mean);
    }
    if (rest > 0)
        g_string_append_printf(text, ", others %.0f %%", rest);
    return g_string_free(text, FALSE);
}

static void append_look(GString *out, const Morning *morning, guint width)
{
    for (guint i = 0; i < morning->look->len; i++) {
        g_autofree char *safe = text_escape(g_ptr_array_index(morning->look, i), -1, REASON_MAX);
        g_autofree char *line = g_strdup_printf("%u. %s", i + 1, safe);

        append_wrapped(out, i == 0 ? "look at" : i == 1 ? "first" : "", line, width, REASON_LINES);
    }
}

static char *page(const Morning *morning, gint64 now_ns, guint width)
{
    GString *out = g_string_new(NULL);
    g_autofree char *phases = phases_text(morning);

    append_head(out, morning, now_ns, width);
    append_groups(out, "failed", morning->failed, width);
    append_groups(out, "contam.", morning->contaminated, width);
    append_groups(out, "skipped", morning->skipped, width);
    if (morning->phases->len > 0)
        append_wrapped(out, "time", phases, width, CELLS_MAX);
    append_look(out, morning, width);
    return g_string_free(out, FALSE);
}

/* ---- as JSON ---- */

static json_t *utc_json(gint64 ns)
{
    g_autofree char *text = ns > 0 ? clock_format_utc(ns) : NULL;

    return text != NULL ? json_string(text) : json_null();
}

static json_t *groups_json(const GPtrArray *groups)
{
    json_t *array = json_array();

    for (guint i = 0; i < groups->len; i++) {
        const MorningGroup *group = g_ptr_array_index(groups, i);
        json_t *cells = json_array();

        for (guint j = 0; j < group->cells->len; j++) {
            const MorningCell *cell = g_ptr_array_index(group->cells, j);

            json_array_append_new(cells, json_pack("{s:s, s:s?, s:i, s:s, s:I}", "cell",
                                                   cell->cell_key, "workload", cell->workload,
                                                   "runs", (int)cell->runs, "blocks", cell->blocks,
                                                   "first_run", (json_int_t)cell->run));
        }
        json_array_append_new(array, json_pack("{s:s, s:i, s:o}", "reason", group->reason, "runs",
                                               (int)group->runs, "cells", cells));
    }
    return array;
}

static json_t *phases_json(const GPtrArray *phases)
{
    json_t *array = json_array();

    for (guint i = 0; i < phases->len; i++) {
        const MorningPhase *phase = g_ptr_array_index(phases, i);

        json_array_append_new(array, json_pack("{s:s, s:i, s:f, s:f, s:f}", "phase", phase->name,
                                               "runs", (int)phase->runs, "total_s",
                                               (double)phase->total_ns / 1e9, "mean_s",
                                               (double)phase->total_ns / 1e9 / MAX(phase->runs, 1),
                                               "max_s", (double)phase->max_ns / 1e9));
    }
    return array;
}

static json_t *counts_json(const Morning *morning)
{
    const StatusCampaign *campaign = morning->campaign;

    return json_pack("{s:I, s:I, s:I, s:i, s:I, s:I, s:I}", "clean", (json_int_t)campaign->clean,
                     "contaminated", (json_int_t)campaign->contaminated, "failed",
                     (json_int_t)campaign->failed, "failed_and_done_again",
                     (int)morning->failed_once, "interrupted", (json_int_t)campaign->interrupted,
                     "skipped", (json_int_t)campaign->skipped, "left", (json_int_t)campaign->left);
}

static json_t *page_json(const Morning *morning)
{
    const StatusCampaign *campaign = morning->campaign;
    json_t *look = json_array();

    for (guint i = 0; i < morning->look->len; i++)
        json_array_append_new(look, json_string(g_ptr_array_index(morning->look, i)));
    return json_pack("{s:I, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "campaign",
                     (json_int_t)campaign->id, "uuid", campaign->uuid, "name", campaign->name,
                     "state", campaign->state, "started_utc", utc_json(campaign->started_ns),
                     "ended_utc", utc_json(campaign->ended_ns), "runs", counts_json(morning),
                     "failed", groups_json(morning->failed), "contaminated",
                     groups_json(morning->contaminated), "skipped", groups_json(morning->skipped),
                     "phases", phases_json(morning->phases), "look_first", look);
}

static gboolean print_page(const Settings *settings, const Morning *morning, gint64 now_ns,
                           GError **error)
{
    guint width = settings->output == NULL ? output_width(STDOUT_FILENO) : 0;
    g_auto(Output) output = {0};

    if (!output_open(settings, &output, error))
        return FALSE;
    if (settings_format(settings, FORMAT_TABLE) == FORMAT_JSON) {
        json_t *json = page_json(morning);

        json_dumpf(json, output.stream, JSON_INDENT(2));
        fputc('\n', output.stream);
        json_decref(json);
    } else {
        g_autofree char *text = page(morning, now_ns, width > 0 ? width : WIDTH_DEFAULT);

        fputs(text, output.stream);
    }
    return output_close(&output, error);
}

static int run_summary(const Settings *settings, char **words, GError **error)
{
    gint64 now_ns = clock_wall_ns();
    g_autoptr(Store) store = settings_open_store(settings, STORE_READ_ONLY, error);
    g_autoptr(Morning) morning = NULL;

    if (store == NULL)
        return VM_EXIT_ENVIRONMENT;
    morning = morning_load(store, words[0] != NULL ? words[0] : "latest", now_ns, error);
    if (morning == NULL)
        return VM_EXIT_INVALID;
    return print_page(settings, morning, now_ns, error) ? VM_EXIT_DONE : VM_EXIT_ENVIRONMENT;
}

const Command command_summary = {
    .name = "summary",
    .arguments = "[CAMPAIGN]",
    .group = "Results",
    .summary = "the morning page: what failed, and why",
    .about = "Prints on one screen what ran, which cells failed and why, what was contaminated\n"
             "or skipped, how long each phase took, and what to look at first. CAMPAIGN is\n"
             "\"latest\" (the default), its number, or the beginning of its UUID.\n",
    .example = "vmatrix summary",
    .max_words = 1,
    .run = run_summary,
};
