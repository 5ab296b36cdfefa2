/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a command's result goes: standard output, or the file of -o. A regular file is replaced as
 * a whole at the end, so that nobody reads half a result. */
#pragma once
#include <glib.h>
#include <stdio.h>

#include "cli/settings.h"

typedef struct {
    FILE *stream;
    const char *path; /* borrowed from the settings; NULL: standard output */
    char *temporary;  /* renamed to path at the end; NULL: path is no regular file */
} Output;

gboolean output_open(const Settings *settings, Output *ret_output, GError **error);

/* Write out and close; a failed write (a full disk, a closed pipe) is VM_ERROR_ENVIRONMENT. */
gboolean output_close(Output *output, GError **error);

/* Drop what was written, unless output_close() was called. */
void output_clear(Output *output);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Output, output_clear)

/* Write table in the format asked for, as wide as the terminal. */
gboolean output_table(const Settings *settings, const Table *table, GError **error);

/* The same, and for people (table, markdown) the notes under it. */
gboolean output_report(const Settings *settings, const Table *table, const char *notes,
                       GError **error);

/* Columns of the terminal that fd is, $COLUMNS first; 0 when it is none. */
guint output_width(int fd);

/* Whether ANSI colours may go to fd. */
gboolean output_colour(const Settings *settings, int fd);
