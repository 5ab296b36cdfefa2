/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "cli/options.h"
#include "util/error.h"

typedef struct {
    gboolean flag;
    const char *text;
    const char *format;
    GPtrArray *list;
    int level;
} Target;

static const char *const formats[] = {"table", "json", NULL};

static const OptionSpec first[] = {
    {.name = "flag",
     .letter = 'f',
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(Target, flag),
     .help = "a flag"},
    {.name = "format",
     .kind = OPTION_CHOICE,
     .offset = G_STRUCT_OFFSET(Target, format),
     .value = "FORMAT",
     .choices = formats,
     .help = "a choice"},
    {.name = "json",
     .kind = OPTION_PRESET,
     .offset = G_STRUCT_OFFSET(Target, format),
     .preset = "json",
     .help = "a preset"},
    {.name = "more",
     .letter = 'v',
     .kind = OPTION_ADD,
     .offset = G_STRUCT_OFFSET(Target, level),
     .step = 1,
     .help = "adds"},
    {.name = "less",
     .letter = 'q',
     .kind = OPTION_ADD,
     .offset = G_STRUCT_OFFSET(Target, level),
     .step = -1,
     .help = "takes away"},
    {0},
};
static const OptionSpec second[] = {
    {.name = "text",
     .letter = 't',
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(Target, text),
     .value = "TEXT",
     .help = "a text"},
    {.name = "where",
     .kind = OPTION_LIST,
     .offset = G_STRUCT_OFFSET(Target, list),
     .value = "A=B",
     .help = "a list"},
    {0},
};
static const OptionSpec *const tables[] = {first, second, NULL};

/* Parse the words of line; the words that remain are joined in *ret_words. */
static gboolean parse(const char *line, OptionsExtent extent, Target *target, char **ret_words,
                      GError **error)
{
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    static char *argv[16]; /* static: the target points into it after the return */
    int argc = (int)g_strv_length(words), next = 0;

    for (int i = 0; i <= argc; i++)
        argv[i] = (char *)g_intern_string(words[i]);
    if (!options_parse(tables, target, extent, argc, argv, &next, error))
        return FALSE;
    *ret_words = g_strjoinv(" ", argv + next);
    return TRUE;
}

static void test_kinds(void)
{
    Target target = {0};
    g_autofree char *words = NULL;
    g_autoptr(GError) error = NULL;

    g_assert_true(parse("x a --flag --where k=v b -vv -q --text=one -t two --json --where u=w",
                        OPTIONS_ALL, &target, &words, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(words, ==, "a b");
    g_assert_true(target.flag);
    g_assert_cmpint(target.level, ==, 1);
    g_assert_cmpstr(target.text, ==, "two");
    g_assert_cmpstr(target.format, ==, "json");
    g_assert_cmpuint(target.list->len, ==, 2);
    g_assert_cmpstr(target.list->pdata[0], ==, "k=v");
    g_assert_cmpstr(target.list->pdata[1], ==, "u=w");
    g_assert_null(target.list->pdata[2]);
    g_ptr_array_unref(target.list);
}

static void test_extent(void)
{
    Target target = {0};
    g_autofree char *words = NULL;
    g_autofree char *dashes = NULL;

    g_assert_true(parse("x -f run --json", OPTIONS_TO_WORD, &target, &words, NULL));
    g_assert_cmpstr(words, ==, "run --json");
    g_assert_true(target.flag);
    g_assert_null(target.format);
    g_assert_true(parse("x - -- --json", OPTIONS_ALL, &target, &dashes, NULL));
    g_assert_cmpstr(dashes, ==, "- --json");
    g_assert_null(target.format);
}

static void test_errors(void)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"x --formt json", "unknown option --formt; did you mean --format?"},
        {"x --zzzzzz", "unknown option --zzzzzz; see --help"},
        {"x -z", "unknown option -z; see --help"},
        {"x --text", "option --text needs a value: --text TEXT"},
        {"x -t", "option --text needs a value: --text TEXT"},
        {"x --flag=1", "option --flag takes no value"},
        {"x --f", "option --f is ambiguous: write its name in full"},
        {"x --format jsno", "--format jsno: must be one of table, json; did you mean json?"},
        {"x --format", "option --format needs a value: --format FORMAT"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        Target target = {0};
        g_autofree char *words = NULL;
        g_autoptr(GError) error = NULL;

        g_assert_false(parse(cases[i].line, OPTIONS_ALL, &target, &words, &error));
        g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

static void test_help(void)
{
    g_autoptr(GString) text = g_string_new(NULL);

    options_help(second, text);
    g_assert_cmpstr(text->str, ==,
                    "  -t, --text TEXT         a text\n"
                    "      --where A=B         a list\n");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/options/kinds", test_kinds);
    g_test_add_func("/options/extent", test_extent);
    g_test_add_func("/options/errors", test_errors);
    g_test_add_func("/options/help", test_help);
    return g_test_run();
}
