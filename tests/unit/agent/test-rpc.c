/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bytes of ONC RPC, written out by hand after RFC 5531, sections 9 and 11. */
#include <glib.h>
#include <string.h>

#include "agent/rpc.h"

#define PROGRAM 0x20766d78u
#define VERSION 3u

static const unsigned char null_call[RPC_CALL_SIZE] = {
    0x12, 0x34, 0x56, 0x78,             /* xid */
    0,    0,    0,    0,                /* CALL */
    0,    0,    0,    2,                /* rpcvers */
    0x20, 0x76, 0x6d, 0x78,             /* prog */
    0,    0,    0,    3,                /* vers */
    0,    0,    0,    0,                /* proc: null */
    0,    0,    0,    0,    0, 0, 0, 0, /* cred: AUTH_NONE, no bytes */
    0,    0,    0,    0,    0, 0, 0, 0, /* verf: likewise */
};

static const unsigned char success[RPC_REPLY_SIZE] = {
    0x12, 0x34, 0x56, 0x78,             /* xid */
    0,    0,    0,    1,                /* REPLY */
    0,    0,    0,    0,                /* MSG_ACCEPTED */
    0,    0,    0,    0,    0, 0, 0, 0, /* verf: AUTH_NONE, no bytes */
    0,    0,    0,    0,                /* SUCCESS */
};

static void test_call(void)
{
    const struct rpc_call call = {0x12345678, PROGRAM, VERSION, RPC_NULL_PROCEDURE};
    unsigned char bytes[RPC_CALL_SIZE];

    rpc_write_call(&call, bytes);
    g_assert_cmpmem(bytes, sizeof(bytes), null_call, sizeof(null_call));
}

static void test_success(void)
{
    unsigned char reply[RPC_REPLY_MAX];
    size_t size = rpc_answer(null_call, sizeof(null_call), PROGRAM, VERSION, reply);

    g_assert_cmpmem(reply, size, success, sizeof(success));
    g_assert_true(rpc_succeeded(reply, size, 0x12345678));
    g_assert_false(rpc_succeeded(reply, size, 0x12345679));
    g_assert_false(rpc_succeeded(reply, size - 4, 0x12345678));
    for (size_t i = 4; i < RPC_REPLY_SIZE; i++) {
        if (i >= 12 && i < 16)
            continue; /* the kind of the verifier is the server's choice */
        reply[i] ^= 0x40;
        g_assert_false(rpc_succeeded(reply, size, 0x12345678));
        reply[i] ^= 0x40;
    }
}

/* A call with one word changed, and the reply's last words. */
static void refused(size_t word, unsigned char value, const unsigned char *wanted, size_t size)
{
    unsigned char call[RPC_CALL_SIZE], reply[RPC_REPLY_MAX];
    size_t got;

    memcpy(call, null_call, sizeof(call));
    call[4 * word + 3] = value;
    got = rpc_answer(call, sizeof(call), PROGRAM, VERSION, reply);
    g_assert_cmpmem(reply, 8, success, 8);
    g_assert_cmpmem(reply + 8, got - 8, wanted, size);
    g_assert_false(rpc_succeeded(reply, got, 0x12345678));
}

static void test_refusals(void)
{
    static const unsigned char program[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    static const unsigned char version[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                            0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 3};
    static const unsigned char procedure[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3};
    static const unsigned char denied[] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2};

    refused(3, 0x77, program, sizeof(program));
    refused(4, 4, version, sizeof(version));
    refused(5, 9, procedure, sizeof(procedure));
    refused(2, 1, denied, sizeof(denied));
}

static void test_no_call(void)
{
    unsigned char reply[RPC_REPLY_MAX];

    g_assert_cmpuint(rpc_answer(null_call, RPC_CALL_SIZE - 1, PROGRAM, VERSION, reply), ==, 0);
    g_assert_cmpuint(rpc_answer(null_call, 0, PROGRAM, VERSION, reply), ==, 0);
    g_assert_cmpuint(rpc_answer(success, sizeof(success), PROGRAM, VERSION, reply), ==, 0);
}

static void test_mark(void)
{
    static const unsigned char forty[] = {0x80, 0, 0, 40}, not_last[] = {0, 0, 0, 40},
                               huge[] = {0xff, 0xff, 0xff, 0xff}, empty[] = {0x80, 0, 0, 0};
    unsigned char mark[RPC_MARK_SIZE];

    rpc_write_mark(40, mark);
    g_assert_cmpmem(mark, sizeof(mark), forty, sizeof(forty));
    g_assert_cmpuint(rpc_marked_size(mark, 40), ==, 40);
    g_assert_cmpuint(rpc_marked_size(mark, 39), ==, 0);
    g_assert_cmpuint(rpc_marked_size(not_last, 40), ==, 0);
    g_assert_cmpuint(rpc_marked_size(huge, 40), ==, 0);
    g_assert_cmpuint(rpc_marked_size(empty, 40), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/rpc/call", test_call);
    g_test_add_func("/agent/rpc/success", test_success);
    g_test_add_func("/agent/rpc/refusals", test_refusals);
    g_test_add_func("/agent/rpc/no-call", test_no_call);
    g_test_add_func("/agent/rpc/mark", test_mark);
    return g_test_run();
}
