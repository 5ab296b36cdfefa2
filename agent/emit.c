/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "emit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "os.h"
#include "utf8.h"

/* Control characters and what is not UTF-8 as escapes; with quoted, also quotes and backslashes. */
static void escaped(FILE *out, const char *at, bool quoted)
{
    while (*at != '\0') {
        unsigned char byte = (unsigned char)*at;
        size_t length = utf8_length(at, 4);

        if (length == 0) {
            fputs("\\ufffd", out);
            at++;
        } else if (quoted && (byte == '"' || byte == '\\')) {
            putc('\\', out);
            putc(*at++, out);
        } else if (byte < 0x20 || byte == 0x7f) {
            fprintf(out, "\\u%04x", (unsigned)byte);
            at++;
        } else {
            fwrite(at, 1, length, out);
            at += length;
        }
    }
}

void emit_string(FILE *out, const char *text)
{
    putc('"', out);
    escaped(out, text, true);
    putc('"', out);
}

void emit_text(FILE *out, const char *text)
{
    escaped(out, text, false);
}

void emit_double(FILE *out, double value)
{
    char text[40];

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, out);
}

/* ,"key":"text" */
static void member_string(FILE *out, const char *key, const char *text)
{
    fprintf(out, ",\"%s\":", key);
    emit_string(out, text);
}

/* ,"key":value */
static void member_double(FILE *out, const char *key, double value)
{
    fprintf(out, ",\"%s\":", key);
    emit_double(out, value);
}

static void end_line(FILE *out)
{
    fputs("}\n", out);
    fflush(out);
}

void emit_hello(FILE *out, int64_t resolution_ns, double clock_cost_ns, const char *arch, int cpus)
{
    fprintf(out, "{\"type\":\"hello\",\"protocol\":%d", AGENT_PROTOCOL);
    member_string(out, "version", VMATRIX_AGENT_VERSION);
    member_string(out, "clock", os_clock_name());
    fprintf(out, ",\"resolution_ns\":%" PRId64, resolution_ns);
    member_double(out, "clock_cost_ns", clock_cost_ns);
    member_string(out, "os", os_name);
    member_string(out, "arch", arch);
    fprintf(out, ",\"cpus\":%d", cpus);
    end_line(out);
}

void emit_pong(FILE *out, int64_t id)
{
    fprintf(out, "{\"type\":\"pong\",\"id\":%" PRId64 ",\"t\":", id);
    fprintf(out, "%" PRId64, os_clock_ns());
    end_line(out);
}

void emit_facts_object(FILE *out, const struct facts *facts)
{
    putc('{', out);
    for (size_t i = 0; i < facts->count; i++) {
        if (i > 0)
            putc(',', out);
        emit_string(out, facts->items[i].key);
        putc(':', out);
        emit_string(out, facts->items[i].value);
    }
    putc('}', out);
}

void emit_facts(FILE *out, const struct facts *facts)
{
    fputs("{\"type\":\"facts\",\"facts\":", out);
    emit_facts_object(out, facts);
    end_line(out);
}

void emit_outcome(FILE *out, const char *type, int64_t invocation, const char *reason)
{
    fprintf(out, "{\"type\":\"%s\",\"invocation\":%" PRId64, type, invocation);
    if (reason != NULL)
        member_string(out, "reason", reason);
    end_line(out);
}

bool emit_answer(FILE *out, const char *type, int64_t id, const char *reason)
{
    fprintf(out, "{\"type\":\"%s\"", type);
    if (id >= 0)
        fprintf(out, ",\"id\":%" PRId64, id);
    if (reason != NULL)
        member_string(out, "reason", reason);
    end_line(out);
    return true;
}

void emit_mark(FILE *out, const char *type, int64_t invocation, int64_t t)
{
    fprintf(out, "{\"type\":\"%s\",\"invocation\":%" PRId64 ",\"t\":%" PRId64, type, invocation, t);
    end_line(out);
}

static void emit_metric(FILE *out, const struct bench_metric *metric)
{
    member_string(out, "metric", metric->name);
    member_string(out, "unit", metric->unit);
    member_string(out, "direction", metric->direction);
}

static void emit_totals(FILE *out, const struct runner_totals *totals)
{
    member_double(out, "iterations", totals->iterations);
    if (totals->overhead_ns > 0)
        member_double(out, "overhead_ns", totals->overhead_ns);
    member_double(out, "time_ns", totals->time_ns);
    if (totals->tsc_hz <= 0)
        return;
    member_double(out, "tsc_ns", totals->tsc_ns);
    member_double(out, "tsc_hz", totals->tsc_hz);
}

static void sample_line(FILE *out, const struct emit_series *series, const double *values,
                        size_t count)
{
    fprintf(out, "{\"type\":\"sample\",\"invocation\":%" PRId64, series->invocation);
    emit_metric(out, &series->metric);
    fprintf(out, ",\"revision\":%u", series->revision);
    if (series->copy >= 0)
        fprintf(out, ",\"copy\":%d", series->copy);
    emit_totals(out, series->totals);
    fputs(",\"values\":[", out);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            putc(',', out);
        emit_double(out, values[i]);
    }
    putc(']', out);
    end_line(out);
}

void emit_samples(FILE *out, const struct emit_series *series, const double *values, size_t count)
{
    for (size_t sent = 0; sent < count; sent += EMIT_VALUES_MAX) {
        size_t left = count - sent;
        sample_line(out, series, values + sent, left < EMIT_VALUES_MAX ? left : EMIT_VALUES_MAX);
    }
}

void emit_member(FILE *out, const char *key, int64_t value, bool *first)
{
    if (value < 0)
        return;
    fprintf(out, "%s\"%s\":%" PRId64, *first ? "" : ",", key, value);
    *first = false;
}

/* The guest's own evidence. */
static void emit_watch(FILE *out, const struct runner_watch *watch)
{
    const char *before = watch->before.clocksource, *after = watch->after.clocksource;
    bool first = true;

    fputs(",\"evidence\":{", out);
    emit_member(out, "span_ns", watch->span_ns, &first);
    emit_member(out, "cpus", watch->cpus, &first);
    emit_member(out, "busy_ns", watch->busy_ns, &first);
    emit_member(out, "steal_ns", watch->steal_ns, &first);
    emit_member(out, "swapped_in_pages", watch->swapped_in_pages, &first);
    emit_member(out, "switches", watch->switches, &first);
    if (*after != '\0')
        member_string(out, "clocksource", after);
    if (*before != '\0' && strcmp(before, after) != 0)
        member_string(out, "clocksource_before", before);
    putc('}', out);
}

void emit_done(FILE *out, int64_t invocation, uint64_t samples, const char *flags,
               const struct runner_watch *watch)
{
    fprintf(out, "{\"type\":\"done\",\"invocation\":%" PRId64 ",\"samples\":%" PRIu64, invocation,
            samples);
    if (*flags != '\0')
        member_string(out, "flags", flags);
    emit_watch(out, watch);
    end_line(out);
}

void emit_bye(FILE *out, uint64_t invocations, uint64_t samples)
{
    fprintf(out, "{\"type\":\"bye\",\"invocations\":%" PRIu64 ",\"samples\":%" PRIu64, invocations,
            samples);
    end_line(out);
}

void emit_error(FILE *out, const char *reason)
{
    fputs("{\"type\":\"error\"", out);
    member_string(out, "reason", reason);
    end_line(out);
}

/* The first one, and all of them where there are several. */
static void emit_bench_metrics(FILE *out, const struct bench *bench)
{
    struct bench_metric metric = bench_metric(bench, 0);

    emit_metric(out, &metric);
    if (bench_n_metrics(bench) == 1)
        return;
    fputs(",\"metrics\":[", out);
    for (size_t i = 0; i < bench_n_metrics(bench); i++) {
        metric = bench_metric(bench, i);
        fputs(i > 0 ? ",{\"name\":" : "{\"name\":", out);
        emit_string(out, metric.name);
        member_string(out, "unit", metric.unit);
        member_string(out, "direction", metric.direction);
        putc('}', out);
    }
    putc(']', out);
}

void emit_catalogue(FILE *out)
{
    putc('[', out);
    for (size_t i = 0; i < bench_count; i++) {
        const struct bench *bench = bench_table[i];

        fputs(i > 0 ? ",\n {\"name\":" : "{\"name\":", out);
        emit_string(out, bench->name);
        member_string(out, "groups", bench->groups);
        emit_bench_metrics(out, bench);
        member_string(out, "summary", bench->summary);
        member_string(out, "os", bench->os);
        putc('}', out);
    }
    fputs("]\n", out);
    fflush(out);
}
