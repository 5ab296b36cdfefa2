/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix host tune, vmatrix host restore: the host's settings by hand. */
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "run/lock.h"
#include "run/tuning.h"
#include "util/error.h"

static const OptionSpec tune_options[] = {
    {.name = "set",
     .kind = OPTION_LIST,
     .offset = G_STRUCT_OFFSET(Settings, set),
     .value = "KEY=VALUE",
     .help = "as under \"tune\" in a plan; may be repeated"},
    {0},
};

/* ---- host tune ---- */

/* What the plan asks for, and --set on top of it. */
static gboolean gather(const Settings *settings, const Plan *plan, TuneWants *wants, GError **error)
{
    for (guint i = 0; plan != NULL && i < TUNE_KEYS; i++)
        wants->values[i] = g_strdup(plan->tune.values[i]);
    for (guint i = 0; settings->set != NULL && i < settings->set->len; i++) {
        const char *assignment = g_ptr_array_index(settings->set, i);

        if (assignment != NULL && !tune_wants_set(wants, assignment, error))
            return FALSE;
    }
    if (tune_wants_any(wants))
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                "host tune: nothing is asked for: name a plan with \"tune\", or say --set "
                "preset=measure");
    return FALSE;
}

/* A value of a file without its newline; NULL stays NULL. */
static void add_value(Table *table, GBytes *bytes)
{
    gsize length = 0;
    const char *data = bytes != NULL ? g_bytes_get_data(bytes, &length) : NULL;
    g_autofree char *text = data != NULL ? g_strstrip(g_strndup(data, length)) : NULL;

    table_text(table, text);
}

static void add_columns(Table *table)
{
    table_column(table, "knob", "setting", COLUMN_TEXT);
    table_column(table, "target", "where", COLUMN_TEXT);
}

static Table *tuned_table(const GPtrArray *rows)
{
    Table *table = table_new();

    add_columns(table);
    table_column(table, "old", "was", COLUMN_TEXT);
    table_column(table, "wanted", "wanted", COLUMN_TEXT);
    table_column(table, "got", "is", COLUMN_TEXT);
    table_column(table, "state", "state", COLUMN_TEXT);
    table_column(table, "reason", "reason", COLUMN_TEXT);
    for (guint i = 0; i < rows->len; i++) {
        const StoreUndo *undo = g_ptr_array_index(rows, i);

        table_row(table);
        table_text(table, undo->knob);
        table_text(table, undo->target);
        add_value(table, undo->old);
        table_text(table, undo->wanted);
        add_value(table, undo->got);
        table_text(table, undo->state);
        table_text(table, undo->reason);
    }
    return table;
}

static gboolean any_refused(const GPtrArray *rows)
{
    for (guint i = 0; i < rows->len; i++)
        if (tuning_is_refusal(g_ptr_array_index(rows, i)))
            return TRUE;
    return FALSE;
}

static int tune(const Settings *settings, Store *store, const TuneWants *wants, const Plan *plan,
                GError **error)
{
    g_autoptr(HostLock) lock = host_lock_new(error);
    g_autoptr(GPtrArray) rows = NULL;
    g_autoptr(Table) table = NULL;
    gint64 since = 0;

    if (lock == NULL || !tuning_by_hand(store, wants, plan, &since, error))
        return VM_EXIT_ENVIRONMENT;
    rows = store_undo_list(store, 0, since, error);
    if (rows == NULL)
        return VM_EXIT_ENVIRONMENT;
    table = tuned_table(rows);
    if (!output_table(settings, table, error))
        return VM_EXIT_ENVIRONMENT;
    return any_refused(rows) ? VM_EXIT_PARTIAL : VM_EXIT_DONE;
}

static int run_tune(const Settings *settings, char **words, GError **error)
{
    g_autoptr(Plan) plan = words[0] != NULL ? plan_load(words[0], error) : NULL;
    g_auto(TuneWants) wants = {0};
    g_autoptr(Store) store = NULL;

    if ((words[0] != NULL && plan == NULL) || !gather(settings, plan, &wants, error))
        return VM_EXIT_INVALID;
    /* Before a database is made for nothing. */
    if (!tuning_permitted(error))
        return VM_EXIT_ENVIRONMENT;
    store = settings_open_store(settings, STORE_READ_WRITE, error);
    return store != NULL ? tune(settings, store, &wants, plan, error) : VM_EXIT_ENVIRONMENT;
}

const Command command_host_tune = {
    .name = "host tune",
    .arguments = "[PLAN]",
    .group = "The host",
    .summary = "set the host up for measuring, by hand",
    .about = "Changes the settings of the host that the plan's \"tune\" names, and --set on top\n"
             "of it, and shows what became of each. What was there before is written to the\n"
             "database first; \"vmatrix host restore\" gives it back. Needs root.\n",
    .example = "vmatrix host tune --set preset=measure --set cpus=2-3",
    .max_words = 1,
    .options = tune_options,
    .run = run_tune,
};

/* ---- host restore ---- */

static Table *restored_table(const GPtrArray *outcomes)
{
    Table *table = table_new();

    add_columns(table);
    table_column(table, "state", "state", COLUMN_TEXT);
    table_column(table, "reason", "reason", COLUMN_TEXT);
    for (guint i = 0; i < outcomes->len; i++) {
        const TuningOutcome *outcome = g_ptr_array_index(outcomes, i);

        table_row(table);
        table_text(table, outcome->knob);
        table_text(table, outcome->target);
        table_text(table, outcome->state);
        table_text(table, outcome->reason);
    }
    return table;
}

/* Something is not as it was before. */
static gboolean any_left(const GPtrArray *outcomes)
{
    for (guint i = 0; i < outcomes->len; i++) {
        const TuningOutcome *outcome = g_ptr_array_index(outcomes, i);

        if (strcmp(outcome->state, "left") == 0 || strcmp(outcome->state, "stuck") == 0)
            return TRUE;
    }
    return FALSE;
}

static int restore(const Settings *settings, Store *store, GError **error)
{
    g_autoptr(HostLock) lock = host_lock_new(error);
    g_autoptr(GPtrArray) open = lock != NULL ? store_undo_open(store, error) : NULL;
    g_autoptr(GPtrArray) outcomes = NULL;
    g_autoptr(Table) table = NULL;

    /* Who has nothing to give back needs no permission for it. */
    if (open == NULL || (open->len > 0 && !tuning_permitted(error)))
        return VM_EXIT_ENVIRONMENT;
    outcomes = tuning_restore(store, TUNING_ALL, error);
    if (outcomes == NULL)
        return VM_EXIT_ENVIRONMENT;
    table = restored_table(outcomes);
    if (!output_table(settings, table, error))
        return VM_EXIT_ENVIRONMENT;
    return any_left(outcomes) ? VM_EXIT_PARTIAL : VM_EXIT_DONE;
}

static int run_restore(const Settings *settings, char **words, GError **error)
{
    g_autofree char *path = settings_db_path(settings);
    /* Giving back makes no database. */
    StoreMode mode = g_file_test(path, G_FILE_TEST_EXISTS) ? STORE_READ_WRITE : STORE_READ_ONLY;
    g_autoptr(Store) store = settings_open_store(settings, mode, error);

    return store != NULL ? restore(settings, store, error) : VM_EXIT_ENVIRONMENT;
}

const Command command_host_restore = {
    .name = "host restore",
    .arguments = "",
    .group = "The host",
    .summary = "give back the host's settings",
    .about = "Gives back each setting of the host that this database says vmatrix has changed,\n"
             "the last change first, where it still is what vmatrix made it. What somebody\n"
             "else has changed since is left alone, and told.\n",
    .example = "vmatrix host restore --json",
    .run = run_restore,
};
