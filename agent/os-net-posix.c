/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipes and sockets, POSIX alone. */
#if !defined(_WIN32)
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "os-net.h"
#include "os-posix.h"
#include "os.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* A datagram on the loopback interface that is not there after this long is lost. */
#define DATAGRAM_NS 5000000000
#define BACKLOG 64

const struct os_address os_loopback = {.bytes = {127, 0, 0, 1}};

static bool fail(char *reason, const char *what)
{
    snprintf(reason, OS_REASON_MAX, "%s: %s", what, strerror(errno));
    return false;
}

/* errno stays as it is. */
static void close_fd(int *fd)
{
    int kept = errno;

    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = kept;
}

static void link_of_socket(int fd, struct os_link *ret_link)
{
    *ret_link = (struct os_link){.in = fd, .out = fd};
}

/* --- addresses --- */

/* What the calls of sockets take. */
struct native {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at;
    socklen_t size;
};

static void to_native(const struct os_address *address, struct native *ret_native)
{
    memset(ret_native, 0, sizeof(*ret_native));
    if (address->v6) {
        ret_native->at.v6.sin6_family = AF_INET6;
        ret_native->at.v6.sin6_port = htons(address->port);
        memcpy(&ret_native->at.v6.sin6_addr, address->bytes, 16);
        ret_native->size = sizeof(ret_native->at.v6);
    } else {
        ret_native->at.v4.sin_family = AF_INET;
        ret_native->at.v4.sin_port = htons(address->port);
        memcpy(&ret_native->at.v4.sin_addr, address->bytes, 4);
        ret_native->size = sizeof(ret_native->at.v4);
    }
}

static void from_native(const struct native *native, struct os_address *ret_address)
{
    *ret_address = (struct os_address){.v6 = native->at.any.sa_family == AF_INET6};
    if (ret_address->v6) {
        ret_address->port = ntohs(native->at.v6.sin6_port);
        memcpy(ret_address->bytes, &native->at.v6.sin6_addr, 16);
    } else {
        ret_address->port = ntohs(native->at.v4.sin_port);
        memcpy(ret_address->bytes, &native->at.v4.sin_addr, 4);
    }
}

bool os_address_parse(const char *host, uint16_t port, struct os_address *ret_address)
{
    struct os_address address = {.port = port};

    if (inet_pton(AF_INET, host, address.bytes) != 1) {
        address.v6 = inet_pton(AF_INET6, host, address.bytes) == 1;
        if (!address.v6)
            return false;
    }
    *ret_address = address;
    return true;
}

/* --- sockets --- */

/* A socket bound to `at`, whose port is filled in; -1 with errno. */
static int bound_socket(int type, struct os_address *at)
{
    struct native native;
    int fd, one = 1;

    to_native(at, &native);
    fd = socket(native.at.any.sa_family, type, 0);
    if (fd < 0)
        return -1;
    /* A fixed port may still be in use by connections of an earlier run. */
    if ((type == SOCK_STREAM && at->port != 0 &&
         setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0) ||
        bind(fd, &native.at.any, native.size) < 0 ||
        getsockname(fd, &native.at.any, &native.size) < 0)
        close_fd(&fd);
    else
        from_native(&native, at);
    return fd;
}

static int connect_to(int fd, const struct os_address *to)
{
    struct native native;

    to_native(to, &native);
    return connect(fd, &native.at.any, native.size);
}

static int no_delay(int fd)
{
    int one = 1;

    return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static int be_patient(int fd, int64_t ns)
{
    struct timeval patience = {.tv_sec = ns / 1000000000, .tv_usec = ns % 1000000000 / 1000};

    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

/* --- pairs --- */

static bool pair_pipes(struct os_link *ret_near, struct os_link *ret_far, char *reason)
{
    int there[2], back[2];

    if (pipe(there) < 0)
        return fail(reason, "cannot make a pipe");
    if (pipe(back) < 0) {
        fail(reason, "cannot make a pipe");
        close(there[0]);
        close(there[1]);
        return false;
    }
    *ret_near = (struct os_link){.in = back[0], .out = there[1]};
    *ret_far = (struct os_link){.in = there[0], .out = back[1]};
    return true;
}

static bool pair_unix(struct os_link *ret_near, struct os_link *ret_far, char *reason)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
        return fail(reason, "cannot make a pair of AF_UNIX sockets");
    link_of_socket(fds[0], ret_near);
    link_of_socket(fds[1], ret_far);
    return true;
}

/* Both ends from one process: connecting needs only the listener's backlog. */
static bool pair_tcp(struct os_link *ret_near, struct os_link *ret_far, char *reason)
{
    struct os_address address = os_loopback, ignored = os_loopback;
    int listener = bound_socket(SOCK_STREAM, &address);
    int near_fd = bound_socket(SOCK_STREAM, &ignored), far_fd = -1;
    bool made = listener >= 0 && near_fd >= 0 && listen(listener, 1) == 0 &&
                connect_to(near_fd, &address) == 0 &&
                (far_fd = accept(listener, NULL, NULL)) >= 0 && no_delay(near_fd) == 0 &&
                no_delay(far_fd) == 0;

    if (!made)
        fail(reason, "cannot connect TCP sockets on 127.0.0.1");
    close_fd(&listener);
    if (!made) {
        close_fd(&near_fd);
        close_fd(&far_fd);
        return false;
    }
    link_of_socket(near_fd, ret_near);
    link_of_socket(far_fd, ret_far);
    return true;
}

static bool pair_udp(struct os_link *ret_near, struct os_link *ret_far, char *reason)
{
    struct os_address near_address = os_loopback, far_address = os_loopback;
    int near_fd = bound_socket(SOCK_DGRAM, &near_address);
    int far_fd = bound_socket(SOCK_DGRAM, &far_address);

    if (near_fd >= 0 && far_fd >= 0 && connect_to(near_fd, &far_address) == 0 &&
        connect_to(far_fd, &near_address) == 0 && be_patient(near_fd, DATAGRAM_NS) == 0) {
        link_of_socket(near_fd, ret_near);
        link_of_socket(far_fd, ret_far);
        return true;
    }
    fail(reason, "cannot connect UDP sockets on 127.0.0.1");
    close_fd(&near_fd);
    close_fd(&far_fd);
    return false;
}

bool os_link_pair(enum os_link_kind kind, struct os_link *ret_near, struct os_link *ret_far,
                  char *reason)
{
    switch (kind) {
    case OS_LINK_UNIX:
        return pair_unix(ret_near, ret_far, reason);
    case OS_LINK_TCP:
        return pair_tcp(ret_near, ret_far, reason);
    case OS_LINK_UDP:
        return pair_udp(ret_near, ret_far, reason);
    default:
        return pair_pipes(ret_near, ret_far, reason);
    }
}

bool os_link_send(const struct os_link *link, const void *data, size_t size)
{
    const char *at = data;

    while (size > 0) { /* a stream takes what it has room for */
        ssize_t put = write((int)link->out, at, size);

        if (put <= 0)
            return false;
        at += put;
        size -= (size_t)put;
    }
    return true;
}

bool os_link_receive(const struct os_link *link, void *data, size_t size)
{
    char *at = data;

    while (size > 0) { /* a stream gives what it has */
        ssize_t got = read((int)link->in, at, size);

        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

ptrdiff_t os_link_receive_some(const struct os_link *link, void *data, size_t max)
{
    return read((int)link->in, data, max);
}

void os_link_close(struct os_link *link)
{
    if (link->out != link->in && link->out >= 0)
        close((int)link->out);
    if (link->in >= 0)
        close((int)link->in);
    *link = (struct os_link){.in = -1, .out = -1};
}

bool os_link_patience(const struct os_link *link, int64_t ns)
{
    return be_patient((int)link->in, ns) == 0;
}

/* --- connections --- */

bool os_link_wait(const struct os_link *link, int64_t deadline_ns)
{
    struct pollfd fd = {.fd = (int)link->in, .events = POLLIN};

    for (;;) {
        int64_t left = (deadline_ns - os_clock_ns() + 999999) / 1000000;
        int found = poll(&fd, 1, deadline_ns == 0 ? -1 : left <= 0 ? 0 : (int)left);

        if (found >= 0 || errno != EINTR)
            return found > 0;
    }
}

bool os_listen(struct os_address *at, struct os_link *ret_listener, char *reason)
{
    int fd = bound_socket(SOCK_STREAM, at);

    if (fd < 0 || listen(fd, BACKLOG) < 0) {
        close_fd(&fd);
        return fail(reason, "cannot listen there");
    }
    link_of_socket(fd, ret_listener);
    return true;
}

bool os_accept(const struct os_link *listener, const struct os_link *until,
               struct os_link *ret_link)
{
    struct pollfd fds[] = {
        {.fd = (int)listener->in, .events = POLLIN},
        {.fd = until == NULL ? -1 : (int)until->in, .events = POLLIN},
    };
    int fd;

    if (poll(fds, 2, -1) < 0 || fds[1].revents != 0)
        return false;
    fd = accept((int)listener->in, NULL, NULL);
    if (fd >= 0 && no_delay(fd) < 0)
        close_fd(&fd);
    link_of_socket(fd, ret_link);
    return fd >= 0;
}

/* Connect without waiting for longer than the deadline; 0, or -1 with errno. */
static int connect_until(int fd, const struct os_address *to, int64_t deadline_ns)
{
    int flags = fcntl(fd, F_GETFL), error = 0;
    socklen_t size = sizeof(error);
    struct pollfd wanted = {.fd = fd, .events = POLLOUT};
    int64_t left;

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return -1;
    if (connect_to(fd, to) < 0) {
        if (errno != EINPROGRESS)
            return -1;
        left = (deadline_ns - os_clock_ns()) / 1000000;
        errno = ETIMEDOUT;
        if (poll(&wanted, 1,
                 deadline_ns == 0 ? -1
                 : left < 0       ? 0
                                  : (int)left) <= 0 ||
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
            return -1;
        errno = error;
    }
    return error != 0 ? -1 : fcntl(fd, F_SETFL, flags);
}

bool os_connect(const struct os_address *to, int64_t deadline_ns, struct os_link *ret_link,
                char *reason)
{
    int fd = socket(to->v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || connect_until(fd, to, deadline_ns) < 0 || no_delay(fd) < 0) {
        close_fd(&fd);
        return fail(reason, "cannot connect");
    }
    link_of_socket(fd, ret_link);
    return true;
}

bool os_connect_close(const struct os_address *to, char *reason)
{
    int fd = socket(to->v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
    bool made = fd >= 0 && connect_to(fd, to) == 0;

    if (!made)
        fail(reason, "cannot connect");
    close_fd(&fd);
    return made;
}

/* --- datagrams --- */

bool os_datagrams_at(struct os_address *at, struct os_link *ret_link, char *reason)
{
    int fd = bound_socket(SOCK_DGRAM, at);

    if (fd < 0)
        return fail(reason, "cannot make a UDP socket there");
    link_of_socket(fd, ret_link);
    return true;
}

bool os_datagrams_to(const struct os_address *to, struct os_link *ret_link, char *reason)
{
    int fd = socket(to->v6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);

    if (fd < 0 || connect_to(fd, to) < 0) {
        close_fd(&fd);
        return fail(reason, "cannot make a UDP socket");
    }
    link_of_socket(fd, ret_link);
    return true;
}

ptrdiff_t os_datagram_from(const struct os_link *link, void *data, size_t max,
                           struct os_address *ret_from)
{
    struct native native = {.size = sizeof(native.at)};
    ssize_t got = recvfrom((int)link->in, data, max, 0, &native.at.any, &native.size);

    if (got >= 0)
        from_native(&native, ret_from);
    return got;
}

bool os_datagrams_aim(const struct os_link *link, const struct os_address *to)
{
    return connect_to((int)link->out, to) == 0;
}

/* --- serving --- */

int os_listen_wait(const struct os_link *listener, int64_t deadline_ns)
{
    struct pollfd fds[] = {
        {.fd = STDIN_FILENO}, /* its end alone: POLLHUP need not be asked for */
        {.fd = (int)listener->in, .events = POLLIN},
    };
    bool stop = false;
    int found = posix_wait(fds, 2, deadline_ns, &stop), woke = stop ? OS_WAKE_STOP : 0;

    if (found > 0 && fds[0].revents != 0)
        woke |= OS_WAKE_INPUT;
    if (found > 0 && fds[1].revents != 0)
        woke |= OS_WAKE_CONNECTION;
    return woke;
}

bool os_random(void *ret_bytes, size_t size)
{
    int fd = open("/dev/urandom", O_RDONLY);
    char *at = ret_bytes;
    ssize_t got = 1;

    while (fd >= 0 && got > 0 && size > 0) {
        got = read(fd, at, size);
        at += got > 0 ? got : 0;
        size -= got > 0 ? (size_t)got : 0;
    }
    close_fd(&fd);
    return size == 0;
}
#else
typedef int os_net_posix_is_empty_here;
#endif
