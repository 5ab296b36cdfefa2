/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "guest/agent-link.h"
#include "util/clock.h"
#include "util/error.h"

#define HELLO                                                                                      \
    "{\"type\":\"hello\",\"protocol\":1,\"version\":\"0.1.0\",\"clock\":\"CLOCK_MONOTONIC_RAW\","  \
    "\"resolution_ns\":1,\"clock_cost_ns\":24.8,\"os\":\"linux\",\"arch\":\"x86_64\",\"cpus\":2}"

/* Lines of a fake agent's shell script: wait for a request and check that it holds some text; say
 * something. */
#define ASK(text) "read -r l; case $l in *'" text "'*) ;; *) echo \"got $l\" >&2; exit 9;; esac\n"
#define SAY(line) "echo '" line "'\n"
#define PREPARED                                                                                   \
    ASK("\"type\":\"run\",\"invocation\":3,\"bench\":\"ops.int32-add\"")                           \
    SAY("{\"type\":\"ready\",\"invocation\":3}")
#define MEASURED                                                                                   \
    ASK("{\"type\":\"go\",\"invocation\":3}")                                                      \
    SAY("{\"type\":\"begin\",\"invocation\":3,\"t\":1000}")                                        \
    SAY("{\"type\":\"end\",\"invocation\":3,\"t\":2000}")
#define COLLECT ASK("{\"type\":\"collect\",\"invocation\":3}")
#define SAMPLES                                                                                    \
    SAY("{\"type\":\"sample\",\"invocation\":3,\"metric\":\"latency\",\"unit\":\"ns\","            \
        "\"direction\":\"lower\",\"revision\":1,\"values\":[1.5,2.5]}")

static Wait room(gint64 seconds)
{
    return (Wait){
        .deadline_ns = clock_mono_ns() + seconds * CLOCK_NS_PER_S, .guard_fd = -1, .step = "test"};
}

static AgentLink *fake_agent(const char *script)
{
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    g_autoptr(GError) error = NULL;
    Channel *channel = channel_local_new(argv, NULL, NULL, &error);

    g_assert_no_error(error);
    return agent_link_new(channel);
}

static const AgentRequest request = {.number = 3,
                                     .bench = "ops.int32-add",
                                     .samples = 11,
                                     .warmup = 1,
                                     .copies = 1,
                                     .threads = 1,
                                     .limit_ns = 60000000000};

static void test_session(void)
{
    g_autoptr(AgentLink) link = fake_agent(
        SAY(HELLO) ASK("\"facts\"")
            SAY("{\"type\":\"facts\",\"facts\":{\"os.kernel\":\"6.1\",\"agent.version\":\"9\"}}")
                ASK("\"type\":\"ping\",\"id\":1}") SAY("{\"type\":\"pong\",\"id\":1,\"t\":100}")
                    ASK("\"id\":2}") SAY("{\"type\":\"pong\",\"id\":2,\"t\":200}")
                        PREPARED MEASURED COLLECT SAMPLES SAMPLES SAY(
                            "{\"type\":\"raw\",\"invocation\":3,\"stream\":\"stdout\",\"encoding\":"
                            "\"base64\","
                            "\"data\":\"aGk=\"}")
                            SAY("{\"type\":\"done\",\"invocation\":3,\"samples\":"
                                "4}") "echo warning >&2\n" ASK("\"bye\"")
                                SAY("{\"type\":\"bye\",\"invocations\":1,\"samples\":4}"));
    g_autoptr(GHashTable) facts = NULL;
    g_autoptr(GError) error = NULL;
    g_auto(AgentMessage) message = {0};
    g_autofree char *reason = NULL;
    ClockProbe probes[2];
    AgentPrepare prepare = AGENT_REFUSED;
    AgentMarks marks;
    Wait wait = room(60);
    guint values = 0, raws = 0;

    g_assert_true(agent_link_hello(link, &wait, &facts, &error));
    g_assert_cmpstr(g_hash_table_lookup(facts, "os.kernel"), ==, "6.1");
    g_assert_cmpstr(g_hash_table_lookup(facts, "agent.version"), ==, "0.1.0");
    g_assert_true(agent_link_ping(link, &wait, 2, probes, &error));
    g_assert_cmpint(probes[1].guest_ns, ==, 200);
    g_assert_cmpint(probes[0].sent_ns, <=, probes[0].received_ns);
    g_assert_cmpint(probes[0].received_ns, <=, probes[1].sent_ns);
    g_assert_true(agent_link_prepare(link, &wait, &request, &prepare, &reason, &error));
    g_assert_cmpint(prepare, ==, AGENT_PREPARED);
    g_assert_true(agent_link_measure(link, &wait, 3, &marks, &prepare, &reason, &error));
    g_assert_cmpint(prepare, ==, AGENT_PREPARED);
    g_assert_cmpint(marks.begin.guest_ns, ==, 1000);
    g_assert_cmpint(marks.end.guest_ns, ==, 2000);
    g_assert_cmpint(marks.begin.sent_ns, ==, marks.end.sent_ns);
    g_assert_cmpint(marks.begin.received_ns, <=, marks.end.received_ns);
    g_assert_true(agent_link_collect(link, &wait, 3, &error));
    while (message.type != AGENT_DONE) {
        agent_message_clear(&message);
        g_assert_true(agent_link_next(link, &wait, 3, &message, &error));
        g_assert_no_error(error);
        values += message.values != NULL ? message.values->len : 0;
        raws += message.type == AGENT_RAW;
    }
    g_assert_cmpuint(values, ==, 4);
    g_assert_cmpuint(raws, ==, 1);
    g_assert_true(agent_link_bye(link, &wait, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(agent_link_errors(link), ==, "warning\n");
    g_assert_null(reason);
}

/* The whole of a session, to its end or its first failure. *ret_stage names where that was. */
static gboolean whole_session(AgentLink *link, const Wait *wait, const char **ret_stage,
                              GError **error)
{
    g_autoptr(GHashTable) facts = NULL;
    g_auto(AgentMessage) message = {0};
    g_autofree char *reason = NULL;
    AgentPrepare prepare;
    AgentMarks marks;

    *ret_stage = "hello";
    if (!agent_link_hello(link, wait, &facts, error))
        return FALSE;
    *ret_stage = "prepare";
    if (!agent_link_prepare(link, wait, &request, &prepare, &reason, error))
        return FALSE;
    *ret_stage = "measure";
    if (!agent_link_measure(link, wait, 3, &marks, &prepare, &reason, error))
        return FALSE;
    *ret_stage = "collect";
    if (!agent_link_collect(link, wait, 3, error))
        return FALSE;
    while (message.type != AGENT_DONE) {
        agent_message_clear(&message);
        if (!agent_link_next(link, wait, 3, &message, error))
            return FALSE;
    }
    *ret_stage = "bye";
    return agent_link_bye(link, wait, error);
}

#define GREETED SAY(HELLO) ASK("facts") SAY("{\"type\":\"facts\",\"facts\":{}}")

static const struct {
    const char *name, *script, *stage, *why;
} hostile[] = {
    {"garbage", "head -c 1000000 /dev/zero | tr '\\0' '\\377'; echo", "hello", "not JSON"},
    {"noise", SAY("Welcome!") "cat", "hello", "not JSON: "},
    {"nul bytes", "head -c 1000 /dev/zero; echo", "hello", "\\x00\\x00"},
    {"line too long", "head -c 100000000 /dev/zero | tr '\\0' x", "hello",
     "a line of more than the 1048576 bytes allowed: xxxx"},
    {"too much", "yes '" HELLO "' | head -c 300000000", "hello", "\"hello\" where \"facts\""},
    {"empty line", "echo", "hello", "not JSON"},
    {"dies at once", "echo boom >&2; exit 139", "hello",
     "ended (exit status 139: signal 11) before it had answered; the agent's last words: boom"},
    {"killed", "printf '{\"ty'; kill -KILL $$", "hello",
     "ended (exit status 137: signal 9) in the middle of a line: {\"ty"},
    {"ends well", GREETED "exit 0", "prepare", "ended (exit status 0) before"},
    {"wrong order", SAY("{\"type\":\"end\",\"invocation\":3,\"t\":1}"), "hello",
     "\"end\" where \"hello\""},
    {"wrong protocol", SAY("{\"type\":\"hello\",\"protocol\":7}"), "hello", "speaks protocol 7"},
    {"wrong invocation", GREETED ASK("run") SAY("{\"type\":\"ready\",\"invocation\":4}"), "prepare",
     "\"ready\" of number 4, not of 3"},
    {"end before begin",
     GREETED PREPARED ASK("go") SAY("{\"type\":\"end\",\"invocation\":3,\"t\":1}"), "measure",
     "\"end\" where \"failed\" or \"begin\""},
    {"clock backwards",
     GREETED PREPARED ASK("go") SAY("{\"type\":\"begin\",\"invocation\":3,\"t\":9}")
         SAY("{\"type\":\"end\",\"invocation\":3,\"t\":8}"),
     "measure", "not monotonic"},
    {"wrong count",
     GREETED PREPARED MEASURED COLLECT SAMPLES SAY(
         "{\"type\":\"done\",\"invocation\":3,\"samples\":3}"),
     "collect", "says that it sent 3 values, 2 have come"},
    {"sample of another",
     GREETED PREPARED MEASURED COLLECT SAY(
         "{\"type\":\"sample\",\"invocation\":9,\"metric\":\"m\",\"unit\":\"ns\","
         "\"direction\":\"lower\",\"revision\":1,\"values\":[1]}"),
     "collect", "\"sample\" of number 9"},
    {"not understood", GREETED ASK("run") SAY("{\"type\":\"error\",\"reason\":\"run?\"}"),
     "prepare", "run?"},
    {"wrong total",
     GREETED PREPARED MEASURED COLLECT SAMPLES SAY(
         "{\"type\":\"done\",\"invocation\":3,\"samples\":2}") ASK("bye")
         SAY("{\"type\":\"bye\",\"invocations\":1,\"samples\":1}"),
     "bye", "1 values in the session, 2 have come"},
    {"more after bye",
     GREETED PREPARED MEASURED COLLECT SAY("{\"type\":\"done\",\"invocation\":3,\"samples\":0}")
         ASK("bye") SAY("{\"type\":\"bye\",\"invocations\":1,\"samples\":0}") SAY("more"),
     "bye", "wrote more after its \"bye\": more"},
    {"bad exit status",
     GREETED PREPARED MEASURED COLLECT SAY("{\"type\":\"done\",\"invocation\":3,\"samples\":0}")
         ASK("bye") SAY("{\"type\":\"bye\",\"invocations\":1,\"samples\":0}") "exit 4",
     "bye", "exit status after its \"bye\" is 4"},
};

static long peak_kib(void)
{
    struct rusage usage;

    g_assert_cmpint(getrusage(RUSAGE_SELF, &usage), ==, 0);
    return usage.ru_maxrss;
}

/* Each fails as a broken protocol, at its stage, for its reason, and in bounded memory. */
static void test_hostile(void)
{
    long before = peak_kib();

    for (guint i = 0; i < G_N_ELEMENTS(hostile); i++) {
        g_autoptr(AgentLink) link = fake_agent(hostile[i].script);
        g_autoptr(GError) error = NULL;
        Wait wait = room(60);
        const char *stage;

        g_test_message("%s", hostile[i].name);
        g_assert_false(whole_session(link, &wait, &stage, &error));
        g_assert_error(error, VM_ERROR, VM_ERROR_PROTOCOL);
        g_assert_cmpstr(stage, ==, hostile[i].stage);
        if (strstr(error->message, hostile[i].why) == NULL)
            g_error("\"%s\" is not in \"%s\"", hostile[i].why, error->message);
        g_assert_cmpuint(strlen(error->message), <, 1500);
        g_assert_cmpint(wait_left_ns(&wait), >, 0);
    }
    g_assert_cmpint(peak_kib() - before, <, 64 * 1024);
}

static gboolean under_valgrind(void)
{
    const char *preload = g_getenv("LD_PRELOAD");

    return preload != NULL && strstr(preload, "vgpreload") != NULL;
}

/* Well-formed, but without end. */
static void test_total_bounded(void)
{
    if (under_valgrind()) {
        g_test_skip("takes minutes under valgrind");
        return;
    }
    g_autoptr(AgentLink) link =
        fake_agent("yes '{\"type\":\"sample\",\"invocation\":3,\"metric\":\"m\",\"unit\":\"ns\","
                   "\"direction\":\"lower\",\"revision\":1,\"values\":[1],\"x\":\"'`head -c 100000 "
                   "/dev/zero | tr '\\0' y`'\"}'");
    g_autoptr(GError) error = NULL;
    Wait wait = room(300);
    gboolean ok = TRUE;

    while (ok) {
        g_auto(AgentMessage) message = {0};

        ok = agent_link_next(link, &wait, 3, &message, &error);
    }
    g_assert_error(error, VM_ERROR, VM_ERROR_PROTOCOL);
    g_assert_nonnull(strstr(error->message, "more than the 268435456 bytes allowed in a session"));
}

static void test_hangs(void)
{
    g_autoptr(AgentLink) link = fake_agent(GREETED PREPARED ASK("go") "sleep 1000");
    g_autoptr(GError) error = NULL;
    Wait wait = room(2);
    const char *stage;

    g_assert_false(whole_session(link, &wait, &stage, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_TIMEOUT);
    g_assert_cmpstr(stage, ==, "measure");
}

/* No message at all must be needed for the end of the guarded process to be seen. */
static void test_guard(void)
{
    static const char *const argv[] = {"sleep", "0.2", NULL};
    g_autoptr(AgentLink) link = fake_agent("sleep 1000");
    g_autoptr(GError) error = NULL;
    g_autoptr(Channel) guard = NULL;
    Wait wait = room(60);
    const char *stage;

    guard = channel_local_new(argv, NULL, &wait.guard_fd, &error);
    g_assert_no_error(error);
    if (wait.guard_fd < 0) {
        g_test_skip("no pidfd here");
        return;
    }
    g_assert_false(whole_session(link, &wait, &stage, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_GUEST_DIED);
}

static void test_outcomes(void)
{
    static const struct {
        const char *script;
        AgentPrepare prepare;
        gboolean measured;
        AgentPrepare outcome;
    } cases[] = {
        {ASK("run") SAY("{\"type\":\"unsupported\",\"invocation\":3,\"reason\":\"why\"}"),
         AGENT_NOT_SUPPORTED, FALSE, 0},
        {ASK("run") SAY("{\"type\":\"failed\",\"invocation\":3,\"reason\":\"why\"}"), AGENT_REFUSED,
         FALSE, 0},
        {PREPARED ASK("go") SAY("{\"type\":\"begin\",\"invocation\":3,\"t\":1}")
             SAY("{\"type\":\"failed\",\"invocation\":3,\"reason\":\"why\"}"),
         AGENT_PREPARED, TRUE, AGENT_REFUSED},
        {PREPARED ASK("go") SAY("{\"type\":\"failed\",\"invocation\":3,\"reason\":\"why\"}"),
         AGENT_PREPARED, TRUE, AGENT_REFUSED},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(AgentLink) link = fake_agent(cases[i].script);
        g_autoptr(GError) error = NULL;
        g_autofree char *reason = NULL;
        AgentPrepare prepare, outcome;
        AgentMarks marks;
        Wait wait = room(60);

        g_assert_true(agent_link_prepare(link, &wait, &request, &prepare, &reason, &error));
        g_assert_cmpint(prepare, ==, cases[i].prepare);
        if (cases[i].measured) {
            g_assert_null(reason);
            g_assert_true(agent_link_measure(link, &wait, 3, &marks, &outcome, &reason, &error));
            g_assert_cmpint(outcome, ==, cases[i].outcome);
        }
        g_assert_cmpstr(reason, ==, "why");
    }
}

/* Words with characters that JSON escapes arrive whole, and no folder is no member. */
static void test_request(void)
{
    g_autoptr(AgentLink) link =
        fake_agent("read -r l; case $l in *'\"folder\":\"/a \\\"b\\\\\"'*) ;; *) exit 1;; esac\n"
                   "read -r m; case $m in *folder*) exit 1;; *) ;; esac\n"
                   "for i in 1 2; do echo '{\"type\":\"ready\",\"invocation\":3}'; done\n"
                   "cat >/dev/null");
    AgentRequest odd = request;
    g_autoptr(GError) error = NULL;
    g_autofree char *reason = NULL;
    AgentPrepare prepare;
    Wait wait = room(60);

    odd.folder = "/a \"b\\";
    odd.bench = "\xff";
    g_assert_false(agent_link_prepare(link, &wait, &odd, &prepare, &reason, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_clear_error(&error);
    odd.bench = "ops.x";
    /* The fake answers when it has both. */
    Wait shortly = room(0);

    g_assert_false(agent_link_prepare(link, &shortly, &odd, &prepare, &reason, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_TIMEOUT);
    g_clear_error(&error);
    g_assert_true(agent_link_prepare(link, &wait, &request, &prepare, &reason, &error));
    g_assert_no_error(error);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent-link/session", test_session);
    g_test_add_func("/agent-link/hostile", test_hostile);
    g_test_add_func("/agent-link/total-bounded", test_total_bounded);
    g_test_add_func("/agent-link/hangs", test_hangs);
    g_test_add_func("/agent-link/guard", test_guard);
    g_test_add_func("/agent-link/outcomes", test_outcomes);
    g_test_add_func("/agent-link/request", test_request);
    return g_test_run();
}
