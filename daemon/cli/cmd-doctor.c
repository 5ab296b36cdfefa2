/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix doctor: what works on this machine, and the way out where it does not. */
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "run/doctor.h"
#include "util/error.h"

static const OptionSpec options[] = {
    {.name = "work",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(Settings, work),
     .value = "FOLDER",
     .help = "folder for overlays, as \"vmatrix run\" has it"},
    {0},
};

static Table *findings_table(const GPtrArray *findings)
{
    Table *table = table_new();

    table_column(table, "state", "state", COLUMN_TEXT);
    table_column(table, "check", "check", COLUMN_TEXT);
    table_column(table, "found", "found", COLUMN_TEXT);
    table_column(table, "way_out", "way out", COLUMN_TEXT);
    for (guint i = 0; i < findings->len; i++) {
        const DoctorFinding *finding = g_ptr_array_index(findings, i);

        table_row(table);
        table_text(table, doctor_level_name(finding->level));
        table_text(table, finding->check);
        table_text(table, finding->message);
        table_text(table, finding->way_out);
    }
    return table;
}

static void print_finding(FILE *stream, const DoctorFinding *finding, gboolean colour)
{
    static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m"};

    fprintf(stream, "%s%-8s%s %-12s %s\n", colour ? colours[finding->level] : "",
            doctor_level_name(finding->level), colour ? "\033[0m" : "", finding->check,
            finding->message);
    if (finding->way_out != NULL)
        fprintf(stream, "%*s-> %s\n", 22, "", finding->way_out);
}

/* For people a line a finding, whole: a table would cut the way out. */
static gboolean print_lines(const Settings *settings, const GPtrArray *findings, GError **error)
{
    g_auto(Output) output = {0};
    gboolean colour = settings->output == NULL && output_colour(settings, STDOUT_FILENO);

    if (!output_open(settings, &output, error))
        return FALSE;
    for (guint i = 0; i < findings->len; i++) {
        const DoctorFinding *finding = g_ptr_array_index(findings, i);

        if (finding->level != DOCTOR_OK || settings->verbosity >= 0)
            print_finding(output.stream, finding, colour);
    }
    return output_close(&output, error);
}

static gboolean print_findings(const Settings *settings, const GPtrArray *findings, GError **error)
{
    g_autoptr(Table) table = NULL;

    if (settings_format(settings, FORMAT_TABLE) == FORMAT_TABLE)
        return print_lines(settings, findings, error);
    table = findings_table(findings);
    return output_table(settings, table, error);
}

static gboolean something_missing(const GPtrArray *findings)
{
    for (guint i = 0; i < findings->len; i++)
        if (((const DoctorFinding *)g_ptr_array_index(findings, i))->level == DOCTOR_MISSING)
            return TRUE;
    return FALSE;
}

static int run_doctor(const Settings *settings, char **words, GError **error)
{
    g_autofree char *inventory_path = settings_inventory_path(settings);
    g_autofree char *db_path = settings_db_path(settings);
    g_autoptr(Inventory) inventory = NULL;
    g_autoptr(Store) store = NULL;
    g_autoptr(Cancel) cancel = cancel_new();
    g_autoptr(GPtrArray) findings = NULL;

    if (inventory_path != NULL && (inventory = inventory_load(inventory_path, error)) == NULL)
        return VM_EXIT_INVALID;
    if (!settings_open_existing(settings, &store, error))
        return VM_EXIT_ENVIRONMENT;
    signals_catch(cancel);
    findings = doctor_examine(&(DoctorSubject){.inventory = inventory,
                                               .store = store,
                                               .db_path = db_path,
                                               .work = settings->work,
                                               .cancel = cancel});
    signals_release();
    if (cancel_is_set(cancel))
        return VM_EXIT_INTERRUPTED;
    if (!print_findings(settings, findings, error))
        return VM_EXIT_ENVIRONMENT;
    return something_missing(findings) ? VM_EXIT_ENVIRONMENT : VM_EXIT_DONE;
}

const Command command_doctor = {
    .name = "doctor",
    .arguments = "",
    .group = "The site",
    .summary = "what works on this machine, and the way out",
    .about = "Looks at the host, the inventory's hypervisors, images and keys, the database,\n"
             "the agent and the programs that are used. Each line is ok, warning or missing;\n"
             "the exit code is 3 when something that is needed is missing.\n",
    .example = "vmatrix doctor --inventory site.yaml",
    .options = options,
    .run = run_doctor,
};
