/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The near side of benchmarks against a peer: another machine's `vmatrix-agent serve`. */
#ifndef VMATRIX_AGENT_PEER_H
#define VMATRIX_AGENT_PEER_H
#include "bench.h"
#include "far.h"
#include "os-net.h"

#define PEER_TEXT_MAX 72

/* "192.0.2.1:4000", "[2001:db8::1]:4000": a numeric address and a port. */
bool peer_parse(const char *text, struct os_address *ret_address);

/* As a benchmark's supported(): a peer was named. */
bool peer_supported(struct bench_ctx *ctx);

struct peer_end {
    struct os_link link;                 /* the far end does what was ordered */
    struct os_address address;           /* the peer's */
    unsigned char proof[FAR_PROOF_SIZE]; /* what it was given */
};
/* Connect to the peer that the context names, and order. false: ctx->reason is set. */
bool peer_open(struct bench_ctx *ctx, const struct far_order *order, struct peer_end *ret_end);

/* All of it until the deadline. */
bool peer_receive(const struct os_link *link, void *data, size_t size, int64_t deadline_ns);

#endif
