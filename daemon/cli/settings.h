/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the options of "vmatrix" say, and what follows from them for every command. */
#pragma once
#include <glib.h>

#include "cli/options.h"
#include "model/inventory.h"
#include "report/table.h"
#include "store/store.h"

typedef struct {
    /* options of all commands */
    const char *db;
    const char *inventory;
    const char *format;
    const char *output;
    gboolean no_color;
    int verbosity; /* -1 quiet, 0, 1 verbose, 2 debug */
    gboolean help;
    gboolean version;
    /* options of single commands */
    GPtrArray *where; /* const char*, NULL-terminated, or NULL */
    GPtrArray *set;   /* the same */
    const char *metric;
    const char *hypervisor;
    const char *work;
    const char *at;
    const char *priority;
    gboolean no_estimate;
    gboolean dry_run;
    gboolean all;
    gboolean console;
    gboolean raw;
} Settings;

extern const OptionSpec settings_options[]; /* those of all commands */

void settings_clear(Settings *settings);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Settings, settings_clear)

/* The format asked for, or fallback. */
TableFormat settings_format(const Settings *settings, TableFormat fallback);

/* Path of the database: --db, or the default. Transfer full. */
char *settings_db_path(const Settings *settings);

/* Open --db, or the default. READ_ONLY of a database that does not exist is VM_ERROR_INVALID and
 * says how to make one. */
Store *settings_open_store(const Settings *settings, StoreMode mode, GError **error);

/* Open it for reading if there is one: *ret_store is NULL, and TRUE is returned, when there is
 * none. */
gboolean settings_open_existing(const Settings *settings, Store **ret_store, GError **error);

/* Path of the inventory: --inventory, $VMATRIX_INVENTORY, XDG_CONFIG_HOME/vmatrix/inventory.yaml,
 * /etc/vmatrix/inventory.yaml: the first that is given or exists. NULL when there is none. Transfer
 * full. */
char *settings_inventory_path(const Settings *settings);

/* The same; having none is VM_ERROR_INVALID and lists where it was looked for. Transfer full. */
char *settings_require_inventory(const Settings *settings, GError **error);

/* Load it. */
Inventory *settings_load_inventory(const Settings *settings, GError **error);
