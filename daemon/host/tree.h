/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small files of /proc, /sys and /etc below a root prefix ("" is the real one). */
#pragma once
#include <glib.h>

/* Content of the file at path (absolute, e.g. "/proc/stat") below root, without white space at its
 * ends. NULL when it is not there, cannot be read, or is empty: a fact the machine does not have.
 * Transfer full. */
char *tree_read(const char *root, const char *path);

/* The same with the content as it is, and an error that names the path. */
char *tree_read_whole(const char *root, const char *path, GError **error);

/* Value of the first line "key<white space>: value" or "key=value" of text (quotes around the value
 * are taken off), or NULL. Transfer full. */
char *tree_field(const char *text, const char *key, char separator);
