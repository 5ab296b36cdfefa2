/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a plan wants of the host's settings: its key "tune", or the --set of "vmatrix host tune".
 * Nothing is wanted unless it is asked for. */
#pragma once
#include <glib.h>

#include "model/node.h"

typedef enum {
    TUNE_SMT,
    TUNE_GOVERNOR,
    TUNE_ENERGY,
    TUNE_BOOST,
    TUNE_IDLE_LATENCY,
    TUNE_NUMA_BALANCING,
    TUNE_THP,
    TUNE_THP_DEFRAG,
    TUNE_KSM,
    TUNE_SWAPPINESS,
    TUNE_PERF_PARANOID,
    TUNE_PERF_CPU,
    TUNE_ASLR,
    TUNE_WATCHDOG,
    TUNE_CPUS, /* no setting: the CPUs that irq and isolate keep free, "2-3" */
    TUNE_STOP, /* units, separated by commas */
    TUNE_SLEEP,
    TUNE_IRQ,
    TUNE_ISOLATE,
    TUNE_KEYS,
} TuneKey;

/* One value a key, as text in the form of its row; NULL: leave it as it is. */
typedef struct {
    char *values[TUNE_KEYS];
} TuneWants;

void tune_wants_clear(TuneWants *wants);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TuneWants, tune_wants_clear)

/* Whether anything is to be changed. */
gboolean tune_wants_any(const TuneWants *wants);

/* "idle-latency"; static. */
const char *tune_key_name(TuneKey key);

/* "governor=performance", or "preset=measure": set one on top of what there is. */
gboolean tune_wants_set(TuneWants *wants, const char *assignment, GError **error);

/* Reader of the plan's key: off, measure, or a mapping of keys. member: TuneWants. */
gboolean tune_wants_read(const Node *value, const NodeField *field, gpointer member,
                         GError **error);
