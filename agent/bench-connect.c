/* SPDX-License-Identifier: GPL-3.0-or-later */
/* net.tcp-connect, peer.connect: a TCP connection is made and closed at once, as LMbench's
 * lat_connect: the server accepts, reads up to the end, and closes
 * (lmbench-3.0-a9/src/lat_connect.c). Ours differs where many connections would change what is
 * measured: the server takes them at 16 ports in turn, so that no address runs out of ports while
 * closed connections linger, and says a byte after each 32, so that none waits for more room in its
 * queue, which takes a second. To a peer it is what netperf's TCP_CC counts a second of. */
#include "bench.h"
#include "far.h"
#include "os.h"
#include "peer.h"
#include "wire.h"

#include <stdlib.h>

struct connect {
    struct os_link link;
    struct os_helper *helper;
    struct os_address to[FAR_PORTS];
    uint64_t made;
};

static bool connect_supported(struct bench_ctx *ctx)
{
    return os_loopback_up(ctx->reason);
}

static void connect_helper(struct os_link *link)
{
    far_connections(link, &os_loopback);
}

/* The ports that the far end says. */
static bool learn_ports(struct bench_ctx *ctx, const struct os_address *host)
{
    struct connect *state = ctx->state;
    unsigned char ports[2 * FAR_PORTS];

    if (!os_link_receive(&state->link, ports, sizeof(ports)))
        return bench_fail(ctx, "the other side could not listen at %d ports", FAR_PORTS);
    for (size_t i = 0; i < FAR_PORTS; i++) {
        state->to[i] = *host;
        state->to[i].port = (uint16_t)wire_number(ports + 2 * i, 2);
    }
    return true;
}

static struct connect *connect_new(struct bench_ctx *ctx)
{
    struct connect *state = calloc(1, sizeof(*state));

    ctx->state = state;
    if (state == NULL)
        bench_fail(ctx, "no memory");
    else
        state->link = (struct os_link){.in = -1, .out = -1};
    return state;
}

static bool connect_setup(struct bench_ctx *ctx)
{
    struct connect *state = connect_new(ctx);
    struct os_link far_end;

    if (state == NULL || !os_link_pair(OS_LINK_UNIX, &state->link, &far_end, ctx->reason))
        return false;
    state->helper = os_helper_start(connect_helper, &state->link, &far_end, -1, ctx->reason);
    return state->helper != NULL && learn_ports(ctx, &os_loopback);
}

static bool peer_setup(struct bench_ctx *ctx)
{
    const struct far_order order = {.work = FAR_CONNECT};
    struct connect *state = connect_new(ctx);
    struct peer_end end;

    if (state == NULL || !peer_open(ctx, &order, &end))
        return false;
    state->link = end.link;
    return learn_ports(ctx, &end.address);
}

static bool connect_run(struct bench_ctx *ctx, uint64_t iterations)
{
    struct connect *state = ctx->state;
    char reason[OS_REASON_MAX], token;

    for (uint64_t i = 0; i < iterations; i++) {
        if (!os_connect_close(&state->to[state->made % FAR_PORTS], reason))
            return bench_fail(ctx,
                              "%s: if ports have run out, wait a minute, or widen "
                              "net.ipv4.ip_local_port_range",
                              reason);
        if (++state->made % FAR_CONNECTIONS == 0 && !os_link_receive(&state->link, &token, 1))
            return bench_fail(ctx, "the other side takes no more connections");
    }
    return true;
}

static void connect_teardown(struct bench_ctx *ctx)
{
    struct connect *state = ctx->state;

    if (state == NULL)
        return;
    os_link_close(&state->link);
    os_helper_stop(state->helper);
    free(state);
    ctx->state = NULL;
}

extern const struct bench bench_net_tcp_connect, bench_peer_connect;

const struct bench bench_net_tcp_connect = {
    .name = "net.tcp-connect",
    .groups = "lmbench network all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "one TCP connection on the loopback interface, made and closed",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .supported = connect_supported,
    .setup = connect_setup,
    .run = connect_run,
    .teardown = connect_teardown,
};

const struct bench bench_peer_connect = {
    .name = "peer.connect",
    .groups = "netperf network all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "one TCP connection to the peer, made and closed",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .supported = peer_supported,
    .setup = peer_setup,
    .run = connect_run,
    .teardown = connect_teardown,
};
