/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logging: GLib's structured log (g_debug, g_info, g_message, g_warning) with one writer, to
 * standard error, or to the journal with its fields where standard error is the journal. */
#pragma once
#include <glib.h>

typedef enum { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE, LOG_DEBUG_ALL } LogLevel;

/* Install the writer. Call once, first. */
void log_init(LogLevel level);

/* Say more or less from now on. */
void log_set_level(LogLevel level);

/* What the lines that follow are about: fields of their records in the journal (VMATRIX_CAMPAIGN,
 * VMATRIX_CELL, VMATRIX_RUN, VMATRIX_STEP), so that "journalctl VMATRIX_RUN=12" finds them. NULL
 * takes a field away. */
typedef enum { LOG_CAMPAIGN, LOG_CELL, LOG_RUN, LOG_STEP } LogSubject;
void log_set_subject(LogSubject subject, const char *value);

/* Where records go in place of the journal; NULL: to standard error as text. For tests. */
void log_set_sink(GLogWriterFunc sink, gpointer data);

/* Between these two nothing is written: lines are kept in memory (at most 1000, then counted) and
 * come out at log_release(). Held while an invocation runs: the observer stays silent. */
void log_hold(void);
void log_release(void);

/* Called before each line that goes to standard error as text, to wipe what is drawn there (a line
 * of progress). NULL: nothing. data must stay valid until the next call. */
void log_set_before(void (*before)(void *data), void *data);
