/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/forward.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "util/error.h"
#include "util/io.h"

/* Bind 127.0.0.1:port (0: the kernel's choice). Returns the port, or 0 with errno set. */
static guint bind_loopback(guint port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((in_port_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    autofd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        return 0;
    return ntohs(address.sin_port);
}

gboolean forward_port_find(guint *ret_port, GError **error)
{
    guint port = bind_loopback(0);

    if (port == 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                    "no free TCP port on 127.0.0.1 for the forward to the guest: %s; see whether "
                    "the loopback interface is up (ip link set lo up)",
                    g_strerror(errno));
        return FALSE;
    }
    *ret_port = port;
    return TRUE;
}

gboolean forward_port_taken(guint port)
{
    return bind_loopback(port) == 0 && errno == EADDRINUSE;
}
