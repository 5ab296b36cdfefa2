/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers as people read them. */
#include <math.h>
#include <string.h>

#include "report/table.h"

enum { SCALED_DIGITS = 3 };

char *table_digits(double value, int digits)
{
    char text[64], format[16];
    int exponent;

    if (!isfinite(value))
        return g_strdup("-");
    if (value == 0.0)
        return g_strdup("0");
    /* The exponent after rounding: 9.996 with three digits is 10.0. */
    g_snprintf(format, sizeof format, "%%.%de", digits - 1);
    g_ascii_formatd(text, sizeof text, format, value);
    exponent = (int)g_ascii_strtoll(strchr(text, 'e') + 1, NULL, 10);
    if (exponent < -5 || exponent > 14)
        return g_strdup(text);
    g_snprintf(format, sizeof format, "%%.%df", MAX(0, digits - 1 - exponent));
    return g_strdup(g_ascii_formatd(text, sizeof text, format, g_ascii_strtod(text, NULL)));
}

/* One unit of the agent's: what 1 of it is in the base, and the steps of the base, small to large.
 */
typedef struct {
    const char *unit;
    double in_base;
    const struct step {
        const char *name;
        double size;
    } * steps;
} Scale;

static const struct step time_steps[] = {
    {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};
static const struct step byte_steps[] = {{"B", 1},    {"kB", 1e3},  {"MB", 1e6},
                                         {"GB", 1e9}, {"TB", 1e12}, {NULL, 0}};
static const struct step speed_steps[] = {{"B/s", 1},    {"kB/s", 1e3},  {"MB/s", 1e6},
                                          {"GB/s", 1e9}, {"TB/s", 1e12}, {NULL, 0}};
static const struct step rate_steps[] = {
    {"/s", 1}, {"k/s", 1e3}, {"M/s", 1e6}, {"G/s", 1e9}, {NULL, 0}};
static const struct step frequency_steps[] = {
    {"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}, {NULL, 0}};

static const Scale scales[] = {
    {"ns", 1e-9, time_steps},    {"us", 1e-6, time_steps}, {"ms", 1e-3, time_steps},
    {"s", 1, time_steps},        {"bytes", 1, byte_steps}, {"B", 1, byte_steps},
    {"bytes/s", 1, speed_steps}, {"B/s", 1, speed_steps},  {"1/s", 1, rate_steps},
    {"Hz", 1, frequency_steps},
};

/* The largest step of which value, rounded as it will be printed, is at least one. */
static const struct step *choose_step(const struct step *steps, double base)
{
    const struct step *chosen = steps;
    const double rounded_up = 1 - 0.5 * pow(10, -SCALED_DIGITS);

    for (; steps->name != NULL; steps++)
        if (fabs(base) >= steps->size * rounded_up)
            chosen = steps;
    return chosen;
}

static char *join(double value, const char *unit)
{
    g_autofree char *digits = table_digits(value, SCALED_DIGITS);

    return *unit != '\0' ? g_strdup_printf("%s %s", digits, unit) : g_steal_pointer(&digits);
}

char *table_scale(double value, const char *unit)
{
    if (!isfinite(value))
        return g_strdup("-");
    for (gsize i = 0; unit != NULL && i < G_N_ELEMENTS(scales); i++) {
        if (!g_str_equal(scales[i].unit, unit))
            continue;
        double base = value * scales[i].in_base;
        const struct step *step = choose_step(scales[i].steps, base);

        /* Nothing has no size: 0 keeps its own unit's smallest step. */
        return join(base / step->size, step->name);
    }
    return join(value, unit != NULL ? unit : "");
}
