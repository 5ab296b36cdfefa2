/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/plan-evidence.h"

#include <stddef.h>
#include <string.h>

#include "util/clock.h"

static const char *const verdict_names[] = {"reject", "flag", NULL}; /* EvidenceUse */
static const char *const missing_names[] = {"flag", "fail", NULL};   /* EvidenceMissing */

#define EVIDENCE_SHARE(name, member)                                                               \
    {                                                                                              \
        .key = (name), .read = node_read_percent, .offset = offsetof(EvidenceLimits, member)       \
    }
#define EVIDENCE_CHOICE(name, member, names)                                                       \
    {                                                                                              \
        .key = (name), .read = node_read_choice, .offset = offsetof(EvidenceLimits, member),       \
        .choices = (names)                                                                         \
    }

static const NodeField evidence_fields[] = {
    EVIDENCE_CHOICE("verdict", foreign, verdict_names),
    EVIDENCE_CHOICE("missing", missing, missing_names),
    EVIDENCE_SHARE("cpu", cpu),
    {.key = "cpu-floor",
     .read = node_read_duration,
     .offset = offsetof(EvidenceLimits, cpu_floor_ns),
     .max = 3600 * CLOCK_NS_PER_S},
    EVIDENCE_SHARE("steal", steal),
    EVIDENCE_SHARE("interrupts", interrupts),
    EVIDENCE_SHARE("run-delay", run_delay),
    EVIDENCE_SHARE("cpu-pressure", pressure_cpu),
    EVIDENCE_SHARE("io-pressure", pressure_io),
    EVIDENCE_SHARE("memory-pressure", pressure_memory),
    EVIDENCE_SHARE("frequency", frequency),
    EVIDENCE_SHARE("observer", observer),
    {NULL},
};

gboolean plan_evidence_read(const Node *value, const NodeField *field, gpointer member,
                            GError **error)
{
    EvidenceLimits *limits = member;

    if (value->kind == NODE_MAP)
        return node_read_fields(value, field->key, evidence_fields, limits, error);
    if (value->kind != NODE_SCALAR || strcmp(value->text, "off") != 0)
        return node_fail(value, error, "%s: must be a mapping, or off for no evidence", field->key);
    limits->read = FALSE;
    return TRUE;
}
