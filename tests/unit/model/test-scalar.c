/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "model/node.h"
#include "model/scalar.h"

static void test_size(void)
{
    static const struct {
        const char *text;
        ScalarResult result;
        guint64 bytes;
    } cases[] = {
        {"0B", SCALAR_OK, 0},
        {"512MiB", SCALAR_OK, G_GUINT64_CONSTANT(536870912)},
        {"1GiB", SCALAR_OK, G_GUINT64_CONSTANT(1073741824)},
        {"1GB", SCALAR_OK, G_GUINT64_CONSTANT(1000000000)},
        {"2kB", SCALAR_OK, 2000},
        {"8388607TiB", SCALAR_OK, G_GUINT64_CONSTANT(8388607) << 40},
        {"8388608TiB", SCALAR_TOO_BIG, 0},
        {"18446744073709551616B", SCALAR_TOO_BIG, 0},
        {"1024", SCALAR_NO_UNIT, 0},
        {"1G", SCALAR_BAD_FORM, 0},
        {"1gib", SCALAR_BAD_FORM, 0},
        {"1 GiB", SCALAR_BAD_FORM, 0},
        {"4g b", SCALAR_BAD_FORM, 0},
        {"-1G", SCALAR_BAD_FORM, 0},
        {"1.5GiB", SCALAR_BAD_FORM, 0},
        {"010MiB", SCALAR_BAD_FORM, 0},
        {"1_0MiB", SCALAR_BAD_FORM, 0},
        {"0x1MiB", SCALAR_BAD_FORM, 0},
        {"GiB", SCALAR_BAD_FORM, 0},
        {"", SCALAR_BAD_FORM, 0},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        guint64 bytes = 0;

        g_test_message("%s", cases[i].text);
        g_assert_cmpint(scalar_parse_size(cases[i].text, &bytes), ==, cases[i].result);
        g_assert_cmpuint(bytes, ==, cases[i].bytes);
    }
}

static void test_duration(void)
{
    static const struct {
        const char *text;
        ScalarResult result;
        gint64 ns;
    } cases[] = {
        {"90s", SCALAR_OK, G_GINT64_CONSTANT(90000000000)},
        {"10m", SCALAR_OK, G_GINT64_CONSTANT(600000000000)},
        {"2h", SCALAR_OK, G_GINT64_CONSTANT(7200000000000)},
        {"500ms", SCALAR_OK, G_GINT64_CONSTANT(500000000)},
        {"5us", SCALAR_OK, 5000},
        {"7ns", SCALAR_OK, 7},
        {"0s", SCALAR_OK, 0},
        {"2562047h", SCALAR_OK, G_GINT64_CONSTANT(2562047) * 3600 * 1000000000},
        {"2562048h", SCALAR_TOO_BIG, 0},
        {"90", SCALAR_NO_UNIT, 0},
        {"10 mn", SCALAR_BAD_FORM, 0},
        {"10M", SCALAR_BAD_FORM, 0},
        {"1d", SCALAR_BAD_FORM, 0},
        {"1m30s", SCALAR_BAD_FORM, 0},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        gint64 ns = 0;

        g_test_message("%s", cases[i].text);
        g_assert_cmpint(scalar_parse_duration(cases[i].text, &ns), ==, cases[i].result);
        g_assert_cmpint(ns, ==, cases[i].ns);
    }
}

static void test_fractions(void)
{
    static const char *const bad[] = {"", "%", ".5%", "1.%", "01%", "-1%", "1e1%", "nan%", "3 %"};
    double value = -1;

    g_assert_cmpint(scalar_parse_percent("3%", &value), ==, SCALAR_OK);
    g_assert_cmpfloat_with_epsilon(value, 0.03, 1e-12);
    g_assert_cmpint(scalar_parse_percent("2.5%", &value), ==, SCALAR_OK);
    g_assert_cmpfloat_with_epsilon(value, 0.025, 1e-12);
    g_assert_cmpint(scalar_parse_percent("100%", &value), ==, SCALAR_OK);
    g_assert_cmpfloat(value, ==, 1);
    g_assert_cmpint(scalar_parse_ppm("0.5ppm", &value), ==, SCALAR_OK);
    g_assert_cmpfloat(value, ==, 0.5);
    g_assert_cmpint(scalar_parse_percent("100.01%", &value), ==, SCALAR_TOO_BIG);
    g_assert_cmpint(scalar_parse_percent("0.03", &value), ==, SCALAR_NO_UNIT);
    g_assert_cmpint(scalar_parse_ppm("500%", &value), ==, SCALAR_BAD_FORM);
    g_assert_cmpint(scalar_parse_count("12.25", &value), ==, SCALAR_OK);
    g_assert_cmpfloat(value, ==, 12.25);
    g_assert_cmpint(scalar_parse_count("1e3", &value), ==, SCALAR_BAD_FORM);
    g_assert_cmpint(scalar_parse_count("1000001", &value), ==, SCALAR_TOO_BIG);
    g_assert_cmpint(scalar_parse_kelvin("10", &value), ==, SCALAR_NO_UNIT);
    g_assert_cmpint(scalar_parse_kelvin("10C", &value), ==, SCALAR_BAD_FORM);
    g_assert_cmpint(scalar_parse_kelvin("0.5K", &value), ==, SCALAR_OK);
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_cmpint(scalar_parse_percent(bad[i], &value), ==, SCALAR_BAD_FORM);
    g_assert_cmpfloat(value, ==, 0.5); /* untouched */
}

static void test_minute(void)
{
    gint minute = -1;

    g_assert_cmpint(scalar_parse_minute("7:00", &minute), ==, SCALAR_BAD_FORM);
    g_assert_cmpint(scalar_parse_minute("07.00", &minute), ==, SCALAR_BAD_FORM);
    g_assert_cmpint(scalar_parse_minute("07:00:00", &minute), ==, SCALAR_BAD_FORM);
    g_assert_cmpint(scalar_parse_minute("24:00", &minute), ==, SCALAR_TOO_BIG);
    g_assert_cmpint(scalar_parse_minute("07:60", &minute), ==, SCALAR_TOO_BIG);
    g_assert_cmpint(minute, ==, -1);
    g_assert_cmpint(scalar_parse_minute("07:05", &minute), ==, SCALAR_OK);
    g_assert_cmpint(minute, ==, 425);
    g_assert_cmpint(scalar_parse_minute("23:59", &minute), ==, SCALAR_OK);
    g_assert_cmpint(minute, ==, 1439);
}

static void test_name(void)
{
    static const char *const good[] = {"no", "1.10", "2GiB", "a", "pc-q35-7.2", "x+y:z_0"};
    static const char *const bad[] = {"", "-a", ".a", "a b", "a=b", "a/b", "é", "a\n"};
    g_autofree char *long_name = g_strnfill(65, 'a');

    for (gsize i = 0; i < G_N_ELEMENTS(good); i++)
        g_assert_true(node_is_name(good[i]));
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(node_is_name(bad[i]));
    g_assert_false(node_is_name(long_name));
    long_name[64] = '\0';
    g_assert_true(node_is_name(long_name));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/scalar/size", test_size);
    g_test_add_func("/scalar/duration", test_duration);
    g_test_add_func("/scalar/fractions", test_fractions);
    g_test_add_func("/scalar/minute", test_minute);
    g_test_add_func("/scalar/name", test_name);
    return g_test_run();
}
