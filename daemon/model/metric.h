/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is measured: a metric is workload + name + unit + direction (+ revision of its definition).
 */
#pragma once
#include <glib.h>

typedef enum { DIRECTION_LOWER, DIRECTION_HIGHER } Direction;

typedef struct {
    char *workload; /* "ops.int32-add" */
    char *name;     /* "latency"; unique within the workload */
    char *unit;     /* "ns", "bytes/s", "1/s" */
    Direction direction;
    guint revision; /* raised when the definition changes; from 1 */
} Metric;

/* "lower" or "higher". */
const char *direction_name(Direction direction);
gboolean direction_parse(const char *text, Direction *ret_direction);

void metric_clear(Metric *metric); /* frees the members */

/* Whether pattern (a glob: * and ?) matches the workload or "workload.name". */
gboolean metric_matches(const Metric *metric, const char *pattern);
