/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evidence out of a line of the agent (schema/agent-protocol.md): a member that is not there is
 * absent, one that is wrong is VM_ERROR_PROTOCOL. Every text is made safe to print and bounded.
 * Internal to guest/. */
#pragma once
#include <glib.h>
#include <jansson.h>

#include "model/evidence.h"

/* The host's: the whole line of type "evidence". Transfer full. */
gboolean agent_evidence_decode(const json_t *line, EvidenceRecord **ret_record, GError **error);

/* The guest's own: the member "evidence" of "done". Transfer full. */
gboolean agent_evidence_decode_guest(const json_t *object, EvidenceRecord **ret_record,
                                     GError **error);
