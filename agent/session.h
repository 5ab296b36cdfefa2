/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schema/agent-protocol.md over standard input and output. */
#ifndef VMATRIX_AGENT_SESSION_H
#define VMATRIX_AGENT_SESSION_H

/* Until bye, the end of input, or a signal; returns the exit status. self: argv[0]. */
int session_run(const char *self);

#endif
