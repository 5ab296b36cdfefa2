/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/plan-writer.h"

enum { SHOWN_CELLS = 100, SHOWN_BLOCKS = 20, LINE_WIDTH = 80 };

static const PlanAxis *axis_at(const Matrix *matrix, guint axis)
{
    return g_ptr_array_index(matrix->plan->axes, axis);
}

static const guint32 *block_order(const Matrix *matrix, guint block)
{
    return matrix->order + (gsize)block * matrix->n_cells;
}

/* The plan's parser lets no character into a name that JSON or CSV would have to quote. */

/* ---- json ---- */

static void put_json_axes(FILE *stream, const Matrix *matrix)
{
    fputs(" \"axes\": {", stream);
    for (guint i = 0; i < matrix->n_axes; i++) {
        const PlanAxis *axis = axis_at(matrix, i);

        fprintf(stream, "%s\n  \"%s\": [", i > 0 ? "," : "", axis->name);
        for (guint j = 0; j < axis->levels->len; j++) {
            const PlanLevel *level = g_ptr_array_index(axis->levels, j);

            fprintf(stream, "%s\"%s\"", j > 0 ? ", " : "", level->name);
        }
        fputs("]", stream);
    }
    fputs("},\n", stream);
}

static void put_json_workloads(FILE *stream, const GPtrArray *workloads)
{
    fputs(" \"workloads\": [", stream);
    for (guint i = 0; i < workloads->len; i++)
        fprintf(stream, "%s\"%s\"", i > 0 ? ", " : "",
                (const char *)g_ptr_array_index(workloads, i));
    fputs("],\n", stream);
}

static void put_json_cells(FILE *stream, const Matrix *matrix)
{
    fputs(" \"cells\": [", stream);
    for (guint cell = 0; cell < matrix->n_cells && !ferror(stream); cell++) {
        g_autofree char *key = matrix_key(matrix, cell);
        g_autofree char *axes = matrix_axes_json(matrix, cell);

        fprintf(stream,
                "%s\n  {\"cell\": %u, \"key\": \"%s\", \"axes\": %s, \"vcpus\": %u"
                ", \"memory\": %" G_GUINT64_FORMAT "}",
                cell > 0 ? "," : "", cell, key, axes, matrix_vcpus(matrix, cell),
                matrix_memory(matrix, cell));
    }
    fputs("],\n", stream);
}

static void put_json_blocks(FILE *stream, const Matrix *matrix)
{
    fputs(" \"blocks\": [", stream);
    for (guint block = 0; block < matrix->n_blocks && !ferror(stream); block++) {
        const guint32 *order = block_order(matrix, block);

        fprintf(stream, "%s\n  {\"block\": %u, \"order\": [", block > 0 ? "," : "", block);
        for (guint i = 0; i < matrix->n_cells; i++)
            fprintf(stream, i > 0 ? ",%u" : "%u", order[i]);
        fputs("]}", stream);
    }
    fputs("]", stream);
}

static void put_json_estimate(FILE *stream, const Estimate *estimate, guint n_cells)
{
    fprintf(stream,
            ",\n \"estimate\": {\"seconds\": %.3f, \"runs\": %" G_GUINT64_FORMAT
            ", \"invocations\": %" G_GUINT64_FORMAT ", \"basis\": \"%s\", \"cells_measured\": %u"
            ", \"earlier_runs\": %" G_GUINT64_FORMAT "}",
            estimate->seconds, estimate->runs, estimate->invocations,
            estimate->cells_measured == n_cells ? "database"
            : estimate->cells_measured > 0      ? "database and defaults"
                                                : "defaults",
            estimate->cells_measured, estimate->earlier_runs);
}

static void write_json(FILE *stream, const Matrix *matrix, const Estimate *estimate)
{
    fprintf(stream, "{\"plan\": \"%s\",\n \"seed\": %" G_GUINT64_FORMAT ",\n", matrix->plan->name,
            matrix->plan->seed);
    put_json_axes(stream, matrix);
    put_json_workloads(stream, matrix->plan->workloads);
    put_json_cells(stream, matrix);
    put_json_blocks(stream, matrix);
    if (estimate != NULL)
        put_json_estimate(stream, estimate, matrix->n_cells);
    fputs("\n}\n", stream);
}

/* ---- csv ---- */

static void write_csv(FILE *stream, const Matrix *matrix)
{
    fputs("block,position,cell", stream);
    for (guint axis = 0; axis < matrix->n_axes; axis++)
        fprintf(stream, ",%s", axis_at(matrix, axis)->name);
    fputs("\r\n", stream);
    for (guint block = 0; block < matrix->n_blocks && !ferror(stream); block++) {
        const guint32 *order = block_order(matrix, block);

        for (guint i = 0; i < matrix->n_cells; i++) {
            fprintf(stream, "%u,%u,%u", block, i, order[i]);
            for (guint axis = 0; axis < matrix->n_axes; axis++)
                fprintf(stream, ",%s", matrix_level(matrix, order[i], axis)->name);
            fputs("\r\n", stream);
        }
    }
}

/* ---- for people ---- */

static Table *cells_table(const Matrix *matrix)
{
    Table *table = table_new();

    table_column(table, "cell", "cell", COLUMN_NUMBER);
    for (guint axis = 0; axis < matrix->n_axes; axis++)
        table_column(table, axis_at(matrix, axis)->name, axis_at(matrix, axis)->name, COLUMN_TEXT);
    for (guint cell = 0; cell < MIN(matrix->n_cells, SHOWN_CELLS); cell++) {
        table_row(table);
        table_int(table, cell);
        for (guint axis = 0; axis < matrix->n_axes; axis++)
            table_text(table, matrix_level(matrix, cell, axis)->name);
    }
    return table;
}

/* "block 1: 3 0 2 1", wrapped. People count blocks from 1. */
static void put_block(FILE *stream, const Matrix *matrix, guint block, const char *bullet)
{
    const guint32 *order = block_order(matrix, block);
    guint n = MIN(matrix->n_cells, SHOWN_CELLS);
    int column = fprintf(stream, "%sblock %u:", bullet, block + 1);

    for (guint i = 0; i < n; i++) {
        char number[16];
        int length = g_snprintf(number, sizeof number, " %u", order[i]);

        if (column + length > LINE_WIDTH) {
            fputs("\n   ", stream);
            column = 3;
        }
        fputs(number, stream);
        column += length;
    }
    fputs(n < matrix->n_cells ? " …\n" : "\n", stream);
}

static void write_people(FILE *stream, const Matrix *matrix, const Estimate *estimate,
                         TableFormat format, guint width, gboolean colour)
{
    g_autoptr(Table) table = cells_table(matrix);
    g_autofree char *cells = table_format(table, format, width, colour);
    g_autofree char *estimated = estimate != NULL ? estimate_text(estimate, matrix) : g_strdup("");

    fprintf(stream, "plan %s: %u cell%s, %u block%s, seed %" G_GUINT64_FORMAT "\n\n%s",
            matrix->plan->name, matrix->n_cells, matrix->n_cells == 1 ? "" : "s", matrix->n_blocks,
            matrix->n_blocks == 1 ? "" : "s", matrix->plan->seed, cells);
    if (matrix->n_cells > SHOWN_CELLS)
        fprintf(stream, "… and %u more cells: --format json or csv shows all\n",
                matrix->n_cells - SHOWN_CELLS);
    fputs("\nOrder of the cells in each block\n\n", stream);
    for (guint block = 0; block < MIN(matrix->n_blocks, SHOWN_BLOCKS); block++)
        put_block(stream, matrix, block, format == FORMAT_MARKDOWN ? "- " : "");
    if (matrix->n_blocks > SHOWN_BLOCKS)
        fprintf(stream, "… and %u more blocks: --format json or csv shows all\n",
                matrix->n_blocks - SHOWN_BLOCKS);
    if (estimate != NULL)
        fprintf(stream, "\n%s", estimated);
}

void plan_write(FILE *stream, const Matrix *matrix, const Estimate *estimate, TableFormat format,
                guint width, gboolean colour)
{
    switch (format) {
    case FORMAT_JSON:
        write_json(stream, matrix, estimate);
        return;
    case FORMAT_CSV:
        write_csv(stream, matrix);
        return;
    case FORMAT_TABLE:
    case FORMAT_MARKDOWN:
        break;
    }
    write_people(stream, matrix, estimate, format, width, colour);
}
