/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os.h"
#include "sha256.h"
#include "wire.h"

#define SHA_BLOCK 64
#define STREAM_SIZE_MAX ((uint32_t)1 << 30)

/* An order begins with it; then its kind, three zeros, its size. */
static const unsigned char magic[4] = {'v', 'm', 'p', '1'};

bool token_new(struct token *ret_token)
{
    unsigned char bytes[32];

    if (!os_random(bytes, sizeof(bytes)))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(ret_token->text + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

bool token_parse(const char *text, size_t length, struct token *ret_token)
{
    if (length < TOKEN_MIN || length > TOKEN_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    memcpy(ret_token->text, text, length);
    ret_token->text[length] = '\0';
    return true;
}

bool token_read(const char *path, struct token *ret_token, char *reason)
{
    char text[TOKEN_MAX + 3];
    FILE *file = fopen(path, "rb");
    size_t got;

    if (file == NULL) {
        snprintf(reason, OS_REASON_MAX, "cannot read the token file %.120s: %s", path,
                 strerror(errno));
        return false;
    }
    got = fread(text, 1, sizeof(text), file);
    fclose(file);
    while (got > 0 && (text[got - 1] == '\n' || text[got - 1] == '\r'))
        got--;
    if (token_parse(text, got, ret_token))
        return true;
    snprintf(reason, OS_REASON_MAX,
             "%.120s is no token file: it holds one line of %d to %d characters, which "
             "`vmatrix-agent serve` prints",
             path, TOKEN_MIN, TOKEN_MAX);
    return false;
}

/* --- proofs --- */

static void finish(struct sha256 *sha, unsigned char ret_digest[FAR_PROOF_SIZE])
{
    char hex[SHA256_HEX_SIZE];

    sha256_finish(sha, hex);
    for (int i = 0; i < 8; i++)
        wire_put_number(ret_digest + 4 * (size_t)i, sha->hash[i], 4);
}

/* The hash of the key, each byte of it turned by `turn`, and of the data. */
static void hash_keyed(const unsigned char key[SHA_BLOCK], unsigned char turn, const void *data,
                       size_t size, unsigned char ret_digest[FAR_PROOF_SIZE])
{
    unsigned char pad[SHA_BLOCK];
    struct sha256 sha;

    for (size_t i = 0; i < SHA_BLOCK; i++)
        pad[i] = key[i] ^ turn;
    sha256_init(&sha);
    sha256_add(&sha, pad, sizeof(pad));
    sha256_add(&sha, data, size);
    finish(&sha, ret_digest);
}

void token_hmac(const struct token *token, const void *data, size_t size,
                unsigned char ret_proof[FAR_PROOF_SIZE])
{
    unsigned char key[SHA_BLOCK] = {0}, inner[FAR_PROOF_SIZE];
    size_t length = strlen(token->text);
    struct sha256 sha;

    if (length > SHA_BLOCK) { /* as the RFC says */
        sha256_init(&sha);
        sha256_add(&sha, token->text, length);
        finish(&sha, key);
    } else {
        for (size_t i = 0; i < length; i++)
            key[i] = (unsigned char)token->text[i];
    }
    hash_keyed(key, 0x36, data, size, inner);
    hash_keyed(key, 0x5c, inner, sizeof(inner), ret_proof);
}

static void prove(const struct token *token, const unsigned char *nonce, const unsigned char *order,
                  unsigned char *ret_proof)
{
    unsigned char said[TOKEN_NONCE_SIZE + TOKEN_ORDER_SIZE];

    memcpy(said, nonce, TOKEN_NONCE_SIZE);
    memcpy(said + TOKEN_NONCE_SIZE, order, TOKEN_ORDER_SIZE);
    token_hmac(token, said, sizeof(said), ret_proof);
}

void token_write_hello(const struct token *token, const unsigned char nonce[TOKEN_NONCE_SIZE],
                       const struct far_order *order, unsigned char ret_hello[TOKEN_HELLO_SIZE])
{
    memset(ret_hello, 0, TOKEN_HELLO_SIZE);
    memcpy(ret_hello, magic, sizeof(magic));
    ret_hello[4] = (unsigned char)order->work;
    wire_put_number(ret_hello + 8, order->size, 4);
    prove(token, nonce, ret_hello, ret_hello + TOKEN_ORDER_SIZE);
}

static bool is_order(const struct far_order *order)
{
    switch (order->work) {
    case FAR_ECHO:
        return order->size > 0 && order->size <= FAR_MESSAGE_MAX;
    case FAR_STREAM:
        return order->size > 0 && order->size <= STREAM_SIZE_MAX;
    case FAR_CONNECT:
    case FAR_DATAGRAM:
        return order->size == 0;
    default:
        return false;
    }
}

bool token_read_hello(const struct token *token, const unsigned char nonce[TOKEN_NONCE_SIZE],
                      const unsigned char hello[TOKEN_HELLO_SIZE], struct far_order *ret_order)
{
    struct far_order order = {(enum far_work)hello[4], wire_number(hello + 8, 4)};
    unsigned char proof[FAR_PROOF_SIZE];

    prove(token, nonce, hello, proof);
    if (!wire_equal(proof, hello + TOKEN_ORDER_SIZE, FAR_PROOF_SIZE) ||
        memcmp(hello, magic, sizeof(magic)) != 0 || !is_order(&order))
        return false;
    *ret_order = order;
    return true;
}
