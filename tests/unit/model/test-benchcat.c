/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "model/benchcat.h"
#include "model/metric.h"
#include "util/error.h"

#define ENTRY(name, groups)                                                                        \
    "{\"name\":\"" name "\",\"groups\":\"" groups                                                  \
    "\",\"metric\":\"latency\",\"unit\":\"ns\",\"direction\":\"lower\",\"summary\":\"s\","         \
    "\"os\":\"linux\",\"later\":1}"

static const char catalogue_text[] = "[" ENTRY("ops.int32-add", "quick all") "," ENTRY(
    "mem.copy", "all") "," ENTRY("ops.int32-mul", "all") "," ENTRY("hidden.noop", "") "]\n";

static BenchCatalogue *parse(void)
{
    g_autoptr(GError) error = NULL;
    BenchCatalogue *catalogue =
        bench_catalogue_parse(catalogue_text, strlen(catalogue_text), &error);

    g_assert_no_error(error);
    return catalogue;
}

static void test_parse(void)
{
    g_autoptr(BenchCatalogue) catalogue = parse();
    const BenchInfo *first = g_ptr_array_index(catalogue->benches, 0);

    g_assert_cmpuint(catalogue->benches->len, ==, 4);
    g_assert_cmpstr(first->name, ==, "ops.int32-add");
    g_assert_cmpstr(first->groups, ==, "quick all");
    g_assert_cmpstr(first->os, ==, "linux");
    g_assert_cmpuint(first->metrics->len, ==, 1);
    const BenchMetric *metric = g_ptr_array_index(first->metrics, 0);

    g_assert_cmpstr(metric->name, ==, "latency");
    g_assert_cmpstr(metric->unit, ==, "ns");
    g_assert_cmpstr(metric->direction, ==, "lower");
}

static void test_several_metrics(void)
{
    static const char text[] =
        "[{\"name\":\"timer.wake\",\"groups\":\"\",\"metric\":\"p50\",\"unit\":\"ns\","
        "\"direction\":\"lower\",\"metrics\":[{\"name\":\"p50\",\"unit\":\"ns\","
        "\"direction\":\"lower\"},{\"name\":\"rate\",\"unit\":\"1/s\",\"direction\":\"higher\"}],"
        "\"summary\":\"s\",\"os\":\"linux\"}]";
    g_autoptr(GError) error = NULL;
    g_autoptr(BenchCatalogue) catalogue = bench_catalogue_parse(text, strlen(text), &error);

    g_assert_no_error(error);
    const BenchInfo *bench = g_ptr_array_index(catalogue->benches, 0);
    g_assert_cmpuint(bench->metrics->len, ==, 2);
    const BenchMetric *second = g_ptr_array_index(bench->metrics, 1);

    g_assert_cmpstr(second->name, ==, "rate");
    g_assert_cmpstr(second->unit, ==, "1/s");
    g_assert_cmpstr(second->direction, ==, "higher");
}

static void test_refused(void)
{
    static const char *const bad[] = {
        "",
        "{}",
        "[1]",
        "[{\"name\":\"a.b\"}]",
        "[" ENTRY("a.b", "") "," ENTRY("a.b", "") "]",
        "[" ENTRY("", "") "]",
        "[{\"name\":\"a.b\",\"groups\":\"\",\"metric\":\"m\",\"unit\":\"u\",\"direction\":\"up\","
        "\"summary\":\"s\",\"os\":\"linux\"}]",
        "[{\"name\":\"a.b\",\"groups\":\"\",\"metric\":\"m\",\"unit\":\"u\",\"direction\":"
        "\"lower\","
        "\"metrics\":[{\"name\":\"m\"}],\"summary\":\"s\",\"os\":\"linux\"}]",
        "[{\"name\":7,\"groups\":\"\",\"metric\":\"m\",\"unit\":\"u\",\"direction\":\"lower\","
        "\"summary\":\"s\",\"os\":\"linux\"}]",
    };

    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_null(bench_catalogue_parse(bad[i], strlen(bad[i]), &error));
        g_assert_true(vm_error_is(error, VM_ERROR_PROTOCOL));
    }
}

/* Expand the words of names; the result in one string, or the error's message. */
static char *expand(const char *names)
{
    g_autoptr(BenchCatalogue) catalogue = parse();
    g_autoptr(GPtrArray) list = g_ptr_array_new();
    g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(NodePlace));
    g_auto(GStrv) words = g_strsplit(names, " ", -1);
    g_autoptr(GError) error = NULL;

    for (guint i = 0; words[i] != NULL; i++) {
        NodePlace place = {5, 10 + i};

        g_ptr_array_add(list, words[i]);
        g_array_append_val(places, place);
    }
    g_autoptr(GPtrArray) expanded =
        bench_catalogue_expand(catalogue, list, "p.yaml", places, &error);

    if (expanded == NULL) {
        g_assert_true(vm_error_is(error, VM_ERROR_INVALID));
        return g_strdup(error->message);
    }
    g_ptr_array_add(expanded, NULL);
    return g_strjoinv(" ", (char **)expanded->pdata);
}

static void test_expand(void)
{
    static const char *const cases[][2] = {
        {"quick", "ops.int32-add"},
        {"all", "ops.int32-add mem.copy ops.int32-mul"},
        {"mem.copy all", "mem.copy ops.int32-add ops.int32-mul"},
        {"ops", "ops.int32-add ops.int32-mul"}, /* a family is a group */
        {"hidden.noop hidden", "hidden.noop"},
        {"ops:copies=2", "ops.int32-add:copies=2 ops.int32-mul:copies=2"}, /* as is each of them */
        {"mem.copy mem:threads=2 all:threads=2",
         "mem.copy mem.copy:threads=2 ops.int32-add:threads=2 ops.int32-mul:threads=2"},
        {"ops.int32-ad:copies=2", "p.yaml:5:10: workloads: there is no workload or group "
                                  "\"ops.int32-ad\"; did you mean \"ops.int32-add\"?"},
        {"ops.int32-ad", "p.yaml:5:10: workloads: there is no workload or group \"ops.int32-ad\"; "
                         "did you mean \"ops.int32-add\"?"},
        {"all quik", "p.yaml:5:11: workloads: there is no workload or group \"quik\"; did you mean "
                     "\"quick\"?"},
        {"something-else", "p.yaml:5:10: workloads: there is no workload or group "
                           "\"something-else\"; \"vmatrix workload list\" prints all"},
        {"op", "p.yaml:5:10: workloads: there is no workload or group \"op\"; did you mean "
               "\"ops\"?"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *result = expand(cases[i][0]);

        g_assert_cmpstr(result, ==, cases[i][1]);
    }
}

static void test_metric(void)
{
    Metric metric = {g_strdup("ops.int32-add"), g_strdup("latency"), g_strdup("ns"),
                     DIRECTION_LOWER, 1};
    Direction direction = DIRECTION_LOWER;

    g_assert_true(metric_matches(&metric, "ops.int32-add"));
    g_assert_true(metric_matches(&metric, "ops.*"));
    g_assert_true(metric_matches(&metric, "*.latency"));
    g_assert_true(metric_matches(&metric, "ops.int32-a?d.latency"));
    g_assert_false(metric_matches(&metric, "ops"));
    g_assert_false(metric_matches(&metric, "latency"));
    g_assert_true(direction_parse("higher", &direction));
    g_assert_cmpint(direction, ==, DIRECTION_HIGHER);
    g_assert_false(direction_parse("Lower", &direction));
    g_assert_cmpstr(direction_name(DIRECTION_LOWER), ==, "lower");
    metric_clear(&metric);
    g_assert_null(metric.workload);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/benchcat/parse", test_parse);
    g_test_add_func("/benchcat/several-metrics", test_several_metrics);
    g_test_add_func("/benchcat/refused", test_refused);
    g_test_add_func("/benchcat/expand", test_expand);
    g_test_add_func("/metric/all", test_metric);
    return g_test_run();
}
