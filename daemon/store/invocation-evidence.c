/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The evidence of an invocation as a row: its numbers are columns, its lists are JSON. */
#include "store/store.h"

#include <jansson.h>

#include "store/db.h"

/* Without the numbers: what stands before them in the statement. */
static const char *const texts[] = {"invocation_id",
                                    "verdict",
                                    "reason",
                                    "flags",
                                    "cpus",
                                    "n_cpus",
                                    "pids",
                                    "cgroup",
                                    "sources",
                                    "clocksource",
                                    "clocksource_before",
                                    "guest_clocksource",
                                    "guest_clocksource_before",
                                    "named",
                                    "threads",
                                    "dmesg"};

/* Made once: statements are cached by their address. */
static const char *insert_sql(void)
{
    static gsize made;

    if (g_once_init_enter(&made)) {
        GString *sql = g_string_new("INSERT INTO evidence (");
        guint n = G_N_ELEMENTS(texts) + evidence_numbers_length;

        for (guint i = 0; i < n; i++)
            g_string_append_printf(sql, "%s%s", i > 0 ? ", " : "",
                                   i < G_N_ELEMENTS(texts)
                                       ? texts[i]
                                       : evidence_numbers[i - G_N_ELEMENTS(texts)].column);
        g_string_append(sql, ") VALUES (");
        for (guint i = 1; i <= n; i++)
            g_string_append_printf(sql, "%s?%u", i > 1 ? ", " : "", i);
        g_string_append(sql, ")");
        g_once_init_leave(&made, (gsize)g_string_free(sql, FALSE));
    }
    return (const char *)made;
}

/* An absent number is left out. */
static void set_number(json_t *object, const char *member, gint64 value)
{
    if (value != EVIDENCE_ABSENT)
        json_object_set_new(object, member, json_integer(value));
}

/* A text that is not there is left out. */
static void set_text(json_t *object, const char *member, const char *text)
{
    if (text != NULL)
        json_object_set_new(object, member, json_string(text));
}

static json_t *culprit_json(gconstpointer data)
{
    const EvidenceCulprit *culprit = data;
    json_t *object = json_object();

    set_text(object, "name", culprit->name);
    set_text(object, "unit", culprit->unit);
    set_number(object, "pid", culprit->pid);
    set_number(object, "processes", culprit->processes);
    set_number(object, "cpu_ns", culprit->cpu_ns);
    json_object_set_new(object, "ended", json_boolean(culprit->ended));
    return object;
}

static json_t *thread_json(gconstpointer data)
{
    const EvidenceThread *thread = data;
    json_t *object = json_object();

    set_text(object, "name", thread->name);
    set_number(object, "cpu_ns", thread->cpu_ns);
    set_number(object, "run_delay_ns", thread->run_delay_ns);
    set_number(object, "involuntary", thread->involuntary);
    return object;
}

static json_t *line_json(gconstpointer data)
{
    return json_string(data);
}

/* Transfer full (free()). */
static char *list_json(const GPtrArray *list, json_t *(*item)(gconstpointer data))
{
    json_t *array = json_array();
    char *text;

    for (guint i = 0; i < list->len; i++)
        json_array_append_new(array, item(g_ptr_array_index(list, i)));
    text = json_dumps(array, JSON_COMPACT);
    json_decref(array);
    return text;
}

static const char *verdict_text(const EvidenceRecord *record, const EvidenceVerdict *verdict)
{
    if (record->span_ns == EVIDENCE_ABSENT)
        return NULL;
    return verdict->contaminated ? "contaminated" : "clean";
}

gboolean store_evidence_add(Store *store, gint64 invocation, const EvidenceRecord *record,
                            const EvidenceVerdict *verdict, GError **error)
{
    char *lists[] = {list_json(record->named, culprit_json),
                     list_json(record->threads, thread_json), list_json(record->dmesg, line_json)};
    const DbValue first[G_N_ELEMENTS(texts)] = {db_int(invocation),
                                                db_text(verdict_text(record, verdict)),
                                                db_text(verdict->reason),
                                                db_text(verdict->flags),
                                                db_text(record->cpus),
                                                db_int(record->n_cpus),
                                                db_text(record->pids),
                                                db_text(record->cgroup),
                                                db_text(record->sources),
                                                db_text(record->clocksource),
                                                db_text(record->clocksource_before),
                                                db_text(record->guest_clocksource),
                                                db_text(record->guest_clocksource_before),
                                                db_text(lists[0]),
                                                db_text(lists[1]),
                                                db_text(lists[2])};
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(DbValue));
    gboolean ok;

    g_array_append_vals(values, first, G_N_ELEMENTS(first));
    for (guint i = 0; i < evidence_numbers_length; i++) {
        gint64 number = evidence_number_get(record, &evidence_numbers[i]);
        DbValue value = db_int_if(number != EVIDENCE_ABSENT, number);

        g_array_append_val(values, value);
    }
    ok = db_write(store, "add evidence", insert_sql(), (const DbValue *)(void *)values->data,
                  values->len, error);
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
        free(lists[i]);
    return ok;
}
