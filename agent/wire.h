/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes as they go over a network. */
#ifndef VMATRIX_AGENT_WIRE_H
#define VMATRIX_AGENT_WIRE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number in `size` bytes, at most 4, the highest first. */
void wire_put_number(unsigned char *ret_bytes, uint32_t number, int size);
uint32_t wire_number(const unsigned char *bytes, int size);

/* The same bytes; takes as long wherever they differ. */
bool wire_equal(const unsigned char *a, const unsigned char *b, size_t size);

#endif
