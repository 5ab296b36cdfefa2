/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hear of every write to a database, by whatever program, without asking: inotify on its
 * write-ahead log. Readers make no events. */
#pragma once
#include <glib.h>

#include "store/store.h"

typedef struct StoreWatch StoreWatch;

/* path: the database's; its folder must exist. */
StoreWatch *store_watch_new(const char *path, GError **error);
void store_watch_free(StoreWatch *watch); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreWatch, store_watch_free)

/* Readable when something in the database's folder was written; after a write by a program that is
 * not ours some times more within 3 s, since what is written can be read only a little later. Owned
 * by the watch. */
int store_watch_fd(const StoreWatch *watch);

/* Take all events; TRUE when one was of this database (its file or its write-ahead log), or when it
 * is time to look once more. */
gboolean store_watch_drain(StoreWatch *watch);

/* Whether another connection has committed since this was last asked; TRUE the first time. */
gboolean store_has_changed(Store *store, gboolean *ret_changed, GError **error);
