/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run leaves: phases, and invocations as one transaction each. */
#include "store/store.h"

#include "store/db.h"
#include "store/sample.h"
#include "util/error.h"

gboolean store_phase_add(Store *store, gint64 run, guint seq, const char *name,
                         gint64 start_wall_ns, gint64 duration_ns, GError **error)
{
    static const char sql[] = "INSERT INTO phase (run_id, seq, name, started_ns, duration_ns)"
                              " VALUES (?1, ?2, ?3, ?4, ?5)";

    return db_write(store, "add a phase", sql,
                    DB_VALUES(db_int(run), db_int(seq), db_text(name), db_int(start_wall_ns),
                              db_int(duration_ns)),
                    error);
}

static gboolean insert_invocation(Store *store, const StoreInvocation *invocation, GError **error)
{
    static const char sql[] =
        "INSERT INTO invocation (run_id, position, ordinal, workload, state, reason,"
        " started_ns, host_ns, guest_ns, drift_ppm, drift_bound_ppm, drift_flagged, prepare_ns,"
        " observer_cpu_ns, observer_switches)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
    const StoreInvocation *i = invocation;
    const TwoClock *clocks = &i->clocks;
    /* A zeroed TwoClock: the invocation never came to its marks. */
    gboolean measured = clocks->host_ns != 0 || clocks->guest_ns != 0;

    return db_run(
        store, "add an invocation", sql,
        DB_VALUES(db_int(i->run), db_int(i->position), db_int(i->ordinal), db_text(i->workload),
                  db_text(i->state), db_text(i->reason), db_int(i->started_wall_ns),
                  db_int_if(measured, clocks->host_ns), db_int_if(measured, clocks->guest_ns),
                  db_real_if(clocks->usable, clocks->drift_ppm),
                  db_real_if(clocks->usable, clocks->bound_ppm), db_int(clocks->flagged ? 1 : 0),
                  db_int_if(i->prepare_ns > 0, i->prepare_ns),
                  db_int_if(measured, i->observer_cpu_ns),
                  db_int_if(measured, i->observer_switches)),
        error);
}

gboolean store_invocation_begin(Store *store, const StoreInvocation *invocation, gint64 *ret_id,
                                GError **error)
{
    if (store->invocation != 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_FAILED,
                    "%s: cannot begin an invocation: %" G_GINT64_FORMAT
                    " is open: commit or abort it first",
                    store->path, store->invocation);
        return FALSE;
    }
    if (!db_begin(store, error))
        return FALSE;
    if (!insert_invocation(store, invocation, error))
        return db_end(store, FALSE, NULL);
    sample_cursor_reset(store->samples);
    store->invocation = sqlite3_last_insert_rowid(store->db);
    *ret_id = store->invocation;
    return TRUE;
}

gboolean store_invocation_flags(Store *store, gint64 invocation, const char *flags, GError **error)
{
    return db_write(store, "flag an invocation", "UPDATE invocation SET flags = ?2 WHERE id = ?1",
                    DB_VALUES(db_int(invocation), db_text(flags)), error);
}

gboolean store_invocation_commit(Store *store, GError **error)
{
    if (store->invocation == 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_FAILED,
                    "%s: cannot commit an invocation: none is open", store->path);
        return FALSE;
    }
    store->invocation = 0;
    return db_end(store, TRUE, error);
}

void store_invocation_abort(Store *store)
{
    if (store->invocation == 0)
        return;
    store->invocation = 0;
    db_end(store, FALSE, NULL);
}
