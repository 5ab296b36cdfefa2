/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/settings.h"

#include "util/error.h"

static const char *const formats[] = {"table", "csv", "json", "markdown", NULL};

const OptionSpec settings_options[] = {
    {.name = "db",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(Settings, db),
     .value = "FILE",
     .help = "the database (default: $VMATRIX_DB, or yours)"},
    {.name = "inventory",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(Settings, inventory),
     .value = "FILE",
     .help = "the site's inventory (default: see vmatrix(1))"},
    {.name = "format",
     .kind = OPTION_CHOICE,
     .offset = G_STRUCT_OFFSET(Settings, format),
     .value = "FORMAT",
     .choices = formats,
     .help = "table, csv, json or markdown"},
    {.name = "json",
     .kind = OPTION_PRESET,
     .offset = G_STRUCT_OFFSET(Settings, format),
     .preset = "json",
     .help = "short for --format json"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(Settings, output),
     .value = "FILE",
     .help = "write the result to FILE"},
    {.name = "no-color",
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(Settings, no_color),
     .help = "no colours (NO_COLOR does the same)"},
    {.name = "verbose",
     .letter = 'v',
     .kind = OPTION_ADD,
     .offset = G_STRUCT_OFFSET(Settings, verbosity),
     .step = 1,
     .help = "say more; twice: debug"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_ADD,
     .offset = G_STRUCT_OFFSET(Settings, verbosity),
     .step = -1,
     .help = "only results, warnings and errors"},
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(Settings, help),
     .help = "show help, for a command or for all"},
    {.name = "version",
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(Settings, version),
     .help = "show the version"},
    {0},
};

void settings_clear(Settings *settings)
{
    g_clear_pointer(&settings->where, g_ptr_array_unref);
    g_clear_pointer(&settings->set, g_ptr_array_unref);
}

TableFormat settings_format(const Settings *settings, TableFormat fallback)
{
    TableFormat format = fallback;

    if (settings->format != NULL)
        table_format_parse(settings->format, &format);
    return format;
}

char *settings_db_path(const Settings *settings)
{
    return settings->db != NULL ? g_strdup(settings->db) : store_default_path();
}

Store *settings_open_store(const Settings *settings, StoreMode mode, GError **error)
{
    g_autofree char *path = settings_db_path(settings);

    if (mode == STORE_READ_ONLY && !g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "%s: no such database; \"vmatrix run PLAN\" makes one, --db FILE names another",
                    path);
        return NULL;
    }
    return store_open(path, mode, error);
}

gboolean settings_open_existing(const Settings *settings, Store **ret_store, GError **error)
{
    g_autofree char *path = settings_db_path(settings);
    Store *store = NULL;

    if (g_file_test(path, G_FILE_TEST_EXISTS)) {
        store = store_open(path, STORE_READ_ONLY, error);
        if (store == NULL)
            return FALSE;
    }
    *ret_store = store;
    return TRUE;
}

/* The places in the order in which they count; a NULL-terminated list, transfer full. */
static char **default_inventories(void)
{
    GStrv places = g_new0(char *, 3);

    places[0] = g_build_filename(g_get_user_config_dir(), "vmatrix", "inventory.yaml", NULL);
    places[1] = g_strdup("/etc/vmatrix/inventory.yaml");
    return places;
}

char *settings_inventory_path(const Settings *settings)
{
    g_auto(GStrv) places = default_inventories();
    const char *given =
        settings->inventory != NULL ? settings->inventory : g_getenv("VMATRIX_INVENTORY");

    if (given != NULL && *given != '\0')
        return g_strdup(given);
    for (char **place = places; *place != NULL; place++)
        if (g_file_test(*place, G_FILE_TEST_EXISTS))
            return g_strdup(*place);
    return NULL;
}

char *settings_require_inventory(const Settings *settings, GError **error)
{
    g_autofree char *path = settings_inventory_path(settings);
    g_auto(GStrv) places = NULL;

    if (path != NULL)
        return g_steal_pointer(&path);
    places = default_inventories();
    g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                "no inventory: neither %s nor %s is there; give one by --inventory FILE", places[0],
                places[1]);
    return NULL;
}

Inventory *settings_load_inventory(const Settings *settings, GError **error)
{
    g_autofree char *path = settings_require_inventory(settings, error);

    return path != NULL ? inventory_load(path, error) : NULL;
}
