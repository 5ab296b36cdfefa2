/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix guest enroll, vmatrix guest list. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "run/enroll.h"
#include "util/error.h"

static const OptionSpec enroll_options[] = {
    {.name = "hypervisor",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(Settings, hypervisor),
     .value = "NAME",
     .help = "boot it there (default: the first that works)"},
    {.name = "work",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(Settings, work),
     .value = "FOLDER",
     .help = "for the overlay (default: runs, beside the database)"},
    {0},
};

/* "the same key as before" and so on; static. */
static const char *change_of(const char *before, const char *after)
{
    if (before == NULL)
        return "enrolled";
    return g_str_equal(before, after) ? "unchanged" : "replaced";
}

static gboolean print_key(const Settings *settings, const char *guest, const char *before,
                          const char *key, GError **error)
{
    g_autoptr(Table) table = table_new();

    table_column(table, "guest", "guest", COLUMN_TEXT);
    table_column(table, "state", "host key", COLUMN_TEXT);
    table_column(table, "host_key", "is", COLUMN_TEXT);
    table_row(table);
    table_text(table, guest);
    table_text(table, change_of(before, key));
    table_text(table, key);
    return output_table(settings, table, error);
}

static gboolean enroll(const Settings *settings, Store *store, const char *guest, Cancel *cancel,
                       GError **error)
{
    g_autoptr(Inventory) inventory = settings_load_inventory(settings, error);
    g_autofree char *before = NULL;
    g_autofree char *key = NULL;

    if (inventory == NULL || !store_host_key_get(store, guest, &before, error) ||
        !enroll_guest(store, inventory, guest, settings->hypervisor, settings->work, cancel, &key,
                      error))
        return FALSE;
    return print_key(settings, guest, before, key, error);
}

static int run_enroll(const Settings *settings, char **words, GError **error)
{
    g_autoptr(Store) store = settings_open_store(settings, STORE_READ_WRITE, error);
    g_autoptr(Cancel) cancel = cancel_new();
    gboolean ok;

    if (store == NULL)
        return VM_EXIT_ENVIRONMENT;
    signals_catch(cancel);
    ok = enroll(settings, store, words[0], cancel, error);
    signals_release();
    return ok ? VM_EXIT_DONE : VM_EXIT_CELL_FAILED;
}

const Command command_guest_enroll = {
    .name = "guest enroll",
    .arguments = "NAME",
    .group = "The site",
    .summary = "boot a guest once and pin its host key",
    .about = "Boots the inventory's guest NAME once, logs in with the inventory's key, and\n"
             "pins the SSH host key that it showed in the database. From then on a guest that\n"
             "shows another key is refused.\n",
    .example = "vmatrix guest enroll debian12 --inventory site.yaml",
    .min_words = 1,
    .max_words = 1,
    .options = enroll_options,
    .run = run_enroll,
};

/* ---- guest list ---- */

/* What pins the guest's identity. FALSE: the database cannot be read. */
static gboolean host_key_state(const InventoryGuest *guest, Store *store, const char **ret_state,
                               GError **error)
{
    g_autofree char *key = NULL;

    if (guest->host_key == HOST_KEY_ENROLLED && store != NULL &&
        !store_host_key_get(store, guest->name, &key, error))
        return FALSE;
    switch (guest->host_key) {
    case HOST_KEY_LITERAL:
        *ret_state = "in the inventory";
        return TRUE;
    case HOST_KEY_PER_BOOT:
        *ret_state = "accepted anew each boot";
        return TRUE;
    case HOST_KEY_ENROLLED:
        break;
    }
    *ret_state = key != NULL ? "enrolled" : "not enrolled";
    return TRUE;
}

static gboolean add_guest(Table *table, const InventoryGuest *guest, Store *store, GError **error)
{
    const char *state;

    if (!host_key_state(guest, store, &state, error))
        return FALSE;
    table_row(table);
    table_text(table, guest->name);
    table_text(table, guest->disk != NULL ? guest->disk : guest->kernel);
    table_text(table, address_method_name(guest->address));
    table_text(table, guest->user);
    table_text(table, state);
    return TRUE;
}

static int run_list(const Settings *settings, char **words, GError **error)
{
    g_autoptr(Inventory) inventory = settings_load_inventory(settings, error);
    g_autoptr(Store) store = NULL;
    g_autoptr(Table) table = table_new();

    if (inventory == NULL || !settings_open_existing(settings, &store, error))
        return VM_EXIT_INVALID;
    table_column(table, "guest", "guest", COLUMN_TEXT);
    table_column(table, "boots_from", "boots from", COLUMN_TEXT);
    table_column(table, "address", "address", COLUMN_TEXT);
    table_column(table, "user", "user", COLUMN_TEXT);
    table_column(table, "host_key", "host key", COLUMN_TEXT);
    for (guint i = 0; i < inventory->guests->len; i++)
        if (!add_guest(table, g_ptr_array_index(inventory->guests, i), store, error))
            return VM_EXIT_ENVIRONMENT;
    return output_table(settings, table, error) ? VM_EXIT_DONE : VM_EXIT_ENVIRONMENT;
}

const Command command_guest_list = {
    .name = "guest list",
    .arguments = "",
    .group = "The site",
    .summary = "the inventory's guests, and which are enrolled",
    .about = "Lists the inventory's guests: what they boot from, how they are reached, and\n"
             "whether their host key is pinned.\n",
    .example = "vmatrix guest list --json",
    .run = run_list,
};
