/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the far end of a network benchmark does: in a helper process on the same machine, or in
 * `serve` on another one. Each goes on until its link ends, or something is wrong with it. */
#ifndef VMATRIX_AGENT_FAR_H
#define VMATRIX_AGENT_FAR_H
#include "os-net.h"

#define FAR_MESSAGE_MAX ((uint32_t)64 << 10)
#define FAR_PORTS 16       /* listeners of far_connections */
#define FAR_CONNECTIONS 32 /* after so many connections it says one byte */
#define FAR_PROOF_SIZE 32

/* What a peer is asked to do, and with which size where there is one. */
enum far_work { FAR_ECHO = 'e', FAR_STREAM = 's', FAR_CONNECT = 'c', FAR_DATAGRAM = 'd' };
struct far_order {
    enum far_work work;
    uint32_t size;
};

/* Messages of `size` bytes, at most FAR_MESSAGE_MAX, go back as they came. */
void far_echo(struct os_link *link, uint32_t size);

/* A byte goes back whenever `ack_every` more bytes have come. */
void far_stream(struct os_link *link, uint32_t ack_every);

/* Opens FAR_PORTS listeners at `at` and says their ports (big-endian). Takes a connection at each
 * in turn, waits for its end, and closes it. */
void far_connections(struct os_link *link, const struct os_address *at);

/* Opens a UDP socket at `at` and says its port. Whoever sends the proof there first is from then on
 * the only one: each datagram of at most 64 bytes goes back to it, the proof too. */
void far_datagrams(struct os_link *link, const struct os_address *at,
                   const unsigned char proof[FAR_PROOF_SIZE]);

#endif
