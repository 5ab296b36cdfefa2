/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrixd: parse, set up, run. This version has no queue to run, and says so. */
#include <stdio.h>

#include "cli/options.h"
#include "config.h"
#include "util/error.h"
#include "util/log.h"

typedef struct {
    const char *db;
    const char *inventory;
    const char *config;
    gboolean help;
    gboolean version;
} DaemonSettings;

static const OptionSpec daemon_options[] = {
    {.name = "db",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(DaemonSettings, db),
     .value = "FILE",
     .help = "the database whose queue is run"},
    {.name = "inventory",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(DaemonSettings, inventory),
     .value = "FILE",
     .help = "the site's inventory"},
    {.name = "config",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(DaemonSettings, config),
     .value = "FILE",
     .help = "the daemon's own settings"},
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(DaemonSettings, help),
     .help = "show this help"},
    {.name = "version",
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(DaemonSettings, version),
     .help = "show the version"},
    {0},
};

static void show_help(void)
{
    g_autoptr(GString) text =
        g_string_new("usage: vmatrixd [OPTIONS]\n\n"
                     "The daemon that runs campaigns from the database's queue.\n"
                     "This version cannot do that yet: use \"vmatrix run PLAN\".\n\n"
                     "Options\n");

    options_help(daemon_options, text);
    fputs(text->str, stdout);
}

static gboolean parse(int argc, char **argv, DaemonSettings *ret_settings, GError **error)
{
    static const OptionSpec *const tables[] = {daemon_options, NULL};
    DaemonSettings settings = {0};
    int next;

    if (!options_parse(tables, &settings, OPTIONS_ALL, argc, argv, &next, error))
        return FALSE;
    if (next < argc) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "unexpected argument \"%s\": vmatrixd takes options only; see --help",
                    argv[next]);
        return FALSE;
    }
    *ret_settings = settings;
    return TRUE;
}

int main(int argc, char **argv)
{
    DaemonSettings settings;
    g_autoptr(GError) error = NULL;

    if (!parse(argc, argv, &settings, &error)) {
        fprintf(stderr, "vmatrixd: %s\n", error->message);
        return vm_error_exit_code(error);
    }
    if (settings.help) {
        show_help();
        return VM_EXIT_DONE;
    }
    if (settings.version) {
        puts("vmatrixd " VMATRIX_VERSION);
        return VM_EXIT_DONE;
    }
    log_init(LOG_NORMAL);
    g_warning("vmatrixd " VMATRIX_VERSION " cannot run a queue yet; \"vmatrix run PLAN\" runs a "
              "campaign in the foreground");
    return VM_EXIT_ENVIRONMENT;
}
