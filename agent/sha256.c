/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sha256.h"

#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* x in both halves: its low 32 bits, shifted right by n, are x rotated. An emulator has to compute
 * the flags of a rotation, but not of a shift whose flags nobody reads: this takes half the time
 * there, and a tenth longer elsewhere. */
static inline uint64_t doubled(uint32_t x)
{
    uint64_t twice = (uint64_t)x << 32 | x;

    __asm__("" : "+r"(twice)); /* or the compiler makes rotations of it */
    return twice;
}

static void schedule(const uint8_t *block, uint32_t w[64])
{
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | (uint32_t)block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint64_t a = doubled(w[i - 15]), b = doubled(w[i - 2]);
        w[i] = w[i - 16] + ((uint32_t)(a >> 7 ^ a >> 18) ^ (w[i - 15] >> 3)) + w[i - 7] +
               ((uint32_t)(b >> 17 ^ b >> 19) ^ (w[i - 2] >> 10));
    }
}

/* One round, in place: the eight variables change their parts from one to the next. */
static inline void round_of(uint32_t s[8], int i, uint32_t constant_and_word)
{
    uint32_t a = s[-i & 7], b = s[(1 - i) & 7], c = s[(2 - i) & 7], e = s[(4 - i) & 7];
    uint64_t aa = doubled(a), ee = doubled(e);
    uint32_t sum1 = (uint32_t)(ee >> 6 ^ ee >> 11 ^ ee >> 25);
    uint32_t choice = (e & s[(5 - i) & 7]) ^ (~e & s[(6 - i) & 7]);
    uint32_t t1 = s[(7 - i) & 7] + sum1 + choice + constant_and_word;
    uint32_t sum0 = (uint32_t)(aa >> 2 ^ aa >> 13 ^ aa >> 22);

    s[(3 - i) & 7] += t1;
    s[(7 - i) & 7] = t1 + sum0 + ((a & b) ^ (a & c) ^ (b & c));
}

static void compress(uint32_t hash[8], const uint8_t *block)
{
    uint32_t w[64], s[8];

    schedule(block, w);
    memcpy(s, hash, sizeof(s));
    for (int i = 0; i < 64; i += 8)
#pragma GCC unroll 8 /* so that s lies in registers */
        for (int k = 0; k < 8; k++)
            round_of(s, k, round_constants[i + k] + w[i + k]);
    for (int i = 0; i < 8; i++)
        hash[i] += s[i];
}

void sha256_init(struct sha256 *sha)
{
    *sha = (struct sha256){
        .hash = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                 0x5be0cd19},
    };
}

void sha256_add(struct sha256 *sha, const void *data, size_t size)
{
    const uint8_t *at = data;

    while (size > 0) {
        size_t used = sha->bytes % 64;
        size_t take = size < 64 - used ? size : 64 - used;

        memcpy(sha->block + used, at, take);
        sha->bytes += take;
        at += take;
        size -= take;
        if (used + take == 64)
            compress(sha->hash, sha->block);
    }
}

void sha256_finish(struct sha256 *sha, char ret_hex[SHA256_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = sha->bytes * 8;
    uint8_t length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(sha, "\x80", 1);
    while (sha->bytes % 64 != 56)
        sha256_add(sha, "", 1);
    sha256_add(sha, length, sizeof(length));
    for (int i = 0; i < 64; i++)
        ret_hex[i] = digits[sha->hash[i / 8] >> (28 - 4 * (i % 8)) & 15];
    ret_hex[64] = '\0';
}
