/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "session.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "emit.h"
#include "facts.h"
#include "json.h"
#include "os.h"
#include "peer.h"
#include "request.h"
#include "runner.h"
#include "token.h"

enum state {
    STATE_IDLE,
    STATE_PREPARING,
    STATE_READY,   /* ready was sent */
    STATE_WORKING, /* between begin and end: nothing is read or written */
    STATE_ENDED,   /* end was sent, results are in memory */
};
static const char *const state_names[] = {"no invocation is there", "it is being prepared",
                                          "it waits for go", "it is at work",
                                          "it waits for collect"};

enum { STATUS_GOES_ON = -1, STATUS_DONE = 0, STATUS_NO_OUTPUT = 1, STATUS_NOT_UNDERSTOOD = 2 };

struct session {
    const char *self;
    struct stopwatch clock;
    enum state state;
    struct runner *runner;
    struct runner_request request;
    char *folder; /* of request */
    char peer[PEER_TEXT_MAX];
    struct token token; /* of request's peer */
    int64_t invocation;
    bool died_waiting;             /* the runner failed after ready: told when go comes */
    uint64_t invocations, samples; /* totals */
    struct request_input input;
    int status;
};

/* --- refusing --- */

static bool refuse(struct session *session, const char *format, ...) AGENT_PRINTF(2, 3);

static bool refuse(struct session *session, const char *format, ...)
{
    char reason[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    emit_error(stdout, reason);
    session->status = STATUS_NOT_UNDERSTOOD;
    return false;
}

/* --- members of requests --- */

static bool take_integer(struct session *session, const struct json_object *object,
                         struct request_range range, int64_t *ret_value)
{
    char reason[REQUEST_REASON_MAX];

    return request_integer(object, range, ret_value, reason) || refuse(session, "%s", reason);
}

static bool take_string(struct session *session, const struct json_object *object, const char *key,
                        const char **ret_text)
{
    char reason[REQUEST_REASON_MAX];

    return request_string(object, key, ret_text, reason) || refuse(session, "%s", reason);
}

static bool take_invocation(struct session *session, const struct json_object *object,
                            int64_t *ret_number)
{
    return take_integer(session, object, (struct request_range){"invocation", 0, INT64_MAX},
                        ret_number);
}

/* A request about the invocation that is there, in the one state where it has a meaning. */
static bool expect_invocation(struct session *session, const struct json_object *object,
                              const char *what, enum state state)
{
    int64_t number = 0;

    if (!take_invocation(session, object, &number))
        return false;
    if (session->state != state)
        return refuse(session, "\"%s\" was not expected: %s", what, state_names[session->state]);
    if (number != session->invocation)
        return refuse(session, "\"%s\" names invocation %" PRId64 ", and %" PRId64 " is there",
                      what, number, session->invocation);
    return true;
}

/* --- an invocation --- */

static void drop_invocation(struct session *session)
{
    runner_free(session->runner);
    session->runner = NULL;
    free(session->folder);
    session->folder = NULL;
    session->died_waiting = false;
    session->state = STATE_IDLE;
}

static void tell_outcome(struct session *session, enum runner_event event, const char *reason)
{
    char copy[OS_REASON_MAX];

    snprintf(copy, sizeof(copy), "%s", reason); /* the reason may be the runner's own */
    drop_invocation(session); /* first: when the host reads this, nothing runs any more */
    emit_outcome(stdout, event == RUNNER_UNSUPPORTED ? "unsupported" : "failed",
                 session->invocation, copy);
}

static void take_event(struct session *session, enum runner_event event)
{
    switch (event) {
    case RUNNER_NOTHING:
        return;
    case RUNNER_READY:
        session->state = STATE_READY;
        emit_outcome(stdout, "ready", session->invocation, NULL);
        return;
    case RUNNER_FINISHED:
        emit_mark(stdout, "end", session->invocation, os_clock_ns());
        session->state = STATE_ENDED;
        runner_watch_end(session->runner);
        return;
    case RUNNER_UNSUPPORTED:
    case RUNNER_FAILED:
        if (session->state == STATE_READY)
            session->died_waiting = true;
        else
            tell_outcome(session, event, runner_reason(session->runner));
        return;
    }
}

static bool read_run(struct session *session, const struct json_object *object, const char **bench)
{
    struct runner_request *request = &session->request;
    int64_t samples = 0, warmup = 0, copies = 0, threads = 1;

    if (!take_invocation(session, object, &session->invocation) ||
        !take_string(session, object, "bench", bench) ||
        !take_integer(session, object, (struct request_range){"samples", 1, RUNNER_SAMPLES_MAX},
                      &samples) ||
        !take_integer(session, object, (struct request_range){"warmup", 0, RUNNER_WARMUP_MAX},
                      &warmup) ||
        !take_integer(session, object, (struct request_range){"sample_ns", 0, RUNNER_TIME_MAX_NS},
                      &request->sample_ns) ||
        !take_integer(session, object,
                      (struct request_range){"warmup_min_ns", 0, RUNNER_TIME_MAX_NS},
                      &request->warmup_min_ns) ||
        !take_integer(session, object, (struct request_range){"copies", 1, OS_COPIES_MAX},
                      &copies) ||
        !take_integer(session, object, (struct request_range){"limit_ns", 0, RUNNER_TIME_MAX_NS},
                      &request->limit_ns))
        return false;
    if (json_find(object, "threads") != NULL &&
        !take_integer(session, object, (struct request_range){"threads", 1, OS_COPIES_MAX},
                      &threads))
        return false;
    if (copies > 1 && threads > 1)
        return refuse(session, "\"copies\" and \"threads\" are both above 1");
    request->samples = (unsigned)samples;
    request->warmup = (unsigned)warmup;
    request->copies = (unsigned)(threads > 1 ? threads : copies);
    request->threads = threads > 1;
    request->cpu = -1;
    return true;
}

static bool read_folder(struct session *session, const struct json_object *object)
{
    const char *folder = "";

    session->request.folder = NULL;
    if (json_find(object, "folder") == NULL)
        return true;
    if (!take_string(session, object, "folder", &folder))
        return false;
    if (folder[0] == '\0' || strlen(folder) > OS_PATH_MAX / 2)
        return refuse(session, "\"folder\" is empty, or longer than %d bytes", OS_PATH_MAX / 2);
    session->folder = malloc(strlen(folder) + 1);
    if (session->folder == NULL)
        return refuse(session, "no memory");
    strcpy(session->folder, folder);
    session->request.folder = session->folder;
    return true;
}

/* Both members, or none. Whether they lead anywhere is seen by the benchmark that asks. */
static bool read_peer(struct session *session, const struct json_object *object)
{
    const char *peer = "", *token = "";

    session->request.peer = NULL;
    if (json_find(object, "peer") == NULL && json_find(object, "peer_token") == NULL)
        return true;
    if (!take_string(session, object, "peer", &peer) ||
        !take_string(session, object, "peer_token", &token))
        return false;
    if (strlen(peer) >= sizeof(session->peer))
        return refuse(session, "\"peer\" is longer than %d bytes", PEER_TEXT_MAX - 1);
    if (!token_parse(token, strlen(token), &session->token))
        return refuse(session, "\"peer_token\" is not %d to %d printable characters", TOKEN_MIN,
                      TOKEN_MAX);
    strcpy(session->peer, peer);
    session->request.peer = session->peer;
    session->request.peer_token = session->token.text;
    return true;
}

static bool on_run(struct session *session, const struct json_object *object)
{
    char reason[OS_REASON_MAX];
    enum runner_event event;
    const char *name = "";

    if (session->state != STATE_IDLE)
        return refuse(session, "\"run\" was not expected: an invocation is there, and %s",
                      state_names[session->state]);
    if (!read_run(session, object, &name) || !read_folder(session, object) ||
        !read_peer(session, object))
        return false;
    session->invocations++;
    session->request.bench = bench_find(name);
    if (session->request.bench == NULL) {
        snprintf(reason, sizeof(reason),
                 "this agent (%s) has no benchmark of that name: see vmatrix-agent list",
                 VMATRIX_AGENT_VERSION);
        tell_outcome(session, RUNNER_FAILED, reason);
        return true;
    }
    session->runner = runner_start(&session->request, &session->clock, &event, reason);
    if (session->runner == NULL)
        tell_outcome(session, event, reason);
    else
        session->state = STATE_PREPARING;
    return true;
}

static bool on_go(struct session *session, const struct json_object *object)
{
    if (!expect_invocation(session, object, "go", STATE_READY))
        return false;
    runner_watch_begin(session->runner);
    session->state = STATE_WORKING;
    emit_mark(stdout, "begin", session->invocation, os_clock_ns());
    if (session->died_waiting)
        tell_outcome(session, RUNNER_FAILED, runner_reason(session->runner));
    else
        runner_go(session->runner);
    return true;
}

/* Returns how many values it sent. */
static uint64_t send_copy(const struct session *session, unsigned copy)
{
    const struct runner_request *request = &session->request;
    struct emit_series series = {.invocation = session->invocation,
                                 .revision = request->bench->revision,
                                 .copy = request->copies > 1 ? (int)copy : -1,
                                 .totals = runner_totals(session->runner, copy)};
    uint64_t sent = 0;

    for (size_t i = 0; i < bench_n_metrics(request->bench); i++) {
        const double *values = runner_values(session->runner, copy, i);

        series.metric = bench_metric(request->bench, i);
        if (values == NULL)
            continue;
        emit_samples(stdout, &series, values, request->samples);
        sent += request->samples;
    }
    return sent;
}

static bool on_collect(struct session *session, const struct json_object *object)
{
    uint64_t sent = 0;
    char flags[RUNNER_FLAGS_MAX];
    struct runner_watch watch;

    if (!expect_invocation(session, object, "collect", STATE_ENDED))
        return false;
    for (unsigned i = 0; i < session->request.copies; i++)
        sent += send_copy(session, i);
    session->samples += sent;
    snprintf(flags, sizeof(flags), "%s", runner_flags(session->runner));
    watch = *runner_watched(session->runner);
    drop_invocation(session); /* first: when the host reads "done", nothing is left of it */
    emit_done(stdout, session->invocation, sent, flags, &watch);
    return true;
}

/* --- other requests --- */

static bool on_ping(struct session *session, const struct json_object *object)
{
    int64_t id = 0;

    if (!take_integer(session, object, (struct request_range){"id", INT64_MIN, INT64_MAX}, &id))
        return false;
    emit_pong(stdout, id);
    return true;
}

static bool on_facts(struct session *session, const struct json_object *object)
{
    struct facts facts;

    (void)object;
    facts_collect(&facts, session->self);
    emit_facts(stdout, &facts);
    facts_free(&facts);
    return true;
}

static bool on_bye(struct session *session, const struct json_object *object)
{
    (void)object;
    drop_invocation(session);
    emit_bye(stdout, session->invocations, session->samples);
    session->status = STATUS_DONE;
    return true;
}

static const struct {
    const char *type;
    bool (*handle)(struct session *session, const struct json_object *object);
} handlers[] = {
    {"ping", on_ping}, {"facts", on_facts},     {"run", on_run},
    {"go", on_go},     {"collect", on_collect}, {"bye", on_bye},
};

static void take_line(struct session *session, char *line, size_t length)
{
    struct json_object object;
    char reason[JSON_REASON_MAX];
    const char *type = "";

    if (!json_parse(line, length, &object, reason)) {
        refuse(session, "the request is not understood: %s", reason);
        return;
    }
    if (!take_string(session, &object, "type", &type))
        return;
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        if (strcmp(handlers[i].type, type) == 0) {
            handlers[i].handle(session, &object);
            return;
        }
    }
    refuse(session, "\"%.100s\" is no request of protocol %d", type, AGENT_PROTOCOL);
}

/* --- the loop --- */

/* Whole lines that have been read, while requests are answered. */
static void take_lines(struct session *session)
{
    enum request_line next = REQUEST_LINE;
    size_t length;
    char *line;

    while (next == REQUEST_LINE && session->status == STATUS_GOES_ON &&
           session->state != STATE_WORKING) {
        next = request_input_next(&session->input, &line, &length);
        if (next == REQUEST_LINE)
            take_line(session, line, length);
        else if (next == REQUEST_TOO_LONG)
            refuse(session, "a request of more than %d bytes", REQUEST_MAX - 1);
    }
}

static void step(struct session *session)
{
    bool works = session->state == STATE_WORKING;
    struct runner *runner = session->died_waiting ? NULL : session->runner;
    int woke = os_wait(works ? OS_INPUT_HANGUP : OS_INPUT_WANTED,
                       runner == NULL ? NULL : runner_workers(runner),
                       runner == NULL ? 0 : runner_deadline(runner));

    if ((woke & OS_WAKE_STOP) || (works && (woke & OS_WAKE_INPUT))) {
        session->status = STATUS_DONE;
        return;
    }
    if ((woke & OS_WAKE_INPUT) && !request_input_read(&session->input))
        session->status = STATUS_DONE;
    if (runner != NULL)
        take_event(session, runner_step(runner));
    take_lines(session);
    if (ferror(stdout))
        session->status = STATUS_NO_OUTPUT;
}

int session_run(const char *self)
{
    struct session *session = calloc(1, sizeof(*session));
    const char *arch;
    int status;

    if (session == NULL)
        return STATUS_NO_OUTPUT;
    session->self = self;
    session->status = STATUS_GOES_ON;
    stopwatch_measure(&session->clock);
    arch = facts_arch();
    emit_hello(stdout, session->clock.resolution_ns, session->clock.cost_ns, arch,
               os_cpus(NULL, 0));
    while (session->status == STATUS_GOES_ON)
        step(session);
    drop_invocation(session);
    status = session->status;
    free(session);
    return status;
}
