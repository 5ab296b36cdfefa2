/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/agent-evidence.h"

#include <string.h>

#include "guest/agent-json.h"
#include "util/text.h"

/* As the protocol bounds them. */
enum {
    NAMED_MAX = 8,
    THREADS_MAX = 256,
    DMESG_MAX = 8,
    SOURCES_MAX = 32,
    NAME_SHOWN = 64,
    LINE_SHOWN = 200,
    CPUS_MAX = 4096,
};

/* Two of them can be added; 36 years of nanoseconds. */
#define NUMBER_MAX (G_GINT64_CONSTANT(1) << 60)

/* Absent where it is not there. */
static gboolean get_number(const json_t *object, const char *member, gint64 *ret_value,
                           GError **error)
{
    gint64 value;

    if (json_object_get(object, member) == NULL) {
        *ret_value = EVIDENCE_ABSENT;
        return TRUE;
    }
    if (!agent_json_int(object, member, &value, error))
        return FALSE;
    if (value > NUMBER_MAX)
        return agent_json_malformed(error, "member \"%s\" is too large", member);
    *ret_value = value;
    return TRUE;
}

/* NULL where it is not there. */
static gboolean get_shown(const json_t *object, const char *member, gsize max, char **ret_text,
                          GError **error)
{
    const char *text;

    if (json_object_get(object, member) == NULL)
        return TRUE;
    if (!agent_json_text(object, member, &text, error))
        return FALSE;
    g_free(*ret_text);
    *ret_text = text_escape(text, -1, max);
    return TRUE;
}

/* *ret_object NULL: there is none. */
static gboolean get_object(const json_t *line, const char *member, const json_t **ret_object,
                           GError **error)
{
    *ret_object = json_object_get(line, member);
    return *ret_object == NULL || json_is_object(*ret_object) ||
           agent_json_malformed(error, "member \"%s\" is not an object", member);
}

/* *ret_array NULL: there is none. */
static gboolean get_array(const json_t *object, const char *member, gsize max,
                          const json_t **ret_array, GError **error)
{
    *ret_array = json_object_get(object, member);
    if (*ret_array == NULL)
        return TRUE;
    if (!json_is_array(*ret_array) || json_array_size(*ret_array) > max)
        return agent_json_malformed(
            error, "member \"%s\" is not an array of at most %" G_GSIZE_FORMAT, member, max);
    return TRUE;
}

/* The numbers of the host's groups out of line, or of "guest" out of object. */
static gboolean get_numbers(const json_t *object, gboolean guest, EvidenceRecord *record,
                            GError **error)
{
    for (guint i = 0; i < evidence_numbers_length; i++) {
        const EvidenceNumber *number = &evidence_numbers[i];
        gboolean of_guest = g_strcmp0(number->group, "guest") == 0;
        const json_t *group = object;
        gint64 value = EVIDENCE_ABSENT;

        if (of_guest != guest)
            continue;
        if (!guest && number->group != NULL && !get_object(object, number->group, &group, error))
            return FALSE;
        if (group != NULL && !get_number(group, number->member, &value, error))
            return FALSE;
        evidence_number_set(record, number, value);
    }
    return TRUE;
}

static gboolean get_culprit(const json_t *object, EvidenceCulprit *culprit, GError **error)
{
    if (!get_shown(object, "name", NAME_SHOWN, &culprit->name, error) ||
        !get_shown(object, "unit", AGENT_NAME_MAX, &culprit->unit, error) ||
        !get_number(object, "pid", &culprit->pid, error) ||
        !get_number(object, "processes", &culprit->processes, error) ||
        !get_number(object, "cpu_ns", &culprit->cpu_ns, error))
        return FALSE;
    culprit->ended = json_is_true(json_object_get(object, "ended"));
    if (culprit->name == NULL || culprit->cpu_ns == EVIDENCE_ABSENT)
        return agent_json_malformed(error, "member \"name\" or \"cpu_ns\" is missing in \"named\"");
    return TRUE;
}

static gboolean get_named(const json_t *line, EvidenceRecord *record, GError **error)
{
    const json_t *foreign, *named, *item;
    gsize i;

    if (!get_object(line, "foreign", &foreign, error) ||
        !get_array(foreign, "named", NAMED_MAX, &named, error))
        return FALSE;
    json_array_foreach (named, i, item) {
        EvidenceCulprit *culprit = g_new0(EvidenceCulprit, 1);

        g_ptr_array_add(record->named, culprit);
        if (!get_culprit(item, culprit, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean get_thread(const json_t *object, EvidenceThread *thread, GError **error)
{
    return get_shown(object, "name", NAME_SHOWN, &thread->name, error) &&
           get_number(object, "cpu_ns", &thread->cpu_ns, error) &&
           get_number(object, "run_delay_ns", &thread->run_delay_ns, error) &&
           get_number(object, "involuntary", &thread->involuntary, error);
}

static gboolean get_threads(const json_t *line, EvidenceRecord *record, GError **error)
{
    const json_t *subject, *threads, *item;
    gsize i;

    if (!get_object(line, "subject", &subject, error) ||
        !get_array(subject, "threads", THREADS_MAX, &threads, error))
        return FALSE;
    json_array_foreach (threads, i, item) {
        EvidenceThread *thread = g_new0(EvidenceThread, 1);

        g_ptr_array_add(record->threads, thread);
        if (!get_thread(item, thread, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean get_dmesg(const json_t *line, EvidenceRecord *record, GError **error)
{
    const json_t *lines, *item;
    gsize i;

    if (!get_array(line, "dmesg", DMESG_MAX, &lines, error))
        return FALSE;
    json_array_foreach (lines, i, item) {
        if (!json_is_string(item))
            return agent_json_malformed(error, "a line of \"dmesg\" is not a string");
        g_ptr_array_add(record->dmesg, text_escape(json_string_value(item), -1, LINE_SHOWN));
    }
    return TRUE;
}

static gboolean source_ok(const json_t *item)
{
    const char *word = json_string_value(item); /* NULL where it is no string */

    return word != NULL && *word != '\0' && strlen(word) <= NAME_SHOWN &&
           strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(word);
}

static gboolean get_sources(const json_t *line, EvidenceRecord *record, GError **error)
{
    g_autoptr(GString) words = g_string_new(NULL);
    const json_t *sources, *item;
    gsize i;

    if (!get_array(line, "sources", SOURCES_MAX, &sources, error))
        return FALSE;
    json_array_foreach (sources, i, item) {
        if (!source_ok(item))
            return agent_json_malformed(error, "a word of \"sources\" is not one");
        g_string_append_printf(words, "%s%s", words->len > 0 ? "," : "", json_string_value(item));
    }
    if (sources != NULL)
        record->sources = g_strdup(words->str);
    return TRUE;
}

/* "0-1,4", or empty. */
static gboolean get_cpus(const json_t *line, EvidenceRecord *record, GError **error)
{
    const char *cpus;

    if (!agent_json_text(line, "cpus", &cpus, error))
        return FALSE;
    if (strlen(cpus) > CPUS_MAX || strspn(cpus, "0123456789-,") != strlen(cpus))
        return agent_json_malformed(error, "member \"cpus\" is not a list of CPUs");
    record->cpus = g_strdup(cpus);
    return TRUE;
}

static gboolean check_always(const EvidenceRecord *record, GError **error)
{
    if (record->span_ns == EVIDENCE_ABSENT)
        return agent_json_malformed(error, "member \"span_ns\" is missing");
    if (record->foreign_cpu_ns == EVIDENCE_ABSENT)
        return agent_json_malformed(error, "member \"cpu_ns\" is missing in \"foreign\"");
    return TRUE;
}

gboolean agent_evidence_decode(const json_t *line, EvidenceRecord **ret_record, GError **error)
{
    g_autoptr(EvidenceRecord) record = evidence_record_new();

    if (!get_numbers(line, FALSE, record, error) || !check_always(record, error) ||
        !get_cpus(line, record, error) || !get_named(line, record, error) ||
        !get_threads(line, record, error) || !get_dmesg(line, record, error) ||
        !get_sources(line, record, error) ||
        !get_shown(line, "clocksource", NAME_SHOWN, &record->clocksource, error) ||
        !get_shown(line, "clocksource_before", NAME_SHOWN, &record->clocksource_before, error))
        return FALSE;
    *ret_record = g_steal_pointer(&record);
    return TRUE;
}

gboolean agent_evidence_decode_guest(const json_t *object, EvidenceRecord **ret_record,
                                     GError **error)
{
    g_autoptr(EvidenceRecord) record = evidence_record_new();

    if (!json_is_object(object))
        return agent_json_malformed(error, "member \"evidence\" is not an object");
    if (!get_numbers(object, TRUE, record, error) ||
        !get_shown(object, "clocksource", NAME_SHOWN, &record->guest_clocksource, error) ||
        !get_shown(object, "clocksource_before", NAME_SHOWN, &record->guest_clocksource_before,
                   error))
        return FALSE;
    *ret_record = g_steal_pointer(&record);
    return TRUE;
}
