/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "os.h"

#define BENCH(id) extern const struct bench bench_##id;
#include "benches.def"
#undef BENCH

#define BENCH(id) &bench_##id,
const struct bench *const bench_table[] = {
#include "benches.def"
};
#undef BENCH
const size_t bench_count = sizeof(bench_table) / sizeof(bench_table[0]);

const struct bench *bench_find(const char *name)
{
    for (size_t i = 0; i < bench_count; i++)
        if (strcmp(bench_table[i]->name, name) == 0)
            return bench_table[i];
    return NULL;
}

/* Whether the space-separated list has word as a whole. */
static bool list_has(const char *list, const char *word)
{
    size_t length = strlen(word);

    while (length > 0 && *list != '\0') {
        size_t item = strcspn(list, " ");
        if (item == length && memcmp(list, word, length) == 0)
            return true;
        list += item;
        list += strspn(list, " ");
    }
    return false;
}

bool bench_matches(const struct bench *bench, const char *name_or_group)
{
    size_t family = strcspn(bench->name, ".");

    return strcmp(bench->name, name_or_group) == 0 ||
           (strlen(name_or_group) == family && strncmp(bench->name, name_or_group, family) == 0) ||
           list_has(bench->groups, name_or_group);
}

size_t bench_n_metrics(const struct bench *bench)
{
    return bench->sample == NULL ? 1 : bench->n_metrics;
}

struct bench_metric bench_metric(const struct bench *bench, size_t i)
{
    const struct bench_metric only = {bench->metric, bench->unit, bench->direction};

    return bench->sample == NULL ? only : bench->metrics[i];
}

bool bench_is_for_os(const struct bench *bench, const char *os)
{
    return list_has(bench->os, os);
}

bool bench_fail(struct bench_ctx *ctx, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(ctx->reason, sizeof(ctx->reason), format, arguments);
    va_end(arguments);
    return false;
}

bool bench_needs_memory(struct bench_ctx *ctx, uint64_t bytes)
{
    const uint64_t rest = (uint64_t)48 << 20;
    uint64_t available = os_memory_available();
    uint64_t needed = bytes * (uint64_t)ctx->copies + rest;

    if (available == 0 || available >= needed)
        return true;
    return bench_fail(ctx, "needs %u MiB of free memory, and %u MiB are there: give the guest more",
                      (unsigned)(needed >> 20), (unsigned)(available >> 20));
}

bool bench_empty_loop(struct bench_ctx *ctx, uint64_t iterations)
{
    (void)ctx;
    for (uint64_t i = 0; i < iterations; i++)
        BENCH_CLOBBER();
    return true;
}

uint64_t bench_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
