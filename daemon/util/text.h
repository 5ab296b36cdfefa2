/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text for people and from people. */
#pragma once
#include <glib.h>

/* The candidate nearest to word (Damerau-Levenshtein distance at most a third of its length, at
 * least 1), or NULL: for "did you mean". candidates is NULL-terminated. */
const char *text_nearest(const char *word, const char *const *candidates);

/* A whole decimal number: digits only, no sign, no leading zero but "0" itself, no "1e3", no
 * "1_000". FALSE (no error is set) when text is not that or does not fit. */
gboolean text_parse_uint(const char *text, guint64 *ret_value);

/* "512 B", "1.5 GiB"; transfer full. */
char *text_format_size(guint64 bytes);

/* text with bytes outside printable ASCII and UTF-8 letters escaped as \xNN, cut after max bytes
 * with an ellipsis: what a guest wrote, safe to print. length -1: up to the NUL. Transfer full. */
char *text_escape(const char *text, gssize length, gsize max);
