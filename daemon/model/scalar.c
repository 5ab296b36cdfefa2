/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/scalar.h"

#include <string.h>

#include "util/text.h"

typedef struct {
    const char *name;
    guint64 factor;
} Unit;

static const Unit size_units[] = {
    {"B", 1},
    {"KiB", G_GUINT64_CONSTANT(1) << 10},
    {"MiB", G_GUINT64_CONSTANT(1) << 20},
    {"GiB", G_GUINT64_CONSTANT(1) << 30},
    {"TiB", G_GUINT64_CONSTANT(1) << 40},
    {"kB", G_GUINT64_CONSTANT(1000)},
    {"MB", G_GUINT64_CONSTANT(1000000)},
    {"GB", G_GUINT64_CONSTANT(1000000000)},
    {"TB", G_GUINT64_CONSTANT(1000000000000)},
    {NULL, 0},
};

static const Unit duration_units[] = {
    {"ns", 1},
    {"us", G_GUINT64_CONSTANT(1000)},
    {"ms", G_GUINT64_CONSTANT(1000000)},
    {"s", G_GUINT64_CONSTANT(1000000000)},
    {"m", G_GUINT64_CONSTANT(60000000000)},
    {"h", G_GUINT64_CONSTANT(3600000000000)},
    {NULL, 0},
};

static const Unit *find_unit(const Unit *units, const char *name)
{
    for (; units->name != NULL; units++) {
        if (strcmp(units->name, name) == 0)
            return units;
    }
    return NULL;
}

/* Digits, then a unit, with nothing between; *ret_value at most max. */
static ScalarResult parse_scaled(const char *text, const Unit *units, guint64 max,
                                 guint64 *ret_value)
{
    gsize digits = strspn(text, "0123456789");
    const Unit *unit = find_unit(units, text + digits);
    g_autofree char *number = g_strndup(text, digits);
    guint64 value;

    if (digits == 0 || (number[0] == '0' && digits > 1))
        return SCALAR_BAD_FORM;
    if (text[digits] == '\0')
        return SCALAR_NO_UNIT;
    if (unit == NULL)
        return SCALAR_BAD_FORM;
    if (!text_parse_uint(number, &value) || value > max / unit->factor)
        return SCALAR_TOO_BIG;
    *ret_value = value * unit->factor;
    return SCALAR_OK;
}

ScalarResult scalar_parse_size(const char *text, guint64 *ret_bytes)
{
    return parse_scaled(text, size_units, G_MAXINT64, ret_bytes);
}

ScalarResult scalar_parse_duration(const char *text, gint64 *ret_ns)
{
    guint64 value;
    ScalarResult result = parse_scaled(text, duration_units, G_MAXINT64, &value);

    if (result == SCALAR_OK)
        *ret_ns = (gint64)value;
    return result;
}

/* "12" or "12.5", no leading zero, then suffix ("": none). */
static ScalarResult parse_decimal(const char *text, const char *suffix, double max,
                                  double *ret_value)
{
    gsize whole = strspn(text, "0123456789"), fraction = 0;

    if (whole == 0 || (text[0] == '0' && whole > 1))
        return SCALAR_BAD_FORM;
    if (text[whole] == '.') {
        fraction = strspn(text + whole + 1, "0123456789");
        if (fraction == 0)
            return SCALAR_BAD_FORM;
        fraction++; /* the point */
    }
    if (text[whole + fraction] == '\0' && *suffix != '\0')
        return SCALAR_NO_UNIT;
    if (strcmp(text + whole + fraction, suffix) != 0)
        return SCALAR_BAD_FORM;
    double value = g_ascii_strtod(text, NULL);

    if (!(value <= max))
        return SCALAR_TOO_BIG;
    *ret_value = value;
    return SCALAR_OK;
}

ScalarResult scalar_parse_percent(const char *text, double *ret_fraction)
{
    double percent;
    ScalarResult result = parse_decimal(text, "%", 100, &percent);

    if (result == SCALAR_OK)
        *ret_fraction = percent / 100;
    return result;
}

ScalarResult scalar_parse_ppm(const char *text, double *ret_ppm)
{
    return parse_decimal(text, "ppm", 1e6, ret_ppm);
}

ScalarResult scalar_parse_count(const char *text, double *ret_count)
{
    return parse_decimal(text, "", 1e6, ret_count);
}

ScalarResult scalar_parse_kelvin(const char *text, double *ret_kelvin)
{
    return parse_decimal(text, "K", 1000, ret_kelvin);
}

ScalarResult scalar_parse_minute(const char *text, gint *ret_minute)
{
    if (strlen(text) != 5 || !g_ascii_isdigit(text[0]) || !g_ascii_isdigit(text[1]) ||
        text[2] != ':' || !g_ascii_isdigit(text[3]) || !g_ascii_isdigit(text[4]))
        return SCALAR_BAD_FORM;
    gint hour = (text[0] - '0') * 10 + (text[1] - '0');
    gint minute = (text[3] - '0') * 10 + (text[4] - '0');

    if (hour > 23 || minute > 59)
        return SCALAR_TOO_BIG;
    *ret_minute = hour * 60 + minute;
    return SCALAR_OK;
}
