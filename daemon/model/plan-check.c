/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plan_check(): the plan's names and effects against a site. */
#include "model/plan.h"

#include <string.h>

typedef struct {
    const Plan *plan;
    const Inventory *inventory;
    int hypervisor; /* index of that axis */
    int guest;      /* the same, or -1 */
} Check;

static const PlanAxis *axis_at(const Check *check, int axis)
{
    return g_ptr_array_index(check->plan->axes, (guint)axis);
}

static const PlanLevel *level_at(const Check *check, int axis, guint level)
{
    return g_ptr_array_index(axis_at(check, axis)->levels, level);
}

static NodePlace place_of(const PlanLevel *level)
{
    return (NodePlace){level->line, level->column};
}

static const InventoryHypervisor *hypervisor_at(const Check *check, guint level)
{
    return inventory_hypervisor(check->inventory, level_at(check, check->hypervisor, level)->name);
}

static const InventoryGuest *guest_at(const Check *check, guint level)
{
    return inventory_guest(check->inventory, level_at(check, check->guest, level)->name);
}

static gboolean is_bare(const InventoryHypervisor *hypervisor)
{
    return strcmp(hypervisor->driver, "bare") == 0;
}

/* Some levels that one cell would have to have together. */
typedef struct {
    int axis;
    guint level;
} Pin;

/* Whether a cell of the plan has all these levels. */
static gboolean is_used(const Check *check, const Pin *pins, guint n_pins)
{
    guint n_axes = check->plan->axes->len;
    g_autofree guint16 *levels = g_new0(guint16, n_axes);
    g_autofree gboolean *pinned = g_new0(gboolean, n_axes);

    for (guint i = 0; i < n_pins; i++) {
        int axis = pins[i].axis;

        if (pinned[axis] && levels[axis] != pins[i].level)
            return FALSE; /* two levels of one axis */
        pinned[axis] = TRUE;
        levels[axis] = (guint16)pins[i].level;
    }
    do {
        if (plan_keeps(check->plan, levels))
            return TRUE;
    } while (plan_next(check->plan, pinned, levels));
    return FALSE;
}

static gboolean fail_unknown(const Check *check, const PlanLevel *level, const char *kind,
                             GPtrArray *names, GError **error)
{
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = node_suggest(level->name, (const char *const *)names->pdata, "it has");

    return node_fail_at(check->plan->path, place_of(level), error,
                        "axis %s: the inventory %s has no %s \"%s\"%s", kind,
                        check->inventory->path, kind, level->name, hint);
}

static gboolean check_hypervisor_names(const Check *check, GError **error)
{
    const GPtrArray *levels = axis_at(check, check->hypervisor)->levels;

    for (guint i = 0; i < levels->len; i++) {
        if (hypervisor_at(check, i) != NULL)
            continue;
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        for (guint j = 0; j < check->inventory->hypervisors->len; j++)
            g_ptr_array_add(names, ((const InventoryHypervisor *)g_ptr_array_index(
                                        check->inventory->hypervisors, j))
                                       ->name);
        return fail_unknown(check, g_ptr_array_index(levels, i), "hypervisor", names, error);
    }
    return TRUE;
}

static gboolean check_guest_names(const Check *check, GError **error)
{
    const GPtrArray *levels = axis_at(check, check->guest)->levels;

    for (guint i = 0; i < levels->len; i++) {
        if (guest_at(check, i) != NULL)
            continue;
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        for (guint j = 0; j < check->inventory->guests->len; j++)
            g_ptr_array_add(
                names,
                ((const InventoryGuest *)g_ptr_array_index(check->inventory->guests, j))->name);
        return fail_unknown(check, g_ptr_array_index(levels, i), "guest", names, error);
    }
    return TRUE;
}

/* Without the axis "guest" there is nothing that a hypervisor could boot. */
static gboolean check_all_bare(const Check *check, GError **error)
{
    for (guint i = 0; i < axis_at(check, check->hypervisor)->levels->len; i++) {
        const PlanLevel *level = level_at(check, check->hypervisor, i);

        if (!is_bare(hypervisor_at(check, i)))
            return node_fail_at(check->plan->path, place_of(level), error,
                                "axis hypervisor: \"%s\" needs a guest to boot: add the axis guest",
                                level->name);
    }
    return TRUE;
}

static gboolean check_bootable(const Check *check, GError **error)
{
    for (guint h = 0; h < axis_at(check, check->hypervisor)->levels->len; h++) {
        const InventoryHypervisor *hypervisor = hypervisor_at(check, h);

        if (is_bare(hypervisor) || inventory_boots_kernel(hypervisor))
            continue;
        for (guint g = 0; g < axis_at(check, check->guest)->levels->len; g++) {
            const InventoryGuest *guest = guest_at(check, g);
            Pin pins[] = {{check->hypervisor, h}, {check->guest, g}};

            if (guest->kernel != NULL && is_used(check, pins, G_N_ELEMENTS(pins)))
                return node_fail_at(
                    check->plan->path, place_of(level_at(check, check->guest, g)), error,
                    "axis guest: \"%s\" boots from a kernel file, and hypervisor \"%s\" (driver "
                    "%s) boots disks only: add {hypervisor: %s, guest: %s} to exclude",
                    guest->name, hypervisor->name, hypervisor->driver, hypervisor->name,
                    guest->name);
        }
    }
    return TRUE;
}

static gboolean has_cmdline(const PlanLevel *level)
{
    return level->cmdline != NULL && level->cmdline[0] != '\0';
}

/* What of the level has no meaning on bare, or NULL. */
static const char *bare_cannot(const Check *check, int axis, const PlanLevel *level)
{
    if (has_cmdline(level))
        return "cmdline";
    if (level->edits->len > 0)
        return "domain edits";
    if (axis == plan_axis_index(check->plan, "emulator") &&
        level->number == EMULATOR_ON_HOUSEKEEPING + 1)
        return "placement of emulator threads";
    return NULL;
}

/* On bare there is no domain and no kernel to start: a level that says otherwise would label a
 * measurement with what was not measured. */
static gboolean check_effect_on_bare(const Check *check, int axis, guint level_index,
                                     GError **error)
{
    const PlanLevel *level = level_at(check, axis, level_index);

    const char *what = bare_cannot(check, axis, level);

    if (what == NULL)
        return TRUE;
    for (guint h = 0; h < axis_at(check, check->hypervisor)->levels->len; h++) {
        const InventoryHypervisor *hypervisor = hypervisor_at(check, h);
        Pin pins[] = {{axis, level_index}, {check->hypervisor, h}};

        if (is_bare(hypervisor) && is_used(check, pins, G_N_ELEMENTS(pins)))
            return node_fail_at(check->plan->path, place_of(level), error,
                                "axis %s, level %s: its %s cannot take effect on hypervisor "
                                "\"%s\" (driver bare): add {hypervisor: %s, %s: %s} to exclude",
                                axis_at(check, axis)->name, level->name, what, hypervisor->name,
                                hypervisor->name, axis_at(check, axis)->name, level->name);
    }
    return TRUE;
}

static gboolean check_cmdline(const Check *check, int axis, guint level_index, GError **error)
{
    const PlanLevel *level = level_at(check, axis, level_index);

    if (!has_cmdline(level) || check->guest < 0)
        return TRUE;
    for (guint g = 0; g < axis_at(check, check->guest)->levels->len; g++) {
        const InventoryGuest *guest = guest_at(check, g);
        Pin pins[] = {{axis, level_index}, {check->guest, g}};

        if (guest->kernel == NULL && is_used(check, pins, G_N_ELEMENTS(pins)))
            return node_fail_at(check->plan->path, place_of(level), error,
                                "axis %s, level %s: its cmdline cannot take effect in guest "
                                "\"%s\", which starts its kernel from its disk: give the guest a "
                                "kernel in the inventory, or add {guest: %s, %s: %s} to exclude",
                                axis_at(check, axis)->name, level->name, guest->name, guest->name,
                                axis_at(check, axis)->name, level->name);
    }
    return TRUE;
}

static gboolean check_effects(const Check *check, GError **error)
{
    for (int axis = 0; axis < (int)check->plan->axes->len; axis++) {
        for (guint level = 0; level < axis_at(check, axis)->levels->len; level++) {
            if (!check_effect_on_bare(check, axis, level, error) ||
                !check_cmdline(check, axis, level, error))
                return FALSE;
        }
    }
    return TRUE;
}

gboolean plan_check(const Plan *plan, const Inventory *inventory, GError **error)
{
    Check check = {.plan = plan,
                   .inventory = inventory,
                   .hypervisor = plan_axis_index(plan, "hypervisor"),
                   .guest = plan_axis_index(plan, "guest")};

    if (!check_hypervisor_names(&check, error))
        return FALSE;
    if (check.guest < 0)
        return check_all_bare(&check, error) && check_effects(&check, error);
    return check_guest_names(&check, error) && check_bootable(&check, error) &&
           check_effects(&check, error);
}
