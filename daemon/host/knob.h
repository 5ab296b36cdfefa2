/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host's settings: one row each of a const table (knob.c). How each kind is found, read and
 * written is one knob_kind, in a file of its own. */
#pragma once
#include <glib.h>

#include "host/systemd.h"
#include "model/tune.h"

/* The machine whose settings these are, and what the settings are for. */
typedef struct {
    const char *root;         /* prefix of /proc, /sys and /dev; "" is the real one */
    const char *cpus;         /* of the subject, "2-3"; NULL: not known */
    const char *housekeeping; /* for all else; NULL: none is left */
    Systemd *systemd;         /* NULL: there is none */
    const char *no_systemd;   /* then: why */
    GArray *held;             /* int: descriptors of what lasts as long as this process; NULL: it
                               * does not stay */
} KnobHost;

typedef struct Knob Knob;

/* What a row's text is, so that two of it can be compared. */
typedef enum {
    KNOB_WORD,   /* a word or number */
    KNOB_CHOICE, /* "always [madvise] never": the word in brackets; written without */
    KNOB_LIST,   /* of CPUs: "0-2" is "0,1,2" */
    KNOB_MASK,   /* of CPUs: "00000000,0000000f" is "f" */
    KNOB_ACTIVE, /* of a unit: whether it is active, or becoming so */
} KnobForm;

struct knob_kind {
    /* Add the targets that this machine has to targets (char*), sorted. value: the plan's. */
    void (*find)(const KnobHost *host, const Knob *knob, const char *value, GPtrArray *targets);
    /* Its whole text; *ret_text NULL: it is not there. */
    gboolean (*read)(const KnobHost *host, const char *target, char **ret_text, GError **error);
    gboolean (*write)(const KnobHost *host, const char *target, const char *text, GError **error);
    /* Why this process must not set it, whatever the plan says: NULL, or transfer full. The member
     * may be NULL. */
    char *(*forbids)(const KnobHost *host, const char *target);
    /* Lasts as long as a descriptor of this process: nothing is journalled to be given back. */
    gboolean held;
    /* The target is of our making: whatever it says, it is ours to take away. */
    gboolean owned;
    const char *lacks; /* why there may be none, in some words */
};

struct Knob {
    const char *name; /* unique */
    TuneKey key;      /* of the plan; some have several rows */
    const struct knob_kind *kind;
    const char *path; /* kind file: below the root, with "*"; slices: units; else NULL */
    KnobForm form;
    /* What is to be written: by the plan's value and what is there now. NULL: nothing, it is of no
     * concern. Transfer full. */
    char *(*want)(const KnobHost *host, const char *value, const char *now);
    const char *none;     /* words, separated by blanks: the machine has no such thing */
    gboolean often_fixed; /* that some targets refuse is usual, and nothing to worry about */
};

extern const struct knob_kind knob_file, knob_latency;           /* knob-file.c */
extern const struct knob_kind knob_unit, knob_slice, knob_sleep; /* knob-systemd.c */
extern const struct knob_kind knob_cpuset;                       /* knob-cpuset.c */

/* All, in the order in which they are set; they are given back in reverse. */
const Knob *knob_table(gsize *ret_n);

/* By its name, or NULL. */
const Knob *knob_find(const char *name);

/* The part of a text that counts, in one form, to compare it. Transfer full. */
char *knob_canonical(const Knob *knob, const char *text);

/* Whether two texts mean the same. */
gboolean knob_same(const Knob *knob, const char *a, const char *b);

/* What is to be written so that it reads as text again: the same bytes where that can be. Transfer
 * full. */
char *knob_rewrite(const Knob *knob, const char *text);
