/* SPDX-License-Identifier: GPL-3.0-or-later */
/* net.*: the network stack without a network. Both ends are on one CPU. Round trips of one byte, as
 * netperf's TCP_RR and UDP_RR, and LMbench's lat_tcp, lat_udp and lat_unix
 * (lmbench-3.0-a9/src/lat_tcp.c, lat_udp.c, lat_unix.c), whose messages are 1, 4 and 1 bytes. */
#include "bench.h"
#include "echo.h"
#include "os.h"

static bool loopback_supported(struct bench_ctx *ctx)
{
    return os_loopback_up(ctx->reason);
}

static bool tcp_setup(struct bench_ctx *ctx)
{
    return echo_setup(ctx, OS_LINK_TCP, -1);
}

static bool udp_setup(struct bench_ctx *ctx)
{
    return echo_setup(ctx, OS_LINK_UDP, -1);
}

static bool unix_setup(struct bench_ctx *ctx)
{
    return echo_setup(ctx, OS_LINK_UNIX, -1);
}

extern const struct bench bench_net_tcp_latency, bench_net_udp_latency, bench_net_unix_latency;

const struct bench bench_net_tcp_latency = {
    .name = "net.tcp-latency",
    .groups = "lmbench netperf network quick all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "round trip of one byte over TCP on the loopback interface (TCP_NODELAY)",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .supported = loopback_supported,
    .setup = tcp_setup,
    .run = echo_run,
    .teardown = echo_teardown,
};

const struct bench bench_net_udp_latency = {
    .name = "net.udp-latency",
    .groups = "lmbench netperf network all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "round trip of one byte over UDP on the loopback interface",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .supported = loopback_supported,
    .setup = udp_setup,
    .run = echo_run,
    .teardown = echo_teardown,
};

const struct bench bench_net_unix_latency = {
    .name = "net.unix-latency",
    .groups = "lmbench network all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "round trip of one byte over a pair of AF_UNIX stream sockets",
    .os = "linux freebsd",
    .revision = 1,
    .amount = 1,
    .setup = unix_setup,
    .run = echo_run,
    .teardown = echo_teardown,
};
