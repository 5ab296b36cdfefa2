/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VMATRIX_AGENT_UTF8_H
#define VMATRIX_AGENT_UTF8_H
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed UTF-8 character at text (Unicode table 3-7: no overlong forms, no
 * surrogates), looking at no more than available bytes and not past one that does not belong;
 * 0: it is not well-formed. */
size_t utf8_length(const char *text, size_t available);

/* Write code (a Unicode scalar value) to ret_text, 4 bytes at most; returns how many. */
size_t utf8_encode(uint32_t code, char *ret_text);

#endif
