/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a plan and as an inventory: refused with a place in the file, or accepted and fit to
 * be expanded. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "model/inventory.h"
#include "model/matrix.h"
#include "model/plan.h"
#include "util/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The work grows with these: a fuzzer should find faults, not large plans. */
enum { CELLS_MAX = 4096, BLOCKS_MAX = 8 };

static const char site_text[] = "version: 1\n"
                                "hypervisors:\n"
                                "  kvm: {driver: qemu, uri: q, accelerator: kvm}\n"
                                "  vbox: {driver: vbox, uri: v}\n"
                                "guests:\n"
                                "  debian12: {disk: d, key: k}\n"
                                "  micro: {kernel: l, key: k}\n";

static const Inventory *site(void)
{
    static Inventory *inventory;

    if (inventory == NULL)
        inventory = inventory_parse("site.yaml", site_text, -1, NULL);
    return inventory;
}

static void require_place(const GError *error)
{
    g_assert_true(vm_error_is(error, VM_ERROR_INVALID));
    g_assert_true(g_regex_match_simple("^fuzz\\.yaml:[1-9][0-9]*:[1-9][0-9]*: .", error->message,
                                       G_REGEX_RAW, 0));
    g_assert_true(g_utf8_validate(error->message, -1, NULL));
}

static gboolean is_small(const Plan *plan)
{
    guint64 cells = 1;

    for (guint i = 0; i < plan->axes->len && cells <= CELLS_MAX; i++)
        cells *= ((const PlanAxis *)g_ptr_array_index(plan->axes, i))->levels->len;
    return cells <= CELLS_MAX && plan->repeat.boots <= BLOCKS_MAX;
}

static void try_matrix(const Plan *plan)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Matrix) matrix = matrix_new(plan, &error);

    if (matrix == NULL) {
        require_place(error);
        return;
    }
    for (guint cell = 0; cell < matrix->n_cells; cell += 97) {
        g_autofree char *key = matrix_key(matrix, cell);
        g_autofree char *json = matrix_axes_json(matrix, cell);

        g_assert_true(g_str_has_prefix(json, "{\""));
        g_assert_nonnull(strchr(key, '='));
        g_assert_cmpuint(matrix_vcpus(matrix, cell), >=, 1);
        g_assert_cmpint(matrix_baseline_of(matrix, cell), <, matrix->n_cells);
    }
}

static void try_plan(const char *text, gssize length)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GError) site_error = NULL;
    g_autoptr(Plan) plan = plan_parse("fuzz.yaml", text, length, &error);

    if (plan == NULL)
        require_place(error);
    if (plan == NULL || !is_small(plan))
        return;
    try_matrix(plan);
    if (!plan_check(plan, site(), &site_error))
        require_place(site_error);
}

static void try_inventory(const char *text, gssize length)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Inventory) inventory = inventory_parse("fuzz.yaml", text, length, &error);

    if (inventory == NULL)
        require_place(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_plan((const char *)data, (gssize)size);
    try_inventory((const char *)data, (gssize)size);
    return 0;
}
