/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The daemon's own settings: /etc/vmatrix/vmatrixd.conf, an INI file with one group, [daemon]. */
#pragma once
#include <glib.h>

#include "util/log.h"

#define DAEMON_CONFIG_PATH "/etc/vmatrix/vmatrixd.conf"

typedef struct {
    char *database; /* or NULL: store_default_path() */
    char *work;     /* folder for runs, or NULL: "runs" beside the database */
    char *hooks;    /* folder, or NULL: no hooks */
    LogLevel log;   /* quiet, normal, verbose, debug */
    gint64 retry_ns;
} DaemonConfig;

/* Read path. optional: a missing file gives the defaults. Unknown groups and keys, and bad values,
 * are VM_ERROR_INVALID with path, key and the accepted forms. ret_config must be zeroed. */
gboolean daemon_config_load(const char *path, gboolean optional, DaemonConfig *ret_config,
                            GError **error);
void daemon_config_clear(DaemonConfig *config);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DaemonConfig, daemon_config_clear)
