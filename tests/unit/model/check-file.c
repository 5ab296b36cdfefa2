/* SPDX-License-Identifier: GPL-3.0-or-later */
/* check-file plan FILE [INVENTORY] | check-file inventory FILE: the validators alone, for tests.
 * Exit status 0, or the error's on standard error and its exit code. */
#include <stdio.h>
#include <string.h>

#include "model/inventory.h"
#include "model/matrix.h"
#include "model/plan.h"
#include "util/error.h"

static gboolean check_plan(const char *path, const char *site, GError **error)
{
    g_autoptr(Plan) plan = plan_load(path, error);

    if (plan == NULL)
        return FALSE;
    g_autoptr(Matrix) matrix = matrix_new(plan, error);

    if (matrix == NULL)
        return FALSE;
    if (site == NULL)
        return TRUE;
    g_autoptr(Inventory) inventory = inventory_load(site, error);

    return inventory != NULL && plan_check(plan, inventory, error);
}

static gboolean check_inventory(const char *path, GError **error)
{
    g_autoptr(Inventory) inventory = inventory_load(path, error);

    return inventory != NULL;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;

    if (argc >= 3 && strcmp(argv[1], "plan") == 0)
        check_plan(argv[2], argc > 3 ? argv[3] : NULL, &error);
    else if (argc == 3 && strcmp(argv[1], "inventory") == 0)
        check_inventory(argv[2], &error);
    else
        g_set_error(&error, VM_ERROR, VM_ERROR_INVALID,
                    "usage: check-file plan FILE [INVENTORY] | check-file inventory FILE");
    if (error != NULL)
        fprintf(stderr, "%s\n", error->message);
    return vm_error_exit_code(error);
}
