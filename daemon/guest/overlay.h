/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Disk overlays: each boot gets a throw-away qcow2 on a read-only base. By the program qemu-img. */
#pragma once
#include <glib.h>

#include "util/wait.h"

typedef struct {
    char *format; /* "qcow2", "raw", … probed */
    guint64 virtual_size;
    GPtrArray *chain;   /* char*: the base and its backing files, absolute */
    GPtrArray *formats; /* char*: the format of each of them */
} OverlayBase;

OverlayBase *overlay_base_probe(const Wait *wait, const char *path, const char *format,
                                GError **error);
void overlay_base_free(OverlayBase *base);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OverlayBase, overlay_base_free)

/* Make path (must not exist) on base. */
gboolean overlay_create(const Wait *wait, const char *path, const char *base,
                        const OverlayBase *info, GError **error);

/* Remove; a locked one (a QEMU still holds it) is never removed: VM_ERROR_BUSY. Missing is fine. */
gboolean overlay_remove(const Wait *wait, const char *path, GError **error);

/* The first file or folder of path's chain that user_name (NULL: ourselves) cannot read or search,
 * as a message with the way out, or NULL when all is well. Transfer full. */
char *overlay_blocked_by(const char *path, const char *user_name);
