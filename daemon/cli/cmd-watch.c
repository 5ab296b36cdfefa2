/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix watch: the queue as it changes. It sleeps until the database is written to, which no
 * program does while an invocation runs: so it disturbs no measurement. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/daytime.h"
#include "cli/output.h"
#include "cli/screen.h"
#include "cli/signals.h"
#include "cli/status-text.h"
#include "store/watch.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/text.h"

/* Lines that stay free for what happened last, and campaigns that have ended, at 24 rows. */
enum { ROWS_SMALL = 30, ENDED_SMALL = 3, ENDED_LARGE = 10, MESSAGE_MAX = 1000 };

static const gint64 redraw_ns = CLOCK_NS_PER_S;

typedef struct {
    Store *store;
    StoreWatch *watch;
    gboolean colour;
} Watch;

static GPtrArray *load(const Watch *watch, guint ended, gint64 now_ns, GError **error)
{
    const StatusSelect select = {.ended = ended};

    return status_load(watch->store, &select, now_ns, error);
}

/* ---- on a terminal ---- */

/* "22:14:03 error    3 guest=micro vcpus=2: message" */
static char *event_line(const StoreQuery *query, gint64 now_ns)
{
    const char *cell = store_query_text(query, 3);
    g_autofree char *time = daytime_format_exact(store_query_int(query, 0), now_ns);
    g_autofree char *message = text_escape(store_query_text(query, 4), -1, MESSAGE_MAX);

    return g_strdup_printf("%s %-7s campaign %" G_GINT64_FORMAT "%s%s: %s", time,
                           store_query_text(query, 1), store_query_int(query, 2),
                           cell != NULL ? " " : "", cell != NULL ? cell : "", message);
}

/* The last events, the newest last; at most so many lines. A run's begin stands above them while it
 * matters, and its end says all that its verdict's event does. */
static gboolean append_events(GString *text, Store *store, guint lines, gint64 now_ns,
                              GError **error)
{
    g_autoptr(StoreQuery) query = store_query_new(
        store,
        "SELECT at_ns, level, campaign, cell_key, message FROM event_list"
        " WHERE ifnull(step, '') NOT IN ('begin', 'verdict') ORDER BY event DESC LIMIT :lines",
        error);
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
    StoreStep step = STORE_ROW;

    if (query == NULL)
        return FALSE;
    store_query_bind_int(query, ":lines", lines);
    while (store_query_step(query, &step, error) && step == STORE_ROW)
        g_ptr_array_add(found, event_line(query, now_ns));
    for (guint i = found->len; i > 0; i--)
        g_string_append_printf(text, "%s\n", (const char *)g_ptr_array_index(found, i - 1));
    return step == STORE_END;
}

static guint count_lines(const char *text)
{
    guint lines = 0;

    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

/* "vmatrix watch: PATH" on the left, the time of this picture on the right. */
static void append_title(GString *text, const Watch *watch, guint columns, gint64 now_ns)
{
    g_autofree char *time = daytime_format_exact(now_ns, now_ns);
    g_autofree char *path = text_escape(store_path(watch->store), -1, MESSAGE_MAX);
    g_autofree char *left = g_strdup_printf("vmatrix: %s", path);
    glong room = (glong)columns - g_utf8_strlen(left, -1) - (glong)strlen(time);

    g_string_append_printf(text, "%s%*s%s\n\n", left, (int)MAX(room, 1), "", time);
}

static char *picture(const Watch *watch, guint columns, guint rows, GError **error)
{
    gint64 now_ns = clock_wall_ns();
    g_autoptr(GPtrArray) campaigns =
        load(watch, rows < ROWS_SMALL ? ENDED_SMALL : ENDED_LARGE, now_ns, error);
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *status = NULL;
    guint used;

    if (campaigns == NULL)
        return NULL;
    status = status_text(campaigns, now_ns, columns, watch->colour, status_is_served());
    append_title(text, watch, columns, now_ns);
    g_string_append_printf(text, "%s\n", status);
    /* The last row says how to end it. */
    used = count_lines(text->str);
    if (used + 1 < rows && !append_events(text, watch->store, rows - used - 1, now_ns, error))
        return NULL;
    for (used = count_lines(text->str); used + 1 < rows; used++)
        g_string_append_c(text, '\n');
    g_string_append(text, "q ends this; what runs goes on");
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Whether there is something to draw; what cannot be read will be told by the drawing. */
static gboolean has_news(const Watch *watch)
{
    gboolean changed = TRUE;

    return store_watch_drain(watch->watch) &&
           (!store_has_changed(watch->store, &changed, NULL) || changed);
}

/* Sleep until there is something new to draw, and a second is over since the last time. */
static gboolean wait_for_news(const Watch *watch, Screen *screen)
{
    gint64 earliest = clock_mono_ns() + redraw_ns;
    gboolean news = FALSE;

    for (;;) {
        switch (screen_wait(screen, store_watch_fd(watch->watch), news ? earliest : WAIT_FOREVER)) {
        case SCREEN_END:
            return FALSE;
        case SCREEN_TIMEOUT:
            return TRUE;
        case SCREEN_RESIZED:
            news = TRUE;
            break;
        case SCREEN_OTHER:
            news = has_news(watch) || news;
            break;
        }
        if (news && clock_mono_ns() >= earliest)
            return TRUE;
    }
}

static int watch_screen(const Watch *watch, GError **error)
{
    g_autoptr(Screen) screen = screen_new(error);

    if (screen == NULL)
        return VM_EXIT_INVALID;
    do {
        guint columns, rows;

        screen_size(screen, &columns, &rows);
        g_autofree char *text = picture(watch, columns, rows, error);

        if (text == NULL)
            return VM_EXIT_ENVIRONMENT;
        screen_draw(screen, text);
    } while (wait_for_news(watch, screen));
    return VM_EXIT_DONE;
}

/* ---- as JSON ---- */

/* The table's JSON on one line. */
static gboolean print_line(const Watch *watch, GError **error)
{
    gint64 now_ns = clock_wall_ns();
    g_autoptr(GPtrArray) campaigns = load(watch, ENDED_SMALL, now_ns, error);
    g_autoptr(Table) table = NULL;
    g_autofree char *text = NULL;
    json_t *json;
    char *line;

    if (campaigns == NULL)
        return FALSE;
    table = status_table(campaigns, now_ns, daytime_format);
    text = table_format(table, FORMAT_JSON, 0, FALSE);
    json = json_loads(text, 0, NULL);
    line = json_dumps(json, JSON_COMPACT);
    printf("%s\n", line);
    free(line);
    json_decref(json);
    if (fflush(stdout) == 0)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "standard output: cannot write");
    return FALSE;
}

/* A line whenever something changes, at most one a second, until a signal or until nobody reads. */
static int watch_lines(const Watch *watch, Cancel *cancel, GError **error)
{
    const Wait wait = {
        .deadline_ns = WAIT_FOREVER, .cancel = cancel, .guard_fd = -1, .step = "watch"};

    for (;;) {
        struct pollfd fds[] = {{.fd = store_watch_fd(watch->watch), .events = POLLIN},
                               {.fd = STDOUT_FILENO, .events = 0}};

        if (!print_line(watch, error))
            return VM_EXIT_ENVIRONMENT;
        if (wait_sleep(&wait, redraw_ns) == WAIT_CANCELLED)
            return VM_EXIT_DONE;
        do {
            if (wait_fds(&wait, fds, G_N_ELEMENTS(fds)) != WAIT_READY || fds[1].revents != 0)
                return VM_EXIT_DONE;
        } while (!has_news(watch));
    }
}

static int run_watch(const Settings *settings, char **words, GError **error)
{
    g_autoptr(Store) store = settings_open_store(settings, STORE_READ_ONLY, error);
    g_autoptr(StoreWatch) news = store != NULL ? store_watch_new(store_path(store), error) : NULL;
    Watch watch = {.store = store, .watch = news, .colour = output_colour(settings, STDOUT_FILENO)};
    g_autoptr(Cancel) cancel = NULL;
    int code;

    if (news == NULL)
        return VM_EXIT_ENVIRONMENT;
    if (settings_format(settings, FORMAT_TABLE) != FORMAT_JSON)
        return watch_screen(&watch, error);
    cancel = cancel_new();
    signals_catch(cancel);
    code = watch_lines(&watch, cancel, error);
    signals_release();
    return code;
}

const Command command_watch = {
    .name = "watch",
    .arguments = "",
    .group = "Queue",
    .summary = "the queue as it changes, until q is pressed",
    .about = "Shows what \"vmatrix status\" prints and what happened last, and draws it again\n"
             "when the database has changed, at most once a second: so it is quiet while an\n"
             "invocation runs. With --json it prints a line instead, for programs.\n",
    .example = "vmatrix watch",
    .run = run_watch,
};
