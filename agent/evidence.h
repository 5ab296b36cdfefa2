/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `vmatrix-agent host-evidence`: what happened on this host between two moments
 * (schema/agent-protocol.md, "Host evidence"). */
#ifndef VMATRIX_AGENT_EVIDENCE_H
#define VMATRIX_AGENT_EVIDENCE_H
#include <stdbool.h>
#include <stdint.h>

#include "evidence-snapshot.h"

#define EVIDENCE_REASON_MAX 512
#define EVIDENCE_SECONDS_MAX 86400

struct evidence_options {
    const char *root;                /* "": the real files */
    int64_t seconds;                 /* 0: the protocol is spoken */
    struct evidence_request request; /* by hand */
};

/* ret_reason has room for EVIDENCE_REASON_MAX bytes. */
bool evidence_parse(int argc, char **argv, struct evidence_options *ret_options, char *ret_reason);
/* Until bye, the end of input, or a signal; or for so many seconds. Returns the exit status. */
int evidence_run(const struct evidence_options *options);

#endif
