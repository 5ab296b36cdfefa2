/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/sample.h"

#include <math.h>
#include <string.h>

#include "util/error.h"

/* Rows of one statement: the cost of starting a statement is half of an insert's (measured:
 * 0.55 M rows/s one by one, 1.1 at 10, 1.25 from 50 on). */
#define ROWS 50

/* A metric of this invocation. */
typedef struct {
    Metric metric;
    gint64 id;
    gint64 next; /* the next sample's seq, from 1 */
} Place;

struct SampleCursor {
    GPtrArray *places; /* Place*; a handful */
    Place *last;       /* the one used last: most lines carry the same metric again */
    char *many;        /* text of the statement for ROWS rows */
};

static void place_free(Place *place)
{
    metric_clear(&place->metric);
    g_free(place);
}

/* Parameters: 1 invocation, 2 metric, 3 first seq, 4 iterations, from 5 on the values. */
static char *insert_text(guint rows)
{
    GString *sql = g_string_new(
        "INSERT INTO sample (invocation_id, metric_id, seq, iterations, value) VALUES ");

    for (guint i = 0; i < rows; i++)
        g_string_append_printf(sql, "%s(?1, ?2, ?3 + %u, ?4, ?%u)", i > 0 ? ", " : "", i, i + 5);
    return g_string_free(sql, FALSE);
}

SampleCursor *sample_cursor_new(void)
{
    SampleCursor *cursor = g_new0(SampleCursor, 1);

    cursor->places = g_ptr_array_new_with_free_func((GDestroyNotify)place_free);
    cursor->many = insert_text(ROWS);
    return cursor;
}

void sample_cursor_free(SampleCursor *cursor)
{
    if (cursor == NULL)
        return;
    g_ptr_array_unref(cursor->places);
    g_free(cursor->many);
    g_free(cursor);
}

void sample_cursor_reset(SampleCursor *cursor)
{
    g_ptr_array_set_size(cursor->places, 0);
    cursor->last = NULL;
}

static gboolean same_metric(const Metric *a, const Metric *b)
{
    return a->revision == b->revision && a->direction == b->direction &&
           strcmp(a->name, b->name) == 0 && strcmp(a->workload, b->workload) == 0 &&
           strcmp(a->unit, b->unit) == 0;
}

static gboolean get_metric_id(Store *store, const Metric *metric, gint64 *ret_id, GError **error)
{
    static const char insert[] = "INSERT INTO metric (workload, name, unit, direction, revision)"
                                 " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
    static const char select[] = "SELECT id FROM metric WHERE workload = ?1 AND name = ?2"
                                 " AND unit = ?3 AND direction = ?4 AND revision = ?5";
    const DbValue values[] = {
        db_text(metric->workload), db_text(metric->name),
        db_text(metric->unit),     db_text(direction_name(metric->direction)),
        db_int(metric->revision),
    };

    return db_run(store, "add a metric", insert, values, G_N_ELEMENTS(values), error) &&
           db_get_int(store, "find a metric", select, values, G_N_ELEMENTS(values), 0, ret_id,
                      error);
}

static Place *add_place(Store *store, const Metric *metric, GError **error)
{
    Place *place;
    gint64 id;

    if (!get_metric_id(store, metric, &id, error))
        return NULL;
    place = g_new0(Place, 1);
    place->metric = *metric;
    place->metric.workload = g_strdup(metric->workload);
    place->metric.name = g_strdup(metric->name);
    place->metric.unit = g_strdup(metric->unit);
    place->id = id;
    place->next = 1;
    g_ptr_array_add(store->samples->places, place);
    return place;
}

static Place *find_place(Store *store, const Metric *metric, GError **error)
{
    SampleCursor *cursor = store->samples;

    if (cursor->last != NULL && same_metric(&cursor->last->metric, metric))
        return cursor->last;
    for (guint i = 0; i < cursor->places->len; i++) {
        Place *place = g_ptr_array_index(cursor->places, i);

        if (same_metric(&place->metric, metric))
            return cursor->last = place;
    }
    return cursor->last = add_place(store, metric, error);
}

static gboolean insert_rows(Store *store, const char *sql, Place *place, const double *values,
                            guint rows, double iterations, GError **error)
{
    autoreset sqlite3_stmt *statement = db_prepare(store, sql, error);

    if (statement == NULL)
        return FALSE;
    sqlite3_bind_int64(statement, 1, store->invocation);
    sqlite3_bind_int64(statement, 2, place->id);
    sqlite3_bind_int64(statement, 3, place->next);
    if (iterations > 0)
        sqlite3_bind_double(statement, 4, iterations);
    else
        sqlite3_bind_null(statement, 4);
    for (guint i = 0; i < rows; i++)
        sqlite3_bind_double(statement, (int)i + 5, values[i]);
    place->next += rows;
    return db_next(store, "add samples", statement, error) == DB_DONE;
}

static gboolean check_open(Store *store, gint64 invocation, GError **error)
{
    if (invocation == store->invocation && !sqlite3_get_autocommit(store->db))
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_FAILED,
                "%s: cannot add samples to invocation %" G_GINT64_FORMAT ": it is not the open one",
                store->path, invocation);
    return FALSE;
}

static gboolean check_values(const Metric *metric, const double *values, gsize n, GError **error)
{
    for (gsize i = 0; i < n; i++) {
        if (isfinite(values[i]))
            continue;
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "%s.%s: value %" G_GSIZE_FORMAT " is not finite: it cannot be a sample",
                    metric->workload, metric->name, i + 1);
        return FALSE;
    }
    return TRUE;
}

gboolean store_samples_add(Store *store, gint64 invocation, const Metric *metric,
                           const double *values, gsize n, double iterations, GError **error)
{
    static const char one[] = "INSERT INTO sample (invocation_id, metric_id, seq, iterations,"
                              " value) VALUES (?1, ?2, ?3, ?4, ?5)";
    Place *place;

    if (!check_open(store, invocation, error) || !check_values(metric, values, n, error))
        return FALSE;
    place = find_place(store, metric, error);
    if (place == NULL)
        return FALSE;
    for (; n >= ROWS; n -= ROWS, values += ROWS)
        if (!insert_rows(store, store->samples->many, place, values, ROWS, iterations, error))
            return FALSE;
    for (; n > 0; n--, values++)
        if (!insert_rows(store, one, place, values, 1, iterations, error))
            return FALSE;
    return TRUE;
}
