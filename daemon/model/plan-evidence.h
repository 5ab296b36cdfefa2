/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a plan under "evidence:": what the host may do while something is measured. */
#pragma once
#include "model/evidence.h"
#include "model/node.h"

/* Reader of "evidence": off, or a mapping; member is an EvidenceLimits. */
gboolean plan_evidence_read(const Node *value, const NodeField *field, gpointer member,
                            GError **error);
