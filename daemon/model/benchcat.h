/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The catalogue of what can be asked for: the agent's benchmarks (by "vmatrix-agent list --json")
 * and their groups. Pure: built from that text. */
#pragma once
#include <glib.h>

#include "model/node.h"

typedef struct {
    char *name; /* "latency" */
    char *unit;
    char *direction;
} BenchMetric;

typedef struct {
    char *name;         /* "ops.int32-add" */
    char *groups;       /* space-separated: "ops arithmetic" */
    GPtrArray *metrics; /* BenchMetric*, the main one first; at least one */
    char *summary;      /* what it measures, one line */
    char *os;           /* space-separated: "linux freebsd windows" */
} BenchInfo;

typedef struct {
    GPtrArray *benches; /* BenchInfo*, in the agent's order */
} BenchCatalogue;

BenchCatalogue *bench_catalogue_parse(const char *json, gsize length, GError **error);
void bench_catalogue_free(BenchCatalogue *catalogue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BenchCatalogue, bench_catalogue_free)

/* Expand the plan's workloads (labels, workload.h, of benches or groups) to labels of benches, each
 * once, in the order of first mention. plan_path and places (NodePlace of each name, or NULL) are
 * for messages; unknown names get a suggestion. Transfer full (strings owned by the array). */
GPtrArray *bench_catalogue_expand(const BenchCatalogue *catalogue, const GPtrArray *names,
                                  const char *plan_path, const GArray *places, GError **error);
