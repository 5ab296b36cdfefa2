/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon-config.h"

#include <string.h>

#include "model/scalar.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/text.h"

#define GROUP "daemon"

static const gint64 default_retry_ns = 60 * CLOCK_NS_PER_S;
static const gint64 retry_max_ns = (gint64)86400 * CLOCK_NS_PER_S;
static const char *const keys[] = {"database", "work", "hooks", "log", "retry", NULL};

void daemon_config_clear(DaemonConfig *config)
{
    g_free(config->database);
    g_free(config->work);
    g_free(config->hooks);
    memset(config, 0, sizeof *config);
}

static gboolean fail(const char *path, const char *key, const char *what, GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "%s: %s: %s", path, key, what);
    return FALSE;
}

static gboolean parse_log(const char *path, const char *text, LogLevel *ret_level, GError **error)
{
    static const char *const names[] = {"quiet", "normal", "verbose", "debug"};

    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        if (g_str_equal(text, names[i])) {
            *ret_level = (LogLevel)i;
            return TRUE;
        }
    }
    return fail(path, "log", "must be quiet, normal, verbose or debug", error);
}

static gboolean parse_retry(const char *path, const char *text, gint64 *ret_ns, GError **error)
{
    gint64 ns;

    if (scalar_parse_duration(text, &ns) != SCALAR_OK || ns < CLOCK_NS_PER_S || ns > retry_max_ns)
        return fail(path, "retry", "must be a time such as 60s or 10m, from 1s to 24h", error);
    *ret_ns = ns;
    return TRUE;
}

static gboolean set_key(const char *path, const char *key, const char *value, DaemonConfig *config,
                        GError **error)
{
    if (g_str_equal(key, "log"))
        return parse_log(path, value, &config->log, error);
    if (g_str_equal(key, "retry"))
        return parse_retry(path, value, &config->retry_ns, error);
    if (!g_path_is_absolute(value))
        return fail(path, key, "must be an absolute path", error);
    if (g_str_equal(key, "database"))
        config->database = g_strdup(value);
    else if (g_str_equal(key, "work"))
        config->work = g_strdup(value);
    else
        config->hooks = g_strdup(value);
    return TRUE;
}

static gboolean unknown_key(const char *path, const char *key, GError **error)
{
    const char *nearest = text_nearest(key, keys);
    g_autofree char *what =
        nearest != NULL ? g_strdup_printf("unknown key; did you mean \"%s\"?", nearest)
                        : g_strdup("unknown key; there are database, work, hooks, log and retry");

    return fail(path, key, what, error);
}

static gboolean read_keys(const char *path, GKeyFile *file, DaemonConfig *config, GError **error)
{
    g_auto(GStrv) groups = g_key_file_get_groups(file, NULL);
    g_auto(GStrv) found = g_key_file_get_keys(file, GROUP, NULL, NULL);

    for (char **group = groups; *group != NULL; group++)
        if (!g_str_equal(*group, GROUP))
            return fail(path, *group, "unknown group; there is only [" GROUP "]", error);
    for (char **key = found; found != NULL && *key != NULL; key++) {
        g_autofree char *value = g_key_file_get_string(file, GROUP, *key, NULL);

        if (!g_strv_contains(keys, *key))
            return unknown_key(path, *key, error);
        if (!set_key(path, *key, value != NULL ? value : "", config, error))
            return FALSE;
    }
    return TRUE;
}

gboolean daemon_config_load(const char *path, gboolean optional, DaemonConfig *ret_config,
                            GError **error)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autoptr(GError) local = NULL;
    g_auto(DaemonConfig) config = {.log = LOG_NORMAL, .retry_ns = default_retry_ns};

    if (!g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, &local)) {
        gboolean missing = g_error_matches(local, G_FILE_ERROR, G_FILE_ERROR_NOENT);

        if (!missing || !optional) {
            g_set_error(error, VM_ERROR, missing ? VM_ERROR_ENVIRONMENT : VM_ERROR_INVALID,
                        "%s: %s", path, local->message);
            return FALSE;
        }
    } else if (!read_keys(path, file, &config, error)) {
        return FALSE;
    }
    *ret_config = config;
    memset(&config, 0, sizeof config);
    return TRUE;
}
