/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "cli/command.h"
#include "util/error.h"

/* Parse a line of words; strings are interned, so that the result may point at them. */
static gboolean parse(const char *line, CommandLine *ret_line, GError **error)
{
    static char *argv[16];
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    int argc = (int)g_strv_length(words);

    for (int i = 0; i <= argc; i++)
        argv[i] = (char *)g_intern_string(words[i]);
    return command_line_parse(argc, argv, ret_line, error);
}

static void test_before_and_after(void)
{
    static const char *const lines[] = {
        "vmatrix --db x.db --json results --where a=b 7",
        "vmatrix results 7 --where a=b --db x.db --format json",
        "vmatrix --format csv results --db=x.db --json 7 --where=a=b",
    };

    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
        CommandLine line = {0};
        g_autoptr(GError) error = NULL;

        g_assert_true(parse(lines[i], &line, &error));
        g_assert_true(line.command == &command_results);
        g_assert_cmpstr(line.settings.db, ==, "x.db");
        g_assert_cmpstr(line.settings.format, ==, "json");
        g_assert_cmpstr(line.settings.where->pdata[0], ==, "a=b");
        g_assert_cmpstr(line.words[0], ==, "7");
        g_assert_null(line.words[1]);
        settings_clear(&line.settings);
    }
}

static void test_family(void)
{
    CommandLine line = {0};

    g_assert_true(parse("vmatrix guest --db x enroll -v micro", &line, NULL));
    g_assert_true(line.command == &command_guest_enroll);
    g_assert_cmpstr(line.words[0], ==, "micro");
    g_assert_cmpint(line.settings.verbosity, ==, 1);
    g_assert_true(parse("vmatrix guest --help", &line, NULL));
    g_assert_null(line.command);
    g_assert_cmpstr(line.family, ==, "guest");
}

static void test_help_needs_no_words(void)
{
    CommandLine line = {0};

    g_assert_true(parse("vmatrix run --help", &line, NULL));
    g_assert_true(line.command == &command_run && line.settings.help);
    g_assert_true(parse("vmatrix --help sql", &line, NULL));
    g_assert_true(line.command == &command_sql && line.settings.help);
    g_assert_true(parse("vmatrix --version", &line, NULL));
    g_assert_true(line.command == NULL && line.settings.version);
}

static void test_errors(void)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"vmatrix", "no command; \"vmatrix --help\" lists them"},
        {"vmatrix chek x", "unknown command \"chek\"; did you mean \"check\"?"},
        {"vmatrix frobnicate", "unknown command \"frobnicate\"; \"vmatrix --help\" lists them"},
        {"vmatrix geust list", "unknown command \"geust\"; did you mean \"guest\"?"},
        {"vmatrix guest enrol x",
         "unknown command \"guest enrol\"; did you mean \"guest enroll\"?"},
        {"vmatrix guest", "guest: which command? \"vmatrix guest --help\" lists them"},
        {"vmatrix plan", "plan: an argument is missing; usage: vmatrix plan PLAN"},
        {"vmatrix plan a b", "plan: one argument too many: \"b\"; usage: vmatrix plan PLAN"},
        {"vmatrix run --dry-rnu p", "unknown option --dry-rnu; did you mean --dry-run?"},
        {"vmatrix plan --where a=b p", "unknown option --where; see --help"},
        {"vmatrix --fromat json plan p", "unknown option --fromat; did you mean --format?"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        CommandLine line = {0};
        g_autoptr(GError) error = NULL;

        g_assert_false(parse(cases[i].line, &line, &error));
        g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

/* Every line of every help fits into 80 columns, and no two commands share a name. */
static void test_help_fits(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *all = command_help_all();

    g_string_append(text, all);
    for (const Command *const *at = commands; *at != NULL; at++) {
        g_autofree char *one = command_help(*at);

        g_string_append(text, one);
        g_assert_true(command_find((*at)->name) == *at);
        g_assert_nonnull(strstr(all, (*at)->summary));
    }
    g_auto(GStrv) lines = g_strsplit(text->str, "\n", -1);

    for (char **line = lines; *line != NULL; line++)
        if (g_utf8_strlen(*line, -1) > 80)
            g_error("wider than 80 columns: %s", *line);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/command/before-and-after", test_before_and_after);
    g_test_add_func("/command/family", test_family);
    g_test_add_func("/command/help-needs-no-words", test_help_needs_no_words);
    g_test_add_func("/command/errors", test_errors);
    g_test_add_func("/command/help-fits", test_help_fits);
    return g_test_run();
}
