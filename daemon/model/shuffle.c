/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/shuffle.h"

static guint64 next(Shuffle *shuffle)
{
    guint64 z = shuffle->state += G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void shuffle_init(Shuffle *shuffle, guint64 seed, guint64 a, guint64 b)
{
    /* Mixing between the parts keeps (seed, a) apart from (seed + 1, a - 1). */
    shuffle->state = seed;
    shuffle->state = next(shuffle) ^ a;
    shuffle->state = next(shuffle) ^ b;
    shuffle->state = next(shuffle);
}

guint32 shuffle_below(Shuffle *shuffle, guint32 n)
{
    guint32 reject = (0u - n) % n; /* 2^32 mod n */
    guint64 product;

    do {
        product = (next(shuffle) >> 32) * n;
    } while ((guint32)product < reject);
    return (guint32)(product >> 32);
}

void shuffle_order(Shuffle *shuffle, guint32 n, guint32 *ret_order)
{
    for (guint32 i = 0; i < n; i++)
        ret_order[i] = i;
    for (guint32 i = n; i > 1; i--) {
        guint32 j = shuffle_below(shuffle, i), kept = ret_order[i - 1];

        ret_order[i - 1] = ret_order[j];
        ret_order[j] = kept;
    }
}
