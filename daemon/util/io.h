/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and descriptors. */
#pragma once
#include <glib.h>

#include "util/wait.h"

/* autofd int fd = …: closed at the end of the scope; io_steal_fd() keeps it open. */
#define autofd __attribute__((cleanup(io_clear_fd))) int

void io_clear_fd(int *fd);
int io_steal_fd(int *fd);

/* The whole file, at most max bytes (a longer one is an error), with a trailing NUL that is not
 * counted. ret_length may be NULL. Transfer full; NULL with error set (path in the message). */
char *io_read_file(const char *path, gsize max, gsize *ret_length, GError **error);

/* Write and fsync a new file, then rename it over path and fsync the folder: after a power cut
 * there is the old content or the new. mode as in open(2). */
gboolean io_replace_file(const char *path, const void *data, gsize length, int mode,
                         GError **error);

/* Like mkdir -p with mode 0700 for what is made. */
gboolean io_make_folder(const char *path, GError **error);

/* Remove a folder and all that is in it; links are not followed. A missing one is no error. */
gboolean io_remove_tree(const char *path, GError **error);

/* Hex SHA-256 of a file's content, read in blocks; wait (may be NULL) is heard between them, as an
 * image can take minutes. Transfer full. */
char *io_digest_file(const Wait *wait, const char *path, GError **error);

/* Write all of data to a non-blocking or blocking fd. */
gboolean io_write_all(const Wait *wait, int fd, const void *data, gsize length, GError **error);
