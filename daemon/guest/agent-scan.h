/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A first look at a line of JSON, before the parser sees it: bounds its nesting, and takes the
 * numbers out of a long "values" array. The parser makes an object of each number, which costs more
 * than all else on the way to the database. Pure. */
#pragma once
#include <glib.h>

typedef struct {
    gboolean too_deep;
    GArray *values; /* double: the elements of the outermost object's member "values"; NULL when it
                       has none, or one with other things in it than 1 to max finite numbers */
    gsize from, to; /* where these stand in the line, without the brackets */
} AgentScan;

void agent_scan_clear(AgentScan *scan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AgentScan, agent_scan_clear)

/* ret_scan need not be zeroed. */
void agent_scan(const char *line, gsize length, int depth_max, guint values_max,
                AgentScan *ret_scan);
