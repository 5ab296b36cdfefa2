/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plan-expand PLAN INVENTORY: read, check and expand a plan, name every cell, and print what it
 * took: "CELLS BLOCKS SECONDS CPU_SECONDS PEAK_KIB". */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "model/inventory.h"
#include "model/matrix.h"
#include "model/plan.h"
#include "util/clock.h"
#include "util/error.h"

static Matrix *expand(const char *plan_path, const char *site_path, GError **error)
{
    g_autoptr(Inventory) inventory = inventory_load(site_path, error);
    Plan *plan = inventory == NULL ? NULL : plan_load(plan_path, error); /* lives to the end */

    if (plan == NULL || !plan_check(plan, inventory, error))
        return NULL;
    return matrix_new(plan, error);
}

static gsize name_cells(const Matrix *matrix)
{
    gsize length = 0;

    for (guint cell = 0; cell < matrix->n_cells; cell++) {
        g_autofree char *key = matrix_key(matrix, cell);

        length += strlen(key) + (matrix_baseline_of(matrix, cell) >= 0);
    }
    return length;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    struct rusage usage;
    gint64 start = clock_mono_ns();
    clock_t cpu_start = clock();

    if (argc != 3) {
        fprintf(stderr, "usage: plan-expand PLAN INVENTORY\n");
        return VM_EXIT_INVALID;
    }
    g_autoptr(Matrix) matrix = expand(argv[1], argv[2], &error);

    if (matrix == NULL) {
        fprintf(stderr, "%s\n", error->message);
        return vm_error_exit_code(error);
    }
    if (name_cells(matrix) == 0)
        return VM_EXIT_CELL_FAILED;
    gint64 end = clock_mono_ns();

    getrusage(RUSAGE_SELF, &usage);
    printf("%u %u %.6f %.6f %ld\n", matrix->n_cells, matrix->n_blocks, (double)(end - start) / 1e9,
           (double)(clock() - cpu_start) / CLOCKS_PER_SEC, usage.ru_maxrss);
    return VM_EXIT_DONE;
}
