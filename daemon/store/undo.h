/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The undo journal: settings of the host, each written to the disk before it is changed. */
#pragma once
#include <glib.h>

#include "store/store.h"

typedef struct {
    gint64 id;
    gint64 campaign; /* 0: by hand */
    char *boot_id;   /* of the host when it was changed */
    char *knob;      /* "governor" */
    char *target;    /* the file, unit or cgroup */
    GBytes *old;     /* before; NULL: there is nothing to give back */
    char *wanted;
    GBytes *got;   /* as read back; NULL: not (yet) */
    char *state;   /* of the table undo, schema/README.md */
    char *reason;  /* or NULL */
    gint64 opened; /* created_ns, UTC */
} StoreUndo;

void store_undo_free(StoreUndo *undo); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreUndo, store_undo_free)

/* Add one as a transaction of its own; it is on the disk (synchronous=FULL) when TRUE is returned.
 * id and opened are not read. Inside an open transaction nothing would be on the disk:
 * VM_ERROR_FAILED. *ret_id: the row. */
gboolean store_undo_add(Store *store, const StoreUndo *undo, gint64 *ret_id, GError **error);

/* Note what became of it, in the same way. got (may be NULL: unchanged), reason (may be NULL). The
 * states of an ending stamp ended_ns. */
gboolean store_undo_set(Store *store, gint64 id, const char *state, GBytes *got, const char *reason,
                        GError **error);

/* Those not given back yet (journalled, set, held, stuck), the last change first. StoreUndo*;
 * transfer full. */
GPtrArray *store_undo_open(Store *store, GError **error);

/* All of this campaign (0: by hand) after the row since, in order. Transfer full. */
GPtrArray *store_undo_list(Store *store, gint64 campaign, gint64 since, GError **error);
