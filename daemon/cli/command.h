/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The subcommands of vmatrix: one const Command each, in its own cmd-*.c. */
#pragma once
#include <glib.h>

#include "cli/settings.h"

typedef struct {
    const char *name;      /* "check", "guest enroll" */
    const char *arguments; /* "FILE...", or "" */
    const char *group;     /* heading in --help */
    const char *summary;   /* one line, at most 50 characters */
    const char *about;     /* some lines for its own --help, each with a newline */
    const char *example;   /* one command line */
    guint min_words;
    guint max_words;           /* G_MAXUINT: any number */
    const OptionSpec *options; /* its own; NULL for none */
    /* words: NULL-terminated, without the command's name. Returns the exit code; with error set
     * the error's own code counts instead. */
    int (*run)(const Settings *settings, char **words, GError **error);
} Command;

extern const Command command_check;
extern const Command command_plan;
extern const Command command_run;
extern const Command command_submit;
extern const Command command_status;
extern const Command command_watch;
extern const Command command_log;
extern const Command command_pause;
extern const Command command_resume;
extern const Command command_cancel;
extern const Command command_retry;
extern const Command command_summary;
extern const Command command_results;
extern const Command command_sql;
extern const Command command_doctor;
extern const Command command_guest_enroll;
extern const Command command_guest_list;
extern const Command command_agent_list;
extern const Command command_workload_list;
extern const Command command_host_show;    /* host-show.c */
extern const Command command_host_gate;    /* host-gate.c */
extern const Command command_host_tune;    /* cmd-host.c */
extern const Command command_host_restore; /* cmd-host.c */

/* All of the program's in the order of --help; NULL-terminated. */
extern const Command *const commands[];

/* Whether some command's name begins with this word and another ("guest"). */
gboolean command_is_family(const char *word);

/* The command of this whole name, or NULL. */
const Command *command_find(const char *name);

/* Help for all, for a family of commands ("guest"), or for one; transfer full. */
char *command_help_all(void);
char *command_help_family(const char *family);
char *command_help(const Command *command);

/* What the command line asks for. */
typedef struct {
    Settings settings;
    const Command *command; /* NULL: help for all or for family, or the version */
    const char *family;     /* with command NULL: help was asked for this family */
    char **words;           /* the command's words, NULL-terminated, within argv */
} CommandLine;

/* Parse argv (permuted). Options of all commands may stand before or after the command's name. The
 * number of words is checked, unless help was asked for. */
gboolean command_line_parse(int argc, char **argv, CommandLine *ret_line, GError **error);
