/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire.h"

void wire_put_number(unsigned char *ret_bytes, uint32_t number, int size)
{
    for (int i = 0; i < size; i++)
        ret_bytes[i] = (unsigned char)(number >> 8 * (size - 1 - i));
}

uint32_t wire_number(const unsigned char *bytes, int size)
{
    uint32_t number = 0;

    for (int i = 0; i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

bool wire_equal(const unsigned char *a, const unsigned char *b, size_t size)
{
    unsigned char differing = 0;

    for (size_t i = 0; i < size; i++)
        differing |= a[i] ^ b[i];
    return differing == 0;
}
