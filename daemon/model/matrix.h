/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The matrix: a plan's cells and the order of its blocks. Pure: the same plan gives the same bytes
 * on every machine. Compact: 100 000 cells x 10 blocks fit in a few MB. */
#pragma once
#include <glib.h>

#include "model/plan.h"

typedef struct {
    const Plan *plan; /* not owned; must outlive the matrix */
    guint n_cells;
    guint n_axes;
    guint16 *levels; /* n_cells x n_axes level indices, axes as in plan->axes (sorted by name) */
    guint n_blocks;
    guint32 *order; /* n_blocks x n_cells: cell index at each position of each block */
} Matrix;

/* Expand. Cells are in canonical order (axes sorted, levels as written); every block is a fresh
 * Fisher-Yates shuffle from order.seed. Error: no cell is left, or more than 10 000 000. */
Matrix *matrix_new(const Plan *plan, GError **error);
void matrix_free(Matrix *matrix);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Matrix, matrix_free)

const PlanLevel *matrix_level(const Matrix *matrix, guint cell, guint axis);
/* Level of the named axis in this cell, or NULL when the plan has no such axis. */
const PlanLevel *matrix_level_named(const Matrix *matrix, guint cell, const char *axis);

/* "guest=debian12 hypervisor=kvm vcpus=2"; transfer full. */
char *matrix_key(const Matrix *matrix, guint cell);

/* {"guest":"debian12",…}: the levels as a JSON object of strings, axes sorted; transfer full. */
char *matrix_axes_json(const Matrix *matrix, guint cell);

/* What the well-known axes mean for this cell; plan defaults where an axis is missing. */
guint matrix_vcpus(const Matrix *matrix, guint cell);    /* default 1 */
guint64 matrix_memory(const Matrix *matrix, guint cell); /* bytes; 0: the guest's default */

EmulatorPlace matrix_emulator(const Matrix *matrix, guint cell);

/* Index of the cell that the baseline names for this cell (the cell that differs from it only in
 * the baseline's axes), or -1. */
gint64 matrix_baseline_of(const Matrix *matrix, guint cell);

/* A shuffled order of n things, from (seed, block, cell): the workloads of one boot. */
void matrix_workload_order(const Matrix *matrix, guint block, guint cell, guint n,
                           guint *ret_order);
