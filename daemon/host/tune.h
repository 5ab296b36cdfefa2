/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of the host are changed, each journalled before, and given back. */
#pragma once
#include <glib.h>

#include "host/knob.h"

/* What became of one target of one knob. */
typedef enum {
    TUNE_JOURNALLED, /* perhaps not written yet */
    TUNE_SET,        /* written, and read back */
    TUNE_HELD,       /* in force as long as this process lives */
    TUNE_SAME,       /* it had the value already */
    TUNE_ABSENT,     /* the machine has no such thing */
    TUNE_REFUSED,    /* it was not taken, and is as it was */
    TUNE_RESTORED,   /* it is as it was before */
    TUNE_RELEASED,   /* no longer held */
    TUNE_LEFT,       /* somebody else changed it meanwhile: left alone */
    TUNE_REBOOTED,   /* the host has booted since */
    TUNE_STUCK,      /* it could not be given back; to be tried again */
} TuneState;

/* "journalled" and so on; static. */
const char *tune_state_name(TuneState state);
/* The state of that name; TUNE_STUCK, which is looked at again, for one that is not known. */
TuneState tune_state_of(const char *name);

/* One change, as the journal keeps it. Strings are borrowed. */
typedef struct {
    gint64 id;
    const char *boot_id;
    const char *knob, *target;
    const char *old;    /* NULL: nothing to give back */
    const char *wanted; /* or NULL */
    const char *got;    /* as read back, or NULL */
    TuneState state;
    const char *reason; /* or NULL */
} TuneChange;

/* Where changes are journalled: both return TRUE only when it is on the disk. */
typedef struct {
    gboolean (*add)(void *data, const TuneChange *change, gint64 *ret_id, GError **error);
    /* got and reason may be NULL. */
    gboolean (*note)(void *data, gint64 id, TuneState state, const char *got, const char *reason,
                     GError **error);
    void *data;
} TuneJournal;

/* Bring all that is wanted about, in the order of the table. What the machine lacks or refuses is
 * noted in the journal, and is no error. FALSE: the journal cannot be written; what was changed
 * until then stands in it. */
gboolean tune_apply(const KnobHost *host, const TuneWants *wants, const TuneJournal *journal,
                    GError **error);

/* Give one change back, if that is ours to do, and note what became of it. *ret_state, *ret_reason
 * (transfer full, or NULL). FALSE: the journal cannot be written. */
gboolean tune_restore(const KnobHost *host, const TuneChange *change, const TuneJournal *journal,
                      TuneState *ret_state, char **ret_reason, GError **error);

/* Boot id of the machine below root, "" where there is none. Transfer full. */
char *tune_boot_id(const char *root);
