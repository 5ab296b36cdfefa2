/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix check: are these plans and inventories valid? */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "model/matrix.h"
#include "util/error.h"
#include "util/io.h"

enum { FILE_MAX = 16 << 20 };

typedef enum { KIND_PLAN, KIND_INVENTORY } FileKind;

typedef struct {
    FileKind kind;
    char *about; /* what a valid file holds */
    GError *error;
} Verdict;

static void verdict_clear(Verdict *verdict)
{
    g_free(verdict->about);
    g_clear_error(&verdict->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Verdict, verdict_clear)

static gboolean has_key(const char *text, gsize length, const char *keys)
{
    g_autofree char *pattern =
        g_strdup_printf("(?:^|[{,])(?:\\xEF\\xBB\\xBF)?[ ]*[\"']?(?:%s)[\"']?[ ]*:", keys);
    g_autofree char *top = g_strdup_printf("^(?:\\xEF\\xBB\\xBF)?[\"']?(?:%s)[\"']?[ ]*:", keys);
    gboolean flow = *text == '{';
    g_autoptr(GRegex) regex =
        g_regex_new(flow ? pattern : top, G_REGEX_RAW | G_REGEX_MULTILINE, 0, NULL);

    return g_regex_match_full(regex, text, (gssize)length, 0, 0, NULL, NULL);
}

/* By content, not by name: an inventory has hypervisors or guests and no plan. What is neither is
 * read as a plan, whose errors say what is wrong. */
static FileKind kind_of(const char *text, gsize length)
{
    return has_key(text, length, "hypervisors|guests") && !has_key(text, length, "plan|axes")
               ? KIND_INVENTORY
               : KIND_PLAN;
}

static char *check_plan(const char *path, const char *text, gsize length,
                        const Inventory *inventory, GError **error)
{
    g_autoptr(Plan) plan = plan_parse(path, text, (gssize)length, error);
    g_autoptr(Matrix) matrix = NULL;

    if (plan == NULL || (inventory != NULL && !plan_check(plan, inventory, error)))
        return NULL;
    matrix = matrix_new(plan, error);
    if (matrix == NULL)
        return NULL;
    return g_strdup_printf("plan %s: %u cell%s, %u block%s", plan->name, matrix->n_cells,
                           matrix->n_cells == 1 ? "" : "s", matrix->n_blocks,
                           matrix->n_blocks == 1 ? "" : "s");
}

static char *check_inventory(const char *path, const char *text, gsize length, GError **error)
{
    g_autoptr(Inventory) inventory = inventory_parse(path, text, (gssize)length, error);

    if (inventory == NULL)
        return NULL;
    return g_strdup_printf("inventory: %u hypervisor%s, %u guest%s", inventory->hypervisors->len,
                           inventory->hypervisors->len == 1 ? "" : "s", inventory->guests->len,
                           inventory->guests->len == 1 ? "" : "s");
}

static void check_file(const char *path, const Inventory *inventory, Verdict *verdict)
{
    gsize length;
    g_autofree char *text = io_read_file(path, FILE_MAX, &length, &verdict->error);

    if (text == NULL)
        return;
    verdict->kind = kind_of(text, length);
    if (verdict->kind == KIND_INVENTORY)
        verdict->about = check_inventory(path, text, length, &verdict->error);
    else
        verdict->about = check_plan(path, text, length, inventory, &verdict->error);
}

static void print_verdict(const char *path, const Verdict *verdict, gboolean quiet)
{
    if (verdict->error != NULL)
        fprintf(stderr, "%s\n", verdict->error->message);
    else if (!quiet)
        printf("%s: ok (%s)\n", path, verdict->about);
}

static Table *new_table(void)
{
    Table *table = table_new();

    table_column(table, "file", "file", COLUMN_TEXT);
    table_column(table, "kind", "kind", COLUMN_TEXT);
    table_column(table, "result", "result", COLUMN_TEXT);
    table_column(table, "message", "message", COLUMN_TEXT);
    return table;
}

static void add_verdict(Table *table, const char *path, const Verdict *verdict)
{
    table_row(table);
    table_text(table, path);
    table_text(table, verdict->kind == KIND_PLAN ? "plan" : "inventory");
    table_text(table, verdict->error != NULL ? "invalid" : "ok");
    table_text(table, verdict->error != NULL ? verdict->error->message : verdict->about);
}

static int run_check(const Settings *settings, char **words, GError **error)
{
    gboolean lines =
        settings->output == NULL && settings_format(settings, FORMAT_TABLE) == FORMAT_TABLE;
    g_autoptr(Inventory) inventory = NULL;
    g_autoptr(Table) table = new_table();
    int code = VM_EXIT_DONE;

    if (settings->inventory != NULL) {
        inventory = settings_load_inventory(settings, error);
        if (inventory == NULL)
            return VM_EXIT_INVALID;
    }
    for (char **path = words; *path != NULL; path++) {
        g_auto(Verdict) verdict = {0};

        check_file(*path, inventory, &verdict);
        if (lines)
            print_verdict(*path, &verdict, settings->verbosity < 0);
        else
            add_verdict(table, *path, &verdict);
        /* An invalid file counts for more than one that could not be read. */
        if (verdict.error != NULL && code != VM_EXIT_INVALID)
            code = vm_error_exit_code(verdict.error);
    }
    if (!lines && !output_table(settings, table, error))
        return VM_EXIT_ENVIRONMENT;
    return code;
}

const Command command_check = {
    .name = "check",
    .arguments = "FILE...",
    .group = "Before a run",
    .summary = "check plans and inventories",
    .about = "Says for each FILE, plan or inventory (by its content), whether it is valid;\n"
             "else FILE:LINE:COLUMN and why, and the exit code is 2. With --inventory, plans\n"
             "are also held against that site.\n",
    .example = "vmatrix check --inventory site.yaml night.yaml",
    .min_words = 1,
    .max_words = G_MAXUINT,
    .run = run_check,
};
