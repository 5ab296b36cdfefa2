/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon-config.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/error.h"

static char *path;

static gboolean load(const char *text, DaemonConfig *ret_config, GError **error)
{
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    return daemon_config_load(path, FALSE, ret_config, error);
}

static void test_values(void)
{
    g_auto(DaemonConfig) config = {0};
    g_autoptr(GError) error = NULL;

    load("# a comment\n\n[daemon]\ndatabase = /a/b.db\nwork=/w\nhooks = /etc/vmatrix/hooks\n"
         "log = debug\nretry = 10m\n",
         &config, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(config.database, ==, "/a/b.db");
    g_assert_cmpstr(config.work, ==, "/w");
    g_assert_cmpstr(config.hooks, ==, "/etc/vmatrix/hooks");
    g_assert_cmpint(config.log, ==, LOG_DEBUG_ALL);
    g_assert_cmpint(config.retry_ns, ==, 600 * CLOCK_NS_PER_S);
}

static void expect_defaults(const DaemonConfig *config)
{
    g_assert_null(config->database);
    g_assert_null(config->work);
    g_assert_null(config->hooks);
    g_assert_cmpint(config->log, ==, LOG_NORMAL);
    g_assert_cmpint(config->retry_ns, ==, 60 * CLOCK_NS_PER_S);
}

static void test_defaults(void)
{
    static const char *const texts[] = {"", "# nothing\n", "[daemon]\n"};
    g_auto(DaemonConfig) missing = {0};
    g_autoptr(GError) error = NULL;

    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_auto(DaemonConfig) config = {0};

        load(texts[i], &config, &error);
        g_assert_no_error(error);
        expect_defaults(&config);
    }
    g_unlink(path);
    g_assert_true(daemon_config_load(path, TRUE, &missing, &error));
    expect_defaults(&missing);
    daemon_config_clear(&missing);
    g_assert_false(daemon_config_load(path, FALSE, &missing, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT);
    g_assert_nonnull(strstr(error->message, path));
}

/* The example that is installed, as it is and with every line in force. */
static void test_example(void)
{
    g_autofree char *example =
        g_build_filename(g_getenv("VMATRIX_SOURCE"), "configs", "vmatrixd.conf", NULL);
    g_autofree char *text = NULL, *used = NULL;
    g_autoptr(GRegex) regex = g_regex_new("^#([a-z]+ = )", G_REGEX_MULTILINE, 0, NULL);
    g_auto(DaemonConfig) config = {0}, full = {0};
    g_autoptr(GError) error = NULL;

    daemon_config_load(example, FALSE, &config, &error);
    g_assert_no_error(error);
    expect_defaults(&config);
    g_assert_true(g_file_get_contents(example, &text, NULL, NULL));
    used = g_regex_replace(regex, text, -1, 0, "\\1", 0, NULL);
    load(used, &full, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(full.database, ==, "/var/lib/vmatrix/vmatrix.db");
    g_assert_cmpstr(full.work, ==, "/var/lib/vmatrix/runs");
    g_assert_nonnull(full.hooks);
    g_assert_cmpint(full.log, ==, config.log);
    g_assert_cmpint(full.retry_ns, ==, config.retry_ns);
}

static void test_bad(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[daemon]\nlog = loud\n", "log: must be quiet, normal, verbose or debug"},
        {"[daemon]\nlog =\n", "log: must be"},
        {"[daemon]\nlog = Quiet\n", "log: must be"},
        {"[daemon]\nretry = 10\n", "retry: must be a time such as 60s or 10m"},
        {"[daemon]\nretry =\n", "retry: must be"},
        {"[daemon]\nretry = 0s\n", "retry: must be"},
        {"[daemon]\nretry = -5s\n", "retry: must be"},
        {"[daemon]\nretry = 010s\n", "retry: must be"},
        {"[daemon]\nretry = 25h\n", "retry: must be"},
        {"[daemon]\nretry = 99999999999999999999s\n", "retry: must be"},
        {"[daemon]\nretry = soon\n", "retry: must be"},
        {"[daemon]\nwork = runs\n", "work: must be an absolute path"},
        {"[daemon]\nhooks =\n", "hooks: must be an absolute path"},
        {"[daemon]\ndatabase = ~/a.db\n", "database: must be an absolute path"},
        {"[daemon]\nhook = /a\n", "hook: unknown key; did you mean \"hooks\"?"},
        {"[daemon]\nretyr = 5s\n", "retyr: unknown key; did you mean \"retry\"?"},
        {"[daemon]\ninventory = /a\n", "inventory: unknown key; there are database, work, hooks"},
        {"[service]\nlog = quiet\n", "service: unknown group; there is only [daemon]"},
        {"[daemon]\nlog = quiet\n[other]\na = b\n", "other: unknown group"},
        {"log = quiet\n", "Key file"},
        {"[daemon]\nlog quiet\n", "log quiet"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        DaemonConfig config = {0};
        g_autoptr(GError) error = NULL;

        g_assert_false(load(cases[i].text, &config, &error));
        g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
        g_test_message("%s", error->message);
        g_assert_true(g_str_has_prefix(error->message, path));
        g_assert_nonnull(strstr(error->message, cases[i].says));
        /* What was read before the bad line is not handed out. */
        g_assert_null(config.work);
    }
}

int main(int argc, char **argv)
{
    g_autofree char *folder = NULL;
    int result;

    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("vmatrix-config-XXXXXX", NULL);
    path = g_build_filename(folder, "vmatrixd.conf", NULL);
    g_test_add_func("/daemon-config/values", test_values);
    g_test_add_func("/daemon-config/defaults", test_defaults);
    g_test_add_func("/daemon-config/example", test_example);
    g_test_add_func("/daemon-config/bad", test_bad);
    result = g_test_run();
    g_unlink(path);
    g_rmdir(folder);
    g_free(path);
    return result;
}
