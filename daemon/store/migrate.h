/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the store: is this file ours, and bringing it to this version. */
#pragma once
#include "store/db.h"

typedef enum { MIGRATE_MISSING, MIGRATE_EMPTY, MIGRATE_OURS } MigrateFile;

/* Look at the file's header without opening it as a database: nothing is written, no lock is taken,
 * no journal rolled back. Whatever is not ours, or is newer, is VM_ERROR_ENVIRONMENT. */
gboolean migrate_inspect(const char *path, MigrateFile *ret_file, GError **error);

/* The texts of schema/db, in order: text i brings a database from version i to i + 1. */
GPtrArray *migrate_texts(void);

/* Bring the open database to version texts->len, all in one transaction; refuse a newer one.
 * Foreign keys hold afterwards. *ret_changed: something was done. */
gboolean migrate_run(Store *store, const GPtrArray *texts, gboolean *ret_changed, GError **error);

/* The version of the open database must be this one (a store that is only read). */
gboolean migrate_check(Store *store, guint version, GError **error);
