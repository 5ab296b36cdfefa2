/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The secret that a peer and its client share for one `serve`, and how the client proves that it
 * has it: HMAC-SHA-256 (RFC 2104) of what the peer has drawn for this connection and of what is
 * asked. The token itself never goes over the network. */
#ifndef VMATRIX_AGENT_TOKEN_H
#define VMATRIX_AGENT_TOKEN_H
#include <stdbool.h>
#include <stddef.h>

#include "far.h"

#define TOKEN_MIN 16
#define TOKEN_MAX 128 /* bytes, without the NUL */
#define TOKEN_NONCE_SIZE 32
#define TOKEN_ORDER_SIZE 12
#define TOKEN_HELLO_SIZE (TOKEN_ORDER_SIZE + FAR_PROOF_SIZE)

struct token {
    char text[TOKEN_MAX + 1];
};

/* A fresh one. */
bool token_new(struct token *ret_token);
/* TOKEN_MIN to TOKEN_MAX printable characters without a space; false: text is none. */
bool token_parse(const char *text, size_t length, struct token *ret_token);
/* That and a newline, from a file; false, with a reason of OS_REASON_MAX bytes. */
bool token_read(const char *path, struct token *ret_token, char *reason);

/* HMAC-SHA-256 with the token as its key. */
void token_hmac(const struct token *token, const void *data, size_t size,
                unsigned char ret_proof[FAR_PROOF_SIZE]);

/* What a client says first: the order, and the proof. */
void token_write_hello(const struct token *token, const unsigned char nonce[TOKEN_NONCE_SIZE],
                       const struct far_order *order, unsigned char ret_hello[TOKEN_HELLO_SIZE]);
/* false: it is not of one who has the token, or asks for nothing that there is. */
bool token_read_hello(const struct token *token, const unsigned char nonce[TOKEN_NONCE_SIZE],
                      const unsigned char hello[TOKEN_HELLO_SIZE], struct far_order *ret_order);

#endif
