/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "util/text.h"

#include <string.h>

/* Damerau-Levenshtein distance (adjacent transpositions), restricted form; words are short. */
static guint distance(const char *a, const char *b)
{
    enum { MAX = 64 };
    guint la = (guint)MIN(strlen(a), MAX - 1), lb = (guint)MIN(strlen(b), MAX - 1);
    guint d[MAX][MAX];

    for (guint i = 0; i <= la; i++)
        d[i][0] = i;
    for (guint j = 0; j <= lb; j++)
        d[0][j] = j;
    for (guint i = 1; i <= la; i++) {
        for (guint j = 1; j <= lb; j++) {
            guint cost = a[i - 1] == b[j - 1] ? 0 : 1;
            guint best = MIN(d[i - 1][j] + 1, d[i][j - 1] + 1);

            best = MIN(best, d[i - 1][j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN(best, d[i - 2][j - 2] + 1);
            d[i][j] = best;
        }
    }
    return d[la][lb];
}

const char *text_nearest(const char *word, const char *const *candidates)
{
    guint limit = MAX(1, (guint)strlen(word) / 3);
    guint best = limit + 1;
    const char *nearest = NULL;

    for (; *candidates != NULL; candidates++) {
        guint d = distance(word, *candidates);

        if (d < best) {
            best = d;
            nearest = *candidates;
        }
    }
    return nearest;
}

gboolean text_parse_uint(const char *text, guint64 *ret_value)
{
    guint64 value = 0;

    if (*text == '\0' || (text[0] == '0' && text[1] != '\0'))
        return FALSE;
    for (; *text != '\0'; text++) {
        if (!g_ascii_isdigit(*text))
            return FALSE;
        guint digit = (guint)(*text - '0');

        if (value > (G_MAXUINT64 - digit) / 10)
            return FALSE;
        value = value * 10 + digit;
    }
    *ret_value = value;
    return TRUE;
}

char *text_format_size(guint64 bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    guint unit = 0;

    while (value >= 1024 && unit + 1 < G_N_ELEMENTS(units)) {
        value /= 1024;
        unit++;
    }
    return g_strdup_printf(value == (double)(guint64)value ? "%.0f %s" : "%.1f %s", value,
                           units[unit]);
}

char *text_escape(const char *text, gssize length, gsize max)
{
    gsize size = length < 0 ? strlen(text) : (gsize)length;
    gsize end = MIN(size, max);
    GString *out = g_string_sized_new(end + 8);

    for (gsize i = 0; i < end;) {
        gunichar c = g_utf8_get_char_validated(text + i, (gssize)(end - i));
        gboolean bad = c == (gunichar)-1 || c == (gunichar)-2;

        if (!bad && g_unichar_isprint(c)) {
            gsize step = (gsize)g_unichar_to_utf8(c, NULL);

            g_string_append_len(out, text + i, (gssize)step);
            i += step;
        } else {
            g_string_append_printf(out, "\\x%02x", (guint)(guchar)text[i]);
            i++;
        }
    }
    if (size > max)
        g_string_append(out, "…");
    return g_string_free(out, FALSE);
}
