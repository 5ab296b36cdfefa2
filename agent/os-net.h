/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Byte links between two ends: pipes and sockets. os-net-posix.c and os-net-windows.c implement
 * it. `reason` is as in os.h: OS_REASON_MAX bytes, filled when the function returns false.
 * Deadlines are of os_clock_ns(); 0: for ever. */
#ifndef VMATRIX_AGENT_OS_NET_H
#define VMATRIX_AGENT_OS_NET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One end; a listener is one too. */
struct os_link {
    intptr_t in, out; /* equal for sockets; -1: closed */
};

/* Both ends at once; those of TCP and UDP are on 127.0.0.1. What is received there over UDP is
 * waited for 5 s. */
enum os_link_kind { OS_LINK_PIPE, OS_LINK_UNIX, OS_LINK_TCP, OS_LINK_UDP };
bool os_link_pair(enum os_link_kind kind, struct os_link *ret_near, struct os_link *ret_far,
                  char *reason);

bool os_link_send(const struct os_link *link, const void *data, size_t size);
bool os_link_receive(const struct os_link *link, void *data, size_t size); /* false on EOF */
/* What one read gives: 0 on EOF, -1 on error. */
ptrdiff_t os_link_receive_some(const struct os_link *link, void *data, size_t max);
/* Something can be received, or it has ended. false: not until the deadline. */
bool os_link_wait(const struct os_link *link, int64_t deadline_ns);
/* What is received over a socket is waited for so long, then it is an error. */
bool os_link_patience(const struct os_link *link, int64_t ns);
void os_link_close(struct os_link *link);

/* The loopback interface is up, or could be brought up. */
bool os_loopback_up(char *reason);

/* --- addresses of one's own choice --- */

struct os_address {
    unsigned char bytes[16]; /* as on the wire; IPv4: the first four */
    bool v6;
    uint16_t port;
};
extern const struct os_address os_loopback; /* 127.0.0.1, port 0 */
/* A numeric address; names are not looked up. */
bool os_address_parse(const char *host, uint16_t port, struct os_address *ret_address);

/* Of port 0 the system chooses one; it is put into `at`. */
bool os_listen(struct os_address *at, struct os_link *ret_listener, char *reason);
/* false: something went wrong, or `until` (NULL: none) can be received from, or has ended. */
bool os_accept(const struct os_link *listener, const struct os_link *until,
               struct os_link *ret_link);
bool os_connect(const struct os_address *to, int64_t deadline_ns, struct os_link *ret_link,
                char *reason);
/* One TCP connection that is made and closed at once. */
bool os_connect_close(const struct os_address *to, char *reason);

/* UDP: a socket at an address (of port 0 as in os_listen), and one that talks to an address. */
bool os_datagrams_at(struct os_address *at, struct os_link *ret_link, char *reason);
bool os_datagrams_to(const struct os_address *to, struct os_link *ret_link, char *reason);
/* One datagram and who sent it; its size, -1 on error. */
ptrdiff_t os_datagram_from(const struct os_link *link, void *data, size_t max,
                           struct os_address *ret_from);
/* From now on it talks to that address alone. */
bool os_datagrams_aim(const struct os_link *link, const struct os_address *to);

/* Waits for a connection, the end of standard input, and signals; returns OS_WAKE_*, 0 for the
 * deadline. */
int os_listen_wait(const struct os_link *listener, int64_t deadline_ns);

/* Bytes that nobody can guess. */
bool os_random(void *ret_bytes, size_t size);

#endif
