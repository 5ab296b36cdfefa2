/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256 as in FIPS 180-4. */
#ifndef VMATRIX_AGENT_SHA256_H
#define VMATRIX_AGENT_SHA256_H
#include <stddef.h>
#include <stdint.h>

#define SHA256_HEX_SIZE 65

struct sha256 {
    uint32_t hash[8];
    uint64_t bytes;
    uint8_t block[64];
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *data, size_t size);
/* Hex with its NUL; sha is used up. */
void sha256_finish(struct sha256 *sha, char ret_hex[SHA256_HEX_SIZE]);

#endif
