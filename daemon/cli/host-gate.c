/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix host gate: would a run begin now? */
#include <math.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "model/plan.h"
#include "run/gate.h"
#include "util/clock.h"
#include "util/error.h"

static const char *state_of(const GateRow *row)
{
    if (!row->present)
        return row->ignored ? "ignored" : "absent";
    return row->over ? "over" : "ok";
}

static Table *rows_table(const GPtrArray *rows)
{
    Table *table = table_new();

    table_column(table, "signal", "signal", COLUMN_TEXT);
    table_column(table, "value", "value", COLUMN_NUMBER);
    table_column(table, "limit", "limit", COLUMN_NUMBER);
    table_column(table, "unit", "unit", COLUMN_TEXT);
    table_audience(table, AUDIENCE_PROGRAMS);
    table_column(table, "verdict", "verdict", COLUMN_TEXT);
    table_column(table, "who", "who", COLUMN_TEXT);
    table_audience(table, AUDIENCE_PROGRAMS);
    for (guint i = 0; i < rows->len; i++) {
        const GateRow *row = g_ptr_array_index(rows, i);

        table_row(table);
        table_text(table, row->name);
        table_real(table, row->present ? row->value : NAN, row->present ? row->value_text : "-");
        table_real(table, row->limit, row->limit_text);
        table_text(table, row->unit);
        table_text(table, state_of(row));
        table_text(table, row->who);
    }
    return table;
}

static void append_lines(GString *text, const GPtrArray *words)
{
    for (guint i = 0; i < words->len; i++)
        g_string_append_printf(text, "  %s\n", (const char *)g_ptr_array_index(words, i));
}

/* What a run would wait for, a line each. */
static char *notes_of(const GateResult *result, const PlanIdle *limits)
{
    g_autofree char *span = clock_format_duration(limits->settle_ns);
    GString *text = g_string_new("A run would wait for:\n");

    if (result->outcome == GATE_OPEN)
        g_string_printf(text, "A run would begin: it was quiet for %s.\n", span);
    append_lines(text, result->guests);
    append_lines(text, result->chores);
    if (result->why != NULL)
        g_string_append_printf(text, "  %s\n", result->who != NULL ? result->who : GATE_NOBODY);
    return g_string_free(text, FALSE);
}

/* The limits of the plan, else the defaults; one look of settle_ns, without waiting for better. */
static gboolean find_limits(const char *path, PlanIdle *ret_limits, GError **error)
{
    g_autoptr(Plan) plan = path != NULL ? plan_load(path, error) : NULL;

    if (path != NULL && plan == NULL)
        return FALSE;
    if (plan != NULL)
        *ret_limits = plan->idle;
    else
        plan_idle_defaults(ret_limits);
    ret_limits->wait_ns = 0;
    /* A gate that is off, or that opens at once, would show nothing. */
    if (ret_limits->settle_ns == 0)
        ret_limits->settle_ns = CLOCK_NS_PER_S;
    return TRUE;
}

static gboolean look(const Settings *settings, const PlanIdle *limits, GateResult *ret_result,
                     GError **error)
{
    g_autofree char *inventory_path = settings_inventory_path(settings);
    g_autoptr(Inventory) inventory = NULL;
    g_autoptr(Cancel) cancel = cancel_new();
    Wait wait = {.deadline_ns = WAIT_FOREVER, .cancel = cancel, .guard_fd = -1, .step = "gate"};
    GateSpec spec = {.limits = limits};
    gboolean ok;

    if (inventory_path != NULL && (inventory = inventory_load(inventory_path, error)) == NULL)
        return FALSE;
    spec.inventory = inventory;
    signals_catch(cancel);
    ok = gate_wait(&wait, &spec, ret_result, error);
    signals_release();
    return ok;
}

static int run_gate(const Settings *settings, char **words, GError **error)
{
    g_auto(GateResult) result = {0};
    g_autoptr(GPtrArray) rows = NULL;
    g_autoptr(Table) table = NULL;
    g_autofree char *notes = NULL;
    PlanIdle limits;

    if (!find_limits(words[0], &limits, error) || !look(settings, &limits, &result, error))
        return VM_EXIT_ENVIRONMENT;
    rows = gate_rows(&result, &limits);
    table = rows_table(rows);
    notes = notes_of(&result, &limits);
    if (!output_report(settings, table, notes, error))
        return VM_EXIT_ENVIRONMENT;
    return result.outcome == GATE_OPEN ? VM_EXIT_DONE : VM_EXIT_PARTIAL;
}

const Command command_host_gate = {
    .name = "host gate",
    .arguments = "[PLAN]",
    .group = "The host",
    .summary = "would a run begin now, and who is in the way",
    .about = "Looks at the host for as long as it must be quiet before a run (\"idle\" in the\n"
             "plan; 10 s and the other defaults without one), and shows each signal beside\n"
             "its limit, and who is in the way. The exit code is 0 when a run would begin,\n"
             "4 when it would wait.\n",
    .example = "vmatrix host gate --json",
    .max_words = 1,
    .run = run_gate,
};
