/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tsc.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

bool tsc_is_invariant(void)
{
    uint32_t a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
}

/* Not before what precedes it has been done, as the clock is read. */
uint64_t tsc_read(void)
{
    uint32_t low, high;

    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}
#else
bool tsc_is_invariant(void)
{
    return false;
}

uint64_t tsc_read(void)
{
    return 0;
}
#endif
