/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A one-byte token between a benchmark and a helper process that sends it back: what the families
 * process.* and net.* have in common. */
#ifndef VMATRIX_AGENT_ECHO_H
#define VMATRIX_AGENT_ECHO_H
#include "bench.h"
#include "os.h"

/* Make the link and start the helper, on cpu (-1: on the benchmark's own). ctx->state is set. */
bool echo_setup(struct bench_ctx *ctx, enum os_link_kind kind, int cpu);
/* One iteration: the token goes and comes back. */
bool echo_run(struct bench_ctx *ctx, uint64_t iterations);
void echo_teardown(struct bench_ctx *ctx);

#endif
