/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/matrix.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "model/shuffle.h"

/* The orders of all blocks are kept: 4 bytes a run. */
#define RUNS_MAX G_GUINT64_CONSTANT(100000000)

/* Second words of the shuffle's streams; the first is the block. */
enum { STREAM_CELLS = 0, STREAM_WORKLOADS = 1 /* + cell */ };

static const PlanAxis *axis_at(const Matrix *matrix, guint axis)
{
    return g_ptr_array_index(matrix->plan->axes, axis);
}

static const guint16 *levels_of(const Matrix *matrix, guint cell)
{
    return matrix->levels + (gsize)cell * matrix->n_axes;
}

static NodePlace place_of(const PlanMatch *match)
{
    return (NodePlace){match->line, match->column};
}

static void collect_cells(Matrix *matrix)
{
    g_autofree guint16 *levels = g_new0(guint16, matrix->n_axes);
    GArray *all = g_array_new(FALSE, FALSE, sizeof(guint16));

    do {
        if (plan_keeps(matrix->plan, levels))
            g_array_append_vals(all, levels, matrix->n_axes);
    } while (plan_next(matrix->plan, NULL, levels));
    matrix->n_cells = all->len / matrix->n_axes;
    matrix->levels = (guint16 *)g_array_free(all, FALSE);
}

static void draw_blocks(Matrix *matrix)
{
    matrix->order = g_new(guint32, (gsize)matrix->n_blocks * matrix->n_cells);
    for (guint block = 0; block < matrix->n_blocks; block++) {
        Shuffle shuffle;

        shuffle_init(&shuffle, matrix->plan->seed, block, STREAM_CELLS);
        shuffle_order(&shuffle, matrix->n_cells, matrix->order + (gsize)block * matrix->n_cells);
    }
}

/* Without this a baseline that exclude has taken away would give tables with no comparison. */
static gboolean check_baseline(const Matrix *matrix, GError **error)
{
    if (matrix->plan->baseline == NULL)
        return TRUE;
    for (guint cell = 0; cell < matrix->n_cells; cell++) {
        if (matrix_baseline_of(matrix, cell) >= 0)
            return TRUE;
    }
    return node_fail_at(matrix->plan->path, place_of(matrix->plan->baseline), error,
                        "baseline: exclude has taken away every cell that it names");
}

static gboolean check_counts(const Matrix *matrix, GError **error)
{
    const Plan *plan = matrix->plan;

    if (matrix->n_cells == 0)
        return node_fail_at(plan->path, place_of(g_ptr_array_index(plan->exclude, 0)), error,
                            "exclude: no cell is left");
    if ((guint64)matrix->n_cells * matrix->n_blocks > RUNS_MAX)
        return node_fail_at(
            plan->path, (NodePlace){axis_at(matrix, 0)->line, axis_at(matrix, 0)->column}, error,
            "axes: %u cells in %u blocks are more than %" G_GUINT64_FORMAT " runs", matrix->n_cells,
            matrix->n_blocks, RUNS_MAX);
    return TRUE;
}

Matrix *matrix_new(const Plan *plan, GError **error)
{
    g_autoptr(Matrix) matrix = g_new0(Matrix, 1);

    matrix->plan = plan;
    matrix->n_axes = plan->axes->len;
    matrix->n_blocks = plan->repeat.boots;
    collect_cells(matrix);
    if (!check_counts(matrix, error) || !check_baseline(matrix, error))
        return NULL;
    draw_blocks(matrix);
    return g_steal_pointer(&matrix);
}

void matrix_free(Matrix *matrix)
{
    if (matrix == NULL)
        return;
    g_free(matrix->levels);
    g_free(matrix->order);
    g_free(matrix);
}

const PlanLevel *matrix_level(const Matrix *matrix, guint cell, guint axis)
{
    return g_ptr_array_index(axis_at(matrix, axis)->levels, levels_of(matrix, cell)[axis]);
}

const PlanLevel *matrix_level_named(const Matrix *matrix, guint cell, const char *axis)
{
    int index = plan_axis_index(matrix->plan, axis);

    return index < 0 ? NULL : matrix_level(matrix, cell, (guint)index);
}

char *matrix_key(const Matrix *matrix, guint cell)
{
    GString *key = g_string_sized_new(64);

    for (guint axis = 0; axis < matrix->n_axes; axis++) {
        if (axis > 0)
            g_string_append_c(key, ' ');
        g_string_append(key, axis_at(matrix, axis)->name);
        g_string_append_c(key, '=');
        g_string_append(key, matrix_level(matrix, cell, axis)->name);
    }
    return g_string_free(key, FALSE);
}

char *matrix_axes_json(const Matrix *matrix, guint cell)
{
    json_t *object = json_object();

    for (guint axis = 0; axis < matrix->n_axes; axis++)
        json_object_set_new(object, axis_at(matrix, axis)->name,
                            json_string(matrix_level(matrix, cell, axis)->name));
    char *dumped = json_dumps(object, JSON_COMPACT); /* members in order of insertion */
    char *text = g_strdup(dumped);

    free(dumped);
    json_decref(object);
    return text;
}

guint matrix_vcpus(const Matrix *matrix, guint cell)
{
    const PlanLevel *level = matrix_level_named(matrix, cell, "vcpus");

    return level == NULL ? 1 : (guint)level->number;
}

guint64 matrix_memory(const Matrix *matrix, guint cell)
{
    const PlanLevel *level = matrix_level_named(matrix, cell, "memory");

    return level == NULL ? matrix->plan->memory : level->number;
}

EmulatorPlace matrix_emulator(const Matrix *matrix, guint cell)
{
    const PlanLevel *level = matrix_level_named(matrix, cell, "emulator");

    return level == NULL ? matrix->plan->subject.emulator : (EmulatorPlace)(level->number - 1);
}

static int compare_levels(const guint16 *a, const guint16 *b, guint n)
{
    for (guint i = 0; i < n; i++) {
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

/* The place that levels would have if nothing were excluded; *ret_all: how many places there are.
 */
static guint rank_of(const Matrix *matrix, const guint16 *levels, guint *ret_all)
{
    guint rank = 0, all = 1; /* at most PLAN_CELLS_MAX */

    for (guint axis = 0; axis < matrix->n_axes; axis++) {
        guint n = axis_at(matrix, axis)->levels->len;

        rank = rank * n + levels[axis];
        all *= n;
    }
    *ret_all = all;
    return rank;
}

/* The cell with these levels, or -1. Cells are sorted by them, and each excluded one before it
 * moves a cell down by one: only that far has to be searched. */
static gint64 find_cell(const Matrix *matrix, const guint16 *levels)
{
    guint all, rank = rank_of(matrix, levels, &all);
    guint excluded = all - matrix->n_cells;
    guint low = rank > excluded ? rank - excluded : 0, high = MIN(rank + 1, matrix->n_cells);

    while (low < high) {
        guint middle = low + (high - low) / 2;
        int order = compare_levels(levels_of(matrix, middle), levels, matrix->n_axes);

        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

gint64 matrix_baseline_of(const Matrix *matrix, guint cell)
{
    const PlanMatch *baseline = matrix->plan->baseline;

    if (baseline == NULL)
        return -1;
    g_autofree guint16 *levels =
        g_memdup2(levels_of(matrix, cell), matrix->n_axes * sizeof *levels);

    for (guint i = 0; i < baseline->axis->len; i++)
        levels[g_array_index(baseline->axis, guint, i)] =
            (guint16)g_array_index(baseline->level, guint, i);
    return find_cell(matrix, levels);
}

void matrix_workload_order(const Matrix *matrix, guint block, guint cell, guint n, guint *ret_order)
{
    Shuffle shuffle;

    shuffle_init(&shuffle, matrix->plan->seed, block, STREAM_WORKLOADS + (guint64)cell);
    shuffle_order(&shuffle, n, ret_order);
}
