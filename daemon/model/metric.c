/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/metric.h"

#include <string.h>

const char *direction_name(Direction direction)
{
    return direction == DIRECTION_HIGHER ? "higher" : "lower";
}

gboolean direction_parse(const char *text, Direction *ret_direction)
{
    for (Direction direction = DIRECTION_LOWER; direction <= DIRECTION_HIGHER; direction++) {
        if (strcmp(text, direction_name(direction)) == 0) {
            *ret_direction = direction;
            return TRUE;
        }
    }
    return FALSE;
}

void metric_clear(Metric *metric)
{
    g_clear_pointer(&metric->workload, g_free);
    g_clear_pointer(&metric->name, g_free);
    g_clear_pointer(&metric->unit, g_free);
}

gboolean metric_matches(const Metric *metric, const char *pattern)
{
    g_autofree char *full = g_strdup_printf("%s.%s", metric->workload, metric->name);

    return g_pattern_match_simple(pattern, metric->workload) ||
           g_pattern_match_simple(pattern, full);
}
