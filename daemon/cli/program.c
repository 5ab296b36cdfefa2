/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/program.h"

#include <locale.h>
#include <stdio.h>

#include "cli/command.h"
#include "config.h"
#include "util/error.h"
#include "util/log.h"

static void set_up(const Settings *settings)
{
    static const LogLevel levels[] = {LOG_QUIET, LOG_NORMAL, LOG_VERBOSE, LOG_DEBUG_ALL};

    /* Characters as the terminal has them, but numbers always with a point. */
    setlocale(LC_CTYPE, "");
    log_init(levels[CLAMP(settings->verbosity + 1, 0, 3)]);
}

static int show_help(const CommandLine *line)
{
    g_autofree char *text = line->command != NULL  ? command_help(line->command)
                            : line->family != NULL ? command_help_family(line->family)
                                                   : command_help_all();

    fputs(text, stdout);
    return VM_EXIT_DONE;
}

static int run(const CommandLine *line, GError **error)
{
    if (line->settings.help)
        return show_help(line);
    if (line->settings.version) {
        puts("vmatrix " VMATRIX_VERSION);
        return VM_EXIT_DONE;
    }
    set_up(&line->settings);
    return line->command->run(&line->settings, line->words, error);
}

int program_main(int argc, char **argv)
{
    CommandLine line = {0};
    g_autoptr(GError) error = NULL;
    int code = VM_EXIT_DONE;

    if (command_line_parse(argc, argv, &line, &error))
        code = run(&line, &error);
    settings_clear(&line.settings);
    if (error != NULL) {
        fprintf(stderr, "vmatrix: %s\n", error->message);
        code = vm_error_exit_code(error);
    } else if (fflush(stdout) != 0) {
        perror("vmatrix: standard output");
        code = VM_EXIT_ENVIRONMENT;
    }
    return code;
}
