/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the store: SQL functions of our own. */
#pragma once
#include <sqlite3.h>

/* median(x): mean of the middle two for an even count. percentile(x, p): p in 0..100, type 7
 * (Hyndman & Fan 1996, "Sample quantiles in statistical packages"). stddev(x): sample standard
 * deviation (n - 1), NULL when n < 2. All leave NULLs out, give NULL for no value, and refuse what
 * is no number. raw_text(content): the text of raw_output.content. Returns SQLite's code. */
int functions_register(sqlite3 *db);
