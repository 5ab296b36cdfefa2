/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/views.h"

#include <gio/gio.h>
#include <string.h>

#include "schema-resources.h"

/* Axes that have a column of their own in result, with the same meaning. */
static const char *const well_known[] = {"host",   "hypervisor", "guest",     "vcpus",
                                         "memory", "kernel",     "instances", NULL};

static char *views_text(void)
{
    g_autoptr(GBytes) bytes = g_resource_lookup_data(schema_get_resource(), "/views.sql",
                                                     G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

    return g_strndup(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
}

static gboolean get_meta(Store *store, const char *name, char **ret_value, GError **error)
{
    autoreset sqlite3_stmt *statement = NULL;
    DbStep step = db_first(store, "read its settings", "SELECT value FROM meta WHERE name = ?1",
                           DB_VALUES(db_text(name)), &statement, error);

    if (step == DB_FAILED)
        return FALSE;
    *ret_value = step == DB_ROW ? db_column_text(statement, 0) : NULL;
    return TRUE;
}

static gboolean set_meta(Store *store, const char *name, const char *value, GError **error)
{
    return db_run(store, "write its settings",
                  "INSERT INTO meta (name, value) VALUES (?1, ?2)"
                  " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                  DB_VALUES(db_text(name), db_text(value)), error);
}

/* Names in "CREATE VIEW name", separated by blanks. Transfer full. */
static char *view_names(const char *text)
{
    g_autoptr(GRegex) regex = g_regex_new("^CREATE VIEW (\\w+)", G_REGEX_MULTILINE, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;
    GString *names = g_string_new(NULL);

    g_regex_match(regex, text, 0, &match);
    while (g_match_info_matches(match)) {
        g_autofree char *name = g_match_info_fetch(match, 1);

        g_string_append_printf(names, "%s%s", names->len > 0 ? " " : "", name);
        g_match_info_next(match, NULL);
    }
    return g_string_free(names, FALSE);
}

/* Only views that are ours: people may have made their own. */
static gboolean drop_views(Store *store, const char *names, GError **error)
{
    g_auto(GStrv) list = g_strsplit(names != NULL ? names : "", " ", -1);

    for (char **name = list; *name != NULL; name++) {
        g_autofree char *sql = g_strdup_printf("DROP VIEW IF EXISTS \"%s\"", *name);

        if (**name != '\0' && !db_exec(store, "drop a view", sql, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean add_campaigns(Store *store, GError **error)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    autoreset sqlite3_stmt *statement = NULL;
    DbStep step = db_first(store, "list campaigns", "SELECT id FROM campaign", DB_NO_VALUES,
                           &statement, error);

    for (; step == DB_ROW; step = db_next(store, "list campaigns", statement, error)) {
        gint64 id = sqlite3_column_int64(statement, 0);

        g_array_append_val(ids, id);
    }
    if (step == DB_FAILED)
        return FALSE;
    db_reset(&statement);
    for (guint i = 0; i < ids->len; i++)
        if (!views_add_campaign(store, g_array_index(ids, gint64, i), error))
            return FALSE;
    return TRUE;
}

static gboolean refresh_locked(Store *store, const char *text, const char *digest, GError **error)
{
    g_autofree char *names = view_names(text);
    g_autofree char *before = NULL;

    return get_meta(store, "views", &before, error) && drop_views(store, before, error) &&
           drop_views(store, names, error) && db_exec(store, "make its views", text, error) &&
           add_campaigns(store, error) && set_meta(store, "views", names, error) &&
           set_meta(store, "views-digest", digest, error);
}

gboolean views_refresh(Store *store, GError **error)
{
    g_autofree char *text = views_text();
    g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
    g_autofree char *found = NULL;

    if (!get_meta(store, "views-digest", &found, error))
        return FALSE;
    if (g_strcmp0(found, digest) == 0)
        return TRUE;
    return db_begin(store, error) &&
           db_end(store, refresh_locked(store, text, digest, error), error);
}

/* Names of result's columns; transfer full. */
static gboolean result_columns(Store *store, GPtrArray **ret_columns, GError **error)
{
    g_autoptr(GPtrArray) columns = g_ptr_array_new_with_free_func(g_free);
    autoreset sqlite3_stmt *statement = NULL;
    DbStep step = db_first(store, "list columns", "SELECT name FROM pragma_table_info('result')",
                           DB_NO_VALUES, &statement, error);

    for (; step == DB_ROW; step = db_next(store, "list columns", statement, error))
        g_ptr_array_add(columns, db_column_text(statement, 0));
    if (step == DB_FAILED)
        return FALSE;
    *ret_columns = g_steal_pointer(&columns);
    return TRUE;
}

static char *column_name(const char *axis, const GPtrArray *taken)
{
    g_autofree char *name = g_strdelimit(g_strdup(axis), "-", '_');

    if (g_ptr_array_find_with_equal_func((GPtrArray *)taken, name, g_str_equal, NULL))
        return g_strdup_printf("axis_%s", name);
    return g_steal_pointer(&name);
}

static void append_axis(GString *sql, const char *axis, const GPtrArray *taken)
{
    g_autofree char *column = column_name(axis, taken);
    g_autofree char *path = g_strdup_printf("$.\"%s\"", axis);
    char *part;

    if (g_strv_contains(well_known, axis))
        return;
    part = sqlite3_mprintf(", json_extract(axes, %Q) AS \"%w\"", path, column);
    g_string_append(sql, part);
    sqlite3_free(part);
}

gboolean views_add_campaign(Store *store, gint64 campaign, GError **error)
{
    g_autoptr(GPtrArray) taken = NULL;
    g_autoptr(GString) sql = g_string_new(NULL);
    autoreset sqlite3_stmt *statement = NULL;
    DbStep step;

    if (!result_columns(store, &taken, error))
        return FALSE;
    g_string_append_printf(sql,
                           "DROP VIEW IF EXISTS campaign_%" G_GINT64_FORMAT
                           "; CREATE VIEW campaign_%" G_GINT64_FORMAT " AS SELECT result.*",
                           campaign, campaign);
    step = db_first(store, "list axes",
                    "SELECT name FROM axis WHERE campaign_id = ?1 ORDER BY position",
                    DB_VALUES(db_int(campaign)), &statement, error);
    for (; step == DB_ROW; step = db_next(store, "list axes", statement, error))
        append_axis(sql, (const char *)sqlite3_column_text(statement, 0), taken);
    if (step == DB_FAILED)
        return FALSE;
    db_reset(&statement);
    g_string_append_printf(sql, " FROM result WHERE campaign = %" G_GINT64_FORMAT, campaign);
    return db_exec(store, "make a campaign's view", sql->str, error);
}
