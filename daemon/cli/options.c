/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/options.h"

#include <getopt.h>
#include <string.h>

#include "util/error.h"
#include "util/text.h"

enum { LONG_BASE = 256, HELP_COLUMN = 26 };

/* All tables as one flat list, so that getopt's number of an option finds its spec. */
static GPtrArray *flatten(const OptionSpec *const *tables)
{
    GPtrArray *flat = g_ptr_array_new();

    for (; *tables != NULL; tables++)
        for (const OptionSpec *spec = *tables; spec->name != NULL; spec++)
            g_ptr_array_add(flat, (gpointer)spec);
    return flat;
}

static struct option *long_options(const GPtrArray *flat)
{
    struct option *list = g_new0(struct option, flat->len + 1);

    for (guint i = 0; i < flat->len; i++) {
        const OptionSpec *spec = g_ptr_array_index(flat, i);

        list[i] = (struct option){.name = spec->name,
                                  .has_arg = spec->value != NULL ? required_argument : no_argument,
                                  .val = LONG_BASE + (int)i};
    }
    return list;
}

static char *short_options(const GPtrArray *flat, OptionsExtent extent)
{
    GString *letters = g_string_new(extent == OPTIONS_TO_WORD ? "+:" : ":");

    for (guint i = 0; i < flat->len; i++) {
        const OptionSpec *spec = g_ptr_array_index(flat, i);

        if (spec->letter != 0)
            g_string_append_c(letters, spec->letter);
        if (spec->letter != 0 && spec->value != NULL)
            g_string_append_c(letters, ':');
    }
    return g_string_free(letters, FALSE);
}

static const OptionSpec *spec_of(const GPtrArray *flat, int code)
{
    if (code >= LONG_BASE)
        return g_ptr_array_index(flat, (guint)(code - LONG_BASE));
    for (guint i = 0; i < flat->len; i++) {
        const OptionSpec *spec = g_ptr_array_index(flat, i);

        if (spec->letter == code)
            return spec;
    }
    return NULL;
}

const OptionSpec *options_find(const OptionSpec *const *tables, const char *name)
{
    for (; *tables != NULL; tables++)
        for (const OptionSpec *spec = *tables; spec->name != NULL; spec++)
            if (g_str_equal(spec->name, name))
                return spec;
    return NULL;
}

static gboolean fail_unknown_long(const GPtrArray *flat, const char *word, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *name = g_strndup(word + 2, strcspn(word + 2, "="));
    guint abbreviated = 0;

    for (guint i = 0; i < flat->len; i++) {
        const OptionSpec *spec = g_ptr_array_index(flat, i);

        g_ptr_array_add(names, (gpointer)spec->name);
        abbreviated += g_str_has_prefix(spec->name, name);
    }
    g_ptr_array_add(names, NULL);
    const char *near = text_nearest(name, (const char *const *)names->pdata);

    if (abbreviated > 1)
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "option --%s is ambiguous: write its name in full", name);
    else if (near != NULL)
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "unknown option --%s; did you mean --%s?",
                    name, near);
    else
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "unknown option --%s; see --help", name);
    return FALSE;
}

/* getopt said '?' or ':'; word is what it stumbled over. */
static gboolean fail_getopt(const GPtrArray *flat, int answer, const char *word, GError **error)
{
    const OptionSpec *spec = optopt != 0 ? spec_of(flat, optopt) : NULL;

    if (answer == ':')
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "option --%s needs a value: --%s %s",
                    spec->name, spec->name, spec->value);
    else if (optopt == 0)
        return fail_unknown_long(flat, word, error);
    else if (spec != NULL)
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "option --%s takes no value", spec->name);
    else
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "unknown option -%c; see --help", optopt);
    return FALSE;
}

static gboolean check_choice(const OptionSpec *spec, const char *value, GError **error)
{
    g_autofree char *all = NULL;

    if (g_strv_contains(spec->choices, value))
        return TRUE;
    const char *near = text_nearest(value, spec->choices);

    all = g_strjoinv(", ", (char **)spec->choices);
    g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "--%s %s: must be one of %s%s%s%s", spec->name,
                value, all, near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                near != NULL ? "?" : "");
    return FALSE;
}

static gboolean apply(const OptionSpec *spec, void *target, const char *value, GError **error)
{
    void *member = (char *)target + spec->offset;

    switch (spec->kind) {
    case OPTION_FLAG:
        *(gboolean *)member = TRUE;
        break;
    case OPTION_ADD:
        *(int *)member += spec->step;
        break;
    case OPTION_PRESET:
        *(const char **)member = spec->preset;
        break;
    case OPTION_CHOICE:
        if (!check_choice(spec, value, error))
            return FALSE;
        *(const char **)member = value;
        break;
    case OPTION_TEXT:
        *(const char **)member = value;
        break;
    case OPTION_LIST:
        if (*(GPtrArray **)member == NULL)
            *(GPtrArray **)member = g_ptr_array_new_null_terminated(4, NULL, TRUE);
        g_ptr_array_add(*(GPtrArray **)member, (gpointer)value);
        break;
    }
    return TRUE;
}

gboolean options_parse(const OptionSpec *const *tables, void *target, OptionsExtent extent,
                       int argc, char **argv, int *ret_next, GError **error)
{
    g_autoptr(GPtrArray) flat = flatten(tables);
    g_autofree struct option *longs = long_options(flat);
    g_autofree char *shorts = short_options(flat, extent);
    int code;

    opterr = 0;
    optind = 0; /* glibc: forget the parse before */
    while ((code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (code == '?' || code == ':')
            return fail_getopt(flat, code, argv[optind - 1], error);
        if (!apply(spec_of(flat, code), target, optarg, error))
            return FALSE;
    }
    *ret_next = optind;
    return TRUE;
}

void options_help(const OptionSpec *table, GString *text)
{
    for (const OptionSpec *spec = table; spec->name != NULL; spec++) {
        gsize start = text->len;

        if (spec->letter != 0)
            g_string_append_printf(text, "  -%c, --%s", spec->letter, spec->name);
        else
            g_string_append_printf(text, "      --%s", spec->name);
        if (spec->value != NULL)
            g_string_append_printf(text, " %s", spec->value);
        gsize width = text->len - start;

        g_string_append_printf(text, "%*s%s\n", (int)(MAX(HELP_COLUMN, width + 2) - width), "",
                               spec->help);
    }
}
