/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/progress.h"

#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "util/clock.h"
#include "util/text.h"

/* Room kept for the step and the ETA, so that the rest of the line does not jump about. */
enum { STEP_WIDTH = 9, ETA_WIDTH = 13 };

/* Room kept for whom it waits for: that matters more than the cell then. */
enum { WAIT_WIDTH = 50 };

/* The engine's names of steps, in words for somebody who waits. */
static const struct {
    const char *step, *words;
} step_words[] = {
    {"gate", "idle wait"},    {"folder", "preparing"}, {"connect", "preparing"},
    {"overlay", "preparing"}, {"define", "preparing"}, {"start", "starting"},
    {"address", "booting"},   {"ssh", "booting"},      {"push", "sending"},
    {"agent", "agent"},       {"process", "agent"},    {"measure", "measuring"},
    {"shutdown", "stopping"},
};

static const char *words_of(const char *step)
{
    for (gsize i = 0; i < G_N_ELEMENTS(step_words); i++)
        if (g_str_equal(step_words[i].step, step))
            return step_words[i].words;
    return step;
}

/* "[ 3/12]": number of the run among all. */
static char *counter(gint64 number, gint64 total)
{
    g_autofree char *all = g_strdup_printf("%" G_GINT64_FORMAT, total);

    return g_strdup_printf("[%*" G_GINT64_FORMAT "/%s]", (int)strlen(all), MIN(number, total), all);
}

/* "block 1  ": blocks are counted from 1 for people. */
static char *head_of(const StoreRun *run, gint64 number, gint64 total)
{
    g_autofree char *count = counter(number, total);

    return g_strdup_printf("%s block %u  ", count, run->block + 1);
}

static char *cell_of(const StoreRun *run)
{
    GString *text = g_string_new(run->cell_key);

    if (run->workload != NULL)
        g_string_append_printf(text, " %s", run->workload);
    if (run->attempt > 1)
        g_string_append_printf(text, " (attempt %u)", run->attempt);
    return g_string_free(text, FALSE);
}

/* "guest=micro vcpus=2" -> "micro 2" */
static char *without_axes(const char *cell)
{
    g_auto(GStrv) words = g_strsplit(cell, " ", -1);

    for (char **word = words; *word != NULL; word++) {
        char *value = strchr(*word, '=');

        if (value != NULL)
            memmove(*word, value + 1, strlen(value + 1) + 1);
    }
    return g_strjoinv(" ", words);
}

/* cell in at most room columns; consumes cell. */
static char *fit_cell(char *cell, glong room)
{
    g_autofree char *whole = cell;
    g_autofree char *brief = NULL;

    if (g_utf8_strlen(whole, -1) <= room)
        return g_steal_pointer(&whole);
    brief = without_axes(whole);
    if (g_utf8_strlen(brief, -1) <= room)
        return g_steal_pointer(&brief);
    if (room < 2)
        return g_strdup("");
    *g_utf8_offset_to_pointer(brief, room - 1) = '\0';
    return g_strconcat(brief, "…", NULL);
}

char *progress_step_line(guint width, const StoreRun *run, const char *step,
                         const CampaignTotals *totals, gint64 eta_ns)
{
    g_autofree char *head = head_of(run, totals->done + 1, totals->total);
    g_autofree char *left = eta_ns >= 0 ? clock_format_duration(eta_ns) : NULL;
    g_autofree char *tail =
        g_strdup_printf("  %-*s%s%s", left != NULL ? STEP_WIDTH : 0, words_of(step),
                        left != NULL ? "  ETA " : "", left != NULL ? left : "");
    glong taken = g_utf8_strlen(head, -1) + 2 + STEP_WIDTH + ETA_WIDTH;
    g_autofree char *cell = width > 0 ? fit_cell(cell_of(run), (glong)width - taken) : cell_of(run);
    g_autofree char *line = g_strconcat(head, cell, tail, NULL);

    /* A terminal too narrow even so: a wrapped line could not be redrawn. */
    if (width > 0 && g_utf8_strlen(line, -1) > (glong)width)
        *g_utf8_offset_to_pointer(line, width) = '\0';
    return g_steal_pointer(&line);
}

char *progress_waiting_line(guint width, const StoreRun *run, const char *what,
                            const CampaignTotals *totals)
{
    g_autofree char *head = head_of(run, totals->done + 1, totals->total);
    g_autofree char *why = text_escape(what, -1, 1000);
    glong room = (glong)width - g_utf8_strlen(head, -1) - WAIT_WIDTH;
    g_autofree char *cell = width > 0 ? fit_cell(cell_of(run), room) : cell_of(run);
    g_autofree char *line = g_strconcat(head, cell, "  waits: ", why, NULL);

    if (width > 0 && g_utf8_strlen(line, -1) > (glong)width)
        *g_utf8_offset_to_pointer(line, width) = '\0';
    return g_steal_pointer(&line);
}

char *progress_finished_line(const StoreRun *run, const char *verdict, const char *reason,
                             gint64 duration_ns, const CampaignTotals *totals)
{
    g_autofree char *head = head_of(run, totals->done, totals->total);
    g_autofree char *cell = cell_of(run);
    g_autofree char *duration = clock_format_duration(duration_ns);
    g_autofree char *why = reason != NULL ? text_escape(reason, -1, 1000) : NULL;

    return g_strdup_printf("%s%s  %s  %s%s%s", head, cell, verdict, duration,
                           why != NULL ? ": " : "", why != NULL ? why : "");
}

void progress_finish(Progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", progress->stream);
    fflush(progress->stream);
    progress->drawn = FALSE;
}

static void redraw(Progress *progress, const char *line)
{
    fprintf(progress->stream, "\r%s\033[K", line);
    fflush(progress->stream);
    progress->drawn = TRUE;
}

/* One column is left free, where the cursor stands. */
static guint drawn_width(const Progress *progress)
{
    guint width = output_width(fileno(progress->stream));

    return width > 1 ? width - 1 : width;
}

static void show_step(void *data, const StoreRun *run, const char *step,
                      const CampaignTotals *totals, gint64 eta_ns)
{
    Progress *progress = data;
    g_autofree char *line = NULL;

    if (progress->style != PROGRESS_REDRAW && progress->style != PROGRESS_ALL)
        return;
    line = progress_step_line(drawn_width(progress), run, step, totals, eta_ns);
    redraw(progress, line);
}

static void show_waiting(void *data, const StoreRun *run, const char *what,
                         const CampaignTotals *totals)
{
    Progress *progress = data;
    gboolean stays = progress->style == PROGRESS_LINES || progress->style == PROGRESS_ALL;
    g_autofree char *line =
        progress_waiting_line(stays ? 0 : drawn_width(progress), run, what, totals);

    if (progress->style == PROGRESS_SILENT)
        return;
    if (!stays) {
        redraw(progress, line);
        return;
    }
    progress_finish(progress);
    fprintf(progress->stream, "%s\n", line);
    fflush(progress->stream);
}

static void show_finished(void *data, const StoreRun *run, const char *verdict, const char *reason,
                          gint64 duration_ns, const CampaignTotals *totals)
{
    Progress *progress = data;
    gboolean plain = g_str_equal(verdict, "clean") && reason == NULL;
    g_autofree char *line = progress_finished_line(run, verdict, reason, duration_ns, totals);

    if (progress->style == PROGRESS_SILENT || (progress->style == PROGRESS_REDRAW && plain))
        return;
    progress_finish(progress);
    fprintf(progress->stream, "%s\n", line);
    fflush(progress->stream);
}

CampaignWatch progress_watch(Progress *progress)
{
    return (CampaignWatch){
        .step = show_step, .waiting = show_waiting, .finished = show_finished, .data = progress};
}
