/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processor's time stamp counter, a second clock beside the operating system's. */
#ifndef VMATRIX_AGENT_TSC_H
#define VMATRIX_AGENT_TSC_H
#include <stdbool.h>
#include <stdint.h>

/* It runs at one rate whatever the processor does (CPUID 0x80000007 EDX bit 8). Elsewhere, and on
 * processors that are not x86, it is not to be read. */
bool tsc_is_invariant(void);
uint64_t tsc_read(void);

#endif
