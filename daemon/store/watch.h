/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hear of every write to a database, by whatever program, without asking: inotify on its
 * write-ahead log. Readers make no events. */
#pragma once
#include <glib.h>

typedef struct StoreWatch StoreWatch;

/* path: the database's; its folder must exist. */
StoreWatch *store_watch_new(const char *path, GError **error);
void store_watch_free(StoreWatch *watch); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreWatch, store_watch_free)

/* Readable when something in the database's folder was written. Owned by the watch. */
int store_watch_fd(const StoreWatch *watch);

/* Take all events; TRUE when one was of this database (its file or its write-ahead log). */
gboolean store_watch_drain(StoreWatch *watch);
