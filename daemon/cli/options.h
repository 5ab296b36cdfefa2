/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of both programs: one const table drives the parser, --help and "did you mean". */
#pragma once
#include <glib.h>

typedef enum {
    OPTION_FLAG,   /* gboolean: TRUE */
    OPTION_TEXT,   /* const char*: the last one wins */
    OPTION_CHOICE, /* const char*: one of choices */
    OPTION_PRESET, /* const char*: set to preset; short for another option */
    OPTION_LIST,   /* GPtrArray* of const char*, NULL-terminated, made when first used */
    OPTION_ADD,    /* int: step is added */
} OptionKind;

typedef struct {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* or 0 */
    OptionKind kind;
    gsize offset;      /* of the member it sets */
    const char *value; /* name of the value in --help, or NULL where it takes none */
    const char *const *choices;
    const char *preset;
    int step;
    const char *help; /* one short line */
} OptionSpec;

typedef enum {
    OPTIONS_TO_WORD, /* stop at the first word that is no option */
    OPTIONS_ALL,     /* options and words in any order; argv is permuted, words last */
} OptionsExtent;

/* Parse argv[1…]. tables: NULL-terminated list of option tables. target: the struct that the
 * offsets count from; its members point into argv. *ret_next: index of the first word (argc when
 * there is none). Unknown, ambiguous and incomplete options are VM_ERROR_INVALID. */
gboolean options_parse(const OptionSpec *const *tables, void *target, OptionsExtent extent,
                       int argc, char **argv, int *ret_next, GError **error);

/* The option of this name in the tables, or NULL. */
const OptionSpec *options_find(const OptionSpec *const *tables, const char *name);

/* Append one aligned line an option. */
void options_help(const OptionSpec *table, GString *text);
