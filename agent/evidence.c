/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "evidence.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "evidence-record.h"
#include "facts.h"
#include "request.h"
#include "runner.h"

enum { STATUS_GOES_ON = -1, STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_NOT_UNDERSTOOD = 2 };

#define PID_MAX INT32_MAX

struct evidence_session {
    struct evidence_reader *reader;
    struct evidence_request request;
    struct evidence_snapshot before, after;
    struct evidence_record record;
    bool watching; /* between begin and end */
    struct request_input input;
    int status;
};

/* --- options --- */

static bool parse_number(const char *text, int64_t most, int64_t *ret_number)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    *ret_number = strtoll(text, &end, 10);
    return *end == '\0' && *ret_number >= 1 && *ret_number <= most;
}

static bool take_cgroup(const char *path, struct evidence_request *request)
{
    if (path[0] != '/' || path[1] == '\0' || strlen(path) >= sizeof(request->cgroup) ||
        strstr(path, "/..") != NULL)
        return false;
    snprintf(request->cgroup, sizeof(request->cgroup), "%s", path);
    return true;
}

static bool parse_option(const char *option, const char *value, struct evidence_options *options)
{
    struct evidence_request *request = &options->request;

    if (strcmp(option, "--root") == 0 && value[0] == '/' && strlen(value) < OS_PATH_MAX)
        options->root = value;
    else if (strcmp(option, "--for") == 0)
        return parse_number(value, EVIDENCE_SECONDS_MAX, &options->seconds);
    else if (strcmp(option, "--pid") == 0 && request->n_pids < EVIDENCE_PIDS_MAX)
        return parse_number(value, PID_MAX, &request->pids[request->n_pids++]);
    else if (strcmp(option, "--cpus") == 0)
        return evidence_cpus_parse(value, &request->cpus) && !evidence_cpus_empty(&request->cpus);
    else if (strcmp(option, "--cgroup") == 0)
        return take_cgroup(value, request);
    else
        return false;
    return true;
}

bool evidence_parse(int argc, char **argv, struct evidence_options *ret_options, char *ret_reason)
{
    struct evidence_options options = {.root = ""};

    for (int i = 0; i < argc; i += 2) {
        if (i + 1 == argc || !parse_option(argv[i], argv[i + 1], &options)) {
            snprintf(ret_reason, EVIDENCE_REASON_MAX,
                     "host-evidence: not an option, or not a value for it: %.40s (--for SECONDS, "
                     "--pid N, --cpus LIST, --cgroup /PATH, --root /DIR)",
                     argv[i]);
            return false;
        }
    }
    if (options.seconds == 0 && (options.request.n_pids > 0 || options.request.cgroup[0] != '\0' ||
                                 !evidence_cpus_empty(&options.request.cpus))) {
        snprintf(ret_reason, EVIDENCE_REASON_MAX,
                 "host-evidence: --pid, --cpus and --cgroup are for use by hand: say --for SECONDS "
                 "too");
        return false;
    }
    *ret_options = options;
    return true;
}

/* --- the two snapshots --- */

static bool subject_is_there(const struct evidence_session *session, char *reason)
{
    const struct evidence_request *request = &session->request;

    for (int64_t i = 0; i < request->n_pids; i++)
        if (evidence_find(&session->before, request->pids[i]) != NULL)
            return true;
    if (request->n_pids == 0)
        return true;
    snprintf(reason, OS_REASON_MAX, "there is no process %" PRId64 " on this host",
             request->pids[0]);
    return false;
}

static bool begin(struct evidence_session *session, char *reason)
{
    int64_t self = evidence_reader_self(session->reader);
    struct evidence_request *request = &session->request;

    if (self > 0)
        request->observers[request->n_observers++] = self;
    return evidence_read(session->reader, request, NULL, &session->before, reason) &&
           subject_is_there(session, reason);
}

static bool end(struct evidence_session *session, char *reason)
{
    if (!evidence_read(session->reader, &session->request, &session->before, &session->after,
                       reason))
        return false;
    if (evidence_difference(&session->request, &session->before, &session->after, &session->record))
        return true;
    snprintf(reason, OS_REASON_MAX, "no memory");
    return false;
}

/* --- requests --- */

static bool refuse(struct evidence_session *session, const char *reason)
{
    emit_error(stdout, reason);
    session->status = STATUS_NOT_UNDERSTOOD;
    return false;
}

static bool take_id(const struct json_object *object, int64_t *ret_id, char *reason)
{
    return request_integer(object, (struct request_range){"id", 0, INT64_MAX}, ret_id, reason);
}

static bool take_optional_cgroup(const struct json_object *object, struct evidence_request *request,
                                 char *reason)
{
    const struct json_member *member = json_find(object, "cgroup");

    if (member == NULL || member->kind == JSON_OTHER) /* null */
        return true;
    if (member->kind == JSON_STRING && take_cgroup(member->text, request))
        return true;
    snprintf(reason, REQUEST_REASON_MAX,
             "\"cgroup\" is not a path that begins with '/', names no parent, and is not the root");
    return false;
}

static bool take_reports(const struct json_object *object, struct evidence_request *request,
                         char *reason)
{
    int64_t reports = 1;

    if (json_find(object, "reports") != NULL &&
        !request_integer(object, (struct request_range){"reports", 0, 1}, &reports, reason))
        return false;
    request->no_reports = reports == 0;
    return true;
}

/* The reader itself is an observer too: one place is kept for it. */
static bool take_begin(const struct json_object *object, struct evidence_request *request,
                       char *reason)
{
    const char *cpus;

    memset(request, 0, sizeof(*request));
    if (!take_id(object, &request->id, reason) || !request_string(object, "cpus", &cpus, reason) ||
        !request_integers(object, (struct request_range){"pids", 1, PID_MAX}, EVIDENCE_PIDS_MAX,
                          request->pids, &request->n_pids, reason) ||
        !request_integers(object, (struct request_range){"observer", 1, PID_MAX},
                          EVIDENCE_PIDS_MAX - 1, request->observers, &request->n_observers,
                          reason) ||
        !take_optional_cgroup(object, request, reason) || !take_reports(object, request, reason))
        return false;
    if (evidence_cpus_parse(cpus, &request->cpus) && !evidence_cpus_empty(&request->cpus))
        return true;
    snprintf(reason, REQUEST_REASON_MAX,
             "\"cpus\" is not a list of CPUs below %d such as \"0-1,4\"", OS_CPUS_MAX);
    return false;
}

static bool on_begin(struct evidence_session *session, const struct json_object *object)
{
    char reason[REQUEST_REASON_MAX], why[OS_REASON_MAX];

    if (session->watching)
        return refuse(session, "\"begin\" was not expected: one was before, and no end");
    if (!take_begin(object, &session->request, reason))
        return refuse(session, reason);
    if (evidence_unsupported() != NULL)
        return emit_answer(stdout, "unsupported", session->request.id, evidence_unsupported());
    if (!begin(session, why))
        return emit_answer(stdout, "failed", session->request.id, why);
    session->watching = true;
    return emit_answer(stdout, "begun", session->request.id, NULL);
}

static bool on_end(struct evidence_session *session, const struct json_object *object)
{
    char reason[REQUEST_REASON_MAX];
    int64_t id = 0;

    if (!take_id(object, &id, reason))
        return refuse(session, reason);
    if (!session->watching || id != session->request.id)
        return refuse(session, "\"end\" was not expected: no begin of this number was before");
    session->watching = false;
    if (!end(session, reason))
        return emit_answer(stdout, "failed", id, reason);
    evidence_emit(stdout, &session->record);
    return true;
}

static bool on_ping(struct evidence_session *session, const struct json_object *object)
{
    char reason[REQUEST_REASON_MAX];
    int64_t id = 0;

    if (!request_integer(object, (struct request_range){"id", INT64_MIN, INT64_MAX}, &id, reason))
        return refuse(session, reason);
    emit_pong(stdout, id);
    return true;
}

static bool on_bye(struct evidence_session *session, const struct json_object *object)
{
    (void)object;
    emit_answer(stdout, "bye", -1, NULL);
    session->status = STATUS_DONE;
    return true;
}

static const struct {
    const char *type;
    bool (*handle)(struct evidence_session *session, const struct json_object *object);
} handlers[] = {{"begin", on_begin}, {"end", on_end}, {"ping", on_ping}, {"bye", on_bye}};

static void take_line(struct evidence_session *session, char *line, size_t length)
{
    char reason[REQUEST_REASON_MAX], why[JSON_REASON_MAX];
    struct json_object object;
    const char *type;

    if (!json_parse(line, length, &object, why)) {
        snprintf(reason, sizeof(reason), "the request is not understood: %s", why);
        refuse(session, reason);
        return;
    }
    if (!request_string(&object, "type", &type, reason)) {
        refuse(session, reason);
        return;
    }
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        if (strcmp(handlers[i].type, type) == 0) {
            handlers[i].handle(session, &object);
            return;
        }
    }
    snprintf(reason, sizeof(reason), "\"%.100s\" is no request of host-evidence", type);
    refuse(session, reason);
}

static void take_lines(struct evidence_session *session)
{
    enum request_line next = REQUEST_LINE;
    size_t length;
    char *line;

    while (next == REQUEST_LINE && session->status == STATUS_GOES_ON) {
        next = request_input_next(&session->input, &line, &length);
        if (next == REQUEST_LINE)
            take_line(session, line, length);
        else if (next == REQUEST_TOO_LONG)
            refuse(session, "a request that is too long");
    }
}

/* --- the two ways to run --- */

static void speak(struct evidence_session *session)
{
    struct stopwatch clock;

    stopwatch_measure(&clock);
    emit_hello(stdout, clock.resolution_ns, clock.cost_ns, facts_arch(), os_cpus(NULL, 0));
    while (session->status == STATUS_GOES_ON) {
        int woke = os_wait(OS_INPUT_WANTED, NULL, 0);

        if ((woke & OS_WAKE_STOP) ||
            ((woke & OS_WAKE_INPUT) && !request_input_read(&session->input)))
            session->status = STATUS_DONE;
        else if (woke & OS_WAKE_INPUT)
            take_lines(session);
        if (ferror(stdout))
            session->status = STATUS_FAILED;
    }
}

static int by_hand_failed(const char *reason)
{
    fputs("vmatrix-agent: host-evidence: ", stderr);
    emit_text(stderr, reason);
    putc('\n', stderr);
    return STATUS_FAILED;
}

static int by_hand(struct evidence_session *session, const struct evidence_options *options)
{
    char reason[OS_REASON_MAX];
    int64_t deadline;
    bool stopped = false;

    session->request = options->request;
    for (int cpu = 0; evidence_cpus_empty(&options->request.cpus) && cpu < OS_CPUS_MAX; cpu++)
        evidence_cpus_add(&session->request.cpus, cpu);
    if (evidence_unsupported() != NULL)
        return by_hand_failed(evidence_unsupported());
    if (!begin(session, reason))
        return by_hand_failed(reason);
    deadline = os_clock_ns() + options->seconds * 1000000000;
    while (!stopped && os_clock_ns() < deadline)
        stopped = (os_wait(OS_INPUT_IGNORED, NULL, deadline) & OS_WAKE_STOP) != 0;
    if (!end(session, reason))
        return by_hand_failed(reason);
    evidence_emit(stdout, &session->record);
    return STATUS_DONE;
}

int evidence_run(const struct evidence_options *options)
{
    struct evidence_session *session = calloc(1, sizeof(*session));
    int status;

    if (session == NULL)
        return STATUS_FAILED;
    session->status = STATUS_GOES_ON;
    session->reader = evidence_reader_new(options->root);
    if (session->reader == NULL && evidence_unsupported() == NULL)
        session->status = by_hand_failed("no memory");
    else if (options->seconds > 0)
        session->status = by_hand(session, options);
    else
        speak(session);
    status = session->status;
    evidence_reader_free(session->reader);
    evidence_snapshot_finish(&session->before);
    evidence_snapshot_finish(&session->after);
    free(session);
    return status;
}
