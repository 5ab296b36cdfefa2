/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/agent-link.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "guest/agent-evidence.h"
#include "guest/agent-json.h"
#include "guest/agent-scan.h"
#include "util/error.h"
#include "util/text.h"

enum {
    NESTING_MAX = 16,
    SHOWN_MAX = 120, /* bytes of a guest's line in a message */
    REASON_MAX = 1000,
    FACT_MAX = 4096,
    FLAGS_MAX = 500,
    VALUES_MAX = 1000, /* in one line */
    RAW_MAX = 512 * 1024,
};

/* The daemon's own facts of the agent get this prefix before hello's member. */
#define AGENT_FACT "agent."

void agent_message_clear(AgentMessage *message)
{
    metric_clear(&message->metric);
    g_clear_pointer(&message->values, g_array_unref);
    g_clear_pointer(&message->raw, g_bytes_unref);
    g_clear_pointer(&message->facts, g_hash_table_unref);
    evidence_record_free(message->evidence);
    g_free(message->flags);
    g_free(message->reason);
    g_free(message->stream);
    memset(message, 0, sizeof *message);
}

static void add_fact(GHashTable *facts, const char *prefix, const char *key, const json_t *value)
{
    g_autofree char *text = NULL;

    if (json_is_string(value)) {
        text = text_escape(json_string_value(value), -1, FACT_MAX);
    } else if (json_is_integer(value)) {
        text = g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else {
        char digits[G_ASCII_DTOSTR_BUF_SIZE];

        text = g_strdup(g_ascii_formatd(digits, sizeof digits, "%.6g", json_number_value(value)));
    }
    g_hash_table_insert(facts, g_strconcat(prefix, key, NULL), g_steal_pointer(&text));
}

static GHashTable *facts_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

static gboolean decode_hello(const json_t *object, AgentMessage *message, GError **error)
{
    static const char *const texts[] = {"version", "clock", "os", "arch"};
    static const char *const numbers[] = {"resolution_ns", "clock_cost_ns", "cpus"};
    const char *text;

    if (!agent_json_int(object, "protocol", &message->id, error))
        return FALSE;
    if (message->id != AGENT_PROTOCOL)
        return agent_json_malformed(error,
                                    "the agent speaks protocol %" G_GINT64_FORMAT
                                    ", this program %d: give the agent that was built with it",
                                    message->id, AGENT_PROTOCOL);
    message->facts = facts_new();
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        if (!agent_json_text(object, texts[i], &text, error))
            return FALSE;
        add_fact(message->facts, AGENT_FACT, texts[i], json_object_get(object, texts[i]));
    }
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
        const json_t *value = json_object_get(object, numbers[i]);

        if (!json_is_number(value) || json_number_value(value) < 0)
            return agent_json_malformed(error, "member \"%s\" is not a number from 0", numbers[i]);
        add_fact(message->facts, AGENT_FACT, numbers[i], value);
    }
    return TRUE;
}

static gboolean decode_pong(const json_t *object, AgentMessage *message, GError **error)
{
    return agent_json_int(object, "id", &message->id, error) &&
           agent_json_int(object, "t", &message->guest_ns, error);
}

static gboolean fact_key_ok(const char *key)
{
    gsize length = strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789._-");

    return length > 0 && length <= AGENT_NAME_MAX && key[length] == '\0';
}

static gboolean decode_facts(const json_t *object, AgentMessage *message, GError **error)
{
    json_t *facts = json_object_get(object, "facts"), *value;
    const char *key;

    if (!json_is_object(facts))
        return agent_json_malformed(error, "member \"facts\" is not an object");
    message->facts = facts_new();
    json_object_foreach (facts, key, value) {
        if (!json_is_string(value))
            return agent_json_malformed(error, "a fact is not a string");
        if (!fact_key_ok(key))
            return agent_json_malformed(
                error, "a fact's key is not of 1 to %d characters a-z, 0-9, '.', '_' and '-'",
                AGENT_NAME_MAX);
        add_fact(message->facts, "", key, value);
    }
    return TRUE;
}

static gboolean decode_ready(const json_t *object, AgentMessage *message, GError **error)
{
    return agent_json_int(object, "invocation", &message->id, error);
}

/* A session speaks of invocations, the reader of the host's evidence of ids. */
static gboolean decode_reason(const json_t *object, AgentMessage *message, GError **error)
{
    const char *number = json_object_get(object, "invocation") != NULL ? "invocation" : "id";
    const char *reason;

    if (!agent_json_int(object, number, &message->id, error) ||
        !agent_json_text(object, "reason", &reason, error))
        return FALSE;
    message->reason = text_escape(reason, -1, REASON_MAX);
    return TRUE;
}

static gboolean decode_begun(const json_t *object, AgentMessage *message, GError **error)
{
    return agent_json_int(object, "id", &message->id, error);
}

static gboolean decode_evidence(const json_t *object, AgentMessage *message, GError **error)
{
    return agent_json_int(object, "id", &message->id, error) &&
           agent_evidence_decode(object, &message->evidence, error);
}

static gboolean decode_mark(const json_t *object, AgentMessage *message, GError **error)
{
    return agent_json_int(object, "invocation", &message->id, error) &&
           agent_json_int(object, "t", &message->guest_ns, error);
}

static gboolean decode_metric(const json_t *object, Metric *metric, GError **error)
{
    const char *name, *unit, *direction;
    gint64 revision;

    if (!agent_json_name(object, "metric", &name, error) ||
        !agent_json_name(object, "unit", &unit, error) ||
        !agent_json_text(object, "direction", &direction, error) ||
        !agent_json_int(object, "revision", &revision, error))
        return FALSE;
    if (!direction_parse(direction, &metric->direction))
        return agent_json_malformed(error,
                                    "member \"direction\" is neither \"lower\" nor \"higher\"");
    if (revision < 1 || revision > G_MAXINT)
        return agent_json_malformed(error, "member \"revision\" is not from 1");
    metric->name = g_strdup(name);
    metric->unit = g_strdup(unit);
    metric->revision = (guint)revision;
    return TRUE;
}

static gboolean decode_values(const json_t *object, AgentMessage *message, GError **error)
{
    const json_t *values = json_object_get(object, "values");
    gsize n = json_array_size(values); /* 0 where it is no array */

    if (message->values != NULL) /* taken out before */
        return TRUE;
    if (n < 1 || n > VALUES_MAX)
        return agent_json_malformed(error, "member \"values\" is not an array of 1 to %d numbers",
                                    VALUES_MAX);
    message->values = g_array_sized_new(FALSE, FALSE, sizeof(double), (guint)n);
    g_array_set_size(message->values, (guint)n);
    for (gsize i = 0; i < n; i++) {
        const json_t *value = json_array_get(values, i);

        if (!json_is_number(value) || !isfinite(json_number_value(value)))
            return agent_json_malformed(error, "value %" G_GSIZE_FORMAT " is not a finite number",
                                        i + 1);
        g_array_index(message->values, double, i) = json_number_value(value);
    }
    return TRUE;
}

static gboolean decode_sample(const json_t *object, AgentMessage *message, GError **error)
{
    const json_t *iterations = json_object_get(object, "iterations");

    if (!agent_json_int(object, "invocation", &message->id, error) ||
        !decode_metric(object, &message->metric, error) || !decode_values(object, message, error))
        return FALSE;
    if (iterations == NULL)
        return TRUE;
    message->iterations = json_number_value(iterations);
    if (!json_is_number(iterations) || !isfinite(message->iterations) || message->iterations < 0)
        return agent_json_malformed(error, "member \"iterations\" is not a number from 0");
    return TRUE;
}

/* GLib's decoder skips what is not base64: here that is an error. */
static gboolean base64_ok(const char *text, gsize length)
{
    gsize data = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

    return length % 4 == 0 && length - data <= 2 && strspn(text + data, "=") == length - data;
}

/* "file:NAME" with a NAME that names one file in a folder. */
static gboolean stream_ok(const char *stream)
{
    if (g_str_equal(stream, "stdout") || g_str_equal(stream, "stderr"))
        return TRUE;
    return g_str_has_prefix(stream, "file:") && stream[5] != '\0' && strchr(stream, '/') == NULL &&
           stream[5] != '.';
}

static gboolean decode_raw(const json_t *object, AgentMessage *message, GError **error)
{
    const char *stream, *encoding, *data;
    guchar *bytes;
    gsize length;

    if (!agent_json_int(object, "invocation", &message->id, error) ||
        !agent_json_name(object, "stream", &stream, error) ||
        !agent_json_text(object, "encoding", &encoding, error) ||
        !agent_json_text(object, "data", &data, error))
        return FALSE;
    if (!stream_ok(stream))
        return agent_json_malformed(error,
                                    "member \"stream\" is none of stdout, stderr, file:NAME");
    if (!g_str_equal(encoding, "base64"))
        return agent_json_malformed(error, "member \"encoding\" is not \"base64\"");
    if (!base64_ok(data, strlen(data)))
        return agent_json_malformed(error, "member \"data\" is not base64");
    bytes = g_base64_decode(data, &length);
    message->raw = g_bytes_new_take(bytes, length);
    message->stream = g_strdup(stream);
    if (length > RAW_MAX)
        return agent_json_malformed(error, "member \"data\" is of more than %d bytes", RAW_MAX);
    return TRUE;
}

/* "a-flag,another": words that are stored as they are. */
static gboolean flags_ok(const char *flags)
{
    return strlen(flags) <= FLAGS_MAX &&
           strspn(flags, "abcdefghijklmnopqrstuvwxyz0123456789-,") == strlen(flags);
}

static gboolean decode_done(const json_t *object, AgentMessage *message, GError **error)
{
    const json_t *evidence = json_object_get(object, "evidence");
    const char *flags = "";

    if (!agent_json_int(object, "invocation", &message->id, error) ||
        !agent_json_int(object, "samples", &message->count, error))
        return FALSE;
    if (json_object_get(object, "flags") != NULL &&
        !agent_json_text(object, "flags", &flags, error))
        return FALSE;
    if (!flags_ok(flags))
        return agent_json_malformed(
            error, "member \"flags\" is not words of a-z, 0-9 and '-' with commas between them");
    message->flags = g_strdup(flags);
    return evidence == NULL || agent_evidence_decode_guest(evidence, &message->evidence, error);
}

static gboolean decode_bye(const json_t *object, AgentMessage *message, GError **error)
{
    return agent_json_int(object, "invocations", &message->id, error) &&
           agent_json_int(object, "samples", &message->count, error);
}

static const struct message_kind {
    const char *name;
    AgentMessageType type;
    gboolean (*decode)(const json_t *object, AgentMessage *message, GError **error);
} kinds[] = {
    {.name = "sample", .type = AGENT_SAMPLE, .decode = decode_sample},
    {.name = "hello", .type = AGENT_HELLO, .decode = decode_hello},
    {.name = "pong", .type = AGENT_PONG, .decode = decode_pong},
    {.name = "facts", .type = AGENT_FACTS, .decode = decode_facts},
    {.name = "ready", .type = AGENT_READY, .decode = decode_ready},
    {.name = "unsupported", .type = AGENT_UNSUPPORTED, .decode = decode_reason},
    {.name = "failed", .type = AGENT_FAILED, .decode = decode_reason},
    {.name = "begin", .type = AGENT_BEGIN, .decode = decode_mark},
    {.name = "end", .type = AGENT_END, .decode = decode_mark},
    {.name = "raw", .type = AGENT_RAW, .decode = decode_raw},
    {.name = "done", .type = AGENT_DONE, .decode = decode_done},
    {.name = "begun", .type = AGENT_BEGUN, .decode = decode_begun},
    {.name = "evidence", .type = AGENT_EVIDENCE, .decode = decode_evidence},
    {.name = "bye", .type = AGENT_BYE, .decode = decode_bye},
};

const char *agent_message_type_name(AgentMessageType type)
{
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (kinds[i].type == type)
            return kinds[i].name;
    return "?";
}

static gboolean decode_object(const json_t *object, AgentMessage *message, GError **error)
{
    const char *type;

    if (!agent_json_text(object, "type", &type, error))
        return FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(type, kinds[i].name) == 0) {
            message->type = kinds[i].type;
            return kinds[i].decode(object, message, error);
        }
    }
    if (strcmp(type, "error") == 0)
        return agent_json_malformed(error, "the agent did not understand a request");
    return agent_json_malformed(error, "the type of message is unknown");
}

/* The line as JSON, without the values that the scan has taken out of it. */
static json_t *parse(const char *line, gsize length, const AgentScan *scan, GError **error)
{
    g_autoptr(GString) rest = NULL;
    json_error_t why;
    json_t *json;

    if (scan->values != NULL) {
        rest = g_string_new_len(line, (gssize)scan->from);
        g_string_append_len(rest, line + scan->to, (gssize)(length - scan->to));
        line = rest->str;
        length = rest->len;
    }
    json = json_loadb(line, length, JSON_REJECT_DUPLICATES, &why);
    if (json == NULL) {
        g_autofree char *text = text_escape(why.text, -1, SHOWN_MAX);

        agent_json_malformed(error, "the line is not JSON: %s", text);
    }
    return json;
}

static gboolean decode_line(const char *line, gsize length, AgentMessage *message, GError **error)
{
    g_auto(AgentScan) scan = {0};
    json_t *json;
    gboolean ok;

    if (length > AGENT_LINE_MAX)
        return agent_json_malformed(error, "the line is longer than %d bytes", AGENT_LINE_MAX);
    /* The parser is recursive: nesting is bounded before it sees the line. */
    agent_scan(line, length, NESTING_MAX, VALUES_MAX, &scan);
    if (scan.too_deep)
        return agent_json_malformed(error, "the line nests deeper than %d", NESTING_MAX);
    json = parse(line, length, &scan, error);
    if (json == NULL)
        return FALSE;
    message->values = g_steal_pointer(&scan.values);
    ok = json_is_object(json) ? decode_object(json, message, error)
                              : agent_json_malformed(error, "the line is not a JSON object");
    /* Another message's member of that name is none that we know. */
    if (message->type != AGENT_SAMPLE)
        g_clear_pointer(&message->values, g_array_unref);
    json_decref(json);
    return ok;
}

gboolean agent_message_decode(const char *line, gsize length, AgentMessage *ret_message,
                              GError **error)
{
    g_auto(AgentMessage) message = {0};

    if (!decode_line(line, length, &message, error)) {
        if (error != NULL) {
            g_autofree char *shown = text_escape(line, (gssize)length, SHOWN_MAX);

            g_prefix_error(error, "malformed line from the agent: ");
            g_autofree char *text = g_strdup_printf("%s: %s", (*error)->message, shown);

            g_free((*error)->message);
            (*error)->message = g_steal_pointer(&text);
        }
        return FALSE;
    }
    *ret_message = message;
    memset(&message, 0, sizeof message);
    return TRUE;
}
