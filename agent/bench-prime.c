/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cpu.prime: what one event of sysbench's cpu test does at its default --cpu-max-prime=10000
 * (sysbench 1.0, src/tests/cpu/sb_cpu.c): trial division by all numbers up to the square root, in
 * 64-bit integers, compared with the root as a double. So its events per second are 1e9 through our
 * value. */
#include "bench.h"

#define PRIME_MAX 10000
/* Of the numbers from 3 to PRIME_MAX that are prime: 2 is one of the 1229 below 10000. */
#define PRIMES 1228

static unsigned count_primes(uint64_t most)
{
    uint64_t root = 1;
    unsigned found = 0;

    for (uint64_t c = 3; c < most; c++) {
        uint64_t l;
        double limit;

        while ((root + 1) * (root + 1) <= c)
            root++;
        limit = (double)root; /* whole: l <= sqrt(c) says the same of it */
        for (l = 2; (double)l <= limit; l++)
            if (c % l == 0)
                break;
        if ((double)l > limit)
            found++;
    }
    return found;
}

static bool prime_run(struct bench_ctx *ctx, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations; i++) {
        uint64_t most = PRIME_MAX;
        unsigned found;

        BENCH_KEEP(most);
        found = count_primes(most);
        if (found != PRIMES)
            return bench_fail(ctx, "%u primes were found, and there are %d", found, PRIMES);
    }
    return true;
}

extern const struct bench bench_cpu_prime;

const struct bench bench_cpu_prime = {
    .name = "cpu.prime",
    .groups = "sysbench all",
    .metric = "latency",
    .unit = "ns",
    .direction = "lower",
    .summary = "one search for the primes below 10000 by trial division",
    .os = "linux freebsd windows",
    .revision = 1,
    .amount = 1,
    .run = prime_run,
};
