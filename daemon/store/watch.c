/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/watch.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "util/error.h"

struct StoreWatch {
    int fd;
    char *name; /* of the database's file, without its folder */
    char *log;  /* the same with "-wal" */
};

StoreWatch *store_watch_new(const char *path, GError **error)
{
    g_autoptr(StoreWatch) watch = g_new0(StoreWatch, 1);
    g_autofree char *folder = g_path_get_dirname(path);

    watch->name = g_path_get_basename(path);
    watch->log = g_strconcat(watch->name, "-wal", NULL);
    watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    /* The folder, not the file: the log comes and goes. */
    if (watch->fd < 0 ||
        inotify_add_watch(watch->fd, folder, IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                    "%s cannot be watched: %s; where inotify watches have run out, raise "
                    "fs.inotify.max_user_watches",
                    folder, g_strerror(errno));
        return NULL;
    }
    return g_steal_pointer(&watch);
}

void store_watch_free(StoreWatch *watch)
{
    if (watch == NULL)
        return;
    if (watch->fd >= 0)
        close(watch->fd);
    g_free(watch->name);
    g_free(watch->log);
    g_free(watch);
}

int store_watch_fd(const StoreWatch *watch)
{
    return watch->fd;
}

/* Whether one of the events in the buffer is of this database, or events were lost. */
static gboolean buffer_concerns(const StoreWatch *watch, const char *buffer, gsize length)
{
    gboolean concerns = FALSE;

    for (gsize at = 0; at + sizeof(struct inotify_event) <= length;) {
        struct inotify_event event;

        memcpy(&event, buffer + at, sizeof event);
        const char *name = event.len > 0 ? buffer + at + sizeof event : "";

        concerns = concerns || (event.mask & IN_Q_OVERFLOW) != 0 ||
                   strcmp(name, watch->name) == 0 || strcmp(name, watch->log) == 0;
        at += sizeof event + event.len;
    }
    return concerns;
}

gboolean store_watch_drain(StoreWatch *watch)
{
    char buffer[16384];
    gboolean concerns = FALSE;
    gssize got;

    while ((got = read(watch->fd, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0)
            concerns = buffer_concerns(watch, buffer, (gsize)got) || concerns;
    return concerns;
}
