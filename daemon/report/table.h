/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One table, many formats. Cells are text or numbers; the writer knows the format. libsmartcols
 * draws the terminal form. */
#pragma once
#include <glib.h>

typedef enum { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_MARKDOWN } TableFormat;

gboolean table_format_parse(const char *text, TableFormat *ret_format);

typedef struct Table Table;
typedef enum { COLUMN_TEXT, COLUMN_NUMBER } ColumnKind;

Table *table_new(void);
void table_free(Table *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)

/* name: machine name for csv and json ("n_boots"); title: heading for people ("boots"). */
void table_column(Table *table, const char *name, const char *title, ColumnKind kind);
/* For whom the last column is: everybody (the default), people (table, markdown), or programs (csv,
 * json). */
typedef enum { AUDIENCE_ALL, AUDIENCE_PEOPLE, AUDIENCE_PROGRAMS } Audience;
void table_audience(Table *table, Audience audience);
/* How readily the last column is left out where the terminal is too narrow: never with 0 (the
 * default), else the highest first. */
void table_rank(Table *table, guint rank);

void table_row(Table *table);
void table_text(Table *table, const char *value); /* NULL: an empty cell, null in JSON */
void table_int(Table *table, gint64 value);
/* shown: how people see it, NULL for 4 significant digits; csv and json get all 17 digits.
 * Not finite: an empty cell, null in JSON (people see shown, where there is one). */
void table_real(Table *table, double value, const char *shown);

/* Whole text, ending with a newline. width: columns of the terminal (0: unlimited; FORMAT_TABLE
 * cuts nothing that is a number and wraps or shortens text columns). colour: ANSI allowed. CSV is
 * RFC 4180 with a header; JSON an array of objects. Transfer full. */
char *table_format(const Table *table, TableFormat format, guint width, gboolean colour);

/* value with this many significant digits, in decimal notation where that is readable: "0.0123",
 * "12.3", "12300"; "-" when it is not finite. Transfer full. */
char *table_digits(double value, int digits);

/* "1.23 us", "4.56 GB/s": a value scaled for people by its unit; transfer full. */
char *table_scale(double value, const char *unit);
