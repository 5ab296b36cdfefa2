/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/command.h"

#include <string.h>

#include "config.h"
#include "util/error.h"
#include "util/text.h"

static const OptionSpec no_options[] = {{0}};

const Command *command_find(const char *name)
{
    for (const Command *const *at = commands; *at != NULL; at++)
        if (g_str_equal((*at)->name, name))
            return *at;
    return NULL;
}

static gboolean in_family(const Command *command, const char *family)
{
    gsize length = strlen(family);

    return strncmp(command->name, family, length) == 0 && command->name[length] == ' ';
}

gboolean command_is_family(const char *word)
{
    for (const Command *const *at = commands; *at != NULL; at++)
        if (in_family(*at, word))
            return TRUE;
    return FALSE;
}

/* ---- help ---- */

static void append_summary(GString *text, const Command *command)
{
    g_autofree char *head = g_strdup_printf("%s %s", command->name, command->arguments);

    g_string_append_printf(text, "  %-22s%s\n", head, command->summary);
}

char *command_help_all(void)
{
    GString *text = g_string_new("vmatrix " VMATRIX_VERSION
                                 ": how fast is this guest, on this hypervisor, on this host?\n\n"
                                 "usage: vmatrix [OPTIONS] COMMAND [ARGUMENTS]\n");
    const char *group = "";

    for (const Command *const *at = commands; *at != NULL; at++) {
        if (!g_str_equal(group, (*at)->group))
            g_string_append_printf(text, "\n%s\n", (*at)->group);
        group = (*at)->group;
        append_summary(text, *at);
    }
    g_string_append(text, "\nOptions, before or after the command\n");
    options_help(settings_options, text);
    g_string_append(text, "\nExit codes: 0 done, 1 some cell failed, 2 usage or invalid input,\n"
                          "3 environment, 4 finished but contaminated or cut short,\n"
                          "130 interrupted.\n"
                          "\"vmatrix COMMAND --help\" says more; vmatrix(1) says all.\n");
    return g_string_free(text, FALSE);
}

char *command_help_family(const char *family)
{
    GString *text = g_string_new(NULL);

    g_string_append_printf(text, "usage: vmatrix %s COMMAND [ARGUMENTS]\n\n", family);
    for (const Command *const *at = commands; *at != NULL; at++)
        if (in_family(*at, family))
            append_summary(text, *at);
    return g_string_free(text, FALSE);
}

char *command_help(const Command *command)
{
    GString *text = g_string_new(NULL);
    gboolean own = command->options != NULL;

    g_string_append_printf(text, "usage: vmatrix %s [OPTIONS]%s%s\n\n%s\n", command->name,
                           *command->arguments != '\0' ? " " : "", command->arguments,
                           command->about);
    if (own) {
        g_string_append(text, "Options\n");
        options_help(command->options, text);
        g_string_append(text, "\n");
    }
    g_string_append(text, "Options of all commands\n");
    options_help(settings_options, text);
    g_string_append_printf(text, "\nExample\n  %s\n", command->example);
    return g_string_free(text, FALSE);
}

/* ---- the command line ---- */

/* Names that could have been meant: of one family's commands ("guest enroll"), or the first words
 * of all. Transfer full. */
static GPtrArray *candidates(const char *family)
{
    GPtrArray *names = g_ptr_array_new_null_terminated(16, g_free, TRUE);

    for (const Command *const *at = commands; *at != NULL; at++)
        if (family == NULL)
            g_ptr_array_add(names, g_strndup((*at)->name, strcspn((*at)->name, " ")));
        else if (in_family(*at, family))
            g_ptr_array_add(names, g_strdup((*at)->name));
    return names;
}

static gboolean fail_unknown(const char *family, const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = candidates(family);
    const char *near = text_nearest(name, (const char *const *)names->pdata);

    if (near != NULL)
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "unknown command \"%s\"; did you mean \"%s\"?", name, near);
    else
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "unknown command \"%s\"; \"vmatrix%s%s --help\" lists them", name,
                    family != NULL ? " " : "", family != NULL ? family : "");
    return FALSE;
}

static gboolean check_words(const Command *command, char **words, GError **error)
{
    guint n = g_strv_length(words);

    if (n < command->min_words)
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "%s: an argument is missing; usage: vmatrix %s %s", command->name,
                    command->name, command->arguments);
    else if (n > command->max_words)
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "%s: one argument too many: \"%s\"; usage: vmatrix %s %s", command->name,
                    words[command->max_words], command->name, command->arguments);
    return n >= command->min_words && n <= command->max_words;
}

/* Step over options of all commands to the next word; *at is an index into argv, its own word
 * having been read. */
static gboolean next_word(int argc, char **argv, Settings *settings, int *at, GError **error)
{
    static const OptionSpec *const tables[] = {settings_options, NULL};
    int next;

    if (!options_parse(tables, settings, OPTIONS_TO_WORD, argc - *at, argv + *at, &next, error))
        return FALSE;
    *at += next;
    return TRUE;
}

/* The second word of a family's command: "guest" was read at *at. */
static gboolean find_in_family(int argc, char **argv, CommandLine *line, int *at, GError **error)
{
    const char *family = argv[*at];
    g_autofree char *name = NULL;

    if (!next_word(argc, argv, &line->settings, at, error))
        return FALSE;
    if (*at == argc) {
        line->family = family;
        if (line->settings.help)
            return TRUE;
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "%s: which command? \"vmatrix %s --help\" lists them", family, family);
        return FALSE;
    }
    name = g_strdup_printf("%s %s", family, argv[*at]);
    line->command = command_find(name);
    return line->command != NULL || fail_unknown(family, name, error);
}

static gboolean find_command(int argc, char **argv, CommandLine *line, int *at, GError **error)
{
    if (!next_word(argc, argv, &line->settings, at, error))
        return FALSE;
    if (*at == argc) {
        if (line->settings.help || line->settings.version)
            return TRUE;
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "no command; \"vmatrix --help\" lists them");
        return FALSE;
    }
    if (command_is_family(argv[*at]))
        return find_in_family(argc, argv, line, at, error);
    line->command = command_find(argv[*at]);
    return line->command != NULL || fail_unknown(NULL, argv[*at], error);
}

gboolean command_line_parse(int argc, char **argv, CommandLine *ret_line, GError **error)
{
    CommandLine line = {0};
    int at = 0, next = 0;
    gboolean ok = find_command(argc, argv, &line, &at, error);

    if (ok && line.command != NULL) {
        const OptionSpec *const tables[] = {
            settings_options, line.command->options != NULL ? line.command->options : no_options,
            NULL};

        ok = options_parse(tables, &line.settings, OPTIONS_ALL, argc - at, argv + at, &next, error);
        line.words = argv + at + next;
        ok = ok && (line.settings.help || line.settings.version ||
                    check_words(line.command, line.words, error));
    }
    if (!ok) {
        settings_clear(&line.settings);
        return FALSE;
    }
    *ret_line = line;
    return TRUE;
}
