/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gate before a run: waits until the host is quiet, and says for whom it waits. */
#pragma once
#include <glib.h>

#include "host/idle.h"
#include "model/inventory.h"
#include "util/wait.h"

/* Strings and objects are borrowed and outlive the wait. */
typedef struct {
    const PlanIdle *limits;
    const Inventory *inventory; /* whose hypervisors are asked for guests; may be NULL */
    gboolean has_start;         /* start_mc is there */
    gint start_mc;              /* temperature at the campaign's start; else the gate's own start */
    Cancel *pause;              /* set: stop waiting (GATE_PAUSED); a child of the wait's token, or
                                   NULL */
    gint64 until_ns;            /* clock_mono_ns(): then it is too late (GATE_LATE); 0: never */
    /* Told for whom it waits: when that begins, and when it is another one; waits FALSE: what it
     * gave up waiting for. FALSE with error ends the wait. May be NULL. */
    gboolean (*tell)(void *data, gboolean waits, const char *what, GError **error);
    void *tell_data;
} GateSpec;

typedef enum { GATE_OPEN, GATE_TIMEOUT, GATE_PAUSED, GATE_LATE } GateOutcome;

typedef struct {
    GateOutcome outcome;
    IdleVerdict verdict; /* after the last look */
    GPtrArray *guests;   /* char*: other guests that run, in words */
    GPtrArray *chores;   /* char*: package managers, backups, upkeep */
    char *why;           /* what is over its limit, with value and limit; NULL: nothing */
    char *who;           /* who takes most, by name; NULL: nobody stands out, or nothing is over */
    gint64 began_ns;     /* clock_mono_ns() */
    gint64 quiet_ns;     /* the last moment at which something was over its limit, else began_ns */
    gint64 ended_ns;
} GateResult;

void gate_result_clear(GateResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GateResult, gate_result_clear)

/* Wait until the host was within limits for settle_ns, nothing of guests and chores being there. A
 * settle_ns of 0 opens at once. FALSE with error on cancel, or when /proc cannot be read. */
gboolean gate_wait(const Wait *wait, const GateSpec *spec, GateResult *ret_result, GError **error);

/* Where no process can be blamed. */
#define GATE_NOBODY "no process stands out: interrupts, steal or short bursts"

/* "CPU busy 51 % (3.0 % allowed): dd (pid 12, job.service) 0.93 CPUs": why it is shut and who did
 * it; never NULL; transfer full. */
char *gate_explain(const GateResult *result);

/* A signal, for tables. */
typedef struct {
    const char *name;    /* the key in the plan */
    gboolean present;    /* the machine can tell */
    gboolean ignored;    /* the plan does not want to know */
    gboolean over;       /* over its limit */
    double value, limit; /* as in idle_value(); of guests and chores: how many */
    const char *unit;    /* for programs: "fraction", "B/s", "tasks", "K", "count" */
    char *value_text;    /* "12 %"; NULL where not present */
    char *limit_text;    /* never NULL */
    const char *who;     /* of result, or NULL */
} GateRow;

/* GateRow*, one a signal, then guests and chores; result must outlive them; transfer full. */
GPtrArray *gate_rows(const GateResult *result, const PlanIdle *limits);
