/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "peer.h"

#include <stdlib.h>
#include <string.h>

#include "os.h"
#include "token.h"

#define HOST_MAX 64
#define PATIENCE_NS 5000000000

bool peer_parse(const char *text, struct os_address *ret_address)
{
    const char *colon = strrchr(text, ':');
    size_t length = colon == NULL ? 0 : (size_t)(colon - text);
    char host[HOST_MAX], *end;
    unsigned long port;
    bool bracketed = length > 1 && text[0] == '[' && text[length - 1] == ']';

    if (length == 0 || length >= sizeof(host) || colon[1] < '0' || colon[1] > '9')
        return false;
    port = strtoul(colon + 1, &end, 10);
    if (*end != '\0' || port == 0 || port > UINT16_MAX)
        return false;
    text += bracketed;
    length -= bracketed ? 2 : 0;
    memcpy(host, text, length);
    host[length] = '\0';
    return os_address_parse(host, (uint16_t)port, ret_address) && ret_address->v6 == bracketed;
}

bool peer_supported(struct bench_ctx *ctx)
{
    return ctx->peer != NULL ||
           bench_fail(ctx,
                      "no peer was named: start `vmatrix-agent serve` on the other machine, and "
                      "name it with --peer HOST:PORT --token-file FILE");
}

bool peer_receive(const struct os_link *link, void *data, size_t size, int64_t deadline_ns)
{
    char *at = data;

    while (size > 0) {
        ptrdiff_t got = os_link_wait(link, deadline_ns) ? os_link_receive_some(link, at, size) : -1;

        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

/* The peer draws, this side proves that it has the token, the peer says a byte. */
static bool introduce(struct bench_ctx *ctx, const struct far_order *order,
                      const struct token *token, struct peer_end *end)
{
    int64_t deadline = os_clock_ns() + PATIENCE_NS;
    unsigned char nonce[TOKEN_NONCE_SIZE], hello[TOKEN_HELLO_SIZE], word;

    if (!peer_receive(&end->link, nonce, sizeof(nonce), deadline))
        return bench_fail(ctx,
                          "the peer %s says nothing: it serves as many as it may, or that is no "
                          "`vmatrix-agent serve`",
                          ctx->peer);
    token_write_hello(token, nonce, order, hello);
    memcpy(end->proof, hello + TOKEN_ORDER_SIZE, FAR_PROOF_SIZE);
    if (!os_link_send(&end->link, hello, sizeof(hello)) ||
        !peer_receive(&end->link, &word, 1, deadline))
        return bench_fail(ctx,
                          "the peer %s refused: the token is another serve's, or its agent is "
                          "another version",
                          ctx->peer);
    return true;
}

bool peer_open(struct bench_ctx *ctx, const struct far_order *order, struct peer_end *ret_end)
{
    struct peer_end end;
    struct token token;
    char reason[OS_REASON_MAX];

    if (!peer_parse(ctx->peer, &end.address))
        return bench_fail(ctx,
                          "\"%.80s\" is no peer: it is a numeric address and a port, as "
                          "192.0.2.1:4000 or [2001:db8::1]:4000",
                          ctx->peer);
    if (ctx->peer_token == NULL || !token_parse(ctx->peer_token, strlen(ctx->peer_token), &token))
        return bench_fail(ctx, "no token for the peer %s: serve has printed it", ctx->peer);
    if (!os_connect(&end.address, os_clock_ns() + PATIENCE_NS, &end.link, reason))
        return bench_fail(ctx, "the peer %s: %s: is `vmatrix-agent serve` still running there?",
                          ctx->peer, reason);
    if (!introduce(ctx, order, &token, &end)) {
        os_link_close(&end.link);
        return false;
    }
    *ret_end = end;
    return true;
}
