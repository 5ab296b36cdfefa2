/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "byhand-table.h"

#include <stdio.h>
#include <string.h>

#include "emit.h"

#define COLUMNS 80
#define NAME_COLUMNS 34
#define INDENT "    "
#define VALUE_SIZE 32

void byhand_print_header(bool human)
{
    if (human)
        printf("%-*s%10s%10s%10s%5s%10s\n", NAME_COLUMNS, "BENCHMARK", "MEDIAN", "MIN", "MAX", "N",
               "LOOP");
    else
        printf("%-28s %-20s %-8s %12s %12s %12s %6s %10s %6s %10s  %s\n", "BENCHMARK", "METRIC",
               "UNIT", "MEDIAN", "MIN", "MAX", "N", "LOOP-NS", "COPIES", "EFFICIENCY", "FLAGS");
}

/* Scaled, in at most 9 columns. false: the unit is not one that can be scaled, and is not told. */
static bool format_scaled(double value, const char *unit, char *ret_text)
{
    static const char *const times[] = {"ns", "us", "ms", "s"};
    static const char *const streams[] = {"B/s", "kB/s", "MB/s", "GB/s"};
    static const char *const rates[] = {"/s", "k/s", "M/s", "G/s"};
    const char *const *scales = strcmp(unit, "ns") == 0        ? times
                                : strcmp(unit, "bytes/s") == 0 ? streams
                                : strcmp(unit, "1/s") == 0     ? rates
                                                               : NULL;
    size_t step = 0;

    if (scales == NULL) {
        snprintf(ret_text, VALUE_SIZE, "%.4g", value);
        return false;
    }
    for (; value >= 999.5 && step < 3; step++)
        value /= 1000;
    snprintf(ret_text, VALUE_SIZE, "%.3g %s", value, scales[step]);
    return true;
}

/* Words of a text in lines that begin with four spaces and fit the screen. */
static void print_wrapped(const char *text)
{
    size_t column = strlen(INDENT);

    fputs(INDENT, stdout);
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        char word[512];

        snprintf(word, sizeof(word), "%.*s", (int)length, text);
        if (column > strlen(INDENT) && column + 1 + length > COLUMNS) {
            fputs("\n" INDENT, stdout);
            column = strlen(INDENT);
        } else if (column > strlen(INDENT)) {
            putchar(' ');
            column++;
        }
        emit_text(stdout, word);
        column += length;
        text += length + strspn(text + length, " ");
    }
    putchar('\n');
}

static void print_human_row(const struct byhand_row *row)
{
    char median[VALUE_SIZE], least[VALUE_SIZE], most[VALUE_SIZE], loop[VALUE_SIZE] = "", name[128];
    bool scaled = format_scaled(row->median, row->metric.unit, median);

    format_scaled(row->least, row->metric.unit, least);
    format_scaled(row->most, row->metric.unit, most);
    if (row->overhead_ns > 0)
        format_scaled(row->overhead_ns, "ns", loop);
    snprintf(name, sizeof(name), "%s %s%s%s", row->name, row->metric.name, scaled ? "" : ", ",
             scaled ? "" : row->metric.unit);
    printf("%-*s", NAME_COLUMNS, name);
    if (strlen(name) >= NAME_COLUMNS)
        printf("\n%-*s", NAME_COLUMNS, "");
    printf("%10s%10s%10s%5zu", median, least, most, row->count);
    if (loop[0] != '\0')
        printf("%10s", loop);
    putchar('\n');
    if (row->efficiency > 0)
        printf(INDENT "%u %s: each at %.1f %% of the first row's speed\n", row->copies,
               row->copies_are, 100 * row->efficiency);
    else if (row->copies > 1)
        printf(INDENT "%u %s\n", row->copies, row->copies_are);
    if (row->flags[0] != '\0')
        printf(INDENT "flags: %s\n", row->flags);
}

static void print_plain_row(const struct byhand_row *row)
{
    char loop[VALUE_SIZE] = "-", efficiency[VALUE_SIZE] = "-";

    if (row->overhead_ns > 0)
        snprintf(loop, sizeof(loop), "%.4g", row->overhead_ns);
    if (row->efficiency > 0)
        snprintf(efficiency, sizeof(efficiency), "%.4f", row->efficiency);
    printf("%-28s %-20s %-8s %12.6g %12.6g %12.6g %6zu %10s %6u %10s  %s\n", row->name,
           row->metric.name, row->metric.unit, row->median, row->least, row->most, row->count, loop,
           row->copies, efficiency, row->flags);
}

void byhand_print_row(bool human, const struct byhand_row *row)
{
    if (human)
        print_human_row(row);
    else
        print_plain_row(row);
}

void byhand_print_reason(bool human, const char *name, const char *what, const char *reason)
{
    if (human) {
        printf("%s: %s\n", name, what);
        print_wrapped(reason);
        return;
    }
    printf("%-28s %s: ", name, what);
    emit_text(stdout, reason);
    putchar('\n');
}
