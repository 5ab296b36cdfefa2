/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The database: results and queue. The only layer that knows SQLite. WAL, synchronous=FULL, foreign
 * keys on, BEGIN IMMEDIATE for every write with a bounded retry. Its schema is a public interface:
 * schema/db/NNNN-*.sql (embedded, numbered, forward only), documented in schema/README.md. */
#pragma once
#include <glib.h>

#include "model/evidence.h"
#include "model/matrix.h"
#include "model/metric.h"
#include "model/twoclock.h"

#define STORE_APPLICATION_ID 0x766d7478 /* "vmtx" */

typedef struct Store Store;
typedef enum { STORE_READ_ONLY, STORE_READ_WRITE } StoreMode;

/* Open (READ_WRITE creates and migrates). Refused, and left untouched byte for byte: a foreign
 * file, a newer version, a file on a network file system. VM_ERROR_ENVIRONMENT says which and the
 * way out. */
Store *store_open(const char *path, StoreMode mode, GError **error);
void store_free(Store *store); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Store, store_free)
/* Of the file itself, links resolved. */
const char *store_path(const Store *store);

/* Where the database is when no --db is given: $VMATRIX_DB, /var/lib/vmatrix/vmatrix.db for root,
 * XDG_STATE_HOME/vmatrix/vmatrix.db else. Transfer full. */
char *store_default_path(void);

/* Several writes as one transaction: begin, write, end. end with ok FALSE undoes all of them; TRUE
 * only when ok and committed. May be nested. */
gboolean store_begin(Store *store, GError **error);
gboolean store_end(Store *store, gboolean ok, GError **error);

/* ---- campaigns and the queue (queue.c) ---- */

/* Insert campaign, axes, cells and queued runs in one transaction. workloads: the expanded names
 * (char*), for boot-per workload and for the record. skip_reasons (may be NULL): n_cells entries,
 * a cell with a reason gets its runs as state skipped. *ret_campaign: the new row id. */
gboolean store_campaign_add(Store *store, const Matrix *matrix, const Inventory *inventory,
                            const GPtrArray *workloads, const char *const *skip_reasons,
                            gint64 *ret_campaign, GError **error);

typedef struct {
    gint64 id;
    char *uuid;
    char *name;
    char *state; /* queued, running, done, cancelled */
    char *plan_text, *plan_path, *inventory_text, *inventory_path;
    GPtrArray *workloads; /* char* */
    gint64 created_ns;
    gboolean cancel; /* a cancel is asked for */
} StoreCampaign;

void store_campaign_clear(StoreCampaign *campaign);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(StoreCampaign, store_campaign_clear)

/* By "latest", id, or the first 8 or more characters of the UUID; VM_ERROR_INVALID when there is
 * none. */
gboolean store_campaign_get(Store *store, const char *which, StoreCampaign *ret_campaign,
                            GError **error);
/* "queued", "running", "done" or "cancelled"; a campaign whose cancel was asked for becomes
 * cancelled where it would be running or done. What is still queued of a cancelled one becomes
 * skipped. */
gboolean store_campaign_set_state(Store *store, gint64 campaign, const char *state, GError **error);

typedef struct {
    gint64 id;
    gint64 cell_id;
    guint cell; /* index in the matrix */
    char *cell_key;
    guint block, position, attempt;
    char *workload; /* boot-per workload: the one; NULL: all */
} StoreRun;

void store_run_clear(StoreRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(StoreRun, store_run_clear)

typedef enum { STORE_CLAIMED, STORE_EMPTY } StoreClaim;

/* Take the next queued run (by block, then position) and mark it running, with the host's boot id
 * and the replicate kind ("boot" or "process"). */
gboolean store_run_claim(Store *store, gint64 campaign, const char *boot_id, StoreRun *ret_run,
                         StoreClaim *ret_claim, GError **error);

/* Claiming and ending a run each write an event, of the steps "begin" and "end".
 *
 * End a run. verdict: "clean", "contaminated", "failed", "interrupted". reason: NULL or why. flags:
 * comma-separated or NULL. Writes the run's summaries in the same transaction. */
gboolean store_run_finish(Store *store, gint64 run, const char *verdict, const char *reason,
                          const char *flags, GError **error);

/* Queue the run's cell again, at the end of its block, as attempt + 1 (with no interruptions);
 * after an interruption, which is no try of the cell, as the same attempt with interruptions + 1.
 * The 20th interruption of one attempt gives a failed row with a reason, and an event, instead of a
 * queued one. The run must be done, and can be queued again once. */
gboolean store_run_requeue(Store *store, gint64 run, GError **error);

/* Runs of this campaign that are still "running" (their process is gone): they become done,
 * interrupted, and are queued again as by store_run_requeue(); where a cancel was asked for
 * meanwhile, the campaign becomes cancelled. *ret_count. */
gboolean store_recover_claims(Store *store, gint64 campaign, guint *ret_count, GError **error);

/* ---- results (result.c) ---- */

gboolean store_phase_add(Store *store, gint64 run, guint seq, const char *name,
                         gint64 start_wall_ns, gint64 duration_ns, GError **error);

typedef struct {
    gint64 run;
    guint position; /* in the run's order of workloads */
    guint ordinal;  /* 1… of this workload in this run */
    const char *workload;
    const char *state;  /* "done", "failed", "unsupported" */
    const char *reason; /* or NULL */
    gint64 started_wall_ns;
    TwoClock clocks;   /* zeroed when there is none */
    gint64 prepare_ns; /* run sent to ready */
    gint64 observer_cpu_ns, observer_switches;
} StoreInvocation;

/* No query may be open on an older state when a write begins (VM_ERROR_BUSY): free queries first.
 *
 * One transaction an invocation: begin, add samples and raw outputs, commit (or abort, which drops
 * everything since begin). *ret_id is the invocation's row id. */
gboolean store_invocation_begin(Store *store, const StoreInvocation *invocation, gint64 *ret_id,
                                GError **error);
gboolean store_samples_add(Store *store, gint64 invocation, const Metric *metric,
                           const double *values, gsize n, double iterations, GError **error);
/* invocation 0: belongs to the run. Stored zlib-compressed, with its original length. */
gboolean store_raw_add(Store *store, gint64 run, gint64 invocation, const char *stream,
                       GBytes *content, GError **error);
/* Comma-separated. */
gboolean store_invocation_flags(Store *store, gint64 invocation, const char *flags, GError **error);
/* What was seen while it ran, and what was judged from that. Once an invocation. */
gboolean store_evidence_add(Store *store, gint64 invocation, const EvidenceRecord *record,
                            const EvidenceVerdict *verdict, GError **error);
gboolean store_invocation_commit(Store *store, GError **error);
void store_invocation_abort(Store *store);

/* facts: char* -> char*; scope "host", "guest" or "hypervisor". Equal values are stored once. */
gboolean store_facts_add(Store *store, gint64 run, const char *scope, GHashTable *facts,
                         GError **error);

/* run 0: belongs to the campaign alone. level: "info", "warning", "error". */
gboolean store_event_add(Store *store, gint64 campaign, gint64 run, const char *level,
                         const char *step, const char *message, GError **error);

/* ---- guests' host keys (enroll) ---- */

/* *ret_key: "ssh-ed25519 AAAA…", transfer full, or NULL when the guest was never enrolled. */
gboolean store_host_key_get(Store *store, const char *guest, char **ret_key, GError **error);
gboolean store_host_key_set(Store *store, const char *guest, const char *key, GError **error);

/* ---- base images ---- */

/* Digest of a base by (path, size, mtime_ns, inode), so that it is not read anew each time; NULL in
 * *ret_digest when it has to be computed. */
gboolean store_image_digest_get(Store *store, const char *path, guint64 size, gint64 mtime_ns,
                                guint64 inode, char **ret_digest, GError **error);
gboolean store_image_digest_set(Store *store, const char *path, guint64 size, gint64 mtime_ns,
                                guint64 inode, const char *digest, GError **error);

/* ---- programs of the host ---- */

/* What a program said of its version, by (path, size, mtime_ns, inode), so that it is not started
 * anew for each campaign; NULL in *ret_version when it has to be asked. */
gboolean store_program_version_get(Store *store, const char *path, guint64 size, gint64 mtime_ns,
                                   guint64 inode, char **ret_version, GError **error);
gboolean store_program_version_set(Store *store, const char *path, guint64 size, gint64 mtime_ns,
                                   guint64 inode, const char *version, GError **error);

/* ---- reading (query.c) ---- */

/* A read-only statement: one row at a time. SQL functions median(x), percentile(x, p in 0..100),
 * stddev(x) (sample), are there. */
typedef struct StoreQuery StoreQuery;
typedef enum { STORE_ROW, STORE_END } StoreStep;
typedef enum { STORE_NULL, STORE_INTEGER, STORE_REAL, STORE_TEXT, STORE_BLOB } StoreType;

/* sql must be one statement that only reads (checked by SQLite itself: authorizer and
 * sqlite3_stmt_readonly; ATTACH and PRAGMA writes are refused): VM_ERROR_INVALID else. */
StoreQuery *store_query_new(Store *store, const char *sql, GError **error);
void store_query_free(StoreQuery *query);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreQuery, store_query_free)

gboolean store_query_bind_int(StoreQuery *query, const char *name, gint64 value);
gboolean store_query_bind_text(StoreQuery *query, const char *name, const char *value);
gboolean store_query_step(StoreQuery *query, StoreStep *ret_step, GError **error);
guint store_query_columns(const StoreQuery *query);
const char *store_query_name(const StoreQuery *query, guint column);
StoreType store_query_type(const StoreQuery *query, guint column);
gint64 store_query_int(const StoreQuery *query, guint column);
double store_query_real(const StoreQuery *query, guint column);
const char *store_query_text(const StoreQuery *query, guint column); /* valid until the next step */
GBytes *store_query_blob(const StoreQuery *query, guint column);     /* transfer full */
