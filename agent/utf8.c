/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "utf8.h"

static int is_continuation(const char *text, size_t at, size_t available)
{
    return at < available && ((unsigned char)text[at] & 0xc0) == 0x80;
}

/* The second byte is what tells overlong forms, surrogates, and codes above U+10FFFF. */
static int second_fits(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0;
    case 0xed:
        return second <= 0x9f;
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second <= 0x8f;
    default:
        return 1;
    }
}

size_t utf8_length(const char *text, size_t available)
{
    unsigned char first = available > 0 ? (unsigned char)text[0] : 0xff;
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (first > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if (!is_continuation(text, i, available))
            return 0;
    if (length > 1 && !second_fits(first, (unsigned char)text[1]))
        return 0;
    return length;
}

size_t utf8_encode(uint32_t code, char *ret_text)
{
    if (code < 0x80) {
        ret_text[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        ret_text[0] = (char)(0xc0 | (code >> 6));
        ret_text[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        ret_text[0] = (char)(0xe0 | (code >> 12));
        ret_text[1] = (char)(0x80 | ((code >> 6) & 0x3f));
        ret_text[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    ret_text[0] = (char)(0xf0 | (code >> 18));
    ret_text[1] = (char)(0x80 | ((code >> 12) & 0x3f));
    ret_text[2] = (char)(0x80 | ((code >> 6) & 0x3f));
    ret_text[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}
