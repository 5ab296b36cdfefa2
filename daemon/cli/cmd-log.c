/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix log: what happened in a campaign or in one run of it, and what was printed there. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/daytime.h"
#include "cli/output.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/text.h"

static const OptionSpec options[] = {
    {.name = "console",
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(Settings, console),
     .help = "print the guests' consoles instead"},
    {.name = "raw",
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(Settings, raw),
     .help = "print the tools' raw output instead"},
    {0},
};

/* Whose log: a campaign's, or one run's. */
typedef struct {
    gint64 campaign;
    gint64 run; /* 0: the whole campaign */
} LogSubject;

enum { MESSAGE_MAX = 4096 };

/* ---- whose ---- */

static gboolean find_run(Store *store, gint64 run, gint64 *ret_campaign, GError **error)
{
    g_autoptr(StoreQuery) query =
        store_query_new(store, "SELECT campaign_id FROM run WHERE id = :run", error);
    StoreStep step;

    if (query == NULL || !store_query_bind_int(query, ":run", run) ||
        !store_query_step(query, &step, error))
        return FALSE;
    *ret_campaign = step == STORE_ROW ? store_query_int(query, 0) : 0;
    return TRUE;
}

static gboolean parse_run(Store *store, const char *text, LogSubject *ret_subject, GError **error)
{
    guint64 run;
    gint64 campaign = 0;

    if (text_parse_uint(text, &run) && run <= G_MAXINT64 &&
        !find_run(store, (gint64)run, &campaign, error))
        return FALSE;
    if (campaign == 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "%s: there is no run \"%s\": \"vmatrix log CAMPAIGN\" names the runs",
                    store_path(store), text);
        return FALSE;
    }
    *ret_subject = (LogSubject){.campaign = campaign, .run = (gint64)run};
    return TRUE;
}

/* "run:17", or what a campaign is named by; a number that is no campaign's may be a run's. */
static gboolean parse_subject(Store *store, const char *word, LogSubject *ret_subject,
                              GError **error)
{
    g_auto(StoreCampaign) campaign = {0};
    g_autoptr(GError) local = NULL;

    if (g_str_has_prefix(word, "run:"))
        return parse_run(store, word + strlen("run:"), ret_subject, error);
    if (store_campaign_get(store, word, &campaign, &local)) {
        *ret_subject = (LogSubject){.campaign = campaign.id};
        return TRUE;
    }
    if (parse_run(store, word, ret_subject, NULL))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&local));
    return FALSE;
}

/* ---- what happened ---- */

/* In the order in which they were written: the wall clock may have been set back. The end of a run
 * says all that its verdict's event does. */
static const char events_sql[] =
    "SELECT at_ns, level, run, step, message, cell_key FROM event_list l"
    " WHERE campaign = :campaign AND (:run = 0 OR run = :run) AND NOT (step IS 'verdict' AND EXISTS"
    "  (SELECT 1 FROM event e WHERE e.run_id = l.run AND e.step = 'end'))"
    " ORDER BY event";

static StoreQuery *ask(Store *store, const LogSubject *subject, const char *sql, GError **error)
{
    StoreQuery *query = store_query_new(store, sql, error);

    if (query != NULL) {
        store_query_bind_int(query, ":campaign", subject->campaign);
        store_query_bind_int(query, ":run", subject->run);
    }
    return query;
}

typedef void (*LogAdd)(gpointer data, const StoreQuery *query);

/* Call add for each event. */
static gboolean each_event(Store *store, const LogSubject *subject, LogAdd add, gpointer data,
                           GError **error)
{
    g_autoptr(StoreQuery) query = ask(store, subject, events_sql, error);
    StoreStep step = STORE_ROW;

    if (query == NULL)
        return FALSE;
    while (store_query_step(query, &step, error) && step == STORE_ROW)
        add(data, query);
    return step == STORE_END;
}

/* "2026-11-30 22:14:03 error   run 17 [ssh] guest=micro vcpus=2: message" */
static void add_line(gpointer data, const StoreQuery *query)
{
    const char *cell = store_query_text(query, 5);
    FILE *stream = data;
    /* Always with the date: seen from 1970. */
    g_autofree char *time = daytime_format_exact(store_query_int(query, 0), 0);
    g_autofree char *message = text_escape(store_query_text(query, 4), -1, MESSAGE_MAX);
    const char *step = store_query_text(query, 3);

    fprintf(stream, "%s %-7s ", time, store_query_text(query, 1));
    if (cell != NULL)
        fprintf(stream, "run %" G_GINT64_FORMAT " %s ", store_query_int(query, 2), cell);
    fprintf(stream, "[%s] %s\n", step != NULL ? step : "-", message);
}

static void add_row(gpointer data, const StoreQuery *query)
{
    const char *cell = store_query_text(query, 5);
    Table *table = data;
    g_autofree char *utc = clock_format_utc(store_query_int(query, 0));

    table_row(table);
    table_text(table, utc);
    table_text(table, store_query_text(query, 1));
    if (cell != NULL)
        table_int(table, store_query_int(query, 2));
    else
        table_text(table, NULL);
    table_text(table, cell);
    table_text(table, store_query_text(query, 3));
    table_text(table, store_query_text(query, 4));
}

static Table *events_table(Store *store, const LogSubject *subject, GError **error)
{
    g_autoptr(Table) table = table_new();

    table_column(table, "at_utc", "time (UTC)", COLUMN_TEXT);
    table_column(table, "level", "level", COLUMN_TEXT);
    table_column(table, "run", "run", COLUMN_NUMBER);
    table_column(table, "cell", "cell", COLUMN_TEXT);
    table_column(table, "step", "step", COLUMN_TEXT);
    table_column(table, "message", "message", COLUMN_TEXT);
    return each_event(store, subject, add_row, table, error) ? g_steal_pointer(&table) : NULL;
}

static int print_events(const Settings *settings, Store *store, const LogSubject *subject,
                        GError **error)
{
    g_auto(Output) output = {0};
    g_autoptr(Table) table = NULL;

    if (settings_format(settings, FORMAT_TABLE) != FORMAT_TABLE) {
        table = events_table(store, subject, error);
        return table != NULL && output_table(settings, table, error) ? VM_EXIT_DONE
                                                                     : VM_EXIT_ENVIRONMENT;
    }
    if (!output_open(settings, &output, error))
        return VM_EXIT_ENVIRONMENT;
    return each_event(store, subject, add_line, output.stream, error) &&
                   output_close(&output, error)
               ? VM_EXIT_DONE
               : VM_EXIT_ENVIRONMENT;
}

/* ---- what was printed ---- */

static const char outputs_sql[] =
    "SELECT o.run_id, o.stream, i.workload, i.ordinal, o.length, raw_text(o.content)"
    " FROM raw_output o JOIN run r ON r.id = o.run_id LEFT JOIN invocation i"
    "   ON i.id = o.invocation_id"
    " WHERE r.campaign_id = :campaign AND (:run = 0 OR r.id = :run)"
    "   AND CASE WHEN o.stream = 'console' THEN :console ELSE :raw END"
    " ORDER BY o.run_id, o.id";

/* What a guest printed may move a terminal's cursor or worse: there it is shown, not done. */
static void print_content(FILE *stream, GBytes *content, gboolean terminal)
{
    gsize length;
    const char *text = g_bytes_get_data(content, &length);

    if (!terminal) {
        fwrite(text, 1, length, stream);
        return;
    }
    for (const char *end = text + length; text < end;) {
        const char *newline = memchr(text, '\n', (gsize)(end - text));
        const char *stop = newline != NULL ? newline : end;
        gsize size = (gsize)(stop - text);

        if (size > 0 && text[size - 1] == '\r')
            size--;
        g_autofree char *safe = text_escape(text, (gssize)size, size);

        fprintf(stream, "%s\n", safe);
        text = newline != NULL ? newline + 1 : end;
    }
}

static void print_output(FILE *stream, const StoreQuery *query, gboolean terminal)
{
    const char *workload = store_query_text(query, 2);
    g_autoptr(GBytes) content = store_query_blob(query, 5);

    fprintf(stream, "==> run %" G_GINT64_FORMAT, store_query_int(query, 0));
    if (workload != NULL)
        fprintf(stream, ", %s, invocation %" G_GINT64_FORMAT, workload, store_query_int(query, 3));
    fprintf(stream, ", %s: %" G_GINT64_FORMAT " bytes <==\n", store_query_text(query, 1),
            store_query_int(query, 4));
    print_content(stream, content, terminal);
    fputc('\n', stream);
}

static json_t *output_json(const StoreQuery *query)
{
    const char *workload = store_query_text(query, 2);
    g_autoptr(GBytes) content = store_query_blob(query, 5);
    gsize length;
    const char *text = g_bytes_get_data(content, &length);
    g_autofree char *valid = g_utf8_make_valid(text != NULL ? text : "", (gssize)length);
    json_t *object = json_object();

    json_object_set_new(object, "run", json_integer(store_query_int(query, 0)));
    json_object_set_new(object, "workload", workload != NULL ? json_string(workload) : json_null());
    json_object_set_new(object, "invocation",
                        workload != NULL ? json_integer(store_query_int(query, 3)) : json_null());
    json_object_set_new(object, "stream", json_string(store_query_text(query, 1)));
    json_object_set_new(object, "length", json_integer(store_query_int(query, 4)));
    json_object_set_new(object, "text", json_string(valid));
    return object;
}

static gboolean print_all(const Settings *settings, FILE *stream, StoreQuery *query, GError **error)
{
    gboolean as_json = settings_format(settings, FORMAT_TABLE) == FORMAT_JSON;
    gboolean terminal = settings->output == NULL && isatty(STDOUT_FILENO);
    json_t *array = json_array();
    StoreStep step = STORE_ROW;
    guint count = 0;

    for (; store_query_step(query, &step, error) && step == STORE_ROW; count++) {
        if (as_json)
            json_array_append_new(array, output_json(query));
        else
            print_output(stream, query, terminal);
    }
    if (as_json && step == STORE_END) {
        json_dumpf(array, stream, JSON_INDENT(2));
        fputc('\n', stream);
    }
    json_decref(array);
    if (step == STORE_END && count == 0)
        g_message("nothing was printed there");
    return step == STORE_END;
}

static int print_outputs(const Settings *settings, Store *store, const LogSubject *subject,
                         GError **error)
{
    g_autoptr(StoreQuery) query = ask(store, subject, outputs_sql, error);
    g_auto(Output) output = {0};

    if (query == NULL || !output_open(settings, &output, error))
        return VM_EXIT_ENVIRONMENT;
    store_query_bind_int(query, ":console", settings->console);
    store_query_bind_int(query, ":raw", settings->raw);
    return print_all(settings, output.stream, query, error) && output_close(&output, error)
               ? VM_EXIT_DONE
               : VM_EXIT_ENVIRONMENT;
}

static int run_log(const Settings *settings, char **words, GError **error)
{
    g_autoptr(Store) store = settings_open_store(settings, STORE_READ_ONLY, error);
    LogSubject subject;

    if (store == NULL)
        return VM_EXIT_ENVIRONMENT;
    if (!parse_subject(store, words[0], &subject, error))
        return VM_EXIT_INVALID;
    if (settings->console || settings->raw)
        return print_outputs(settings, store, &subject, error);
    return print_events(settings, store, &subject, error);
}

const Command command_log = {
    .name = "log",
    .arguments = "CAMPAIGN|RUN",
    .group = "Queue",
    .summary = "what happened, and what was printed there",
    .about = "Prints what happened in a campaign (its number, the beginning of its UUID, or\n"
             "\"latest\"), or in one run of it (\"run:17\"; a number that is no campaign's will\n"
             "do), in the order in which it happened. With --console and --raw it prints what\n"
             "the guests and the tools wrote.\n",
    .example = "vmatrix log run:17 --console",
    .min_words = 1,
    .max_words = 1,
    .options = options,
    .run = run_log,
};
