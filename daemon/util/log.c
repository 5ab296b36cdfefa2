/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "util/log.h"

#include <stdio.h>
#include <unistd.h>

enum { HELD_MAX = 1000 };

static struct {
    LogLevel level;
    gboolean journal;
    guint hold;
    GQueue held; /* char*: lines kept while held */
    guint dropped;
    void (*before)(void *data);
    void *before_data;
    GMutex lock;
} state = {.level = LOG_NORMAL};

static gboolean wanted(GLogLevelFlags level)
{
    if (level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING))
        return TRUE;
    if (level & G_LOG_LEVEL_MESSAGE)
        return state.level >= LOG_NORMAL;
    if (level & G_LOG_LEVEL_INFO)
        return state.level >= LOG_VERBOSE;
    return state.level >= LOG_DEBUG_ALL;
}

static const char *label(GLogLevelFlags level)
{
    if (level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL))
        return "error: ";
    if (level & G_LOG_LEVEL_WARNING)
        return "warning: ";
    if (level & G_LOG_LEVEL_DEBUG)
        return "debug: ";
    return "";
}

static const char *message_of(const GLogField *fields, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (g_str_equal(fields[i].key, "MESSAGE"))
            return fields[i].value;
    return "";
}

static void emit(const char *line)
{
    if (state.before != NULL)
        state.before(state.before_data);
    fputs(line, stderr);
}

static GLogWriterOutput write_log(GLogLevelFlags level, const GLogField *fields, gsize n,
                                  gpointer data)
{
    g_autofree char *line = NULL;

    if (!wanted(level))
        return G_LOG_WRITER_HANDLED;
    line = g_strdup_printf("%s%s\n", label(level), message_of(fields, n));
    g_mutex_lock(&state.lock);
    if (state.hold == 0) {
        if (!state.journal || g_log_writer_journald(level, fields, n, data) != G_LOG_WRITER_HANDLED)
            emit(line);
    } else if (state.held.length < HELD_MAX) {
        g_queue_push_tail(&state.held, g_steal_pointer(&line));
    } else {
        state.dropped++;
    }
    g_mutex_unlock(&state.lock);
    return G_LOG_WRITER_HANDLED;
}

void log_set_level(LogLevel level)
{
    state.level = level;
}

void log_init(LogLevel level)
{
    state.level = level;
    state.journal = g_log_writer_is_journald(STDERR_FILENO);
    g_log_set_writer_func(write_log, NULL, NULL);
}

void log_hold(void)
{
    g_mutex_lock(&state.lock);
    state.hold++;
    g_mutex_unlock(&state.lock);
}

void log_release(void)
{
    char *line;

    g_mutex_lock(&state.lock);
    g_assert(state.hold > 0);
    if (--state.hold == 0) {
        while ((line = g_queue_pop_head(&state.held)) != NULL) {
            emit(line);
            g_free(line);
        }
        if (state.dropped > 0)
            fprintf(stderr, "warning: %u log lines were dropped while held\n", state.dropped);
        state.dropped = 0;
    }
    g_mutex_unlock(&state.lock);
}

void log_set_before(void (*before)(void *data), void *data)
{
    g_mutex_lock(&state.lock);
    state.before = before;
    state.before_data = data;
    g_mutex_unlock(&state.lock);
}
