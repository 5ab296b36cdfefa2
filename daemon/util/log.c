/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "util/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HELD_MAX = 1000 };

/* A line with its fields: copies, since those of the caller are gone when it is written late. */
typedef struct {
    GLogLevelFlags level;
    GArray *fields; /* GLogField: keys and values are owned */
} Record;

static const char *const subject_keys[] = {
    [LOG_CAMPAIGN] = "VMATRIX_CAMPAIGN",
    [LOG_CELL] = "VMATRIX_CELL",
    [LOG_RUN] = "VMATRIX_RUN",
    [LOG_STEP] = "VMATRIX_STEP",
};

static struct {
    LogLevel level;
    GLogWriterFunc sink; /* takes records, or NULL */
    gpointer sink_data;
    char *subjects[G_N_ELEMENTS(subject_keys)];
    guint hold;
    GQueue held; /* Record*: lines kept while held */
    guint dropped;
    void (*before)(void *data);
    void *before_data;
    GMutex lock;
} state = {.level = LOG_NORMAL};

/* ---- records ---- */

static void field_clear(gpointer data)
{
    GLogField *field = data;

    g_free((char *)field->key);
    g_free((gpointer)field->value);
}

static void record_add(Record *record, const char *key, const void *value, gssize length)
{
    /* Always with a NUL at its end: a text without a length stays one. */
    GString *copy = g_string_new_len(value, length);
    GLogField field = {.key = g_strdup(key), .value = g_string_free(copy, FALSE), .length = length};

    g_array_append_val(record->fields, field);
}

static Record *record_new(GLogLevelFlags level, const GLogField *fields, gsize n)
{
    Record *record = g_new0(Record, 1);

    record->level = level;
    record->fields = g_array_new(FALSE, FALSE, sizeof(GLogField));
    g_array_set_clear_func(record->fields, field_clear);
    for (gsize i = 0; i < n; i++)
        record_add(record, fields[i].key, fields[i].value, fields[i].length);
    for (gsize i = 0; i < G_N_ELEMENTS(subject_keys); i++)
        if (state.subjects[i] != NULL)
            record_add(record, subject_keys[i], state.subjects[i], -1);
    return record;
}

static void record_free(Record *record)
{
    g_array_unref(record->fields);
    g_free(record);
}

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

static const char *message_of(const Record *record)
{
    for (guint i = 0; i < record->fields->len; i++) {
        const GLogField *field = &g_array_index(record->fields, GLogField, i);

        if (g_str_equal(field->key, "MESSAGE"))
            return field->value;
    }
    return "";
}

static void emit(const Record *record)
{
    if (state.sink != NULL &&
        state.sink(record->level, (const GLogField *)(void *)record->fields->data,
                   record->fields->len, state.sink_data) == G_LOG_WRITER_HANDLED)
        return;
    if (state.before != NULL)
        state.before(state.before_data);
    fprintf(stderr, "%s%s\n", label(record->level), message_of(record));
}

static GLogWriterOutput write_log(GLogLevelFlags level, const GLogField *fields, gsize n,
                                  gpointer data)
{
    Record *record;

    if (!wanted(level))
        return G_LOG_WRITER_HANDLED;
    g_mutex_lock(&state.lock);
    record = record_new(level, fields, n);
    if (state.hold == 0)
        emit(record);
    else if (state.held.length < HELD_MAX)
        g_queue_push_tail(&state.held, g_steal_pointer(&record));
    else
        state.dropped++;
    g_clear_pointer(&record, record_free);
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
    if (g_log_writer_is_journald(STDERR_FILENO))
        state.sink = g_log_writer_journald;
    g_log_set_writer_func(write_log, NULL, NULL);
}

void log_set_subject(LogSubject subject, const char *value)
{
    g_mutex_lock(&state.lock);
    g_free(state.subjects[subject]);
    state.subjects[subject] = g_strdup(value);
    g_mutex_unlock(&state.lock);
}

void log_set_sink(GLogWriterFunc sink, gpointer data)
{
    g_mutex_lock(&state.lock);
    state.sink = sink;
    state.sink_data = data;
    g_mutex_unlock(&state.lock);
}

void log_hold(void)
{
    g_mutex_lock(&state.lock);
    state.hold++;
    g_mutex_unlock(&state.lock);
}

void log_release(void)
{
    Record *record;

    g_mutex_lock(&state.lock);
    g_assert(state.hold > 0);
    if (--state.hold == 0) {
        while ((record = g_queue_pop_head(&state.held)) != NULL) {
            emit(record);
            record_free(record);
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
