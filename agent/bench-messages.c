/* SPDX-License-Identifier: GPL-3.0-or-later */
/* net.tcp-messages, peer.tcp-messages: a stream by the size of the messages that it is sent in, as
 * netperf's TCP_STREAM -m (netperf-2.7.0/src/nettest_bsd.c) and LMbench's bw_tcp -m. With
 * TCP_NODELAY, as the other rows here (netperf's -D): a small message is a packet of its own unless
 * others wait. */
#include "bench.h"
#include "far.h"
#include "os.h"
#include "peer.h"

#include <stdlib.h>

#define ACK_EVERY ((uint32_t)16 << 10)
#define BURST 64 /* messages, and at least ACK_EVERY bytes, between two looks at the clock */

struct messages {
    struct os_link link;
    struct os_helper *helper;
    unsigned char block[FAR_MESSAGE_MAX];
};

static const struct bench_metric sizes[] = {
    {"bandwidth-64", "bytes/s", "higher"},  {"bandwidth-256", "bytes/s", "higher"},
    {"bandwidth-1k", "bytes/s", "higher"},  {"bandwidth-4k", "bytes/s", "higher"},
    {"bandwidth-16k", "bytes/s", "higher"}, {"bandwidth-64k", "bytes/s", "higher"},
};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define SIZE_OF(index) ((size_t)64 << 2 * (index)) /* as the names say */

static bool messages_supported(struct bench_ctx *ctx)
{
    return os_loopback_up(ctx->reason);
}

static void messages_helper(struct os_link *link)
{
    far_stream(link, ACK_EVERY);
}

static struct messages *messages_new(struct bench_ctx *ctx)
{
    struct messages *state = calloc(1, sizeof(*state));
    uint64_t seed = 19;

    ctx->state = state;
    if (state == NULL) {
        bench_fail(ctx, "no memory");
        return NULL;
    }
    state->link = (struct os_link){.in = -1, .out = -1};
    for (size_t i = 0; i < sizeof(state->block); i++)
        state->block[i] = (unsigned char)bench_random(&seed);
    return state;
}

static bool messages_setup(struct bench_ctx *ctx)
{
    struct messages *state = messages_new(ctx);
    struct os_link far_end;

    if (state == NULL || !os_link_pair(OS_LINK_TCP, &state->link, &far_end, ctx->reason))
        return false;
    state->helper = os_helper_start(messages_helper, &state->link, &far_end, -1, ctx->reason);
    return state->helper != NULL;
}

static bool peer_setup(struct bench_ctx *ctx)
{
    const struct far_order order = {FAR_STREAM, ACK_EVERY};
    struct messages *state = messages_new(ctx);
    struct peer_end end;

    if (state == NULL || !peer_open(ctx, &order, &end))
        return false;
    state->link = end.link;
    return true;
}

/* A number of messages that are a whole number of ACK_EVERY bytes. */
static bool burst(const struct messages *state, size_t size, size_t count)
{
    char token;

    for (size_t i = 0; i < count; i++)
        if (!os_link_send(&state->link, state->block, size))
            return false;
    for (size_t i = 0; i < size * count / ACK_EVERY; i++)
        if (!os_link_receive(&state->link, &token, 1))
            return false;
    return true;
}

static bool messages_sample(struct bench_ctx *ctx, double *ret_values)
{
    const struct messages *state = ctx->state;

    for (size_t i = 0; i < SIZES; i++) {
        size_t size = SIZE_OF(i), count = size * BURST < ACK_EVERY ? ACK_EVERY / size : BURST;
        int64_t begin = os_clock_ns(), span = 0;
        double bytes = 0;

        while (span <= 0 || span < ctx->sample_ns / (int64_t)SIZES) {
            if (!burst(state, size, count))
                return bench_fail(ctx, "the other side takes no more");
            bytes += (double)(size * count);
            span = os_clock_ns() - begin;
        }
        ret_values[i] = bytes * 1e9 / (double)span;
    }
    return true;
}

static void messages_teardown(struct bench_ctx *ctx)
{
    struct messages *state = ctx->state;

    if (state == NULL)
        return;
    os_link_close(&state->link);
    os_helper_stop(state->helper);
    free(state);
    ctx->state = NULL;
}

extern const struct bench bench_net_tcp_messages, bench_peer_tcp_messages;

const struct bench bench_net_tcp_messages = {
    .name = "net.tcp-messages",
    .groups = "lmbench netperf network all",
    .summary = "bytes over TCP on the loopback interface, in messages of 64 bytes to 64 KiB",
    .os = "linux freebsd",
    .revision = 1,
    .metrics = sizes,
    .n_metrics = SIZES,
    .supported = messages_supported,
    .setup = messages_setup,
    .sample = messages_sample,
    .teardown = messages_teardown,
};

const struct bench bench_peer_tcp_messages = {
    .name = "peer.tcp-messages",
    .groups = "netperf network all",
    .summary = "bytes over TCP to the peer, in messages of 64 bytes to 64 KiB",
    .os = "linux freebsd",
    .revision = 1,
    .metrics = sizes,
    .n_metrics = SIZES,
    .supported = peer_supported,
    .setup = peer_setup,
    .sample = messages_sample,
    .teardown = messages_teardown,
};
