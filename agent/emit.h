/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent's side of schema/agent-protocol.md: one line a function, written and flushed at once.
 * Text from outside is escaped; bytes that are not UTF-8 become U+FFFD. */
#ifndef VMATRIX_AGENT_EMIT_H
#define VMATRIX_AGENT_EMIT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bench.h"
#include "facts.h"
#include "runner.h"

#define EMIT_VALUES_MAX 1000 /* values in one sample line */

/* text as a JSON string with its quotes. */
void emit_string(FILE *out, const char *text);
/* text for a terminal: nothing in it can move the cursor. */
void emit_text(FILE *out, const char *text);
/* The shortest decimal that reads back as value, which must be finite. */
void emit_double(FILE *out, double value);

void emit_hello(FILE *out, int64_t resolution_ns, double clock_cost_ns, const char *arch, int cpus);
void emit_pong(FILE *out, int64_t id); /* stamps it */
void emit_facts(FILE *out, const struct facts *facts);
void emit_facts_object(FILE *out, const struct facts *facts); /* the bare object */
/* type: "ready" (no reason), "unsupported", "failed". */
void emit_outcome(FILE *out, const char *type, int64_t invocation, const char *reason);
/* Of host-evidence; returns true. id -1, reason NULL: left out. */
bool emit_answer(FILE *out, const char *type, int64_t id, const char *reason);
void emit_mark(FILE *out, const char *type, int64_t invocation, int64_t t); /* "begin", "end" */
/* What a line of samples says of all of them. */
struct emit_series {
    int64_t invocation;
    struct bench_metric metric;
    unsigned revision;
    int copy; /* -1: there is only one */
    const struct runner_totals *totals;
};
/* count values in as many lines as are needed. */
void emit_samples(FILE *out, const struct emit_series *series, const double *values, size_t count);
/* flags "": none. */
void emit_done(FILE *out, int64_t invocation, uint64_t samples, const char *flags,
               const struct runner_watch *watch);
/* ,"key":value; a value below 0 is absent, and left out. first: without the comma, and set false.
 */
void emit_member(FILE *out, const char *key, int64_t value, bool *first);
void emit_bye(FILE *out, uint64_t invocations, uint64_t samples);
void emit_error(FILE *out, const char *reason);
void emit_catalogue(FILE *out);

#endif
