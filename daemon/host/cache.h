/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Page caches of the host. */
#pragma once
#include <glib.h>

/* Drop clean page cache, dentries and inodes (needs root: VM_ERROR_ENVIRONMENT says so). */
gboolean host_cache_drop(GError **error);

/* Read the file once, so that its pages are in the cache. */
gboolean host_cache_warm(const char *path, GError **error);
