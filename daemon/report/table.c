/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/table.h"

#include <jansson.h>
#include <libsmartcols.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "util/text.h"

/* Below this a shortened text says nothing. */
enum { TEXT_WIDTH_MIN = 8, ROUND_TRIP_DIGITS = 17, TEXT_MAX = 4096 };

typedef struct {
    char *name, *title;
    ColumnKind kind;
    Audience audience;
    guint rank;
} Column;

typedef enum { CELL_EMPTY, CELL_TEXT, CELL_INT, CELL_REAL } CellKind;

typedef struct {
    CellKind kind;
    char *text; /* the text, or how people see the number; may be NULL */
    gint64 whole;
    double real;
} Cell;

struct Table {
    GPtrArray *columns; /* Column* */
    GPtrArray *rows;    /* GArray* of Cell */
};

static void column_free(gpointer data)
{
    Column *column = data;

    g_free(column->name);
    g_free(column->title);
    g_free(column);
}

static void cell_clear(gpointer data)
{
    g_free(((Cell *)data)->text);
}

Table *table_new(void)
{
    Table *table = g_new0(Table, 1);

    table->columns = g_ptr_array_new_with_free_func(column_free);
    table->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    return table;
}

void table_free(Table *table)
{
    if (table == NULL)
        return;
    g_ptr_array_unref(table->columns);
    g_ptr_array_unref(table->rows);
    g_free(table);
}

gboolean table_format_parse(const char *text, TableFormat *ret_format)
{
    static const char *const names[] = {"table", "csv", "json", "markdown"};

    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        if (g_str_equal(text, names[i])) {
            *ret_format = (TableFormat)i;
            return TRUE;
        }
    }
    return FALSE;
}

void table_column(Table *table, const char *name, const char *title, ColumnKind kind)
{
    Column *column = g_new0(Column, 1);

    g_assert(table->rows->len == 0);
    column->name = g_strdup(name);
    column->title = g_strdup(title);
    column->kind = kind;
    g_ptr_array_add(table->columns, column);
}

static Column *last_column(Table *table)
{
    g_assert(table->columns->len > 0);
    return g_ptr_array_index(table->columns, table->columns->len - 1);
}

void table_audience(Table *table, Audience audience)
{
    last_column(table)->audience = audience;
}

void table_rank(Table *table, guint rank)
{
    last_column(table)->rank = rank;
}

void table_row(Table *table)
{
    GArray *row = g_array_new(FALSE, FALSE, sizeof(Cell));

    g_array_set_clear_func(row, cell_clear);
    g_ptr_array_add(table->rows, row);
}

static void add_cell(Table *table, Cell cell)
{
    g_assert(table->rows->len > 0);
    GArray *row = g_ptr_array_index(table->rows, table->rows->len - 1);

    g_assert(row->len < table->columns->len);
    g_array_append_val(row, cell);
}

void table_text(Table *table, const char *value)
{
    add_cell(table,
             (Cell){.kind = value != NULL ? CELL_TEXT : CELL_EMPTY, .text = g_strdup(value)});
}

void table_int(Table *table, gint64 value)
{
    add_cell(table, (Cell){.kind = CELL_INT,
                           .whole = value,
                           .text = g_strdup_printf("%" G_GINT64_FORMAT, value)});
}

void table_real(Table *table, double value, const char *shown)
{
    Cell cell = {.kind = isfinite(value) ? CELL_REAL : CELL_EMPTY, .real = value};

    if (shown != NULL)
        cell.text = g_strdup(shown);
    else if (isfinite(value))
        cell.text = table_digits(value, 4);
    add_cell(table, cell);
}

/* The cell, or an empty one where the row was not filled up. */
static const Cell *cell_at(const Table *table, guint row, guint column)
{
    static const Cell empty = {.kind = CELL_EMPTY};
    const GArray *cells = g_ptr_array_index(table->rows, row);

    return column < cells->len ? &g_array_index(cells, Cell, column) : &empty;
}

/* Indices (guint) of the columns that this audience gets. */
static GArray *columns_for(const Table *table, Audience audience)
{
    GArray *chosen = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint i = 0; i < table->columns->len; i++) {
        const Column *column = g_ptr_array_index(table->columns, i);

        if (column->audience == AUDIENCE_ALL || column->audience == audience)
            g_array_append_val(chosen, i);
    }
    return chosen;
}

static const Column *column_at(const Table *table, const GArray *chosen, guint i)
{
    return g_ptr_array_index(table->columns, g_array_index(chosen, guint, i));
}

/* ---- for people: terminal and Markdown ---- */

/* Terminal columns that valid, printable UTF-8 takes. */
static guint width_of(const char *text)
{
    guint width = 0;

    for (; *text != '\0'; text = g_utf8_next_char(text)) {
        gunichar c = g_utf8_get_char(text);

        width += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
    }
    return width;
}

/* text cut to width columns, the last of them an ellipsis. */
static char *shorten(const char *text, guint width)
{
    g_autoptr(GString) out = g_string_new(NULL);

    if (width_of(text) <= width)
        return g_strdup(text);
    for (; *text != '\0'; text = g_utf8_next_char(text)) {
        g_autofree char *one = g_strndup(text, (gsize)(g_utf8_next_char(text) - text));

        if (width_of(out->str) + width_of(one) + 1 > width)
            break;
        g_string_append(out, one);
    }
    g_string_append(out, "…");
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* What a person sees in the cell: printable, one line. Transfer full. */
static char *shown(const Cell *cell)
{
    return cell->text != NULL ? text_escape(cell->text, -1, TEXT_MAX) : g_strdup("");
}

/* Widths (guint) of the chosen columns if nothing is cut. */
static GArray *natural_widths(const Table *table, const GArray *chosen)
{
    GArray *widths = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint i = 0; i < chosen->len; i++) {
        guint width = width_of(column_at(table, chosen, i)->title);

        for (guint row = 0; row < table->rows->len; row++) {
            g_autofree char *text = shown(cell_at(table, row, g_array_index(chosen, guint, i)));

            width = MAX(width, width_of(text));
        }
        g_array_append_val(widths, width);
    }
    return widths;
}

static guint total_width(const GArray *widths)
{
    guint total = 0;

    for (guint i = 0; i < widths->len; i++)
        total += g_array_index(widths, guint, i) + (i > 0);
    return total;
}

/* Position in chosen of the column to leave out first, or -1. */
static gint most_dispensable(const Table *table, const GArray *chosen)
{
    gint found = -1;
    guint rank = 1;

    for (guint i = 0; i < chosen->len; i++) {
        if (column_at(table, chosen, i)->rank >= rank) {
            rank = column_at(table, chosen, i)->rank;
            found = (gint)i;
        }
    }
    return found;
}

/* Position of the widest text column that can still give, or -1. */
static gint widest_text(const Table *table, const GArray *chosen, const GArray *widths)
{
    gint found = -1;
    guint widest = TEXT_WIDTH_MIN;

    for (guint i = 0; i < chosen->len; i++) {
        guint width = g_array_index(widths, guint, i);

        if (column_at(table, chosen, i)->kind == COLUMN_TEXT && width > widest) {
            widest = width;
            found = (gint)i;
        }
    }
    return found;
}

/* Leave out columns by rank, then take from the widest texts, until all fits. Numbers are never
 * cut: what then still does not fit runs over. */
static void fit(const Table *table, guint width, GArray *chosen, GArray *widths)
{
    gint which;

    while (total_width(widths) > width && (which = most_dispensable(table, chosen)) >= 0) {
        g_array_remove_index(chosen, (guint)which);
        g_array_remove_index(widths, (guint)which);
    }
    while (total_width(widths) > width && (which = widest_text(table, chosen, widths)) >= 0)
        g_array_index(widths, guint, which)--;
}

static void add_scols_columns(struct libscols_table *out, const Table *table, const GArray *chosen,
                              const GArray *widths, gboolean colour)
{
    for (guint i = 0; i < chosen->len; i++) {
        const Column *column = column_at(table, chosen, i);
        g_autofree char *title = shorten(column->title, g_array_index(widths, guint, i));
        int flags = column->kind == COLUMN_NUMBER ? SCOLS_FL_RIGHT : 0;
        struct libscols_column *made = scols_table_new_column(out, title, 0, flags);

        if (made != NULL && colour)
            scols_cell_set_color(scols_column_get_header(made), "\033[1m");
    }
}

static void add_scols_rows(struct libscols_table *out, const Table *table, const GArray *chosen,
                           const GArray *widths)
{
    for (guint row = 0; row < table->rows->len; row++) {
        struct libscols_line *line = scols_table_new_line(out, NULL);

        for (guint i = 0; line != NULL && i < chosen->len; i++) {
            g_autofree char *text = shown(cell_at(table, row, g_array_index(chosen, guint, i)));
            gboolean cut = column_at(table, chosen, i)->kind == COLUMN_TEXT;
            g_autofree char *fitted =
                cut ? shorten(text, g_array_index(widths, guint, i)) : g_strdup(text);

            scols_line_set_data(line, i, fitted);
        }
    }
}

/* Drawn text without the blanks that libsmartcols pads the last column with. */
static char *strip_lines(const char *drawn)
{
    g_auto(GStrv) lines = g_strsplit(drawn, "\n", -1);
    g_autoptr(GString) out = g_string_new(NULL);

    for (char **line = lines; *line != NULL; line++)
        if (**line != '\0')
            g_string_append_printf(out, "%s\n", g_strchomp(*line));
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* libsmartcols measures by the thread's locale, and escapes all that is not ASCII in "C". */
static char *draw(struct libscols_table *out)
{
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t before = utf8 != (locale_t)0 ? uselocale(utf8) : (locale_t)0;
    char *drawn = NULL, *text;

    scols_print_table_to_string(out, &drawn);
    if (utf8 != (locale_t)0) {
        uselocale(before);
        freelocale(utf8);
    }
    text = strip_lines(drawn != NULL ? drawn : "");
    free(drawn);
    return text;
}

static char *format_terminal(const Table *table, guint width, gboolean colour)
{
    g_autoptr(GArray) chosen = columns_for(table, AUDIENCE_PEOPLE);
    g_autoptr(GArray) widths = natural_widths(table, chosen);
    struct libscols_table *out;
    char *text;

    if (table->rows->len == 0)
        return g_strdup("(no rows)\n");
    if (width > 0)
        fit(table, width, chosen, widths);
    out = scols_new_table();
    if (out == NULL)
        g_error("libsmartcols: out of memory");
    scols_table_enable_colors(out, colour);
    /* All is printable and fitted already: libsmartcols must neither escape, cut nor spread. */
    scols_table_enable_noencoding(out, TRUE);
    scols_table_set_termforce(out, SCOLS_TERMFORCE_ALWAYS);
    scols_table_set_termwidth(out, total_width(widths) + 2);
    add_scols_columns(out, table, chosen, widths, colour);
    add_scols_rows(out, table, chosen, widths);
    text = draw(out);
    scols_unref_table(out);
    return text;
}

/* text with what Markdown would read as its own escaped. */
static char *escape_markdown(const char *text)
{
    g_autoptr(GString) out = g_string_new(NULL);

    for (; *text != '\0'; text++) {
        if (strchr("\\|<*`", *text) != NULL)
            g_string_append_c(out, '\\');
        g_string_append_c(out, *text);
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static char *markdown_cell(const Cell *cell)
{
    g_auto(GStrv) lines = g_strsplit(cell->text != NULL ? cell->text : "", "\n", -1);

    for (char **line = lines; *line != NULL; line++) {
        g_autofree char *safe = text_escape(*line, -1, TEXT_MAX);

        g_free(*line);
        *line = escape_markdown(safe);
    }
    return g_strjoinv("<br>", lines);
}

static char *format_markdown(const Table *table)
{
    g_autoptr(GArray) chosen = columns_for(table, AUDIENCE_PEOPLE);
    g_autoptr(GString) out = g_string_new(NULL);

    for (guint i = 0; i < chosen->len; i++) {
        g_autofree char *title = escape_markdown(column_at(table, chosen, i)->title);

        g_string_append_printf(out, "| %s ", title);
    }
    g_string_append(out, "|\n");
    for (guint i = 0; i < chosen->len; i++)
        g_string_append(out,
                        column_at(table, chosen, i)->kind == COLUMN_NUMBER ? "| ---: " : "| --- ");
    g_string_append(out, "|\n");
    for (guint row = 0; row < table->rows->len; row++) {
        for (guint i = 0; i < chosen->len; i++) {
            g_autofree char *text =
                markdown_cell(cell_at(table, row, g_array_index(chosen, guint, i)));

            g_string_append_printf(out, "| %s ", text);
        }
        g_string_append(out, "|\n");
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* ---- for programs: CSV and JSON ---- */

static void append_csv(GString *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        g_string_append(out, text);
        return;
    }
    g_string_append_c(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"')
            g_string_append_c(out, '"');
        g_string_append_c(out, *text);
    }
    g_string_append_c(out, '"');
}

static void append_csv_cell(GString *out, const Cell *cell)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];

    switch (cell->kind) {
    case CELL_EMPTY:
        break;
    case CELL_REAL:
        g_string_append(out, g_ascii_dtostr(number, sizeof number, cell->real));
        break;
    case CELL_INT:
    case CELL_TEXT:
        append_csv(out, cell->text);
        break;
    }
}

static char *format_csv(const Table *table)
{
    g_autoptr(GArray) chosen = columns_for(table, AUDIENCE_PROGRAMS);
    g_autoptr(GString) out = g_string_new(NULL);

    for (guint i = 0; i < chosen->len; i++) {
        g_string_append(out, i > 0 ? "," : "");
        append_csv(out, column_at(table, chosen, i)->name);
    }
    g_string_append(out, "\r\n");
    for (guint row = 0; row < table->rows->len; row++) {
        for (guint i = 0; i < chosen->len; i++) {
            g_string_append(out, i > 0 ? "," : "");
            append_csv_cell(out, cell_at(table, row, g_array_index(chosen, guint, i)));
        }
        g_string_append(out, "\r\n");
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static json_t *json_cell(const Cell *cell)
{
    g_autofree char *valid = NULL;

    switch (cell->kind) {
    case CELL_INT:
        return json_integer(cell->whole);
    case CELL_REAL:
        return json_real(cell->real);
    case CELL_TEXT:
        valid = g_utf8_make_valid(cell->text, -1);
        return json_string(valid);
    case CELL_EMPTY:
        break;
    }
    return json_null();
}

static char *format_json(const Table *table)
{
    g_autoptr(GArray) chosen = columns_for(table, AUDIENCE_PROGRAMS);
    json_t *rows = json_array();
    char *dumped, *text;

    for (guint row = 0; row < table->rows->len; row++) {
        json_t *object = json_object();

        for (guint i = 0; i < chosen->len; i++)
            json_object_set_new(object, column_at(table, chosen, i)->name,
                                json_cell(cell_at(table, row, g_array_index(chosen, guint, i))));
        json_array_append_new(rows, object);
    }
    dumped = json_dumps(rows, JSON_INDENT(2) | JSON_REAL_PRECISION(ROUND_TRIP_DIGITS));
    json_decref(rows);
    if (dumped == NULL)
        g_error("JSON: out of memory");
    text = g_strconcat(dumped, "\n", NULL);
    free(dumped);
    return text;
}

char *table_format(const Table *table, TableFormat format, guint width, gboolean colour)
{
    switch (format) {
    case FORMAT_CSV:
        return format_csv(table);
    case FORMAT_JSON:
        return format_json(table);
    case FORMAT_MARKDOWN:
        return format_markdown(table);
    case FORMAT_TABLE:
        break;
    }
    return format_terminal(table, width, colour);
}
