/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schema/README.md against the database: every table, view and column is documented under its
 * heading, and every example query works. */
#include "fixture.h"

#include <string.h>

#include "util/io.h"

/* The text from the heading "### … NAME …" to the next heading, or NULL. Transfer full. */
static char *section_of(const char *text, const char *name)
{
    g_autofree char *pattern =
        g_strdup_printf("^### (?:[^\n]*, )?%s(?:,[^\n]*)?\n(.*?)(?=^##|\\z)", name);
    g_autoptr(GRegex) regex = g_regex_new(pattern, G_REGEX_MULTILINE | G_REGEX_DOTALL, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;

    g_regex_match(regex, text, 0, &match);
    return g_match_info_matches(match) ? g_match_info_fetch(match, 1) : NULL;
}

static void assert_documented(Store *store, const char *text, const char *name)
{
    g_autofree char *section = section_of(text, name);
    g_autofree char *sql = g_strdup_printf("SELECT name FROM pragma_table_xinfo('%s')", name);
    g_autofree char *columns = ask_rows(store, sql);
    g_auto(GStrv) list = g_strsplit(columns, "\n", -1);

    if (section == NULL)
        g_error("schema/README.md has no section for %s", name);
    for (char **column = list; *column != NULL; column++) {
        g_autofree char *quoted = g_strdup_printf("`%s`", *column);

        if (strstr(section, quoted) == NULL)
            g_error("schema/README.md: section %s does not mention %s", name, quoted);
    }
}

static void test_documented(gconstpointer readme)
{
    g_autofree char *text = io_read_file(readme, 1 << 20, NULL, NULL);
    Fixture f;

    g_assert_nonnull(text);
    fixture_init(&f, "cell");
    fixture_open(&f);
    g_autofree char *names =
        ask_rows(f.store, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
                          " AND name NOT LIKE 'sqlite%'");
    g_auto(GStrv) list = g_strsplit(names, "\n", -1);

    g_assert_cmpuint(g_strv_length(list), >, 20);
    for (char **name = list; *name != NULL; name++)
        assert_documented(f.store, text, *name);
    fixture_finish(&f);
}

static void test_examples(gconstpointer readme)
{
    g_autofree char *text = io_read_file(readme, 1 << 20, NULL, NULL);
    g_auto(GStrv) parts = g_strsplit(text, "```", -1);
    const double value = 7;
    guint count = 0;
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    gint64 run = fixture_claim(&f);

    fixture_invoke(&f, run, 1, &value, 1);
    g_assert_true(store_run_finish(f.store, run, "clean", NULL, NULL, NULL));
    for (char **part = parts; *part != NULL; part++) {
        if (!g_str_has_prefix(*part, "sql\n"))
            continue;
        g_autofree char *rows = ask_rows(f.store, *part + 4);

        if (count++ == 0)
            g_assert_nonnull(strstr(rows, "|ops.add|latency|1|7.0|-|ns"));
    }
    g_assert_cmpuint(count, >=, 7);
    fixture_finish(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, ==, 2);
    g_test_add_data_func("/schema/documented", argv[1], test_documented);
    g_test_add_data_func("/schema/examples", argv[1], test_examples);
    return g_test_run();
}
