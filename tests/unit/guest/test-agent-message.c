/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "guest/agent-link.h"
#include "util/error.h"

#define SAMPLE                                                                                     \
    "\"type\":\"sample\",\"invocation\":3,\"metric\":\"latency\",\"unit\":\"ns\","                 \
    "\"direction\":\"lower\",\"revision\":1"
#define RAW "\"type\":\"raw\",\"invocation\":3,\"stream\":\"stdout\",\"encoding\":\"base64\""
#define HELLO                                                                                      \
    "{\"type\":\"hello\",\"protocol\":1,\"version\":\"0.1.0\",\"clock\":\"CLOCK_MONOTONIC_RAW\","  \
    "\"resolution_ns\":1,\"clock_cost_ns\":24.8,\"os\":\"linux\",\"arch\":\"x86_64\",\"cpus\":2}"

static void decode(const char *line, AgentMessage *ret_message)
{
    g_autoptr(GError) error = NULL;

    g_assert_true(agent_message_decode(line, strlen(line), ret_message, &error));
    g_assert_no_error(error);
}

static void test_hello(void)
{
    g_auto(AgentMessage) message = {0};

    decode(HELLO, &message);
    g_assert_cmpint(message.type, ==, AGENT_HELLO);
    g_assert_cmpint(message.id, ==, 1);
    g_assert_cmpstr(g_hash_table_lookup(message.facts, "agent.version"), ==, "0.1.0");
    g_assert_cmpstr(g_hash_table_lookup(message.facts, "agent.clock_cost_ns"), ==, "24.8");
    g_assert_cmpstr(g_hash_table_lookup(message.facts, "agent.cpus"), ==, "2");
    g_assert_cmpuint(g_hash_table_size(message.facts), ==, 7);
}

static void test_facts(void)
{
    g_auto(AgentMessage) message = {0};

    decode("{\"type\":\"facts\",\"facts\":{\"os.kernel\":\"6.1\\u001b[2J\",\"cpu.model\":\"é\"}}",
           &message);
    g_assert_cmpint(message.type, ==, AGENT_FACTS);
    g_assert_cmpstr(g_hash_table_lookup(message.facts, "os.kernel"), ==, "6.1\\x1b[2J");
    g_assert_cmpstr(g_hash_table_lookup(message.facts, "cpu.model"), ==, "é");
}

static void test_sample(void)
{
    g_auto(AgentMessage) message = {0};

    decode("{" SAMPLE ",\"iterations\":4096,\"values\":[1.5,2,-3e-2],\"new-member\":[{}]}\r",
           &message);
    g_assert_cmpint(message.type, ==, AGENT_SAMPLE);
    g_assert_cmpint(message.id, ==, 3);
    g_assert_cmpstr(message.metric.name, ==, "latency");
    g_assert_cmpstr(message.metric.unit, ==, "ns");
    g_assert_cmpint(message.metric.direction, ==, DIRECTION_LOWER);
    g_assert_cmpuint(message.metric.revision, ==, 1);
    g_assert_cmpfloat(message.iterations, ==, 4096);
    g_assert_cmpuint(message.values->len, ==, 3);
    g_assert_cmpfloat(g_array_index(message.values, double, 0), ==, 1.5);
    g_assert_cmpfloat(g_array_index(message.values, double, 1), ==, 2);
    g_assert_cmpfloat(g_array_index(message.values, double, 2), ==, -0.03);
    agent_message_clear(&message);
    decode("{" SAMPLE ",\"values\":[1]}", &message);
    g_assert_cmpfloat(message.iterations, ==, 0);
}

static void test_raw(void)
{
    g_auto(AgentMessage) message = {0};

    decode("{" RAW ",\"data\":\"AAEC/w==\"}", &message);
    g_assert_cmpint(message.type, ==, AGENT_RAW);
    g_assert_cmpstr(message.stream, ==, "stdout");
    g_assert_cmpmem(g_bytes_get_data(message.raw, NULL), g_bytes_get_size(message.raw),
                    "\0\1\2\xff", 4);
    agent_message_clear(&message);
    decode("{" RAW ",\"data\":\"\"}", &message);
    g_assert_cmpuint(g_bytes_get_size(message.raw), ==, 0);
}

static void test_small(void)
{
    g_auto(AgentMessage) message = {0};

    decode("{\"type\":\"pong\",\"id\":7,\"t\":9223372036854775807}", &message);
    g_assert_cmpint(message.type, ==, AGENT_PONG);
    g_assert_cmpint(message.id, ==, 7);
    g_assert_cmpint(message.guest_ns, ==, G_MAXINT64);
    agent_message_clear(&message);
    decode("{\"type\":\"end\",\"invocation\":3,\"t\":0}", &message);
    g_assert_cmpint(message.type, ==, AGENT_END);
    agent_message_clear(&message);
    decode("{\"type\":\"failed\",\"invocation\":3,\"reason\":\"no \\n disk\"}", &message);
    g_assert_cmpint(message.type, ==, AGENT_FAILED);
    g_assert_cmpstr(message.reason, ==, "no \\x0a disk");
    agent_message_clear(&message);
    decode("{\"type\":\"done\",\"invocation\":3,\"samples\":11,\"flags\":\"a,copies-exceed-cpus\"}",
           &message);
    g_assert_cmpint(message.count, ==, 11);
    g_assert_cmpstr(message.flags, ==, "a,copies-exceed-cpus");
    g_assert_null(message.evidence);
    agent_message_clear(&message);
    decode("{\"type\":\"done\",\"invocation\":3,\"samples\":11}", &message);
    g_assert_cmpstr(message.flags, ==, "");
    agent_message_clear(&message);
    decode("{\"type\":\"bye\",\"invocations\":1,\"samples\":11}", &message);
    g_assert_cmpint(message.type, ==, AGENT_BYE);
    g_assert_cmpint(message.id, ==, 1);
}

#define EVIDENCE "\"type\":\"evidence\",\"id\":3,\"span_ns\":5,\"cpus\":\"0-1\""
#define FOREIGN "\"foreign\":{\"cpu_ns\":0}"

static void test_evidence(void)
{
    g_auto(AgentMessage) message = {0};
    const EvidenceRecord *record;

    decode("{\"type\":\"evidence\",\"id\":4,\"span_ns\":38000000000,\"cpus\":\"2-3\","
           "\"subject\":{\"processes\":1,\"cpu_ns\":7,\"run_delay_ns\":8,\"involuntary\":9,"
           "\"threads\":[{\"tid\":5,\"name\":\"CPU 0/TCG\",\"cpu_ns\":6,\"run_delay_ns\":1}]},"
           "\"foreign\":{\"cpu_ns\":41,\"eligible_ns\":42,\"ended_ns\":0,\"named\":["
           "{\"name\":\"ap\\u001bt\",\"unit\":\"apt-daily.service\",\"pid\":412,\"cpu_ns\":40,"
           "\"ended\":true,\"processes\":2},{\"name\":\"b\",\"cpu_ns\":1,\"ended\":false}]},"
           "\"observer\":{\"cpu_ns\":3,\"switches\":2},\"psi\":{\"io_some_ns\":11},"
           "\"clocksource\":\"acpi_pm\",\"clocksource_before\":\"tsc\",\"dmesg\":[\"mce: a\"],"
           "\"sources\":[\"schedstat\",\"kmsg\"],\"later\":{}}",
           &message);
    g_assert_cmpint(message.type, ==, AGENT_EVIDENCE);
    g_assert_cmpint(message.id, ==, 4);
    record = message.evidence;
    g_assert_cmpstr(record->cpus, ==, "2-3");
    g_assert_cmpint(record->span_ns, ==, 38000000000);
    g_assert_cmpint(record->subject_run_delay_ns, ==, 8);
    g_assert_cmpint(record->foreign_cpu_ns, ==, 41);
    g_assert_cmpint(record->observer_written_bytes, ==, EVIDENCE_ABSENT);
    g_assert_cmpint(record->cpu_steal_ns, ==, EVIDENCE_ABSENT);
    g_assert_cmpint(record->psi_io_some_ns, ==, 11);
    g_assert_cmpint(record->guest_steal_ns, ==, EVIDENCE_ABSENT);
    g_assert_cmpstr(record->clocksource_before, ==, "tsc");
    g_assert_cmpstr(record->sources, ==, "schedstat,kmsg");
    g_assert_cmpstr(g_ptr_array_index(record->dmesg, 0), ==, "mce: a");
    g_assert_cmpuint(record->named->len, ==, 2);
    const EvidenceCulprit *first = g_ptr_array_index(record->named, 0);
    const EvidenceCulprit *second = g_ptr_array_index(record->named, 1);
    const EvidenceThread *thread = g_ptr_array_index(record->threads, 0);

    g_assert_cmpstr(first->name, ==, "ap\\x1bt");
    g_assert_cmpstr(first->unit, ==, "apt-daily.service");
    g_assert_cmpint(first->processes, ==, 2);
    g_assert_true(first->ended);
    g_assert_null(second->unit);
    g_assert_cmpint(second->pid, ==, EVIDENCE_ABSENT);
    g_assert_false(second->ended);
    g_assert_cmpint(thread->run_delay_ns, ==, 1);
    g_assert_cmpint(thread->involuntary, ==, EVIDENCE_ABSENT);
}

static void test_evidence_small(void)
{
    g_auto(AgentMessage) message = {0};

    decode("{\"type\":\"begun\",\"id\":4}", &message);
    g_assert_cmpint(message.type, ==, AGENT_BEGUN);
    g_assert_cmpint(message.id, ==, 4);
    agent_message_clear(&message);
    decode("{\"type\":\"failed\",\"id\":4,\"reason\":\"no such process\"}", &message);
    g_assert_cmpint(message.type, ==, AGENT_FAILED);
    g_assert_cmpint(message.id, ==, 4);
    agent_message_clear(&message);
    decode("{" EVIDENCE "," FOREIGN "}", &message);
    g_assert_cmpuint(message.evidence->named->len, ==, 0);
    g_assert_null(message.evidence->clocksource);
    agent_message_clear(&message);
    decode("{\"type\":\"done\",\"invocation\":3,\"samples\":1,\"evidence\":{\"span_ns\":9,"
           "\"steal_ns\":1,\"clocksource\":\"tsc\"}}",
           &message);
    g_assert_cmpint(message.evidence->guest_span_ns, ==, 9);
    g_assert_cmpint(message.evidence->guest_steal_ns, ==, 1);
    g_assert_cmpint(message.evidence->guest_switches, ==, EVIDENCE_ABSENT);
    g_assert_cmpint(message.evidence->span_ns, ==, EVIDENCE_ABSENT);
    g_assert_cmpstr(message.evidence->guest_clocksource, ==, "tsc");
}

/* Each line is refused for its own reason, and the reason quotes nothing unprintable. */
static void refuse(const char *line, gsize length, const char *why)
{
    g_auto(AgentMessage) message = {0};
    g_autoptr(GError) error = NULL;

    if (agent_message_decode(line, length, &message, &error))
        g_error("accepted: %s", line);
    g_assert_error(error, VM_ERROR, VM_ERROR_PROTOCOL);
    if (strstr(error->message, why) == NULL)
        g_error("\"%s\" is not in \"%s\"", why, error->message);
    g_assert_cmpuint(strlen(error->message), <, 1000);
    for (const char *at = error->message; *at != '\0'; at++)
        g_assert_false(g_ascii_iscntrl(*at));
    g_assert_true(g_utf8_validate(error->message, -1, NULL));
    g_assert_cmpuint(message.type, ==, 0);
    g_assert_null(message.facts);
    g_assert_false(agent_message_decode(line, length, &message, NULL));
}

/* Lines that must be refused, and a part of the reason. */
static const struct {
    const char *line, *why;
} refused_lines[] = {
    {"", "not JSON"},
    {"garbage \x1b[31m", "not JSON"},
    {"[]", "not a JSON object"},
    {"{}", "\"type\" is missing"},
    {"{\"type\":1}", "\"type\" is not a string"},
    {"{\"type\":\"nonsense\"}", "unknown"},
    {"{\"type\":\"error\",\"reason\":\"what?\"}", "what?"},
    {"{\"type\":\"pong\",\"id\":1,\"t\":1} {}", "not JSON"},
    {"{\"type\":\"pong\",\"id\":1,\"id\":1,\"t\":1}", "duplicate"},
    {"{\"type\":\"pong\",\"id\":1}", "\"t\" is missing"},
    {"{\"type\":\"pong\",\"id\":1,\"t\":-1}", "\"t\" is not an integer from 0"},
    {"{\"type\":\"pong\",\"id\":1,\"t\":1.0}", "\"t\" is not an integer from 0"},
    {"{\"type\":\"pong\",\"id\":1,\"t\":9223372036854775808}", "not JSON"},
    {"{\"type\":\"pong\",\"id\":\"1\",\"t\":1}", "\"id\" is not an integer"},
    {"{\"type\":\"pong\xff\",\"id\":1,\"t\":1}", "not JSON"},
    {"{\"type\":\"pong\\u0000\",\"id\":1,\"t\":1}", "not JSON"},
    {"{" SAMPLE "}", "\"values\" is not an array of 1 to 1000"},
    {"{" SAMPLE ",\"values\":[]}", "\"values\" is not an array of 1 to 1000"},
    {"{" SAMPLE ",\"values\":{}}", "\"values\" is not an array of 1 to 1000"},
    {"{" SAMPLE ",\"values\":[1,\"2\"]}", "value 2 is not a finite number"},
    {"{" SAMPLE ",\"values\":[1,null]}", "value 2 is not a finite number"},
    {"{" SAMPLE ",\"values\":[1,NaN]}", "not JSON"},
    {"{" SAMPLE ",\"values\":[1e999]}", "not JSON"},
    {"{" SAMPLE ",\"values\":[1],\"iterations\":-1}", "\"iterations\""},
    {"{" SAMPLE ",\"values\":[1],\"iterations\":\"1\"}", "\"iterations\""},
    {"{\"type\":\"sample\",\"invocation\":3,\"metric\":\"a b\",\"unit\":\"ns\","
     "\"direction\":\"lower\",\"revision\":1,\"values\":[1]}",
     "\"metric\" has other than"},
    {"{\"type\":\"sample\",\"invocation\":3,\"metric\":\"\",\"unit\":\"ns\","
     "\"direction\":\"lower\",\"revision\":1,\"values\":[1]}",
     "\"metric\" is not of 1 to"},
    {"{\"type\":\"sample\",\"invocation\":3,\"metric\":\"a\",\"unit\":\"ns\","
     "\"direction\":\"best\",\"revision\":1,\"values\":[1]}",
     "\"direction\""},
    {"{\"type\":\"sample\",\"invocation\":3,\"metric\":\"a\",\"unit\":\"ns\","
     "\"direction\":\"lower\",\"revision\":0,\"values\":[1]}",
     "\"revision\""},
    {"{" RAW ",\"data\":\"AAE\"}", "not base64"},
    {"{" RAW ",\"data\":\"AA!=\"}", "not base64"},
    {"{" RAW ",\"data\":\"A===\"}", "not base64"},
    {"{\"type\":\"raw\",\"invocation\":3,\"stream\":\"file:../x\",\"encoding\":\"base64\","
     "\"data\":\"\"}",
     "\"stream\""},
    {"{\"type\":\"raw\",\"invocation\":3,\"stream\":\"stdout\",\"encoding\":\"hex\","
     "\"data\":\"\"}",
     "\"encoding\""},
    {"{\"type\":\"facts\",\"facts\":[]}", "\"facts\" is not an object"},
    {"{\"type\":\"facts\",\"facts\":{\"a\":1}}", "a fact is not a string"},
    {"{\"type\":\"facts\",\"facts\":{\"A b\":\"\"}}", "a fact's key"},
    {"{\"type\":\"hello\",\"protocol\":2}", "speaks protocol 2, this program 1"},
    {"{\"type\":\"hello\",\"protocol\":1}", "\"version\" is missing"},
    {"{\"type\":\"done\",\"invocation\":3,\"samples\":1,\"flags\":[]}", "\"flags\""},
    {"{\"type\":\"unsupported\",\"invocation\":3}", "\"reason\" is missing"},
    {"{\"type\":\"done\",\"invocation\":3,\"samples\":1,\"flags\":\"a b\"}", "\"flags\""},
    {"{\"type\":\"done\",\"invocation\":3,\"samples\":1,\"evidence\":[]}", "\"evidence\""},
    {"{\"type\":\"done\",\"invocation\":3,\"samples\":1,\"evidence\":{\"steal_ns\":-1}}",
     "\"steal_ns\" is not an integer from 0"},
    {"{\"type\":\"begun\"}", "\"id\" is missing"},
    {"{" EVIDENCE "}", "\"cpu_ns\" is missing in \"foreign\""},
    {"{\"type\":\"evidence\",\"id\":3,\"cpus\":\"0\"," FOREIGN "}", "\"span_ns\" is missing"},
    {"{\"type\":\"evidence\",\"id\":3,\"span_ns\":5," FOREIGN "}", "\"cpus\" is missing"},
    {"{\"type\":\"evidence\",\"id\":3,\"span_ns\":5,\"cpus\":\"x\"," FOREIGN "}", "\"cpus\""},
    {"{" EVIDENCE "," FOREIGN ",\"psi\":[]}", "\"psi\" is not an object"},
    {"{" EVIDENCE "," FOREIGN ",\"psi\":{\"io_some_ns\":1.5}}", "\"io_some_ns\" is not an integer"},
    {"{" EVIDENCE "," FOREIGN ",\"interrupts\":9000000000000000000}",
     "\"interrupts\" is too large"},
    {"{" EVIDENCE "," FOREIGN ",\"sources\":[\"a b\"]}", "\"sources\""},
    {"{" EVIDENCE "," FOREIGN ",\"sources\":{}}", "\"sources\" is not an array"},
    {"{" EVIDENCE "," FOREIGN ",\"dmesg\":[1]}", "\"dmesg\""},
    {"{" EVIDENCE "," FOREIGN ",\"dmesg\":[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]}",
     "array of at most 8"},
    {"{" EVIDENCE "," FOREIGN ",\"clocksource\":1}", "\"clocksource\" is not a string"},
    {"{" EVIDENCE "," FOREIGN ",\"subject\":{\"threads\":1}}", "\"threads\" is not an array"},
    {"{" EVIDENCE ",\"foreign\":{\"cpu_ns\":1,\"named\":[1]}}", "is missing in \"named\""},
    {"{" EVIDENCE ",\"foreign\":{\"cpu_ns\":1,\"named\":[{\"name\":\"a\"}]}}",
     "is missing in \"named\""},
};

static void test_refused(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(refused_lines); i++)
        refuse(refused_lines[i].line, strlen(refused_lines[i].line), refused_lines[i].why);
    refuse("{\"type\":\"pong\",\0\"id\":1,\"t\":1}", 29, "not JSON");
    refuse("\0\0\0", 3, "not JSON");
}

/* Numbers are read by a way of their own where they are plain: the same values, and no more lines
 * are accepted than by the whole parser. */
static void test_values(void)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"0", 0},
        {"-0", -0.0},
        {"10", 10},
        {"1.25", 1.25},
        {"0.1", 0.1},
        {"1e3", 1000},
        {"1E+3", 1000},
        {"-1.5e-3", -0.0015},
        {"123456789012345678901234567890.0", 123456789012345678901234567890.0},
        {"1.7976931348623157e308", 1.7976931348623157e308},
        {"4.9e-324", 4.9e-324},
        {"0.30000000000000004", 0.30000000000000004},
    };
    static const char *const bad[] = {"",     "+1",    "01",    ".5",    "1.",  "1e",
                                      "0x10", "1e+",   "--1",   "1 2",   "1,",  ",1",
                                      "1,,2", "Inf",   "nan",   "1e999", "[1]", "true",
                                      "null", "\"1\"", "1,[2]", "1_0",   "1;2", "1\f"};

    for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autofree char *line =
            g_strdup_printf("{" SAMPLE ",\"values\" :\t[ 7 ,%s ]}", good[i].text);
        g_auto(AgentMessage) message = {0};

        decode(line, &message);
        g_assert_cmpuint(message.values->len, ==, 2);
        g_assert_cmpfloat(g_array_index(message.values, double, 0), ==, 7);
        g_assert_cmpfloat(g_array_index(message.values, double, 1), ==, good[i].value);
    }
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *line = g_strdup_printf("{" SAMPLE ",\"values\":[%s]}", bad[i]);

        refuse(line, strlen(line), "");
    }
}

/* Only the outermost object's own member counts, however it is written. */
static void test_values_member(void)
{
    static const char *const without[] = {
        "{" SAMPLE ",\"x\\\"values\":[1,2]}",
        "{" SAMPLE ",\"x\":{\"values\":[1,2]}}",
        "{" SAMPLE ",\"x\":\"values\"}",
        "{" SAMPLE ",\"values \":[1,2]}",
    };
    g_auto(AgentMessage) message = {0};

    for (guint i = 0; i < G_N_ELEMENTS(without); i++)
        refuse(without[i], strlen(without[i]), "\"values\" is not an array");
    refuse("{" SAMPLE ",\"values\":[1],\"values\":[2]}", strlen("{" SAMPLE) + 28, "duplicate");
    refuse("{" SAMPLE ",\"values\":[1],\"val\\u0075es\":[2]}", strlen("{" SAMPLE) + 33,
           "duplicate");
    decode("{" SAMPLE ",\"val\\u0075es\":[2]}", &message);
    g_assert_cmpfloat(g_array_index(message.values, double, 0), ==, 2);
    agent_message_clear(&message);
    decode("{\"type\":\"ready\",\"invocation\":1,\"values\":[1,2]}", &message);
    g_assert_null(message.values);
}

static char *repeat(const char *text, gsize n)
{
    GString *all = g_string_new(NULL);

    for (gsize i = 0; i < n; i++)
        g_string_append(all, text);
    return g_string_free(all, FALSE);
}

static void test_bounds(void)
{
    g_autofree char *brackets = repeat("[", AGENT_LINE_MAX);
    g_autofree char *nested =
        g_strconcat("{\"type\":\"ready\",\"invocation\":1,\"x\":", "[[[[[[[[[[[[[[[",
                    "]]]]]]]]]]]]]]]", "}", NULL);
    g_autofree char *deeper =
        g_strconcat("{\"type\":\"ready\",\"invocation\":1,\"x\":", "[[[[[[[[[[[[[[[[",
                    "]]]]]]]]]]]]]]]]", "}", NULL);
    g_autofree char *quoted = g_strconcat("{\"type\":\"ready\",\"invocation\":1,\"x\":\"\\\"",
                                          "[[[[[[[[[[[[[[[[[[[[", "\"}", NULL);
    g_autofree char *ones = repeat("1,", 1000);
    g_autofree char *thousand = g_strdup_printf("{" SAMPLE ",\"values\":[%.*s]}", 1999, ones);
    g_autofree char *more = g_strdup_printf("{" SAMPLE ",\"values\":[%s1]}", ones);
    g_autofree char *spaces = repeat(" ", AGENT_LINE_MAX + 1);
    g_autofree char *quads = repeat("AAAA", 512 * 1024 / 3 + 1);
    g_autofree char *raw = g_strdup_printf("{" RAW ",\"data\":\"%s\"}", quads);
    g_auto(AgentMessage) message = {0};

    refuse(brackets, AGENT_LINE_MAX, "nests deeper than 16");
    refuse(deeper, strlen(deeper), "nests deeper than 16");
    refuse(more, strlen(more), "1 to 1000");
    refuse(spaces, strlen(spaces), "longer than 1048576");
    refuse(raw, strlen(raw), "more than 524288");
    decode(nested, &message);
    agent_message_clear(&message);
    decode(quoted, &message);
    agent_message_clear(&message);
    decode(thousand, &message);
    g_assert_cmpuint(message.values->len, ==, 1000);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent-message/hello", test_hello);
    g_test_add_func("/agent-message/facts", test_facts);
    g_test_add_func("/agent-message/sample", test_sample);
    g_test_add_func("/agent-message/raw", test_raw);
    g_test_add_func("/agent-message/small", test_small);
    g_test_add_func("/agent-message/evidence", test_evidence);
    g_test_add_func("/agent-message/evidence-small", test_evidence_small);
    g_test_add_func("/agent-message/refused", test_refused);
    g_test_add_func("/agent-message/values", test_values);
    g_test_add_func("/agent-message/values-member", test_values_member);
    g_test_add_func("/agent-message/bounds", test_bounds);
    return g_test_run();
}
