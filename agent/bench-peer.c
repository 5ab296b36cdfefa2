/* SPDX-License-Identifier: GPL-3.0-or-later */
/* peer.tcp-stream, peer.tcp-rr, peer.udp-rr: to another machine's `vmatrix-agent serve`, as
 * netperf's TCP_STREAM -m 65536, TCP_RR and UDP_RR (netperf-2.7.0/src/nettest_bsd.c). The values
 * are nanoseconds of a round trip, where netperf says round trips a second. A stream's time ends
 * when the peer has said that the last byte came. A datagram carries its number, 4 bytes; one that
 * has not come back after 0.2 s is sent again. */
#include "bench.h"
#include "os.h"
#include "peer.h"
#include "wire.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)64 << 10)
#define BLOCKS 16 /* in an iteration */
#define NUMBER 4
#define RESEND_NS 200000000
#define RESENDS 25

struct peer {
    struct os_link link;
    struct os_link datagrams;
    uint32_t number;
    unsigned char block[BLOCK];
};

static bool setup(struct bench_ctx *ctx, const struct far_order *order, struct peer_end *ret_end)
{
    struct peer *peer = calloc(1, sizeof(*peer));
    uint64_t seed = 23;

    ctx->state = peer;
    if (peer == NULL)
        return bench_fail(ctx, "no memory");
    peer->link = peer->datagrams = (struct os_link){.in = -1, .out = -1};
    for (size_t i = 0; i < BLOCK; i++)
        peer->block[i] = (unsigned char)bench_random(&seed);
    if (!peer_open(ctx, order, ret_end))
        return false;
    peer->link = ret_end->link;
    return true;
}

static void teardown(struct bench_ctx *ctx)
{
    struct peer *peer = ctx->state;

    if (peer == NULL)
        return;
    os_link_close(&peer->datagrams);
    os_link_close(&peer->link);
    free(peer);
    ctx->state = NULL;
}

/* --- TCP --- */

static bool stream_setup(struct bench_ctx *ctx)
{
    const struct far_order order = {FAR_STREAM, BLOCK * BLOCKS};
    struct peer_end end;

    return setup(ctx, &order, &end);
}

static bool stream_run(struct bench_ctx *ctx, uint64_t iterations)
{
    const struct peer *peer = ctx->state;
    char token;

    for (uint64_t i = 0; i < iterations * BLOCKS; i++)
        if (!os_link_send(&peer->link, peer->block, BLOCK))
            return bench_fail(ctx, "the peer %s takes no more", ctx->peer);
    for (uint64_t i = 0; i < iterations; i++)
        if (!os_link_receive(&peer->link, &token, 1))
            return bench_fail(ctx, "the peer %s has gone", ctx->peer);
    return true;
}

static bool tcp_setup(struct bench_ctx *ctx)
{
    const struct far_order order = {FAR_ECHO, 1};
    struct peer_end end;

    return setup(ctx, &order, &end);
}

static bool tcp_run(struct bench_ctx *ctx, uint64_t iterations)
{
    const struct peer *peer = ctx->state;
    char token = 't';

    for (uint64_t i = 0; i < iterations; i++)
        if (!os_link_send(&peer->link, &token, 1) || !os_link_receive(&peer->link, &token, 1))
            return bench_fail(ctx, "the peer %s has gone", ctx->peer);
    return true;
}

/* --- UDP --- */

/* The datagram goes and comes back; others that come are late ones. */
static bool exchange(const struct peer *peer, const unsigned char *datagram, size_t size)
{
    unsigned char came[FAR_PROOF_SIZE];

    for (int i = 0; i < RESENDS; i++) {
        int64_t deadline = os_clock_ns() + RESEND_NS;
        ptrdiff_t got = 0;

        os_link_send(&peer->datagrams, datagram, size); /* refused: as lost */
        while (got >= 0 && os_clock_ns() < deadline) {
            got = os_link_receive_some(&peer->datagrams, came, sizeof(came));
            if (got == (ptrdiff_t)size && memcmp(came, datagram, size) == 0)
                return true;
        }
    }
    return false;
}

static bool udp_setup(struct bench_ctx *ctx)
{
    const struct far_order order = {FAR_DATAGRAM, 0};
    struct peer_end end;
    struct peer *peer;
    unsigned char port[2];
    char reason[OS_REASON_MAX];

    if (!setup(ctx, &order, &end))
        return false;
    peer = ctx->state;
    if (!os_link_receive(&peer->link, port, sizeof(port)))
        return bench_fail(ctx, "the peer %s has no UDP port", ctx->peer);
    end.address.port = (uint16_t)wire_number(port, 2);
    if (!os_datagrams_to(&end.address, &peer->datagrams, reason) ||
        !os_link_patience(&peer->datagrams, RESEND_NS))
        return bench_fail(ctx, "no UDP socket to the peer %s", ctx->peer);
    return exchange(peer, end.proof, sizeof(end.proof)) ||
           bench_fail(ctx,
                      "UDP does not reach the peer %s at its port %d, or does not come back: a "
                      "firewall?",
                      ctx->peer, end.address.port);
}

static bool udp_run(struct bench_ctx *ctx, uint64_t iterations)
{
    struct peer *peer = ctx->state;
    unsigned char datagram[NUMBER];

    for (uint64_t i = 0; i < iterations; i++) {
        wire_put_number(datagram, ++peer->number, NUMBER);
        if (!exchange(peer, datagram, NUMBER))
            return bench_fail(ctx, "the peer %s has gone", ctx->peer);
    }
    return true;
}

extern const struct bench bench_peer_tcp_stream, bench_peer_tcp_rr, bench_peer_udp_rr;

const struct bench bench_peer_tcp_stream = {
    .name = "peer.tcp-stream",
    .groups = "netperf network all",
    .metric = "bandwidth",
    .unit = "bytes/s",
    .direction = "higher",
    .summary = "bytes over TCP to the peer",
    .os = "linux freebsd",
    .revision = 1,
    .amount = (double)BLOCK * BLOCKS,
    .supported = peer_supported,
    .setup = stream_setup,
    .run = stream_run,
    .teardown = teardown,
};

const struct bench bench_peer_tcp_rr = {
    .name = "peer.tcp-rr",
    .groups = "netperf network all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "round trip of one byte over TCP to the peer (TCP_NODELAY)",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .supported = peer_supported,
    .setup = tcp_setup,
    .run = tcp_run,
    .teardown = teardown,
};

const struct bench bench_peer_udp_rr = {
    .name = "peer.udp-rr",
    .groups = "netperf network all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "round trip of four bytes over UDP to the peer",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .supported = peer_supported,
    .setup = udp_setup,
    .run = udp_run,
    .teardown = teardown,
};
