/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seeded shuffling, the same on every machine and in every version: integers only. */
#pragma once
#include <glib.h>

/* A stream of random numbers: SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable
 * pseudorandom number generators", OOPSLA 2014; constants of its mix as in S. Vigna's public-domain
 * splitmix64.c). Statistically sound, not for secrets. */
typedef struct {
    guint64 state;
} Shuffle;

/* The stream of (seed, a, b): each gives its own, whatever was drawn from others. */
void shuffle_init(Shuffle *shuffle, guint64 seed, guint64 a, guint64 b);

/* An unbiased number below n (1 or more), by D. Lemire's multiplication with rejection ("Fast
 * random integer generation in an interval", ACM TOMACS 29(1), 2019) on the upper 32 bits. */
guint32 shuffle_below(Shuffle *shuffle, guint32 n);

/* order[0…n-1] = 0…n-1 in random order (Fisher-Yates, from the end). */
void shuffle_order(Shuffle *shuffle, guint32 n, guint32 *ret_order);
