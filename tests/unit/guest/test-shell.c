/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "guest/shell.h"

static const char *const login_shells[] = {"sh",   "dash", "bash",    "tcsh", "csh",
                                           "fish", "zsh",  "busybox", NULL};

/* What a login shell makes of command; NULL when it is not installed. */
static char *run_under(const char *shell, const char *command)
{
    gboolean box = g_str_equal(shell, "busybox");
    const char *plain[] = {shell, "-c", command, NULL};
    const char *boxed[] = {shell, "sh", "-c", command, NULL};
    g_autofree char *path = g_find_program_in_path(shell);
    g_autoptr(GError) error = NULL;
    char *output = NULL;

    if (path == NULL)
        return NULL;
    g_assert_true(g_spawn_sync(NULL, (char **)(box ? boxed : plain), NULL, G_SPAWN_SEARCH_PATH,
                               NULL, NULL, &output, NULL, NULL, &error));
    g_assert_no_error(error);
    return output;
}

static void check(const char *script, const char *expected)
{
    g_autofree char *command = shell_command(script);

    g_assert_null(strchr(command, '\n'));
    g_assert_null(strchr(command, '!'));
    for (const char *const *shell = login_shells; *shell != NULL; shell++) {
        g_autofree char *output = run_under(*shell, command);

        if (output != NULL && strcmp(output, expected) != 0)
            g_error("%s: %s\ngave: %s\nnot: %s", *shell, command, output, expected);
    }
}

static void test_scripts(void)
{
    check("echo hello", "hello\n");
    check("echo 'a  b' \"$HOME\" >/dev/null; echo $((1+2)) `echo x` 'it'\\''s'", "3 x it's\n");
    check("echo a!b", "a!b\n");
    check("echo a\necho 'b\n\nc' #!d\n", "a\nb\n\nc\n");
    check("printf '%s\\n' '\\\\' \"100%\" '{a,b}' '~' '*x*' '\xc3\xa9' '\x01'",
          "\\\\\n100%\n{a,b}\n~\n*x*\n\xc3\xa9\n\x01\n");
    check("x='a b'; [ \"$x\" = 'a b' ] && echo \"<$x>\" 2>&1", "<a b>\n");
}

static void test_argv(void)
{
    static const char *const argv[] = {"printf", "%s|", "a b",        "it's", "x!y", "back\\slash",
                                       "$HOME",  "",    "two\nlines", "*",    NULL};
    g_autofree char *script = shell_exec_script(argv);

    check(script, "a b|it's|x!y|back\\slash|$HOME||two\nlines|*|");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/shell/scripts", test_scripts);
    g_test_add_func("/shell/argv", test_argv);
    return g_test_run();
}
