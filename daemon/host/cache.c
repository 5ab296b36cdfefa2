/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "util/error.h"
#include "util/io.h"

#define DROP_CACHES "/proc/sys/vm/drop_caches"

gboolean host_cache_drop(GError **error)
{
    autofd fd = open(DROP_CACHES, O_WRONLY | O_CLOEXEC);

    if (fd < 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                    "host cache: cannot open %s: %s; run as root, or write \"cache: {host: "
                    "leave}\" in the plan",
                    DROP_CACHES, g_strerror(errno));
        return FALSE;
    }
    /* Dirty pages stay in the cache: written back first, they can go. */
    sync();
    if (write(fd, "3", 1) != 1) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "host cache: cannot write to %s: %s",
                    DROP_CACHES, g_strerror(errno));
        return FALSE;
    }
    return TRUE;
}

gboolean host_cache_warm(const char *path, GError **error)
{
    autofd fd = open(path, O_RDONLY | O_CLOEXEC);
    guint8 block[65536];
    gssize got;

    if (fd >= 0)
        posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    do {
        got = fd >= 0 ? read(fd, block, sizeof block) : -1;
    } while (got > 0 || (got < 0 && errno == EINTR && fd >= 0));
    if (got == 0)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                "host cache: cannot read %s to warm the cache: %s", path, g_strerror(errno));
    return FALSE;
}
