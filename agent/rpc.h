/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The messages of ONC RPC version 2 (RFC 5531) in XDR (RFC 4506, before RFC 1014): big-endian words
 * of four bytes. Calls without arguments and credentials, and replies without results. */
#ifndef VMATRIX_AGENT_RPC_H
#define VMATRIX_AGENT_RPC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPC_CALL_SIZE 40
#define RPC_REPLY_SIZE 24     /* of an accepted one */
#define RPC_REPLY_MAX 32      /* of one that names versions */
#define RPC_MARK_SIZE 4       /* before each record in a stream (RFC 5531, section 11) */
#define RPC_NULL_PROCEDURE 0u /* by convention: takes nothing, gives nothing */

struct rpc_call {
    uint32_t xid, program, version, procedure;
};

void rpc_write_call(const struct rpc_call *call, unsigned char ret_bytes[RPC_CALL_SIZE]);

/* What the server of one program with one procedure, the null one, answers; its size. 0: nothing,
 * since that is no call. */
size_t rpc_answer(const unsigned char *call, size_t size, uint32_t program, uint32_t version,
                  unsigned char ret_reply[RPC_REPLY_MAX]);

/* The reply says that the call of that number was done. */
bool rpc_succeeded(const unsigned char *reply, size_t size, uint32_t xid);

/* The mark of a record that is its own last fragment, and the size in one; 0: it is no last
 * fragment, or not of 1 to `most` bytes. */
void rpc_write_mark(uint32_t size, unsigned char ret_mark[RPC_MARK_SIZE]);
size_t rpc_marked_size(const unsigned char mark[RPC_MARK_SIZE], size_t most);

#endif
