/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of CPU or node numbers as the kernel writes them. */
#pragma once
#include <glib.h>

/* "0-2,5" as an array of guint: 0, 1, 2, 5, in the order of the text. NULL when it is not such a
 * list of numbers below 65536. Transfer full. */
GArray *cpulist_parse(const char *text);

/* "0,2,5" of an array of guint; NULL for an empty one. Transfer full. */
char *cpulist_text(const GArray *numbers);

/* Whether the number is in the array. */
gboolean cpulist_has(const GArray *numbers, guint number);
