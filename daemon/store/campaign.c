/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A campaign as it is submitted: its texts, axes, cells, and its queue. */
#include "store/store.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "store/db.h"
#include "store/queue.h"
#include "store/views.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/text.h"

/* What every step of an insert needs. */
typedef struct {
    Store *store;
    const Matrix *matrix;
    const Inventory *inventory;
    const GPtrArray *workloads;
    const char *const *skip_reasons;
    const char *workloads_json;
    gint64 campaign;
    gint64 first_cell; /* row id of cell 0; the rest follow */
} Insert;

/* Transfer full; allocated by libc, as jansson does. */
static char *workloads_json(const GPtrArray *workloads)
{
    json_t *array = json_array();
    char *text;

    for (guint i = 0; i < workloads->len; i++)
        json_array_append_new(array, json_string(g_ptr_array_index(workloads, i)));
    text = json_dumps(array, JSON_COMPACT);
    json_decref(array);
    return text;
}

/* {"hypervisor":"bare"}, or NULL where the plan names no baseline. */
static char *baseline_json(const Plan *plan)
{
    json_t *object;
    char *text;

    if (plan->baseline == NULL)
        return NULL;
    object = json_object();
    for (guint i = 0; i < plan->baseline->axis->len; i++) {
        const PlanAxis *axis =
            g_ptr_array_index(plan->axes, g_array_index(plan->baseline->axis, guint, i));
        const PlanLevel *level =
            g_ptr_array_index(axis->levels, g_array_index(plan->baseline->level, guint, i));

        json_object_set_new(object, axis->name, json_string(level->name));
    }
    text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    return text;
}

static char *edits_json(const PlanLevel *level)
{
    json_t *array = json_array();
    char *text;

    for (guint i = 0; level->edits != NULL && i < level->edits->len; i++) {
        const DomainEdit *edit = g_ptr_array_index(level->edits, i);

        json_array_append_new(array,
                              json_pack("{s:s, s:s}", "xpath", edit->xpath, "value", edit->value));
    }
    text = json_dumps(array, JSON_COMPACT);
    json_decref(array);
    return text;
}

static gboolean insert_campaign(Insert *in, GError **error)
{
    static const char sql[] =
        "INSERT INTO campaign (uuid, name, plan_path, plan_text, plan_digest, inventory_path,"
        " inventory_text, inventory_digest, workloads, seed, blocks, cells, boot_per, baseline,"
        " program, created_ns, stop_by_minute)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
    const Plan *plan = in->matrix->plan;
    const Inventory *inventory = in->inventory;
    g_autofree char *uuid = g_uuid_string_random();
    g_autofree char *seed = g_strdup_printf("%" G_GUINT64_FORMAT, plan->seed);
    char *baseline = baseline_json(plan);
    gboolean ok = db_run(
        in->store, "add a campaign", sql,
        DB_VALUES(db_text(uuid), db_text(plan->name), db_text(plan->path), db_text(plan->text),
                  db_text(plan->digest), db_text(inventory->path), db_text(inventory->text),
                  db_text(inventory->digest), db_text(in->workloads_json), db_text(seed),
                  db_int(in->matrix->n_blocks), db_int(in->matrix->n_cells),
                  db_text(plan->repeat.boot_per == BOOT_PER_CELL ? "cell" : "workload"),
                  db_text(baseline), db_text("vmatrix " VMATRIX_VERSION), db_int(clock_wall_ns()),
                  db_int_if(plan->limits.stop_by_minute >= 0, plan->limits.stop_by_minute)),
        error);

    in->campaign = sqlite3_last_insert_rowid(in->store->db);
    free(baseline);
    return ok;
}

static gboolean insert_level(Insert *in, gint64 axis, guint position, const PlanLevel *level,
                             GError **error)
{
    static const char sql[] = "INSERT INTO level (axis_id, position, name, cmdline, edits)"
                              " VALUES (?1, ?2, ?3, ?4, ?5)";
    char *edits = edits_json(level);
    gboolean ok = db_run(in->store, "add a level", sql,
                         DB_VALUES(db_int(axis), db_int(position), db_text(level->name),
                                   db_text(level->cmdline), db_text(edits)),
                         error);

    free(edits);
    return ok;
}

static gboolean insert_axis(Insert *in, guint position, const PlanAxis *axis, GError **error)
{
    static const char sql[] = "INSERT INTO axis (campaign_id, position, name) VALUES (?1, ?2, ?3)";
    gint64 id;

    if (!db_run(in->store, "add an axis", sql,
                DB_VALUES(db_int(in->campaign), db_int(position), db_text(axis->name)), error))
        return FALSE;
    id = sqlite3_last_insert_rowid(in->store->db);
    for (guint i = 0; i < axis->levels->len; i++)
        if (!insert_level(in, id, i, g_ptr_array_index(axis->levels, i), error))
            return FALSE;
    return TRUE;
}

static gboolean insert_axes(Insert *in, GError **error)
{
    const GPtrArray *axes = in->matrix->plan->axes;

    for (guint i = 0; i < axes->len; i++)
        if (!insert_axis(in, i, g_ptr_array_index(axes, i), error))
            return FALSE;
    return TRUE;
}

static const char *level_name(const Matrix *matrix, guint cell, const char *axis)
{
    const PlanLevel *level = matrix_level_named(matrix, cell, axis);

    return level != NULL ? level->name : NULL;
}

static gint64 instances_of(const Matrix *matrix, guint cell)
{
    const char *name = level_name(matrix, cell, "instances");
    guint64 number;

    return name != NULL && text_parse_uint(name, &number) && number <= G_MAXINT64 ? (gint64)number
                                                                                  : 1;
}

static const char *skip_reason(const Insert *in, guint cell)
{
    return in->skip_reasons != NULL ? in->skip_reasons[cell] : NULL;
}

static gboolean insert_cell(Insert *in, guint cell, GError **error)
{
    static const char sql[] =
        "INSERT INTO cell (campaign_id, number, key, axes, host, hypervisor, driver, accelerator,"
        " guest, vcpus, memory, kernel, instances, skip_reason)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
    const Matrix *matrix = in->matrix;
    g_autofree char *key = matrix_key(matrix, cell);
    g_autofree char *axes = matrix_axes_json(matrix, cell);
    const char *host = level_name(matrix, cell, "host");
    const char *name = level_name(matrix, cell, "hypervisor");
    const InventoryHypervisor *hypervisor =
        name != NULL ? inventory_hypervisor(in->inventory, name) : NULL;
    guint64 memory = matrix_memory(matrix, cell);

    return db_run(
        in->store, "add a cell", sql,
        DB_VALUES(db_int(in->campaign), db_int(cell), db_text(key), db_text(axes),
                  db_text(host != NULL ? host : g_get_host_name()), db_text(name),
                  db_text(hypervisor != NULL ? hypervisor->driver : NULL),
                  db_text(hypervisor != NULL ? accelerator_name(hypervisor->accelerator) : NULL),
                  db_text(level_name(matrix, cell, "guest")), db_int(matrix_vcpus(matrix, cell)),
                  db_int_if(memory > 0, (gint64)memory),
                  db_text(level_name(matrix, cell, "kernel")), db_int(instances_of(matrix, cell)),
                  db_text(skip_reason(in, cell))),
        error);
}

static gboolean insert_cells(Insert *in, GError **error)
{
    for (guint cell = 0; cell < in->matrix->n_cells; cell++) {
        if (!insert_cell(in, cell, error))
            return FALSE;
        /* This connection holds the write lock: row ids go up by one. */
        if (cell == 0)
            in->first_cell = sqlite3_last_insert_rowid(in->store->db);
    }
    return TRUE;
}

/* The block's runs in order, as a JSON array of cell * n + workload, n workloads a cell (1 where a
 * boot does them all). boot-per workload: a cell's boots stand together in its place, in the
 * shuffled order of workloads. Transfer full. */
static char *block_json(const Insert *in, guint block, guint n)
{
    const Matrix *matrix = in->matrix;
    g_autofree guint *order = g_new0(guint, n);
    GString *text = g_string_new("[");

    for (guint position = 0; position < matrix->n_cells; position++) {
        guint cell = matrix->order[(gsize)block * matrix->n_cells + position];

        if (n > 1)
            matrix_workload_order(matrix, block, cell, n, order);
        for (guint i = 0; i < n; i++)
            g_string_append_printf(text, "%s%" G_GUINT64_FORMAT, text->len > 1 ? "," : "",
                                   (guint64)cell * n + order[i]);
    }
    g_string_append_c(text, ']');
    return g_string_free(text, FALSE);
}

/* A statement a block: a million runs one by one would take twice as long. */
static gboolean insert_block(Insert *in, guint block, GError **error)
{
    static const char sql[] =
        "INSERT INTO run (campaign_id, cell_id, block, position, workload, state, reason)"
        " SELECT ?1, c.id, ?2, j.key, json_extract(?3, '$[' || (j.value % ?4) || ']'),"
        "  iif(c.skip_reason IS NULL, 'queued', 'skipped'), c.skip_reason"
        " FROM json_each(?5) j CROSS JOIN cell c ON c.id = ?6 + j.value / ?4";
    gboolean per_workload = in->matrix->plan->repeat.boot_per == BOOT_PER_WORKLOAD;
    guint n = per_workload ? in->workloads->len : 1;
    g_autofree char *runs = block_json(in, block, n);

    return db_run(in->store, "add a block's runs", sql,
                  DB_VALUES(db_int(in->campaign), db_int(block),
                            db_text(per_workload ? in->workloads_json : NULL), db_int(n),
                            db_text(runs), db_int(in->first_cell)),
                  error);
}

static gboolean insert_blocks(Insert *in, GError **error)
{
    for (guint block = 0; block < in->matrix->n_blocks; block++)
        if (!insert_block(in, block, error))
            return FALSE;
    return TRUE;
}

static gboolean insert_all(Insert *in, GError **error)
{
    return insert_campaign(in, error) && insert_axes(in, error) && insert_cells(in, error) &&
           insert_blocks(in, error) && views_add_campaign(in->store, in->campaign, error);
}

gboolean store_campaign_add(Store *store, const Matrix *matrix, const Inventory *inventory,
                            const GPtrArray *workloads, const char *const *skip_reasons,
                            gint64 *ret_campaign, GError **error)
{
    char *names = workloads_json(workloads);
    Insert in = {.store = store,
                 .matrix = matrix,
                 .inventory = inventory,
                 .workloads = workloads,
                 .skip_reasons = skip_reasons,
                 .workloads_json = names};
    gboolean ok = db_begin(store, error) && db_end(store, insert_all(&in, error), error);

    free(names);
    if (ok)
        *ret_campaign = in.campaign;
    return ok;
}

void store_campaign_clear(StoreCampaign *campaign)
{
    g_free(campaign->uuid);
    g_free(campaign->name);
    g_free(campaign->state);
    g_free(campaign->plan_text);
    g_free(campaign->plan_path);
    g_free(campaign->inventory_text);
    g_free(campaign->inventory_path);
    g_clear_pointer(&campaign->workloads, g_ptr_array_unref);
    *campaign = (StoreCampaign){0};
}

static gboolean get_workloads(Store *store, gint64 campaign, GPtrArray **ret_workloads,
                              GError **error)
{
    static const char sql[] = "SELECT j.value FROM campaign c, json_each(c.workloads) j"
                              " WHERE c.id = ?1 ORDER BY j.key";
    g_autoptr(GPtrArray) workloads = g_ptr_array_new_with_free_func(g_free);
    autoreset sqlite3_stmt *statement = NULL;
    DbStep step =
        db_first(store, "list workloads", sql, DB_VALUES(db_int(campaign)), &statement, error);

    for (; step == DB_ROW; step = db_next(store, "list workloads", statement, error))
        g_ptr_array_add(workloads, db_column_text(statement, 0));
    if (step == DB_FAILED)
        return FALSE;
    *ret_workloads = g_steal_pointer(&workloads);
    return TRUE;
}

static gboolean no_campaign(Store *store, const char *which, GError **error)
{
    if (strcmp(which, "latest") == 0)
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "%s: there is no campaign yet: 'vmatrix run PLAN' makes one", store->path);
    else
        g_set_error(
            error, VM_ERROR, VM_ERROR_INVALID,
            "%s: there is no campaign '%s': give its number, the first 8 or more characters "
            "of its UUID, or 'latest'",
            store->path, which);
    return FALSE;
}

/* By number, else by the beginning of the UUID. That may be digits only: so it must be as long as
 * what people are shown, or a wrong number would hit upon somebody else's campaign. */
static gboolean find_campaign(Store *store, const char *which, gint64 *ret_id, GError **error)
{
    static const char latest[] = "SELECT max(id) FROM campaign";
    static const char by_id[] = "SELECT id FROM campaign WHERE id = ?1";
    static const char by_uuid[] =
        "SELECT CASE count(*) WHEN 0 THEN 0 WHEN 1 THEN max(id) ELSE -1 END FROM campaign"
        " WHERE length(?1) >= 8 AND substr(uuid, 1, length(?1)) = lower(?1)";
    const char *what = "find a campaign";
    guint64 number;

    *ret_id = 0;
    if (strcmp(which, "latest") == 0)
        return db_get_int(store, what, latest, DB_NO_VALUES, 0, ret_id, error);
    if (text_parse_uint(which, &number) && number <= G_MAXINT64 &&
        !db_get_int(store, what, by_id, DB_VALUES(db_int((gint64)number)), 0, ret_id, error))
        return FALSE;
    return *ret_id != 0 ||
           db_get_int(store, what, by_uuid, DB_VALUES(db_text(which)), 0, ret_id, error);
}

static gboolean read_campaign(Store *store, gint64 id, StoreCampaign *campaign, GError **error)
{
    static const char sql[] = "SELECT uuid, name, state, plan_text, plan_path, inventory_text,"
                              " inventory_path, created_ns, cancel FROM campaign WHERE id = ?1";
    autoreset sqlite3_stmt *statement = NULL;

    if (db_first(store, "read a campaign", sql, DB_VALUES(db_int(id)), &statement, error) != DB_ROW)
        return FALSE;
    campaign->id = id;
    campaign->uuid = db_column_text(statement, 0);
    campaign->name = db_column_text(statement, 1);
    campaign->state = db_column_text(statement, 2);
    campaign->plan_text = db_column_text(statement, 3);
    campaign->plan_path = db_column_text(statement, 4);
    campaign->inventory_text = db_column_text(statement, 5);
    campaign->inventory_path = db_column_text(statement, 6);
    campaign->created_ns = sqlite3_column_int64(statement, 7);
    campaign->cancel = sqlite3_column_int(statement, 8) != 0;
    return get_workloads(store, id, &campaign->workloads, error);
}

gboolean store_campaign_get(Store *store, const char *which, StoreCampaign *ret_campaign,
                            GError **error)
{
    g_auto(StoreCampaign) campaign = {0};
    gint64 id;

    if (!find_campaign(store, which, &id, error))
        return FALSE;
    if (id == 0)
        return no_campaign(store, which, error);
    if (id < 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "%s: '%s' begins the UUID of more than one campaign: give more of it",
                    store->path, which);
        return FALSE;
    }
    if (!read_campaign(store, id, &campaign, error))
        return FALSE;
    *ret_campaign = campaign;
    campaign = (StoreCampaign){0};
    return TRUE;
}

static gboolean write_state(Store *store, gint64 campaign, const char *state, GError **error)
{
    static const char sql[] =
        "UPDATE campaign SET state = ?2,"
        " started_ns = CASE ?2 WHEN 'running' THEN ifnull(started_ns, ?3) ELSE started_ns END,"
        " ended_ns = CASE WHEN ?2 IN ('done', 'cancelled') THEN ?3 END WHERE id = ?1";

    return db_run(store, "set a campaign's state", sql,
                  DB_VALUES(db_int(campaign), db_text(state), db_int(clock_wall_ns())), error);
}

gboolean queue_set_state(Store *store, gint64 campaign, const char *state, GError **error)
{
    gint64 cancel;

    if (!db_get_int(store, "read a campaign", "SELECT cancel FROM campaign WHERE id = ?1",
                    DB_VALUES(db_int(campaign)), -1, &cancel, error))
        return FALSE;
    if (cancel < 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "%s: there is no campaign %" G_GINT64_FORMAT,
                    store->path, campaign);
        return FALSE;
    }
    /* Somebody's cancel may come between the engine's look at the queue and this. */
    if (cancel != 0 && !g_str_equal(state, "queued"))
        state = "cancelled";
    return write_state(store, campaign, state, error) &&
           (!g_str_equal(state, "cancelled") ||
            queue_drop(store, campaign, "the campaign was cancelled before this run began", error));
}

gboolean store_campaign_set_state(Store *store, gint64 campaign, const char *state, GError **error)
{
    return db_begin(store, error) &&
           db_end(store, queue_set_state(store, campaign, state, error), error);
}
