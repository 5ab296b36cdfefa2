/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc.h"

#include "wire.h"

#define RPC_VERSION 2
#define LAST_FRAGMENT 0x80000000u

enum { CALL = 0, REPLY = 1 };
enum { ACCEPTED = 0, DENIED = 1 };
enum { SUCCESS = 0, PROGRAM_UNAVAILABLE = 1, PROGRAM_MISMATCH = 2, PROCEDURE_UNAVAILABLE = 3 };
enum { RPC_MISMATCH = 0 };
enum { AUTH_NONE = 0 };

static void put_words(unsigned char *ret_bytes, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        wire_put_number(ret_bytes + 4 * i, words[i], 4);
}

static uint32_t word(const unsigned char *bytes, size_t index)
{
    return wire_number(bytes + 4 * index, 4);
}

/* A credential and a verifier of the kind AUTH_NONE are two words each: the kind, and no bytes. */
void rpc_write_call(const struct rpc_call *call, unsigned char ret_bytes[RPC_CALL_SIZE])
{
    const uint32_t words[RPC_CALL_SIZE / 4] = {
        call->xid,       CALL,      RPC_VERSION, call->program, call->version,
        call->procedure, AUTH_NONE, 0,           AUTH_NONE,     0,
    };

    put_words(ret_bytes, words, RPC_CALL_SIZE / 4);
}

static uint32_t outcome(const unsigned char *call, uint32_t program, uint32_t version)
{
    if (word(call, 3) != program)
        return PROGRAM_UNAVAILABLE;
    if (word(call, 4) != version)
        return PROGRAM_MISMATCH;
    return word(call, 5) == RPC_NULL_PROCEDURE ? SUCCESS : PROCEDURE_UNAVAILABLE;
}

size_t rpc_answer(const unsigned char *call, size_t size, uint32_t program, uint32_t version,
                  unsigned char ret_reply[RPC_REPLY_MAX])
{
    uint32_t words[RPC_REPLY_MAX / 4] = {0, REPLY, ACCEPTED, AUTH_NONE, 0, 0, version, version};
    size_t count = RPC_REPLY_SIZE / 4;

    if (size < RPC_CALL_SIZE || word(call, 1) != CALL)
        return 0;
    words[0] = word(call, 0);
    if (word(call, 2) != RPC_VERSION) {
        words[2] = DENIED;
        words[3] = RPC_MISMATCH;
        words[4] = words[5] = RPC_VERSION; /* the lowest and the highest that is understood */
    } else {
        words[5] = outcome(call, program, version);
        count += words[5] == PROGRAM_MISMATCH ? 2 : 0;
    }
    put_words(ret_reply, words, count);
    return 4 * count;
}

bool rpc_succeeded(const unsigned char *reply, size_t size, uint32_t xid)
{
    return size == RPC_REPLY_SIZE && word(reply, 0) == xid && word(reply, 1) == REPLY &&
           word(reply, 2) == ACCEPTED && word(reply, 4) == 0 && word(reply, 5) == SUCCESS;
}

void rpc_write_mark(uint32_t size, unsigned char ret_mark[RPC_MARK_SIZE])
{
    wire_put_number(ret_mark, LAST_FRAGMENT | size, RPC_MARK_SIZE);
}

size_t rpc_marked_size(const unsigned char mark[RPC_MARK_SIZE], size_t most)
{
    uint32_t number = wire_number(mark, RPC_MARK_SIZE), size = number & ~LAST_FRAGMENT;

    return (number & LAST_FRAGMENT) == 0 || size > most ? 0 : size;
}
