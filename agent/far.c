/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "far.h"

#include "os.h"
#include "wire.h"

#define DATAGRAM_MAX 64
#define PROOF_PATIENCE_NS 5000000000
#define LOOK_NS 500000000 /* how often far_datagrams looks whether its link has ended */

void far_echo(struct os_link *link, uint32_t size)
{
    unsigned char *message = os_pages_new(size, false);

    while (message != NULL && os_link_receive(link, message, size) &&
           os_link_send(link, message, size))
        ;
    os_pages_free(message, size);
}

void far_stream(struct os_link *link, uint32_t ack_every)
{
    unsigned char *block = os_pages_new(FAR_MESSAGE_MAX, false);
    uint64_t came = 0;
    ptrdiff_t got = block == NULL ? 0 : 1;

    while (got > 0) {
        got = os_link_receive_some(link, block, FAR_MESSAGE_MAX);
        came += got > 0 ? (uint64_t)got : 0;
        for (; got > 0 && came >= ack_every; came -= ack_every)
            if (!os_link_send(link, "t", 1))
                got = 0;
    }
    os_pages_free(block, FAR_MESSAGE_MAX);
}

/* --- connections --- */

static bool open_ports(const struct os_address *at, struct os_link *ret_listeners,
                       unsigned char *ret_ports)
{
    char reason[OS_REASON_MAX];
    bool opened = true;

    for (int i = 0; i < FAR_PORTS; i++)
        ret_listeners[i] = (struct os_link){.in = -1, .out = -1};
    for (size_t i = 0; opened && i < FAR_PORTS; i++) {
        struct os_address one = *at;

        one.port = 0;
        opened = os_listen(&one, &ret_listeners[i], reason);
        wire_put_number(ret_ports + 2 * i, one.port, 2);
    }
    return opened;
}

/* One connection, up to its end by the other side. */
static bool take_connection(const struct os_link *listener, const struct os_link *until)
{
    struct os_link connection;
    char byte;

    if (!os_accept(listener, until, &connection))
        return false;
    os_link_receive_some(&connection, &byte, 1);
    os_link_close(&connection);
    return true;
}

void far_connections(struct os_link *link, const struct os_address *at)
{
    struct os_link listeners[FAR_PORTS];
    unsigned char ports[2 * FAR_PORTS];
    bool goes_on = open_ports(at, listeners, ports) && os_link_send(link, ports, sizeof(ports));

    for (uint64_t i = 0; goes_on; i++) {
        goes_on = take_connection(&listeners[i % FAR_PORTS], link);
        if (goes_on && i % FAR_CONNECTIONS == FAR_CONNECTIONS - 1)
            goes_on = os_link_send(link, "t", 1);
    }
    for (int i = 0; i < FAR_PORTS; i++)
        os_link_close(&listeners[i]);
}

/* --- datagrams --- */

/* Wait for the proof, and talk to its sender alone from then on. */
static bool find_sender(const struct os_link *datagrams, const unsigned char *proof)
{
    int64_t deadline = os_clock_ns() + PROOF_PATIENCE_NS;
    unsigned char bytes[DATAGRAM_MAX];
    struct os_address from;

    while (os_link_wait(datagrams, deadline)) {
        if (os_datagram_from(datagrams, bytes, sizeof(bytes), &from) == FAR_PROOF_SIZE &&
            wire_equal(bytes, proof, FAR_PROOF_SIZE))
            return os_datagrams_aim(datagrams, &from) &&
                   os_link_send(datagrams, proof, FAR_PROOF_SIZE);
        if (os_clock_ns() >= deadline)
            return false;
    }
    return false;
}

static void return_datagrams(const struct os_link *datagrams, const struct os_link *link)
{
    unsigned char bytes[DATAGRAM_MAX];
    bool goes_on = os_link_patience(datagrams, LOOK_NS);

    while (goes_on) {
        ptrdiff_t got = os_link_receive_some(datagrams, bytes, sizeof(bytes));

        if (got > 0)
            os_link_send(datagrams, bytes, (size_t)got); /* one that is lost is sent again */
        else
            goes_on = !os_link_wait(link, os_clock_ns());
    }
}

void far_datagrams(struct os_link *link, const struct os_address *at,
                   const unsigned char proof[FAR_PROOF_SIZE])
{
    struct os_address here = *at;
    struct os_link datagrams;
    char reason[OS_REASON_MAX];
    unsigned char port[2];

    here.port = 0;
    if (!os_datagrams_at(&here, &datagrams, reason))
        return;
    wire_put_number(port, here.port, 2);
    if (os_link_send(link, port, sizeof(port)) && find_sender(&datagrams, proof))
        return_datagrams(&datagrams, link);
    os_link_close(&datagrams);
}
