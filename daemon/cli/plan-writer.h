/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A matrix as text, written as it goes: 100 000 cells x 10 blocks need no memory of their own. The
 * same plan gives the same bytes. */
#pragma once
#include <stdio.h>

#include "cli/estimate.h"
#include "model/matrix.h"
#include "report/table.h"

/* table and markdown are for people and show the first 100 cells and 20 blocks (and say so); json
 * and csv are whole. json: one object with plan, axes, workloads, cells, blocks, and estimate where
 * there is one. csv: a row for each position of each block. Cells, blocks and
 * positions count from 0, as in the database; only in "block 1" for people from 1. Errors are left
 * in the stream (ferror). estimate may be NULL. */
void plan_write(FILE *stream, const Matrix *matrix, const Estimate *estimate, TableFormat format,
                guint width, gboolean colour);
