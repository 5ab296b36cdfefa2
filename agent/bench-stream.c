/* SPDX-License-Identifier: GPL-3.0-or-later */
/* process.pipe-bandwidth, net.unix-bandwidth, net.tcp-bandwidth: a stream to a helper process on
 * the same CPU, as LMbench's bw_pipe, bw_unix and bw_tcp in blocks of 64 KiB, which go on at once.
 * One iteration is 1 MiB; it ends when the helper has said that it came.
 *
 * net.udp-bandwidth: datagrams that fill an Ethernet frame, as netperf's UDP_STREAM -- -m 1472
 * (netperf-2.7.0/src/nettest_bsd.c), which counts what came. Ours waits after each 16 until they
 * have come, so that none is lost for want of room, and sent and received are the same. */
#include "bench.h"
#include "os.h"

#include <stdlib.h>

#define BLOCK ((size_t)64 << 10)
#define BLOCKS 16 /* in an iteration */
#define DATAGRAM ((size_t)1472)

struct stream {
    struct os_link link;
    struct os_helper *helper;
    size_t piece; /* bytes that are sent at once: of block */
    unsigned char block[BLOCK];
};

static void take_pieces(struct os_link *link, size_t piece)
{
    unsigned char *block = os_pages_new(piece, false);
    bool goes_on = block != NULL;

    while (goes_on) {
        for (int i = 0; goes_on && i < BLOCKS; i++)
            goes_on = os_link_receive(link, block, piece);
        goes_on = goes_on && os_link_send(link, "t", 1);
    }
    os_pages_free(block, piece);
}

static void stream_helper(struct os_link *link)
{
    take_pieces(link, BLOCK);
}

static void datagram_helper(struct os_link *link)
{
    take_pieces(link, DATAGRAM);
}

static bool stream_setup(struct bench_ctx *ctx, enum os_link_kind kind)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    struct os_link far_end;
    char reason[OS_REASON_MAX] = "";
    uint64_t seed = 17;

    if (stream == NULL)
        return bench_fail(ctx, "no memory");
    if (!os_link_pair(kind, &stream->link, &far_end, reason)) {
        free(stream);
        return bench_fail(ctx, "%s", reason);
    }
    ctx->state = stream;
    stream->piece = kind == OS_LINK_UDP ? DATAGRAM : BLOCK;
    for (size_t i = 0; i < BLOCK; i++)
        stream->block[i] = (unsigned char)bench_random(&seed);
    stream->helper = os_helper_start(kind == OS_LINK_UDP ? datagram_helper : stream_helper,
                                     &stream->link, &far_end, -1, reason);
    return stream->helper != NULL || bench_fail(ctx, "%s", reason);
}

static bool loopback_supported(struct bench_ctx *ctx)
{
    return os_loopback_up(ctx->reason);
}

static bool pipe_setup(struct bench_ctx *ctx)
{
    return stream_setup(ctx, OS_LINK_PIPE);
}

static bool unix_setup(struct bench_ctx *ctx)
{
    return stream_setup(ctx, OS_LINK_UNIX);
}

static bool tcp_setup(struct bench_ctx *ctx)
{
    return stream_setup(ctx, OS_LINK_TCP);
}

static bool udp_setup(struct bench_ctx *ctx)
{
    return stream_setup(ctx, OS_LINK_UDP);
}

static bool stream_run(struct bench_ctx *ctx, uint64_t iterations)
{
    const struct stream *stream = ctx->state;
    char token;

    for (uint64_t i = 0; i < iterations; i++) {
        for (int block = 0; block < BLOCKS; block++)
            if (!os_link_send(&stream->link, stream->block, stream->piece))
                return bench_fail(ctx, "the helper process takes no more");
        if (!os_link_receive(&stream->link, &token, 1))
            return bench_fail(ctx, "the helper process has ended");
    }
    return true;
}

static void stream_teardown(struct bench_ctx *ctx)
{
    struct stream *stream = ctx->state;

    if (stream == NULL)
        return;
    os_link_close(&stream->link);
    os_helper_stop(stream->helper);
    free(stream);
    ctx->state = NULL;
}

extern const struct bench bench_process_pipe_bandwidth, bench_net_unix_bandwidth,
    bench_net_tcp_bandwidth, bench_net_udp_bandwidth;

const struct bench bench_process_pipe_bandwidth = {
    .name = "process.pipe-bandwidth",
    .groups = "lmbench all",
    .metric = "bandwidth",
    .unit = "bytes/s",
    .direction = "higher",
    .summary = "bytes through a pipe to another process on the same CPU",
    .os = "linux freebsd",
    .revision = 1,
    .amount = (double)BLOCK * BLOCKS,
    .setup = pipe_setup,
    .run = stream_run,
    .teardown = stream_teardown,
};

const struct bench bench_net_unix_bandwidth = {
    .name = "net.unix-bandwidth",
    .groups = "lmbench network all",
    .metric = "bandwidth",
    .unit = "bytes/s",
    .direction = "higher",
    .summary = "bytes through a pair of AF_UNIX stream sockets",
    .os = "linux freebsd",
    .revision = 1,
    .amount = (double)BLOCK * BLOCKS,
    .setup = unix_setup,
    .run = stream_run,
    .teardown = stream_teardown,
};

const struct bench bench_net_tcp_bandwidth = {
    .name = "net.tcp-bandwidth",
    .groups = "lmbench netperf network all",
    .metric = "bandwidth",
    .unit = "bytes/s",
    .direction = "higher",
    .summary = "bytes over TCP on the loopback interface",
    .os = "linux freebsd",
    .revision = 1,
    .amount = (double)BLOCK * BLOCKS,
    .supported = loopback_supported,
    .setup = tcp_setup,
    .run = stream_run,
    .teardown = stream_teardown,
};

const struct bench bench_net_udp_bandwidth = {
    .name = "net.udp-bandwidth",
    .groups = "netperf network all",
    .metric = "bandwidth",
    .unit = "bytes/s",
    .direction = "higher",
    .summary = "bytes over UDP on the loopback interface, in datagrams of 1472 bytes",
    .os = "linux freebsd",
    .revision = 1,
    .amount = (double)DATAGRAM * BLOCKS,
    .supported = loopback_supported,
    .setup = udp_setup,
    .run = stream_run,
    .teardown = stream_teardown,
};
