/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of evidence on the host that carries the subject: started once a run, asked before
 * each invocation and after it, silent in between. A reader that is lost is told once and then left
 * alone: the invocations go on without evidence, or fail, as the plan says. Internal to run/. */
#pragma once
#include <glib.h>

#include "model/evidence.h"
#include "model/inventory.h"
#include "model/plan.h"
#include "util/wait.h"

typedef struct Reader Reader;

/* Whom to watch; strings are copied. */
typedef struct {
    const char *agent;            /* the agent's program on this host */
    const char *cpus;             /* of the subject */
    gint64 pid;                   /* of the subject */
    const char *cgroup;           /* its own, as /proc/PID/cgroup has it; NULL: libvirt's, if any */
    const EvidenceLimits *limits; /* borrowed */
} ReaderSubject;

/* Start it and wait for its hello. NULL with error set when the wait was cancelled, or when there
 * is no reader and the plan wants one. */
Reader *reader_new(const ReaderSubject *subject, const Wait *wait, GError **error);
void reader_free(Reader *reader); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Reader, reader_free)

/* Before the invocation: the first reading is done when it returns. FALSE as above. */
gboolean reader_begin(Reader *reader, const Wait *wait, GError **error);

/* After it. *ret_record: never NULL; without span_ns where nothing could be read, then *ret_missing
 * (transfer full) says why, else it is NULL. FALSE as above. */
gboolean reader_end(Reader *reader, const Wait *wait, EvidenceRecord **ret_record,
                    char **ret_missing, GError **error);

/* Why no evidence can be read where this hypervisor runs its guests, or NULL when it can (or the
 * plan wants none). Transfer full. */
char *reader_refusal(const InventoryHypervisor *hypervisor, const Plan *plan);
