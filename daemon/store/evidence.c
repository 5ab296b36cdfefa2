/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands beside the samples: tools' raw output, facts, events. */
#include "store/store.h"

#include <gio/gio.h>
#include <string.h>

#include "store/db.h"
#include "util/clock.h"
#include "util/error.h"

/* zlib form (RFC 1950) of content; transfer full. */
static GBytes *compress_bytes(GBytes *content, GError **error)
{
    g_autoptr(GConverter) converter =
        G_CONVERTER(g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_ZLIB, -1));
    g_autoptr(GOutputStream) memory = g_memory_output_stream_new_resizable();
    g_autoptr(GOutputStream) stream = g_converter_output_stream_new(memory, converter);
    gsize length;
    const void *data = g_bytes_get_data(content, &length);

    if (!g_output_stream_write_all(stream, data, length, NULL, NULL, error) ||
        !g_output_stream_close(stream, NULL, error)) {
        g_prefix_error(error, "cannot compress raw output: ");
        return NULL;
    }
    return g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(memory));
}

gboolean store_raw_add(Store *store, gint64 run, gint64 invocation, const char *stream,
                       GBytes *content, GError **error)
{
    static const char sql[] = "INSERT INTO raw_output (run_id, invocation_id, stream, length,"
                              " content) VALUES (?1, ?2, ?3, ?4, ?5)";
    g_autoptr(GBytes) packed = compress_bytes(content, error);

    if (packed == NULL)
        return FALSE;
    return db_write(store, "add raw output", sql,
                    DB_VALUES(db_int(run), db_int_if(invocation != 0, invocation), db_text(stream),
                              db_int((gint64)g_bytes_get_size(content)),
                              db_blob(g_bytes_get_data(packed, NULL), g_bytes_get_size(packed))),
                    error);
}

static gboolean add_fact(Store *store, gint64 run, const char *scope, const char *name,
                         const char *value, GError **error)
{
    static const char add_name[] =
        "INSERT INTO fact_name (scope, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    static const char add_value[] =
        "INSERT INTO fact_value (digest, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    static const char add[] = "INSERT INTO fact (run_id, name_id, value_id) SELECT ?1,"
                              " (SELECT id FROM fact_name WHERE scope = ?2 AND name = ?3),"
                              " (SELECT id FROM fact_value WHERE digest = ?4)"
                              " WHERE true ON CONFLICT DO UPDATE SET value_id = excluded.value_id";
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    guint8 digest[32];
    gsize length = sizeof digest;

    g_checksum_update(sum, (const guchar *)value, (gssize)strlen(value));
    g_checksum_get_digest(sum, digest, &length);
    return db_run(store, "add a fact's name", add_name, DB_VALUES(db_text(scope), db_text(name)),
                  error) &&
           db_run(store, "add a fact's value", add_value,
                  DB_VALUES(db_blob(digest, length), db_text(value)), error) &&
           db_run(store, "add a fact", add,
                  DB_VALUES(db_int(run), db_text(scope), db_text(name), db_blob(digest, length)),
                  error);
}

static gboolean add_facts(Store *store, gint64 run, const char *scope, GHashTable *facts,
                          GError **error)
{
    static const char set_kernel[] = "UPDATE run SET kernel = ?2 WHERE id = ?1";
    GHashTableIter iter;
    gpointer name, value;

    g_hash_table_iter_init(&iter, facts);
    while (g_hash_table_iter_next(&iter, &name, &value))
        if (!add_fact(store, run, scope, name, value, error))
            return FALSE;
    /* The view result has the kernel in a column: here for plans that have no such axis. */
    value = g_hash_table_lookup(facts, "os.kernel");
    if (value == NULL || strcmp(scope, "guest") != 0)
        return TRUE;
    return db_run(store, "note the kernel", set_kernel, DB_VALUES(db_int(run), db_text(value)),
                  error);
}

gboolean store_facts_add(Store *store, gint64 run, const char *scope, GHashTable *facts,
                         GError **error)
{
    if (!db_begin(store, error))
        return FALSE;
    return db_end(store, add_facts(store, run, scope, facts, error), error);
}

gboolean store_event_add(Store *store, gint64 campaign, gint64 run, const char *level,
                         const char *step, const char *message, GError **error)
{
    static const char sql[] = "INSERT INTO event (campaign_id, run_id, at_ns, level, step, message)"
                              " VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

    return db_write(store, "add an event", sql,
                    DB_VALUES(db_int(campaign), db_int_if(run != 0, run), db_int(clock_wall_ns()),
                              db_text(level), db_text(step), db_text(message)),
                    error);
}
