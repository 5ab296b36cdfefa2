/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve.h"

#include <stdio.h>
#include <string.h>

#include "byhand.h"
#include "emit.h"
#include "os.h"
#include "peer.h"

#define LIMIT_USUAL_NS 600000000000
#define CONNECTIONS_MAX 64
#define HELLO_NS 5000000000 /* a client has said who it is by then */

enum { STATUS_DONE = 0, STATUS_FAILED = 1 };

/* --- options --- */

static bool take_option(const char *option, const char *value, struct serve_options *options,
                        char *ret_reason)
{
    int64_t port;

    if (strcmp(option, "--token-file") == 0 && value != NULL) {
        options->made_token = false;
        return token_read(value, &options->token, ret_reason);
    }
    snprintf(ret_reason, SERVE_REASON_MAX,
             "serve: not an option, or not a value for it: %.40s (an address is numeric, a port "
             "1..65535, a time as \"10m\")",
             option != NULL ? option : "");
    if (strcmp(option, "--address") == 0) {
        options->host = value;
        return value != NULL && os_address_parse(value, options->address.port, &options->address);
    }
    if (strcmp(option, "--limit") == 0)
        return byhand_parse_duration(value, &options->limit_ns);
    if (strcmp(option, "--port") != 0 || !byhand_parse_number(value, 1, UINT16_MAX, &port))
        return false;
    options->address.port = (uint16_t)port;
    return true;
}

bool serve_parse(int argc, char **argv, struct serve_options *ret_options, char *ret_reason)
{
    struct serve_options options = {.host = "127.0.0.1",
                                    .address = os_loopback,
                                    .made_token = true,
                                    .limit_ns = LIMIT_USUAL_NS};

    for (int i = 0; i < argc; i += 2)
        if (!take_option(argv[i], i + 1 < argc ? argv[i + 1] : NULL, &options, ret_reason))
            return false;
    if (options.made_token && !token_new(&options.token)) {
        snprintf(ret_reason, SERVE_REASON_MAX,
                 "serve: the system gives no random bytes for a token: give one by --token-file");
        return false;
    }
    *ret_options = options;
    return true;
}

/* --- one connection: a process of its own --- */

/* What a helper's main cannot be given; set before the first is started, and never changed. */
static const struct serve_options *served;

static void do_order(struct os_link *link, const struct far_order *order,
                     const unsigned char *proof)
{
    switch (order->work) {
    case FAR_ECHO:
        far_echo(link, order->size);
        return;
    case FAR_STREAM:
        far_stream(link, order->size);
        return;
    case FAR_CONNECT:
        far_connections(link, &served->address);
        return;
    case FAR_DATAGRAM:
        far_datagrams(link, &served->address, proof);
        return;
    }
}

/* Who does not prove in time that it has the token is told nothing. */
static void serve_connection(struct os_link *link)
{
    int64_t deadline = os_clock_ns() + HELLO_NS;
    unsigned char nonce[TOKEN_NONCE_SIZE], hello[TOKEN_HELLO_SIZE];
    struct far_order order;

    if (os_random(nonce, sizeof(nonce)) && os_link_send(link, nonce, sizeof(nonce)) &&
        peer_receive(link, hello, sizeof(hello), deadline) &&
        token_read_hello(&served->token, nonce, hello, &order) && os_link_send(link, "k", 1))
        do_order(link, &order, hello + TOKEN_ORDER_SIZE);
}

/* --- all of them --- */

struct serve {
    struct os_link listener;
    struct os_helper *connections[CONNECTIONS_MAX]; /* NULL: free */
};

/* Where one has ended, or there was none. NULL: as many as may be are there. */
static struct os_helper **free_place(struct serve *serve)
{
    struct os_helper **place = NULL;

    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (serve->connections[i] != NULL && os_helper_ended(serve->connections[i]))
            serve->connections[i] = NULL;
        if (serve->connections[i] == NULL)
            place = &serve->connections[i];
    }
    return place;
}

static void take_connection(struct serve *serve)
{
    struct os_helper **place = free_place(serve);
    struct os_link listener = serve->listener, link;
    char reason[OS_REASON_MAX];

    if (!os_accept(&serve->listener, NULL, &link))
        return; /* it has gone again */
    if (place == NULL)
        os_link_close(&link);
    else /* the listener is closed there, the link here */
        *place = os_helper_start(serve_connection, &listener, &link, -1, reason);
}

static void tell(const struct serve_options *options, uint16_t port)
{
    fputs("{\"type\":\"serving\",\"address\":", stdout);
    emit_string(stdout, options->host);
    printf(",\"port\":%d", port);
    if (options->made_token)
        printf(",\"token\":\"%s\"", options->token.text);
    puts("}");
    fflush(stdout);
}

int serve_run(const struct serve_options *options)
{
    int64_t end = os_clock_ns() + options->limit_ns;
    struct os_address here = options->address;
    struct serve serve = {.connections = {NULL}};
    char reason[OS_REASON_MAX];
    int woke;

    if (!os_listen(&here, &serve.listener, reason)) {
        fprintf(stderr, "vmatrix-agent: serve: %s: %s port %d\n", reason, options->host,
                options->address.port);
        return STATUS_FAILED;
    }
    served = options;
    tell(options, here.port);
    do {
        woke = os_listen_wait(&serve.listener, end);
        if (woke == OS_WAKE_CONNECTION)
            take_connection(&serve);
    } while (woke == OS_WAKE_CONNECTION && os_clock_ns() < end);
    os_link_close(&serve.listener);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        os_helper_stop(serve.connections[i]);
    return STATUS_DONE;
}
