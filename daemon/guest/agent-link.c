/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/agent-link.h"

#include <jansson.h>
#include <string.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/text.h"

enum {
    READ_SIZE = 64 * 1024,
    SHOWN_MAX = 120, /* bytes of a guest's text in a message */
};

struct AgentLink {
    Channel *channel;
    GByteArray *buffer; /* bytes read; the line in work begins at start */
    gsize start;
    gsize searched;    /* from start: there is no newline before */
    guint64 total;     /* bytes of the session */
    gint64 arrival_ns; /* host clock when the last bytes came */
    gint64 next_ping;
    gint64 invocation_samples; /* since collect */
    gint64 session_samples;
};

AgentLink *agent_link_new(Channel *channel)
{
    AgentLink *link = g_new0(AgentLink, 1);

    link->channel = channel;
    link->buffer = g_byte_array_new();
    return link;
}

void agent_link_free(AgentLink *link)
{
    if (link == NULL)
        return;
    channel_free(link->channel);
    g_byte_array_unref(link->buffer);
    g_free(link);
}

const char *agent_link_errors(const AgentLink *link)
{
    return link->channel->errors->str;
}

/* The last line that the agent wrote for people, safe to print; empty when there is none. */
static char *last_words(const AgentLink *link)
{
    g_autofree char *text = g_strchomp(g_strdup(agent_link_errors(link)));
    const char *line = strrchr(text, '\n');

    return text_escape(line != NULL ? line + 1 : text, -1, SHOWN_MAX);
}

G_GNUC_PRINTF(4, 5)
static gboolean fail(const AgentLink *link, const Wait *wait, GError **error, const char *format,
                     ...)
{
    g_autofree char *words = last_words(link);
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, VM_ERROR, VM_ERROR_PROTOCOL, "%s: %s%s%s", wait->step, text,
                *words != '\0' ? "; the agent's last words: " : "", words);
    return FALSE;
}

/* "with exit status 3", as far as it can be told soon. */
static char *describe_end(AgentLink *link, const Wait *wait)
{
    Wait soon = wait_within(wait, CLOCK_NS_PER_S);
    int status = -1;

    if (!link->channel->ops->exit_status(link->channel, &soon, &status, NULL) || status < 0)
        return g_strdup("no exit status was told");
    if (status > 128)
        return g_strdup_printf("exit status %d: signal %d", status, status - 128);
    return g_strdup_printf("exit status %d", status);
}

/* Drop what is done with, so that the buffer holds one unfinished line at most before more comes.
 */
static void compact(AgentLink *link)
{
    if (link->start == 0)
        return;
    g_byte_array_remove_range(link->buffer, 0, (guint)link->start);
    link->start = 0;
}

/* One read into the buffer. *ret_eof: there is no more. */
static gboolean fill(AgentLink *link, const Wait *wait, gboolean *ret_eof, GError **error)
{
    gsize old, got = 0;
    ChannelRead kind = CHANNEL_EOF;
    gboolean ok;

    compact(link);
    old = link->buffer->len;
    g_byte_array_set_size(link->buffer, (guint)(old + READ_SIZE));
    ok = link->channel->ops->read(link->channel, wait, link->buffer->data + old, READ_SIZE, &got,
                                  &kind, error);
    link->arrival_ns = clock_mono_ns();
    g_byte_array_set_size(link->buffer, (guint)(old + (ok ? got : 0)));
    if (!ok)
        return FALSE;
    link->total += got;
    if (link->total > AGENT_TOTAL_MAX)
        return fail(link, wait, error, "the agent sent more than the %d bytes allowed in a session",
                    AGENT_TOTAL_MAX);
    *ret_eof = kind == CHANNEL_EOF;
    return TRUE;
}

static gboolean fail_ended(AgentLink *link, const Wait *wait, GError **error)
{
    g_autofree char *end = describe_end(link, wait);
    gsize rest = link->buffer->len - link->start;

    if (rest > 0) {
        g_autofree char *shown =
            text_escape((const char *)link->buffer->data + link->start, (gssize)rest, SHOWN_MAX);

        return fail(link, wait, error, "the agent ended (%s) in the middle of a line: %s", end,
                    shown);
    }
    return fail(link, wait, error, "the agent ended (%s) before it had answered", end);
}

/* The next line without its newline; valid until the next read. *ret_line NULL: end of file. */
static gboolean read_line(AgentLink *link, const Wait *wait, const char **ret_line,
                          gsize *ret_length, GError **error)
{
    for (;;) {
        const char *line = (const char *)link->buffer->data + link->start;
        gsize there = link->buffer->len - link->start;
        const char *newline = there > link->searched
                                  ? memchr(line + link->searched, '\n', there - link->searched)
                                  : NULL;
        gsize length = newline != NULL ? (gsize)(newline - line) : there;
        gboolean eof = FALSE;

        if (length > AGENT_LINE_MAX) {
            g_autofree char *shown = text_escape(line, (gssize)length, SHOWN_MAX);

            return fail(link, wait, error,
                        "the agent sent a line of more than the %d bytes allowed: %s",
                        AGENT_LINE_MAX, shown);
        }
        if (newline != NULL) {
            link->start += length + 1;
            link->searched = 0;
            *ret_line = line;
            *ret_length = length;
            return TRUE;
        }
        link->searched = there;
        if (!fill(link, wait, &eof, error))
            return FALSE;
        if (eof && there == 0) {
            *ret_line = NULL;
            *ret_length = 0;
            return TRUE;
        }
        if (eof)
            return fail_ended(link, wait, error);
    }
}

gboolean agent_link_read(AgentLink *link, const Wait *wait, AgentMessage *ret_message,
                         GError **error)
{
    const char *line;
    gsize length;

    if (!read_line(link, wait, &line, &length, error))
        return FALSE;
    if (line == NULL)
        return fail_ended(link, wait, error);
    if (!agent_message_decode(line, length, ret_message, error)) {
        g_prefix_error(error, "%s: ", wait->step);
        return FALSE;
    }
    return TRUE;
}

/* Read a message of one of the types in mask, with this id (-1: any). */
static gboolean expect(AgentLink *link, const Wait *wait, guint mask, gint64 id,
                       AgentMessage *ret_message, GError **error)
{
    g_auto(AgentMessage) message = {0};
    g_autoptr(GString) wanted = g_string_new(NULL);

    if (!agent_link_read(link, wait, &message, error))
        return FALSE;
    if ((mask & (1u << message.type)) != 0 && (id < 0 || message.id == id)) {
        *ret_message = message;
        memset(&message, 0, sizeof message);
        return TRUE;
    }
    for (guint type = AGENT_HELLO; type <= AGENT_BYE; type++)
        if ((mask & (1u << type)) != 0)
            g_string_append_printf(wanted, "%s\"%s\"", wanted->len > 0 ? " or " : "",
                                   agent_message_type_name(type));
    if ((mask & (1u << message.type)) != 0)
        return fail(link, wait, error,
                    "the agent sent \"%s\" of number %" G_GINT64_FORMAT
                    ", not of %" G_GINT64_FORMAT,
                    agent_message_type_name(message.type), message.id, id);
    return fail(link, wait, error, "the agent sent \"%s\" where %s belongs",
                agent_message_type_name(message.type), wanted->str);
}

/* An agent that has ended takes no request. That is no error here: each request is followed by a
 * read, which meets its last words and its exit status, or the loss of the connection. */
static gboolean send_text(AgentLink *link, const Wait *wait, const char *line, GError **error)
{
    GError *why = NULL;

    if (link->channel->ops->write(link->channel, wait, line, strlen(line), &why))
        return TRUE;
    if (vm_error_is(why, VM_ERROR_LOST)) {
        g_error_free(why);
        return TRUE;
    }
    g_propagate_error(error, why);
    return FALSE;
}

/* {"type":TYPE,"invocation":NUMBER} */
static gboolean send_numbered(AgentLink *link, const Wait *wait, const char *type, gint64 number,
                              GError **error)
{
    char line[128];

    g_snprintf(line, sizeof line, "{\"type\":\"%s\",\"invocation\":%" G_GINT64_FORMAT "}\n", type,
               number);
    return send_text(link, wait, line, error);
}

/* Move what from does not share with into. */
static void merge_facts(GHashTable *into, GHashTable *from)
{
    GHashTableIter iter;
    gpointer key, value;

    g_hash_table_iter_init(&iter, from);
    while (g_hash_table_iter_next(&iter, &key, &value))
        if (!g_hash_table_contains(into, key))
            g_hash_table_insert(into, g_strdup(key), g_strdup(value));
}

gboolean agent_link_hello(AgentLink *link, const Wait *wait, GHashTable **ret_facts, GError **error)
{
    g_auto(AgentMessage) hello = {0};
    g_auto(AgentMessage) facts = {0};

    /* Sent before hello is there: one round trip less. */
    if (!send_text(link, wait, "{\"type\":\"facts\"}\n", error) ||
        !expect(link, wait, 1u << AGENT_HELLO, -1, &hello, error) ||
        !expect(link, wait, 1u << AGENT_FACTS, -1, &facts, error))
        return FALSE;
    merge_facts(hello.facts, facts.facts);
    *ret_facts = g_steal_pointer(&hello.facts);
    return TRUE;
}

static gboolean ping(AgentLink *link, const Wait *wait, ClockProbe *ret_probe, GError **error)
{
    g_auto(AgentMessage) pong = {0};
    gint64 id = ++link->next_ping, sent_ns;
    char line[64];

    g_snprintf(line, sizeof line, "{\"type\":\"ping\",\"id\":%" G_GINT64_FORMAT "}\n", id);
    sent_ns = clock_mono_ns();
    if (!send_text(link, wait, line, error) ||
        !expect(link, wait, 1u << AGENT_PONG, id, &pong, error))
        return FALSE;
    *ret_probe = (ClockProbe){sent_ns, pong.guest_ns, link->arrival_ns};
    return TRUE;
}

gboolean agent_link_ping(AgentLink *link, const Wait *wait, guint n, ClockProbe *ret_probes,
                         GError **error)
{
    for (guint i = 0; i < n; i++)
        if (!ping(link, wait, &ret_probes[i], error))
            return FALSE;
    return TRUE;
}

/* Takes request over; NULL: what could not be packed, since some text is not UTF-8. */
static gboolean send_json(AgentLink *link, const Wait *wait, json_t *request, const char *texts,
                          GError **error)
{
    char *line = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
    gboolean ok;

    json_decref(request);
    if (line == NULL) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "%s: %s is not UTF-8", wait->step, texts);
        return FALSE;
    }
    ok = send_text(link, wait, line, error) && send_text(link, wait, "\n", error);
    free(line);
    return ok;
}

static gboolean send_run(AgentLink *link, const Wait *wait, const AgentRequest *request,
                         GError **error)
{
    json_t *run = json_pack("{s:s, s:I, s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:s*}", "type",
                            "run", "invocation", (json_int_t)request->number, "bench",
                            request->bench, "samples", (int)request->samples, "warmup",
                            (int)request->warmup, "copies", (int)request->copies, "threads",
                            (int)request->threads, "sample_ns", (json_int_t)request->sample_ns,
                            "warmup_min_ns", (json_int_t)request->warmup_min_ns, "limit_ns",
                            (json_int_t)request->limit_ns, "folder", request->folder);

    return send_json(link, wait, run, "the name of the benchmark or the guest's folder", error);
}

gboolean agent_link_prepare(AgentLink *link, const Wait *wait, const AgentRequest *request,
                            AgentPrepare *ret_prepare, char **ret_reason, GError **error)
{
    const guint answers = 1u << AGENT_READY | 1u << AGENT_UNSUPPORTED | 1u << AGENT_FAILED;
    g_auto(AgentMessage) answer = {0};

    if (!send_run(link, wait, request, error) ||
        !expect(link, wait, answers, request->number, &answer, error))
        return FALSE;
    *ret_prepare = answer.type == AGENT_READY         ? AGENT_PREPARED
                   : answer.type == AGENT_UNSUPPORTED ? AGENT_NOT_SUPPORTED
                                                      : AGENT_REFUSED;
    if (answer.type != AGENT_READY)
        *ret_reason = g_steal_pointer(&answer.reason);
    return TRUE;
}

/* Wait for one mark. *ret_reason is set instead when the agent gave up. */
static gboolean read_mark(AgentLink *link, const Wait *wait, AgentMessageType type, gint64 number,
                          ClockProbe *ret_probe, char **ret_reason, GError **error)
{
    g_auto(AgentMessage) mark = {0};

    if (!expect(link, wait, 1u << type | 1u << AGENT_FAILED, number, &mark, error))
        return FALSE;
    if (mark.type == AGENT_FAILED) {
        *ret_reason = g_steal_pointer(&mark.reason);
        return TRUE;
    }
    ret_probe->guest_ns = mark.guest_ns;
    ret_probe->received_ns = link->arrival_ns;
    return TRUE;
}

gboolean agent_link_measure(AgentLink *link, const Wait *wait, gint64 number, AgentMarks *ret_marks,
                            AgentPrepare *ret_outcome, char **ret_reason, GError **error)
{
    AgentMarks marks = {0};
    g_autofree char *reason = NULL;

    marks.begin.sent_ns = marks.end.sent_ns = clock_mono_ns();
    if (!send_numbered(link, wait, "go", number, error) ||
        !read_mark(link, wait, AGENT_BEGIN, number, &marks.begin, &reason, error))
        return FALSE;
    if (reason == NULL && !read_mark(link, wait, AGENT_END, number, &marks.end, &reason, error))
        return FALSE;
    if (reason == NULL && marks.end.guest_ns < marks.begin.guest_ns)
        return fail(link, wait, error,
                    "the agent's end mark is earlier than its begin mark: its clock is not "
                    "monotonic");
    *ret_marks = marks;
    *ret_outcome = reason == NULL ? AGENT_PREPARED : AGENT_REFUSED;
    if (reason != NULL)
        *ret_reason = g_steal_pointer(&reason);
    return TRUE;
}

gboolean agent_link_collect(AgentLink *link, const Wait *wait, gint64 number, GError **error)
{
    link->invocation_samples = 0;
    return send_numbered(link, wait, "collect", number, error);
}

gboolean agent_link_next(AgentLink *link, const Wait *wait, gint64 number,
                         AgentMessage *ret_message, GError **error)
{
    const guint answers = 1u << AGENT_SAMPLE | 1u << AGENT_RAW | 1u << AGENT_DONE;
    g_auto(AgentMessage) message = {0};

    if (!expect(link, wait, answers, number, &message, error))
        return FALSE;
    if (message.type == AGENT_SAMPLE) {
        link->invocation_samples += message.values->len;
        link->session_samples += message.values->len;
    }
    if (message.type == AGENT_DONE && message.count != link->invocation_samples)
        return fail(link, wait, error,
                    "the agent says that it sent %" G_GINT64_FORMAT " values, %" G_GINT64_FORMAT
                    " have come",
                    message.count, link->invocation_samples);
    *ret_message = message;
    memset(&message, 0, sizeof message);
    return TRUE;
}

/* ---- the reader of the host's evidence ---- */

gboolean agent_link_greet(AgentLink *link, const Wait *wait, GError **error)
{
    g_auto(AgentMessage) hello = {0};

    return expect(link, wait, 1u << AGENT_HELLO, -1, &hello, error);
}

/* NULL for NULL. */
static json_t *pids_json(const GArray *pids)
{
    json_t *array = pids != NULL ? json_array() : NULL;

    for (guint i = 0; pids != NULL && i < pids->len; i++)
        json_array_append_new(array, json_integer(g_array_index(pids, gint64, i)));
    return array;
}

static gboolean send_watch(AgentLink *link, const Wait *wait, gint64 id, const AgentWatch *watch,
                           GError **error)
{
    json_t *begin = json_pack("{s:s, s:I, s:s, s:o*, s:o*, s:s*}", "type", "begin", "id",
                              (json_int_t)id, "cpus", watch->cpus, "pids", pids_json(watch->pids),
                              "observer", pids_json(watch->observer), "cgroup", watch->cgroup);

    return send_json(link, wait, begin, "the name of the subject's cgroup", error);
}

gboolean agent_link_watch_begin(AgentLink *link, const Wait *wait, gint64 id,
                                const AgentWatch *watch, AgentPrepare *ret_outcome,
                                char **ret_reason, GError **error)
{
    const guint answers = 1u << AGENT_BEGUN | 1u << AGENT_UNSUPPORTED | 1u << AGENT_FAILED;
    g_auto(AgentMessage) answer = {0};

    if (!send_watch(link, wait, id, watch, error) ||
        !expect(link, wait, answers, id, &answer, error))
        return FALSE;
    *ret_outcome = answer.type == AGENT_BEGUN         ? AGENT_PREPARED
                   : answer.type == AGENT_UNSUPPORTED ? AGENT_NOT_SUPPORTED
                                                      : AGENT_REFUSED;
    if (answer.type != AGENT_BEGUN)
        *ret_reason = g_steal_pointer(&answer.reason);
    return TRUE;
}

gboolean agent_link_watch_end(AgentLink *link, const Wait *wait, gint64 id,
                              EvidenceRecord **ret_record, GError **error)
{
    g_auto(AgentMessage) answer = {0};
    char line[64];

    g_snprintf(line, sizeof line, "{\"type\":\"end\",\"id\":%" G_GINT64_FORMAT "}\n", id);
    if (!send_text(link, wait, line, error) ||
        !expect(link, wait, 1u << AGENT_EVIDENCE, id, &answer, error))
        return FALSE;
    *ret_record = g_steal_pointer(&answer.evidence);
    return TRUE;
}

/* ---- the end ---- */

/* Nothing more may come. */
static gboolean expect_end(AgentLink *link, const Wait *wait, GError **error)
{
    g_autofree char *shown = NULL;
    const char *line;
    gsize length;
    int status;

    if (!link->channel->ops->close_input(link->channel, wait, error) ||
        !read_line(link, wait, &line, &length, error))
        return FALSE;
    if (line != NULL) {
        shown = text_escape(line, (gssize)length, SHOWN_MAX);
        return fail(link, wait, error, "the agent wrote more after its \"bye\": %s", shown);
    }
    if (!link->channel->ops->exit_status(link->channel, wait, &status, error))
        return FALSE;
    if (status != 0)
        return fail(link, wait, error, "the agent's exit status after its \"bye\" is %d", status);
    return TRUE;
}

gboolean agent_link_bye(AgentLink *link, const Wait *wait, GError **error)
{
    g_auto(AgentMessage) bye = {0};

    if (!send_text(link, wait, "{\"type\":\"bye\"}\n", error) ||
        !expect(link, wait, 1u << AGENT_BYE, -1, &bye, error))
        return FALSE;
    if (bye.count != link->session_samples)
        return fail(link, wait, error,
                    "the agent says that it sent %" G_GINT64_FORMAT
                    " values in the session, %" G_GINT64_FORMAT " have come",
                    bye.count, link->session_samples);
    return expect_end(link, wait, error);
}
