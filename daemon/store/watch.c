/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/watch.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "store/db.h"
#include "util/clock.h"
#include "util/error.h"

/* What another program wrote can be read only when SQLite has synced its log and published it in
 * shared memory, which makes no event: so it is looked again after 20 ms, 40 ms… 1.28 s, 2.5 s in
 * all, and then no more. Our own programs touch the log when they have committed (db.c): then that
 * was it. */
static const gint64 look_first_ns = 20 * CLOCK_NS_PER_MS;
static const gint64 look_last_ns = 1280 * CLOCK_NS_PER_MS;

struct StoreWatch {
    int events; /* inotify */
    int timer;
    int both; /* epoll over these two */
    gint64 delay_ns;
    char *name; /* of the database's file, without its folder */
    char *log;  /* the same with "-wal" */
};

static gboolean add_to_both(const StoreWatch *watch, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return fd >= 0 && epoll_ctl(watch->both, EPOLL_CTL_ADD, fd, &event) == 0;
}

static gboolean open_all(StoreWatch *watch, const char *folder)
{
    watch->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    watch->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    watch->both = epoll_create1(EPOLL_CLOEXEC);
    /* The folder, not the file: the log comes and goes. */
    return watch->both >= 0 && add_to_both(watch, watch->events) &&
           add_to_both(watch, watch->timer) &&
           inotify_add_watch(watch->events, folder,
                             IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_MOVED_TO) >= 0;
}

StoreWatch *store_watch_new(const char *path, GError **error)
{
    g_autoptr(StoreWatch) watch = g_new0(StoreWatch, 1);
    g_autofree char *folder = g_path_get_dirname(path);

    watch->events = watch->timer = watch->both = -1;
    watch->name = g_path_get_basename(path);
    watch->log = g_strconcat(watch->name, "-wal", NULL);
    if (!open_all(watch, folder)) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                    "%s cannot be watched: %s; where inotify watches have run out, raise "
                    "fs.inotify.max_user_watches",
                    folder, g_strerror(errno));
        return NULL;
    }
    return g_steal_pointer(&watch);
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void store_watch_free(StoreWatch *watch)
{
    if (watch == NULL)
        return;
    close_if_open(watch->both);
    close_if_open(watch->timer);
    close_if_open(watch->events);
    g_free(watch->name);
    g_free(watch->log);
    g_free(watch);
}

int store_watch_fd(const StoreWatch *watch)
{
    return watch->both;
}

/* What events say together: the last one of this database decides. */
typedef enum { NEWS_NONE, NEWS_WRITTEN, NEWS_COMMITTED } News;

static News news_of(const StoreWatch *watch, const struct inotify_event *event, const char *name)
{
    if ((event->mask & IN_Q_OVERFLOW) != 0)
        return NEWS_WRITTEN;
    if (strcmp(name, watch->log) == 0)
        return (event->mask & IN_ATTRIB) != 0 ? NEWS_COMMITTED : NEWS_WRITTEN;
    return strcmp(name, watch->name) == 0 && (event->mask & IN_ATTRIB) == 0 ? NEWS_WRITTEN
                                                                            : NEWS_NONE;
}

static News news_of_buffer(const StoreWatch *watch, const char *buffer, gsize length, News news)
{
    for (gsize at = 0; at + sizeof(struct inotify_event) <= length;) {
        struct inotify_event event;
        News each;

        memcpy(&event, buffer + at, sizeof event);
        each = news_of(watch, &event, event.len > 0 ? buffer + at + sizeof event : "");
        news = each != NEWS_NONE ? each : news;
        at += sizeof event + event.len;
    }
    return news;
}

static News drain_events(const StoreWatch *watch)
{
    char buffer[16384];
    News news = NEWS_NONE;
    gssize got;

    while ((got = read(watch->events, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0)
            news = news_of_buffer(watch, buffer, (gsize)got, news);
    return news;
}

/* 0: not at all. */
static void look_again_in(StoreWatch *watch, gint64 delay_ns)
{
    struct itimerspec in = {.it_value = {.tv_sec = (time_t)(delay_ns / CLOCK_NS_PER_S),
                                         .tv_nsec = (long)(delay_ns % CLOCK_NS_PER_S)}};

    watch->delay_ns = delay_ns;
    timerfd_settime(watch->timer, 0, &in, NULL);
}

static gboolean timer_fired(const StoreWatch *watch)
{
    guint64 times;

    return read(watch->timer, &times, sizeof times) == (ssize_t)sizeof times;
}

gboolean store_watch_drain(StoreWatch *watch)
{
    gboolean fired = timer_fired(watch);
    News news = drain_events(watch);

    if (news == NEWS_WRITTEN)
        look_again_in(watch, look_first_ns);
    else if (news == NEWS_COMMITTED)
        look_again_in(watch, 0);
    else if (fired && watch->delay_ns < look_last_ns)
        look_again_in(watch, 2 * watch->delay_ns);
    return fired || news != NEWS_NONE;
}

gboolean store_has_changed(Store *store, gboolean *ret_changed, GError **error)
{
    gint64 version;

    if (!db_get_int(store, "look for changes", "PRAGMA data_version", DB_NO_VALUES, 0, &version,
                    error))
        return FALSE;
    *ret_changed = version != store->data_version;
    store->data_version = version;
    return TRUE;
}
