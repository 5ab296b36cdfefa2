/* SPDX-License-Identifier: GPL-3.0-or-later */
/* net.rpc-udp, net.rpc-tcp: a call of the null procedure by ONC RPC version 2, as LMbench's lat_rpc
 * over UDP and TCP (lmbench-3.0-a9/src/lat_rpc.c). Ours writes the messages itself, since C
 * libraries have no RPC any more, and calls procedure 0; lat_rpc's procedure takes and gives one
 * character, which is one word in each message. As the RPC library does, each side waits in poll
 * before it reads, and a record of a stream is read in one piece with its mark. */
#include "bench.h"
#include "os.h"
#include "rpc.h"

#include <stdlib.h>

#define PROGRAM 0x20766d78u /* of those that anyone may use: 0x20000000 to 0x3fffffff */
#define VERSION 1
#define PATIENCE_NS 5000000000

struct rpc {
    struct os_link link;
    struct os_helper *helper;
    uint32_t xid;
    bool marked; /* a stream */
};

/* A call as it is sent, or a reply. */
struct record {
    unsigned char bytes[RPC_MARK_SIZE + RPC_CALL_SIZE];
    size_t size; /* without the mark */
};

static bool receive_record(const struct os_link *link, bool marked, int64_t deadline_ns,
                           struct record *ret_record)
{
    size_t mark = marked ? RPC_MARK_SIZE : 0, wanted = mark + 1, have = 0;

    while (have < wanted) {
        ptrdiff_t got = !os_link_wait(link, deadline_ns)
                            ? -1
                            : os_link_receive_some(link, ret_record->bytes + have,
                                                   sizeof(ret_record->bytes) - have);
        if (got <= 0)
            return false;
        have += (size_t)got;
        if (marked && have >= mark) {
            size_t size = rpc_marked_size(ret_record->bytes, sizeof(ret_record->bytes) - mark);

            if (size == 0)
                return false;
            wanted = mark + size;
        }
    }
    ret_record->size = have - mark;
    return have == wanted || !marked;
}

static bool send_record(const struct os_link *link, bool marked, struct record *record)
{
    size_t mark = marked ? RPC_MARK_SIZE : 0;

    if (marked)
        rpc_write_mark((uint32_t)record->size, record->bytes);
    return os_link_send(link, record->bytes, mark + record->size);
}

/* --- the server --- */

static void serve(struct os_link *link, bool marked)
{
    size_t mark = marked ? RPC_MARK_SIZE : 0;
    struct record call, reply;

    while (receive_record(link, marked, 0, &call)) {
        reply.size = rpc_answer(call.bytes + mark, call.size, PROGRAM, VERSION, reply.bytes + mark);
        if (reply.size > 0 && !send_record(link, marked, &reply))
            return;
    }
}

static void serve_tcp(struct os_link *link)
{
    serve(link, true);
}

static void serve_udp(struct os_link *link)
{
    serve(link, false);
}

/* --- the client --- */

static bool rpc_supported(struct bench_ctx *ctx)
{
    return os_loopback_up(ctx->reason);
}

static bool rpc_setup(struct bench_ctx *ctx, enum os_link_kind kind)
{
    struct rpc *rpc = calloc(1, sizeof(*rpc));
    struct os_link far_end;

    if (rpc == NULL)
        return bench_fail(ctx, "no memory");
    if (!os_link_pair(kind, &rpc->link, &far_end, ctx->reason)) {
        free(rpc);
        return false;
    }
    ctx->state = rpc;
    rpc->marked = kind == OS_LINK_TCP;
    rpc->helper =
        os_helper_start(rpc->marked ? serve_tcp : serve_udp, &rpc->link, &far_end, -1, ctx->reason);
    return rpc->helper != NULL;
}

static bool tcp_setup(struct bench_ctx *ctx)
{
    return rpc_setup(ctx, OS_LINK_TCP);
}

static bool udp_setup(struct bench_ctx *ctx)
{
    return rpc_setup(ctx, OS_LINK_UDP);
}

static bool rpc_run(struct bench_ctx *ctx, uint64_t iterations)
{
    struct rpc *rpc = ctx->state;
    size_t mark = rpc->marked ? RPC_MARK_SIZE : 0;
    struct record call, reply;

    for (uint64_t i = 0; i < iterations; i++) {
        const struct rpc_call null = {++rpc->xid, PROGRAM, VERSION, RPC_NULL_PROCEDURE};

        rpc_write_call(&null, call.bytes + mark);
        call.size = RPC_CALL_SIZE;
        if (!send_record(&rpc->link, rpc->marked, &call) ||
            !receive_record(&rpc->link, rpc->marked, os_clock_ns() + PATIENCE_NS, &reply) ||
            !rpc_succeeded(reply.bytes + mark, reply.size, rpc->xid))
            return bench_fail(ctx, "the call was not answered by the helper process");
    }
    return true;
}

static void rpc_teardown(struct bench_ctx *ctx)
{
    struct rpc *rpc = ctx->state;

    if (rpc == NULL)
        return;
    os_link_close(&rpc->link);
    os_helper_stop(rpc->helper);
    free(rpc);
    ctx->state = NULL;
}

extern const struct bench bench_net_rpc_udp, bench_net_rpc_tcp;

const struct bench bench_net_rpc_udp = {
    .name = "net.rpc-udp",
    .groups = "lmbench network all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "call of the null procedure by ONC RPC over UDP on the loopback interface",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .supported = rpc_supported,
    .setup = udp_setup,
    .run = rpc_run,
    .teardown = rpc_teardown,
};

const struct bench bench_net_rpc_tcp = {
    .name = "net.rpc-tcp",
    .groups = "lmbench network all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "call of the null procedure by ONC RPC over TCP on the loopback interface",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .supported = rpc_supported,
    .setup = tcp_setup,
    .run = rpc_run,
    .teardown = rpc_teardown,
};
