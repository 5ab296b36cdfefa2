/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "echo.h"

#include <stdlib.h>

struct echo {
    struct os_link link;
    struct os_helper *helper;
};

static void echo_helper(struct os_link *link)
{
    char token;

    while (os_link_receive(link, &token, 1) && os_link_send(link, &token, 1))
        ;
}

bool echo_setup(struct bench_ctx *ctx, enum os_link_kind kind, int cpu)
{
    struct echo *echo = calloc(1, sizeof(*echo));
    struct os_link far_end;
    char reason[OS_REASON_MAX] = "";

    if (echo == NULL)
        return bench_fail(ctx, "no memory");
    if (!os_link_pair(kind, &echo->link, &far_end, reason)) {
        free(echo);
        return bench_fail(ctx, "%s", reason);
    }
    ctx->state = echo;
    echo->helper = os_helper_start(echo_helper, &echo->link, &far_end, cpu, reason);
    return echo->helper != NULL ? true : bench_fail(ctx, "%s", reason);
}

bool echo_run(struct bench_ctx *ctx, uint64_t iterations)
{
    const struct echo *echo = ctx->state;
    char token = 't';

    for (uint64_t i = 0; i < iterations; i++)
        if (!os_link_send(&echo->link, &token, 1) || !os_link_receive(&echo->link, &token, 1))
            return bench_fail(ctx, "the token did not come back from the helper process");
    return true;
}

void echo_teardown(struct bench_ctx *ctx)
{
    struct echo *echo = ctx->state;

    if (echo == NULL)
        return;
    os_link_close(&echo->link);
    os_helper_stop(echo->helper);
    free(echo);
    ctx->state = NULL;
}
