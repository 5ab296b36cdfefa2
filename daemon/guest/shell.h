/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands for a guest's login shell, whichever that is. Pure. */
#pragma once
#include <glib.h>

/* The command line that runs script by /bin/sh -c, the same under sh, csh, tcsh and fish: newline,
 * "!" and backslash, which these read differently inside single quotes, go encoded. Transfer full.
 */
char *shell_command(const char *script);

/* "exec WORD…": argv as a script for /bin/sh, each word quoted. Transfer full. */
char *shell_exec_script(const char *const *argv);
