/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/shell.h"

#include <string.h>

/* For printf's %b: octal but for what no shell takes for anything else. */
static char *encode(const char *script)
{
    GString *out = g_string_new(NULL);

    for (const char *at = script; *at != '\0'; at++) {
        if (g_ascii_isalnum(*at) || strchr(" _./,:=-", *at) != NULL)
            g_string_append_c(out, *at);
        else
            g_string_append_printf(out, "\\0%03o", (guint)(guchar)*at);
    }
    return g_string_free(out, FALSE);
}

char *shell_command(const char *script)
{
    g_autofree char *quoted = NULL;

    if (strpbrk(script, "\n!\\") != NULL) {
        g_autofree char *code = encode(script);

        return g_strdup_printf("exec /bin/sh -c 'eval \"$(printf %%b \"%s\")\"'", code);
    }
    quoted = g_shell_quote(script);
    return g_strdup_printf("exec /bin/sh -c %s", quoted);
}

char *shell_exec_script(const char *const *argv)
{
    GString *out = g_string_new("exec");

    for (; *argv != NULL; argv++) {
        g_autofree char *word = g_shell_quote(*argv);

        g_string_append_printf(out, " %s", word);
    }
    return g_string_free(out, FALSE);
}
