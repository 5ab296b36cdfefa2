/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/lock.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/error.h"
#include "util/io.h"

/* Those who ask and those who wait are never accepted, and must all find room (the kernel's own
 * limit is net.core.somaxconn, 4096). */
enum { BACKLOG = 4096 };

struct HostLock {
    int fd;
};

const char *host_lock_name(void)
{
    const char *name = g_getenv("VMATRIX_HOST_LOCK");

    return name != NULL && *name != '\0' ? name : "vmatrix-host";
}

/* The abstract address (a leading NUL) and its length. */
static socklen_t lock_address(struct sockaddr_un *ret_address)
{
    gsize length = MIN(strlen(host_lock_name()), sizeof ret_address->sun_path - 1);

    memset(ret_address, 0, sizeof *ret_address);
    ret_address->sun_family = AF_UNIX;
    memcpy(ret_address->sun_path + 1, host_lock_name(), length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

/* "vmatrix run plan.yaml (pid 812)" of the process that listens there; transfer full. */
static char *lock_holder(const struct sockaddr_un *address, socklen_t length)
{
    autofd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    gsize got = 0;

    if (fd < 0 || connect(fd, (const struct sockaddr *)address, length) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return g_strdup("another process");
    g_autofree char *path = g_strdup_printf("/proc/%d/cmdline", (int)peer.pid);
    g_autofree char *line = io_read_file(path, 65536, &got, NULL);

    for (gsize i = 0; line != NULL && i + 1 < got; i++)
        if (line[i] == '\0')
            line[i] = ' ';
    return g_strdup_printf("%s (pid %d)", line != NULL ? line : "a process", (int)peer.pid);
}

HostLock *host_lock_new(GError **error)
{
    struct sockaddr_un address;
    socklen_t length = lock_address(&address);
    autofd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, length) == 0 &&
        listen(fd, BACKLOG) == 0) {
        HostLock *lock = g_new0(HostLock, 1);

        lock->fd = io_steal_fd(&fd);
        return lock;
    }
    if (errno == EADDRINUSE) {
        g_autofree char *holder = lock_holder(&address, length);

        g_set_error(error, VM_ERROR, VM_ERROR_BUSY,
                    "this host is measuring already: %s; wait for its end, or end it", holder);
        return NULL;
    }
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "host lock \"%s\": %s", host_lock_name(),
                g_strerror(errno));
    return NULL;
}

void host_lock_free(HostLock *lock)
{
    if (lock == NULL)
        return;
    io_clear_fd(&lock->fd);
    g_free(lock);
}

gboolean host_lock_wait(const Wait *wait, GError **error)
{
    struct sockaddr_un address;
    socklen_t length = lock_address(&address);
    autofd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    WaitResult result;

    /* Never accepted: the connection ends when the listening socket does. */
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, length) != 0)
        return TRUE;
    result = wait_fd(wait, fd, POLLIN | POLLRDHUP);
    return result == WAIT_READY || wait_fail(wait, result, "the host's lock", error);
}
