/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/agent-scan.h"

#include <math.h>
#include <string.h>

#define KEY "\"values\""

void agent_scan_clear(AgentScan *scan)
{
    g_clear_pointer(&scan->values, g_array_unref);
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && g_ascii_isdigit(*at))
        at++;
    return at;
}

/* Behind the number at at by JSON's grammar, which is narrower than strtod()'s; NULL: none. */
static const char *skip_number(const char *at, const char *end)
{
    const char *digits, *fraction;

    if (at < end && *at == '-')
        at++;
    digits = at;
    at = skip_digits(at, end);
    if (at == digits || (*digits == '0' && at - digits > 1))
        return NULL;
    if (at < end && *at == '.') {
        fraction = at + 1;
        at = skip_digits(fraction, end);
        if (at == fraction)
            return NULL;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        digits = at;
        at = skip_digits(at, end);
        if (at == digits)
            return NULL;
    }
    return at;
}

/* Read "1, 2.5]" from at. Returns the closing bracket; NULL: not 1 to max finite numbers. */
static const char *read_values(const char *at, const char *end, guint max, GArray *values)
{
    for (;;) {
        const char *number = skip_space(at, end);
        double value;

        at = skip_number(number, end);
        if (at == NULL || values->len == max)
            return NULL;
        at = skip_space(at, end);
        if (at == end || (*at != ',' && *at != ']'))
            return NULL;
        /* What follows the number, inside the line, stops the conversion. */
        value = g_ascii_strtod(number, NULL);
        if (!isfinite(value))
            return NULL;
        g_array_append_val(values, value);
        if (*at == ']')
            return at;
        at++;
    }
}

/* The line at at begins with the key: take its array. Returns the closing bracket, or NULL. */
static const char *take_values(const char *line, const char *at, const char *end, guint max,
                               AgentScan *scan)
{
    g_autoptr(GArray) values = NULL;
    const char *close;

    at = skip_space(at + strlen(KEY), end);
    if (at == end || *at != ':')
        return NULL;
    at = skip_space(at + 1, end);
    if (at == end || *at != '[')
        return NULL;
    values =
        g_array_sized_new(FALSE, FALSE, sizeof(double), MIN(max, (guint)((end - at) / 18 + 1)));
    close = read_values(at + 1, end, max, values);
    if (close == NULL)
        return NULL;
    scan->values = g_steal_pointer(&values);
    scan->from = (gsize)(at + 1 - line);
    scan->to = (gsize)(close - line);
    return close;
}

static gboolean is_key(const char *at, const char *end)
{
    return (gsize)(end - at) > strlen(KEY) && memcmp(at, KEY, strlen(KEY)) == 0;
}

/* Behind the string whose opening quote is at at. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\' && end - at > 1)
            at++;
    return at < end ? at + 1 : end;
}

void agent_scan(const char *line, gsize length, int depth_max, guint values_max,
                AgentScan *ret_scan)
{
    AgentScan scan = {0};
    const char *end = line + length;
    int depth = 0;

    for (const char *at = line; at < end && !scan.too_deep;) {
        const char *close = NULL;

        if (*at == '"') {
            if (depth == 1 && scan.values == NULL && is_key(at, end))
                close = take_values(line, at, end, values_max, &scan);
            at = close != NULL ? close + 1 : skip_string(at, end);
            continue;
        }
        if (*at == '{' || *at == '[')
            scan.too_deep = ++depth > depth_max;
        else if (*at == '}' || *at == ']')
            depth--;
        at++;
    }
    *ret_scan = scan;
}
