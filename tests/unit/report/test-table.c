/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/table.h"

static Table *sample_table(void)
{
    Table *table = table_new();

    table_column(table, "name", "name", COLUMN_TEXT);
    table_column(table, "n_boots", "boots", COLUMN_NUMBER);
    table_column(table, "value", "value", COLUMN_NUMBER);
    table_row(table);
    table_text(table, "plain");
    table_int(table, 3);
    table_real(table, 0.1, NULL);
    table_row(table);
    table_text(table, "a|b, \"c\"\nd");
    table_int(table, -1);
    table_real(table, 1234.5678, "1.23 us");
    table_row(table);
    table_text(table, NULL);
    table_int(table, 0);
    table_real(table, NAN, NULL);
    return table;
}

static void assert_format(const Table *table, TableFormat format, guint width, const char *expected)
{
    g_autofree char *text = table_format(table, format, width, FALSE);

    g_assert_cmpstr(text, ==, expected);
}

static void test_parse(void)
{
    TableFormat format = FORMAT_TABLE;

    g_assert_true(table_format_parse("markdown", &format));
    g_assert_cmpint(format, ==, FORMAT_MARKDOWN);
    g_assert_true(table_format_parse("csv", &format));
    g_assert_cmpint(format, ==, FORMAT_CSV);
    g_assert_false(table_format_parse("CSV", &format));
    g_assert_false(table_format_parse("", &format));
    g_assert_cmpint(format, ==, FORMAT_CSV);
}

static void test_csv(void)
{
    g_autoptr(Table) table = sample_table();

    assert_format(table, FORMAT_CSV, 80,
                  "name,n_boots,value\r\n"
                  "plain,3,0.10000000000000001\r\n"
                  "\"a|b, \"\"c\"\"\nd\",-1,1234.5678\r\n"
                  ",0,\r\n");
}

static void test_json(void)
{
    g_autoptr(Table) table = sample_table();
    g_autofree char *text = table_format(table, FORMAT_JSON, 80, FALSE);
    json_t *rows = json_loads(text, 0, NULL);
    json_t *second = json_array_get(rows, 1), *third = json_array_get(rows, 2);

    g_assert_cmpuint(json_array_size(rows), ==, 3);
    g_assert_cmpfloat(json_real_value(json_object_get(json_array_get(rows, 0), "value")), ==, 0.1);
    g_assert_cmpstr(json_string_value(json_object_get(second, "name")), ==, "a|b, \"c\"\nd");
    g_assert_cmpint(json_integer_value(json_object_get(second, "n_boots")), ==, -1);
    g_assert_cmpfloat(json_real_value(json_object_get(second, "value")), ==, 1234.5678);
    g_assert_true(json_is_null(json_object_get(third, "name")));
    g_assert_true(json_is_null(json_object_get(third, "value")));
    g_assert_true(g_str_has_suffix(text, "]\n"));
    json_decref(rows);
}

static void test_json_bad_text(void)
{
    g_autoptr(Table) table = table_new();

    table_column(table, "name", "name", COLUMN_TEXT);
    table_row(table);
    table_text(table, "a\xff"
                      "b");
    g_autofree char *text = table_format(table, FORMAT_JSON, 0, FALSE);
    json_t *rows = json_loads(text, 0, NULL);

    g_assert_cmpstr(json_string_value(json_object_get(json_array_get(rows, 0), "name")), ==,
                    "a\xef\xbf\xbd"
                    "b");
    json_decref(rows);
}

static void test_markdown(void)
{
    g_autoptr(Table) table = sample_table();

    assert_format(table, FORMAT_MARKDOWN, 80,
                  "| name | boots | value |\n"
                  "| --- | ---: | ---: |\n"
                  "| plain | 3 | 0.1000 |\n"
                  "| a\\|b, \"c\"<br>d | -1 | 1.23 us |\n"
                  "|  | 0 |  |\n");
}

static void test_terminal(void)
{
    g_autoptr(Table) table = sample_table();

    assert_format(table, FORMAT_TABLE, 80,
                  "name          boots   value\n"
                  "plain             3  0.1000\n"
                  "a|b, \"c\"\\x0ad    -1 1.23 us\n"
                  "                  0\n");
}

/* Double-width and combining characters, whatever the locale of the process. */
static void test_terminal_utf8(void)
{
    g_autoptr(Table) table = table_new();
    static const char *const locales[] = {"C", "C.UTF-8"};

    table_column(table, "name", "name", COLUMN_TEXT);
    table_column(table, "n", "n", COLUMN_NUMBER);
    table_row(table);
    table_text(table, "日本");
    table_int(table, 1);
    table_row(table);
    table_text(table, "e\xcc\x81t\xc3\xa9"); /* e + combining acute: 3 columns */
    table_int(table, 22);
    for (gsize i = 0; i < G_N_ELEMENTS(locales); i++) {
        g_assert_nonnull(setlocale(LC_ALL, locales[i]));
        assert_format(table, FORMAT_TABLE, 80,
                      "name  n\n"
                      "日本  1\n"
                      "e\xcc\x81t\xc3\xa9  22\n");
    }
    setlocale(LC_ALL, "C");
}

static void test_terminal_narrow(void)
{
    g_autoptr(Table) table = table_new();

    table_column(table, "name", "name", COLUMN_TEXT);
    table_column(table, "a", "aaaa", COLUMN_NUMBER);
    table_rank(table, 1);
    table_column(table, "b", "bbbb", COLUMN_NUMBER);
    table_rank(table, 2);
    table_column(table, "c", "cccc", COLUMN_NUMBER);
    table_row(table);
    table_text(table, "workload.metric");
    table_int(table, 1);
    table_int(table, 2);
    table_int(table, 1234567890);
    assert_format(table, FORMAT_TABLE, 36,
                  "name            aaaa bbbb       cccc\n"
                  "workload.metric    1    2 1234567890\n");
    assert_format(table, FORMAT_TABLE, 35,
                  "name            aaaa       cccc\n"
                  "workload.metric    1 1234567890\n");
    assert_format(table, FORMAT_TABLE, 26,
                  "name                  cccc\n"
                  "workload.metric 1234567890\n");
    assert_format(table, FORMAT_TABLE, 20,
                  "name            cccc\n"
                  "workload… 1234567890\n");
    /* Numbers are never cut. */
    assert_format(table, FORMAT_TABLE, 5,
                  "name           cccc\n"
                  "workloa… 1234567890\n");
    assert_format(table, FORMAT_CSV, 5, "name,a,b,c\r\nworkload.metric,1,2,1234567890\r\n");
}

static void test_audience(void)
{
    g_autoptr(Table) table = table_new();

    table_column(table, "low", "low", COLUMN_NUMBER);
    table_audience(table, AUDIENCE_PROGRAMS);
    table_column(table, "interval", "95 %", COLUMN_NUMBER);
    table_audience(table, AUDIENCE_PEOPLE);
    table_row(table);
    table_real(table, 0.5, NULL);
    table_text(table, "[0.5, 0.6]");
    assert_format(table, FORMAT_CSV, 0, "low\r\n0.5\r\n");
    assert_format(table, FORMAT_TABLE, 0, "      95 %\n[0.5, 0.6]\n");
}

static void test_empty(void)
{
    g_autoptr(Table) table = table_new();

    table_column(table, "name", "name", COLUMN_TEXT);
    assert_format(table, FORMAT_TABLE, 80, "(no rows)\n");
    assert_format(table, FORMAT_CSV, 80, "name\r\n");
    assert_format(table, FORMAT_JSON, 80, "[]\n");
    assert_format(table, FORMAT_MARKDOWN, 80, "| name |\n| --- |\n");
}

static void test_colour(void)
{
    g_autoptr(Table) table = sample_table();
    g_autofree char *plain = table_format(table, FORMAT_TABLE, 80, FALSE);
    g_autofree char *bold = table_format(table, FORMAT_TABLE, 80, TRUE);

    g_assert_null(strchr(plain, '\033'));
    g_assert_nonnull(strstr(bold, "\033[1m"));
}

/* A decimal comma must not reach csv or json. */
static void test_locale(void)
{
    g_autoptr(Table) table = sample_table();

    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL) {
        g_test_skip("no locale de_DE.UTF-8 here");
        return;
    }
    g_autofree char *csv = table_format(table, FORMAT_CSV, 80, FALSE);
    g_autofree char *json = table_format(table, FORMAT_JSON, 80, FALSE);

    setlocale(LC_ALL, "C");
    g_assert_nonnull(strstr(csv, ",1234.5678\r\n"));
    g_assert_nonnull(strstr(json, "1234.5678"));
}

static void test_digits(void)
{
    static const struct {
        double value;
        int digits;
        const char *expected;
    } cases[] = {
        {0, 3, "0"},           {1, 3, "1.00"},       {12.34, 3, "12.3"}, {9.996, 3, "10.0"},
        {999.6, 3, "1000"},    {12346, 4, "12350"},  {-0.5, 2, "-0.50"}, {0.012345, 3, "0.0123"},
        {1e-9, 3, "1.00e-09"}, {3e20, 2, "3.0e+20"}, {INFINITY, 3, "-"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = table_digits(cases[i].value, cases[i].digits);

        g_assert_cmpstr(text, ==, cases[i].expected);
    }
}

static void test_scale(void)
{
    static const struct {
        double value;
        const char *unit, *expected;
    } cases[] = {
        {1.234, "ns", "1.23 ns"},
        {0.3456, "ns", "0.346 ns"},
        {1234, "ns", "1.23 us"},
        {999.4, "ns", "999 ns"},
        {999.6, "ns", "1.00 us"},
        {4.56e9, "ns", "4.56 s"},
        {12, "s", "12.0 s"},
        {0.012, "s", "12.0 ms"},
        {4.56e9, "bytes/s", "4.56 GB/s"},
        {512, "bytes", "512 B"},
        {12.3e6, "1/s", "12.3 M/s"},
        {0, "ns", "0 ns"},
        {42, "percent", "42.0 percent"},
        {42, "", "42.0"},
        {42, NULL, "42.0"},
        {NAN, "ns", "-"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = table_scale(cases[i].value, cases[i].unit);

        g_assert_cmpstr(text, ==, cases[i].expected);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/table/parse", test_parse);
    g_test_add_func("/table/csv", test_csv);
    g_test_add_func("/table/json", test_json);
    g_test_add_func("/table/json-bad-text", test_json_bad_text);
    g_test_add_func("/table/markdown", test_markdown);
    g_test_add_func("/table/terminal", test_terminal);
    g_test_add_func("/table/terminal-utf8", test_terminal_utf8);
    g_test_add_func("/table/terminal-narrow", test_terminal_narrow);
    g_test_add_func("/table/audience", test_audience);
    g_test_add_func("/table/empty", test_empty);
    g_test_add_func("/table/colour", test_colour);
    g_test_add_func("/table/locale", test_locale);
    g_test_add_func("/table/digits", test_digits);
    g_test_add_func("/table/scale", test_scale);
    return g_test_run();
}
