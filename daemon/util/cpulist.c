/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "util/cpulist.h"

#include "util/text.h"

enum { NUMBER_MAX = 65536 };

static gboolean add_range(GArray *numbers, const char *range)
{
    g_auto(GStrv) ends = g_strsplit(range, "-", 2);
    guint64 first, last;

    if (ends[0] == NULL || !text_parse_uint(ends[0], &first))
        return FALSE;
    last = first;
    if (ends[1] != NULL && !text_parse_uint(ends[1], &last))
        return FALSE;
    if (last < first || last >= NUMBER_MAX)
        return FALSE;
    for (guint64 i = first; i <= last; i++) {
        guint number = (guint)i;

        g_array_append_val(numbers, number);
    }
    return TRUE;
}

GArray *cpulist_parse(const char *text)
{
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(guint));
    g_auto(GStrv) ranges = g_strsplit(text, ",", -1);

    if (ranges[0] == NULL)
        return NULL;
    for (char **range = ranges; *range != NULL; range++)
        if (!add_range(numbers, *range))
            return NULL;
    return g_steal_pointer(&numbers);
}

char *cpulist_text(const GArray *numbers)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = 0; i < numbers->len; i++)
        g_string_append_printf(text, "%s%u", i > 0 ? "," : "", g_array_index(numbers, guint, i));
    return text->len > 0 ? g_strdup(text->str) : NULL;
}

gboolean cpulist_has(const GArray *numbers, guint number)
{
    for (guint i = 0; i < numbers->len; i++)
        if (g_array_index(numbers, guint, i) == number)
            return TRUE;
    return FALSE;
}
