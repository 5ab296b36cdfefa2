/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The step table of an attempt. Internal to run/. */
#pragma once
#include "run/attempt.h"

typedef enum { STEP_ALWAYS, STEP_DOMAIN, STEP_BARE } StepScope;

struct step_ops {
    const char *name; /* stored as the phase's name, shown to people */
    StepScope scope;
    AttemptGoal goal;                        /* the first goal that needs this step */
    gint64 (*limit)(const Attempt *attempt); /* ns */
    gboolean (*enter)(Attempt *attempt, const Wait *wait, GError **error);
    void (*undo)(Attempt *attempt); /* must cope with a step that failed half way; or NULL */
};

extern const struct step_ops step_table[];
extern const guint step_table_length;

/* Where the guest's console goes; NULL: there is no guest. Transfer full. */
char *attempt_console(const Attempt *attempt);

/* Good-bye to the agent and shutdown of the subject; what is left is for the undo of each step. */
gboolean step_take_down(Attempt *attempt, GError **error);
