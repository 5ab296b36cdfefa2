/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links are not made on Windows: benchmarks that need them say so in their `os`. */
#if defined(_WIN32)
#include "os-net.h"
#include "os.h"

#include <stdio.h>
#include <windows.h>
#include <ntsecapi.h>

const struct os_address os_loopback = {.bytes = {127, 0, 0, 1}};

static bool not_made(char *reason)
{
    snprintf(reason, OS_REASON_MAX, "links between processes are not made on Windows");
    return false;
}

bool os_link_pair(enum os_link_kind kind, struct os_link *ret_near, struct os_link *ret_far,
                  char *reason)
{
    (void)kind;
    *ret_near = *ret_far = (struct os_link){.in = -1, .out = -1};
    return not_made(reason);
}

bool os_link_send(const struct os_link *link, const void *data, size_t size)
{
    (void)link, (void)data, (void)size;
    return false;
}

bool os_link_receive(const struct os_link *link, void *data, size_t size)
{
    (void)link, (void)data, (void)size;
    return false;
}

void os_link_close(struct os_link *link)
{
    *link = (struct os_link){.in = -1, .out = -1};
}

bool os_loopback_up(char *reason)
{
    (void)reason; /* it cannot be down */
    return true;
}

ptrdiff_t os_link_receive_some(const struct os_link *link, void *data, size_t max)
{
    (void)link, (void)data, (void)max;
    return -1;
}

bool os_link_wait(const struct os_link *link, int64_t deadline_ns)
{
    (void)link, (void)deadline_ns;
    return false;
}

bool os_link_patience(const struct os_link *link, int64_t ns)
{
    (void)link, (void)ns;
    return false;
}

bool os_address_parse(const char *host, uint16_t port, struct os_address *ret_address)
{
    (void)host, (void)port, (void)ret_address;
    return false;
}

bool os_listen(struct os_address *at, struct os_link *ret_listener, char *reason)
{
    (void)at, (void)ret_listener;
    return not_made(reason);
}

bool os_accept(const struct os_link *listener, const struct os_link *until,
               struct os_link *ret_link)
{
    (void)listener, (void)until, (void)ret_link;
    return false;
}

bool os_connect(const struct os_address *to, int64_t deadline_ns, struct os_link *ret_link,
                char *reason)
{
    (void)to, (void)deadline_ns, (void)ret_link;
    return not_made(reason);
}

bool os_connect_close(const struct os_address *to, char *reason)
{
    (void)to;
    return not_made(reason);
}

bool os_datagrams_at(struct os_address *at, struct os_link *ret_link, char *reason)
{
    (void)at, (void)ret_link;
    return not_made(reason);
}

bool os_datagrams_to(const struct os_address *to, struct os_link *ret_link, char *reason)
{
    (void)to, (void)ret_link;
    return not_made(reason);
}

ptrdiff_t os_datagram_from(const struct os_link *link, void *data, size_t max,
                           struct os_address *ret_from)
{
    (void)link, (void)data, (void)max, (void)ret_from;
    return -1;
}

bool os_datagrams_aim(const struct os_link *link, const struct os_address *to)
{
    (void)link, (void)to;
    return false;
}

int os_listen_wait(const struct os_link *listener, int64_t deadline_ns)
{
    (void)listener, (void)deadline_ns;
    return OS_WAKE_STOP;
}

bool os_random(void *ret_bytes, size_t size)
{
    return RtlGenRandom(ret_bytes, (ULONG)size) != 0;
}
#else
typedef int os_net_windows_is_empty_here;
#endif
