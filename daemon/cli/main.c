/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix. What people ask again and again (status, log, pause…) needs the database alone, and is
 * done here; for all else vmatrix-engine is started, which has every command. libvirt and libssh
 * bring 40 libraries, and loading them takes longer than counting ten thousand runs. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/program.h"
#include "config.h"
#include "util/error.h"

/* Whether the command line's first word is one of the quick commands. Whatever is wrong with the
 * line is told by vmatrix-engine. */
static gboolean is_quick(int argc, char **argv)
{
    static const OptionSpec *const tables[] = {settings_options, NULL};
    g_auto(Settings) settings = {0};
    int next;

    return options_parse(tables, &settings, OPTIONS_TO_WORD, argc, argv, &next, NULL) &&
           next < argc && command_find(argv[next]) != NULL;
}

/* Beside this program in a build tree, else where it is installed. Transfer full. */
static char *engine_path(void)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *folder = self != NULL ? g_path_get_dirname(self) : g_strdup(".");
    g_autofree char *beside = g_build_filename(folder, "vmatrix-engine", NULL);

    if (access(beside, X_OK) == 0)
        return g_steal_pointer(&beside);
    return g_strdup(VMATRIX_LIBEXECDIR "/vmatrix-engine");
}

int main(int argc, char **argv)
{
    g_autofree char *path = NULL;

    if (is_quick(argc, argv))
        return program_main(argc, argv);
    path = engine_path();
    execv(path, argv);
    fprintf(stderr, "vmatrix: %s: cannot be started: %s; install vmatrix again\n", path,
            g_strerror(errno));
    return VM_EXIT_ENVIRONMENT;
}
