/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plan-writer.h"
#include "util/clock.h"

static const char plan_text[] = "version: 1\n"
                                "plan: small\n"
                                "memory: 64MiB\n"
                                "axes:\n"
                                "  hypervisor: [bare, qemu]\n"
                                "  guest: [micro]\n"
                                "  flavour: {a.b: {cmdline: a}, plain: {cmdline: b}}\n"
                                "workloads: [ops, syscalls]\n"
                                "repeat: {boots: 3, samples: 9, warmup: 1, invocations: 2}\n"
                                "idle: {settle: 1s}\n"
                                "order: {seed: %d}\n";

static Plan *load(int seed)
{
    g_autofree char *text = g_strdup_printf(plan_text, seed);
    g_autoptr(GError) error = NULL;
    Plan *plan = plan_parse("small.yaml", text, -1, &error);

    g_assert_no_error(error);
    return plan;
}

static char *write_plan(int seed, TableFormat format, gboolean with_estimate)
{
    g_autoptr(Plan) plan = load(seed);
    g_autoptr(Matrix) matrix = matrix_new(plan, NULL);
    Estimate estimate;
    char *text = NULL, *copy;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    g_assert_true(estimate_make(matrix, NULL, NULL, 4, TRUE, &estimate, NULL));
    plan_write(stream, matrix, with_estimate ? &estimate : NULL, format, 0, FALSE);
    fclose(stream);
    copy = g_strdup(text);
    free(text);
    return copy;
}

static json_t *read_json(const char *text)
{
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

    g_assert_nonnull(root);
    return root;
}

static void test_json(void)
{
    g_autofree char *text = write_plan(7, FORMAT_JSON, FALSE);
    json_t *root = read_json(text);
    json_t *cells = json_object_get(root, "cells"), *blocks = json_object_get(root, "blocks");
    json_t *first = json_array_get(cells, 0);

    g_assert_cmpstr(json_string_value(json_object_get(root, "plan")), ==, "small");
    g_assert_cmpuint(json_array_size(cells), ==, 4);
    g_assert_cmpstr(json_string_value(json_object_get(first, "key")), ==,
                    "flavour=a.b guest=micro hypervisor=bare");
    g_assert_cmpstr(
        json_string_value(json_object_get(json_object_get(first, "axes"), "hypervisor")), ==,
        "bare");
    g_assert_cmpuint(json_array_size(blocks), ==, 3);
    for (gsize i = 0; i < 3; i++) {
        json_t *order = json_object_get(json_array_get(blocks, i), "order");
        guint seen = 0;

        g_assert_cmpuint(json_array_size(order), ==, 4);
        for (gsize j = 0; j < 4; j++)
            seen |= 1u << json_integer_value(json_array_get(order, j));
        g_assert_cmpuint(seen, ==, 0xf);
    }
    g_assert_null(json_object_get(root, "estimate"));
    json_decref(root);
}

static void test_json_repeats(void)
{
    g_autofree char *one = write_plan(7, FORMAT_JSON, FALSE);
    g_autofree char *two = write_plan(7, FORMAT_JSON, FALSE);
    g_autofree char *other = write_plan(8, FORMAT_JSON, FALSE);
    json_t *root = read_json(one), *changed = read_json(other);

    g_assert_cmpstr(one, ==, two);
    g_assert_false(json_equal(json_object_get(root, "blocks"), json_object_get(changed, "blocks")));
    json_object_del(root, "blocks");
    json_object_del(root, "seed");
    json_object_del(changed, "blocks");
    json_object_del(changed, "seed");
    g_assert_true(json_equal(root, changed));
    json_decref(root);
    json_decref(changed);
}

static void test_csv(void)
{
    g_autofree char *text = write_plan(7, FORMAT_CSV, FALSE);
    g_auto(GStrv) lines = g_strsplit(text, "\r\n", -1);

    g_assert_cmpuint(g_strv_length(lines), ==, 1 + 3 * 4 + 1);
    g_assert_cmpstr(lines[0], ==, "block,position,cell,flavour,guest,hypervisor");
    g_assert_nonnull(strstr(text, ",0,a.b,micro,bare\r\n"));
    g_assert_cmpstr(lines[13], ==, "");
}

static void test_people(void)
{
    g_autofree char *text = write_plan(7, FORMAT_TABLE, TRUE);

    g_assert_nonnull(strstr(text, "plan small: 4 cells, 3 blocks, seed 7\n"));
    g_assert_nonnull(strstr(text, "\nblock 1: "));
    g_assert_nonnull(strstr(text, "stated defaults"));
}

/* 4 cells x 3 blocks, of which half boot; 4 benchmarks x 2 invocations of 10 samples each. */
static void test_estimate(void)
{
    g_autoptr(Plan) plan = load(1);
    g_autoptr(Matrix) matrix = matrix_new(plan, NULL);
    Estimate estimate;
    double invocation = estimate_default_invocation(plan);
    double expected = 6 * estimate_default_run(TRUE) + 6 * estimate_default_run(FALSE) +
                      12 * 8 * invocation + 12 * 1.0;

    g_assert_true(estimate_make(matrix, NULL, NULL, 4, TRUE, &estimate, NULL));
    g_assert_cmpfloat_with_epsilon(estimate.seconds, expected, 1e-6);
    g_assert_cmpuint(estimate.runs, ==, 12);
    g_assert_cmpuint(estimate.invocations, ==, 96);
    g_assert_cmpuint(estimate.cells_measured, ==, 0);
    plan->repeat.boot_per = BOOT_PER_WORKLOAD;
    plan->idle.gate = FALSE;
    g_assert_true(estimate_make(matrix, NULL, NULL, 4, TRUE, &estimate, NULL));
    expected =
        24 * estimate_default_run(TRUE) + 24 * estimate_default_run(FALSE) + 12 * 8 * invocation;
    g_assert_cmpfloat_with_epsilon(estimate.seconds, expected, 1e-6);
    g_assert_cmpuint(estimate.runs, ==, 48);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan-writer/json", test_json);
    g_test_add_func("/plan-writer/json-repeats", test_json_repeats);
    g_test_add_func("/plan-writer/csv", test_csv);
    g_test_add_func("/plan-writer/people", test_people);
    g_test_add_func("/plan-writer/estimate", test_estimate);
    return g_test_run();
}
