/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/functions.h"

#include <gio/gio.h>
#include <glib.h>
#include <math.h>
#include <string.h>

/* What an aggregate has gathered. SQLite gives it to us zeroed. */
typedef struct {
    GArray *values; /* double */
    double percent; /* of the first row */
    gboolean failed;
} Gather;

static void fail(sqlite3_context *context, Gather *gather, const char *message)
{
    gather->failed = TRUE;
    sqlite3_result_error(context, message, -1);
}

static gboolean take_value(sqlite3_context *context, Gather *gather, sqlite3_value *value)
{
    int type = sqlite3_value_numeric_type(value);

    if (type == SQLITE_NULL)
        return FALSE;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
        fail(context, gather, "median(), percentile() and stddev() take numbers only");
        return FALSE;
    }
    double number = sqlite3_value_double(value);

    if (gather->values == NULL)
        gather->values = g_array_new(FALSE, FALSE, sizeof(double));
    g_array_append_val(gather->values, number);
    return TRUE;
}

static void step_values(sqlite3_context *context, int n, sqlite3_value **arguments)
{
    Gather *gather = sqlite3_aggregate_context(context, sizeof *gather);

    if (gather == NULL)
        sqlite3_result_error_nomem(context);
    else
        take_value(context, gather, arguments[0]);
}

static void step_percentile(sqlite3_context *context, int n, sqlite3_value **arguments)
{
    Gather *gather = sqlite3_aggregate_context(context, sizeof *gather);
    double percent = sqlite3_value_double(arguments[1]);

    if (gather == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (sqlite3_value_numeric_type(arguments[1]) == SQLITE_NULL || !(percent >= 0) ||
        percent > 100) {
        fail(context, gather, "percentile(x, p): p must be a number in 0..100");
        return;
    }
    if (gather->values != NULL && percent != gather->percent) {
        fail(context, gather, "percentile(x, p): p must be the same in all rows of a group");
        return;
    }
    gather->percent = percent;
    take_value(context, gather, arguments[0]);
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

/* Type 7: h = (n - 1) p, linear between the two values around h. p in 0..1. */
static double quantile(GArray *values, double p)
{
    const double *at = (const double *)values->data;
    double h = p * (values->len - 1);
    guint below = (guint)floor(h);

    g_array_sort(values, compare_doubles);
    /* Equal neighbours are given back as they are: inf - inf would be no number. */
    if (below + 1 >= values->len || at[below] == at[below + 1])
        return at[below];
    return at[below] + (h - below) * (at[below + 1] - at[below]);
}

/* Welford (1962), "Note on a method for calculating corrected sums of squares and products": no
 * cancellation where the spread is small against the mean. */
static double deviation(const GArray *values)
{
    double mean = 0, squares = 0;

    for (guint i = 0; i < values->len; i++) {
        double value = g_array_index(values, double, i), delta = value - mean;

        mean += delta / (i + 1);
        squares += delta * (value - mean);
    }
    return sqrt(squares / (values->len - 1));
}

/* Give the result and free what was gathered. */
static void finish(sqlite3_context *context, guint least, double (*result)(const Gather *gather))
{
    Gather *gather = sqlite3_aggregate_context(context, 0);

    if (gather == NULL)
        return;
    if (!gather->failed && gather->values != NULL && gather->values->len >= least)
        sqlite3_result_double(context, result(gather));
    g_clear_pointer(&gather->values, g_array_unref);
}

static double result_median(const Gather *gather)
{
    return quantile(gather->values, 0.5);
}

static double result_percentile(const Gather *gather)
{
    return quantile(gather->values, gather->percent / 100);
}

static double result_stddev(const Gather *gather)
{
    return deviation(gather->values);
}

static void final_median(sqlite3_context *context)
{
    finish(context, 1, result_median);
}

static void final_percentile(sqlite3_context *context)
{
    finish(context, 1, result_percentile);
}

static void final_stddev(sqlite3_context *context)
{
    finish(context, 2, result_stddev);
}

static void raw_text(sqlite3_context *context, int n, sqlite3_value **arguments)
{
    g_autoptr(GConverter) converter =
        G_CONVERTER(g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_ZLIB));
    g_autoptr(GOutputStream) memory = g_memory_output_stream_new_resizable();
    g_autoptr(GOutputStream) stream = g_converter_output_stream_new(memory, converter);
    g_autoptr(GError) error = NULL;
    const void *data = sqlite3_value_blob(arguments[0]);
    gsize length = (gsize)sqlite3_value_bytes(arguments[0]);
    const char *unpacked;

    if (data == NULL)
        return;
    if (!g_output_stream_write_all(stream, data, length, NULL, NULL, &error) ||
        !g_output_stream_close(stream, NULL, &error)) {
        sqlite3_result_error(context, "raw_text(): not the content of a raw_output row", -1);
        return;
    }
    unpacked = g_memory_output_stream_get_data(G_MEMORY_OUTPUT_STREAM(memory));
    /* Nothing unpacked is an empty text; a NULL pointer would be SQL's NULL. */
    sqlite3_result_text64(context, unpacked != NULL ? unpacked : "",
                          g_memory_output_stream_get_data_size(G_MEMORY_OUTPUT_STREAM(memory)),
                          SQLITE_TRANSIENT, SQLITE_UTF8);
}

typedef struct {
    const char *name;
    int n_arguments;
    void (*call)(sqlite3_context *context, int n, sqlite3_value **arguments);
    void (*step)(sqlite3_context *context, int n, sqlite3_value **arguments);
    void (*final)(sqlite3_context *context);
} Function;

static const Function functions[] = {
    {.name = "median", .n_arguments = 1, .step = step_values, .final = final_median},
    {.name = "percentile", .n_arguments = 2, .step = step_percentile, .final = final_percentile},
    {.name = "stddev", .n_arguments = 1, .step = step_values, .final = final_stddev},
    {.name = "raw_text", .n_arguments = 1, .call = raw_text},
};

int functions_register(sqlite3 *db)
{
    int rc = SQLITE_OK;

    for (gsize i = 0; i < G_N_ELEMENTS(functions) && rc == SQLITE_OK; i++) {
        const Function *f = &functions[i];

        rc = sqlite3_create_function_v2(db, f->name, f->n_arguments,
                                        SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                        f->call, f->step, f->final, NULL);
    }
    return rc;
}
