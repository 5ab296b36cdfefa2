/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan: one experiment. YAML, "version: 1"; see schema/plan.schema.json. */
#pragma once
#include <glib.h>

#include "model/evidence.h"
#include "model/inventory.h"
#include "model/node.h"
#include "model/tune.h"
#include "model/plan-idle.h"

/* The most cells a plan may have, counted before exclude. */
#define PLAN_CELLS_MAX 10000000u

/* One edit of the domain XML: set the attribute or text node that xpath (relative to <domain>)
 * names. */
typedef struct {
    char *xpath;
    char *value;
} DomainEdit;

typedef struct {
    char *name;
    GPtrArray *edits; /* DomainEdit*, may be empty */
    char *cmdline;    /* added to the guest's kernel command line; NULL: unchanged */
    guint64 number;   /* of "vcpus" the count, of "memory" the bytes, of "emulator" an
                         EmulatorPlace + 1; else 0 */
    guint line, column;
} PlanLevel;

typedef struct {
    char *name;        /* [a-z][a-z0-9-]* */
    GPtrArray *levels; /* PlanLevel*, at least one */
    guint line, column;
} PlanAxis;

/* Pairs axis -> level (indices into plan->axes and its levels): exclude, include, baseline. */
typedef struct {
    GArray *axis;  /* guint */
    GArray *level; /* guint */
    guint line, column;
} PlanMatch;

typedef enum { CACHE_LEAVE, CACHE_WARM, CACHE_COLD } CachePolicy;
/* Where a hypervisor's own threads run: on the CPUs of the subject, or on those that are left. */
typedef enum { EMULATOR_ON_SUBJECT, EMULATOR_ON_HOUSEKEEPING } EmulatorPlace;
/* How vCPUs are laid on a core's threads: one a core while there are cores, or thread by thread. */
typedef enum { CPU_ORDER_CORES, CPU_ORDER_SIBLINGS } CpuOrder;
typedef enum { BOOT_PER_CELL, BOOT_PER_WORKLOAD } BootPer;

typedef struct {
    char *path;
    char *text;
    char *digest; /* hex SHA-256 of text */
    char *name;
    GPtrArray *axes;    /* PlanAxis*, sorted by name */
    guint64 memory;     /* bytes for each guest, unless "memory" is an axis */
    GPtrArray *exclude; /* PlanMatch* */
    GPtrArray
        *include; /* PlanMatch*: cells that exclude took away and that are wanted all the same */
    PlanMatch *baseline;    /* or NULL */
    GPtrArray *workloads;   /* char*: labels (workload.h) of workloads or groups, as written */
    GArray *workload_lines; /* NodePlace: where each stands, for later messages */
    struct {
        guint boots; /* blocks; default 3 */
        BootPer boot_per;
        guint invocations; /* default 1 */
        guint samples;     /* an invocation; default 11 */
        guint warmup;      /* thrown-away samples before each invocation, at least; default 1 */
        gint64 sample_ns;  /* target time of one sample; 0: the agent's default */
    } repeat;
    guint64 seed; /* order.seed; default 1 */
    struct {
        CachePolicy host, guest;
    } cache;
    struct {
        EmulatorPlace emulator; /* unless "emulator" is an axis; default on the subject's */
        CpuOrder smt;           /* default whole cores */
    } subject;
    PlanIdle idle;
    struct {
        gint64 boot_ns;       /* default 3 m */
        gint64 invocation_ns; /* default 30 m */
        guint attempts;       /* default 3 */
        gint stop_by_minute;  /* minute of the local day, or -1 */
        double drift_ppm;     /* allowed beyond the bound; default 500 */
    } limits;
    EvidenceLimits evidence; /* see vmatrix(1) for the defaults */
    TuneWants tune;          /* of the host's settings; default: none is changed */
} Plan;

Plan *plan_load(const char *path, GError **error);
/* length -1: up to the NUL. */
Plan *plan_parse(const char *path, const char *text, gssize length, GError **error);
void plan_free(Plan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Plan, plan_free)

/* Check names against the site: each level of "hypervisor" and "guest" must be in the inventory,
 * each guest must be bootable by each hypervisor it is paired with, edits only where they can work.
 * Errors carry the plan's file:line:column and "did you mean". */
gboolean plan_check(const Plan *plan, const Inventory *inventory, GError **error);

/* Index of the axis, or -1. */
int plan_axis_index(const Plan *plan, const char *name);

/* Whether the cell with these level indices (one an axis, in the order of plan->axes) is part of
 * the plan: no exclude matches it, or an include does. */
gboolean plan_keeps(const Plan *plan, const guint16 *levels);

/* Step levels to the next combination in canonical order, the last axis fastest; axes with pinned
 * TRUE stay (pinned may be NULL). FALSE after the last one. */
gboolean plan_next(const Plan *plan, const gboolean *pinned, guint16 *levels);
