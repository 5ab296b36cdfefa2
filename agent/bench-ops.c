/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ops.*: latency of arithmetic. Each operation needs the result of the one before, so that a value
 * is the latency of one, not the throughput of many. 64 of them make an iteration: the loop's own
 * instructions run beside the chain, and are under 2 % of it where they do not.
 *
 * The operands keep x in a small cycle for ever, and every floating-point result is rounded:
 * no denormal, infinite or exact value changes what hardware or an emulator does half way. */
#include "bench.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): types and statements take none. */
#define STEP_8(step) step step step step step step step step
#define STEP_32(step) STEP_8(step) STEP_8(step) STEP_8(step) STEP_8(step)

/* pair: two dependent operations on x. */
#define OPS_BENCH(id, dashed, type, keep, first, a_value, b_value, pair, text)                     \
    static bool ops_##id##_run(struct bench_ctx *ctx, uint64_t iterations)                         \
    {                                                                                              \
        type x = first, a = a_value, b = b_value;                                                  \
                                                                                                   \
        (void)ctx;                                                                                 \
        keep(x);                                                                                   \
        keep(a);                                                                                   \
        keep(b);                                                                                   \
        for (uint64_t i = 0; i < iterations; i++) {                                                \
            STEP_32(pair)                                                                          \
        }                                                                                          \
        return true;                                                                               \
    }                                                                                              \
    extern const struct bench bench_ops_##id;                                                      \
    const struct bench bench_ops_##id = {                                                          \
        .name = "ops." dashed,                                                                     \
        .groups = "arithmetic all" OPS_GROUP_##id,                                                 \
        .metric = "latency",                                                                       \
        .unit = "ns",                                                                              \
        .direction = "lower",                                                                      \
        .summary = "one dependent " text,                                                          \
        .os = "linux freebsd windows",                                                             \
        .revision = 1,                                                                             \
        .amount = 64,                                                                              \
        .run = ops_##id##_run,                                                                     \
    };

#define INTEGER_STEP(operation) operation BENCH_KEEP(x);
#define FLOAT_STEP(operation) operation BENCH_KEEP_FLOAT(x);

/* Unsigned where the result may wrap. a / x alternates between two values. A remainder is smaller
 * than what it is divided by: b keeps that from falling to 0 (as in LMbench's lat_ops.c, where an
 * OR belongs to each remainder too). */
#define BIT INTEGER_STEP(x ^= a;) INTEGER_STEP(x ^= b;)
#define MODULO INTEGER_STEP(x = a % x | b;) INTEGER_STEP(x = a % x | b;)
#define ADD INTEGER_STEP(x += a;) INTEGER_STEP(x += b;)
#define MULTIPLY INTEGER_STEP(x *= a;) INTEGER_STEP(x *= b;)
#define DIVIDE INTEGER_STEP(x = a / x;) INTEGER_STEP(x = a / x;)
/* 1.5 + 1e-20 is rounded to 1.5; 1.5 * (1/3) to 0.5, and 0.5 * 3 is 1.5. */
#define FLOAT_ADD FLOAT_STEP(x += a;) FLOAT_STEP(x += b;)
#define FLOAT_MULTIPLY FLOAT_STEP(x *= a;) FLOAT_STEP(x *= b;)
#define FLOAT_DIVIDE FLOAT_STEP(x = a / x;) FLOAT_STEP(x = a / x;)

#define OPS_GROUP_int32_bit
#define OPS_GROUP_int32_mod
#define OPS_GROUP_int32_add " quick"
#define OPS_GROUP_int32_mul
#define OPS_GROUP_int32_div
#define OPS_GROUP_int64_bit
#define OPS_GROUP_int64_mod
#define OPS_GROUP_int64_add
#define OPS_GROUP_int64_mul
#define OPS_GROUP_int64_div " quick"
#define OPS_GROUP_float_add
#define OPS_GROUP_float_mul
#define OPS_GROUP_float_div
#define OPS_GROUP_double_add
#define OPS_GROUP_double_mul " quick"
#define OPS_GROUP_double_div

/* clang-format off */
OPS_BENCH(int32_bit, "int32-bit", uint32_t, BENCH_KEEP, 1, 12345, 54321, BIT, "32-bit exclusive or")
OPS_BENCH(int32_add, "int32-add", uint32_t, BENCH_KEEP, 1, 12345, 54321, ADD, "32-bit integer addition")
OPS_BENCH(int32_mul, "int32-mul", uint32_t, BENCH_KEEP, 1, 1664525, 22695477, MULTIPLY, "32-bit integer multiplication")
OPS_BENCH(int32_div, "int32-div", int32_t, BENCH_KEEP, 1739, 2147483647, 1, DIVIDE, "32-bit integer division")
OPS_BENCH(int32_mod, "int32-mod", int32_t, BENCH_KEEP, 1739, 2147483647, 65536, MODULO, "32-bit integer remainder, and an OR")
OPS_BENCH(int64_bit, "int64-bit", uint64_t, BENCH_KEEP, 1, 12345, 54321, BIT, "64-bit exclusive or")
OPS_BENCH(int64_add, "int64-add", uint64_t, BENCH_KEEP, 1, 12345, 54321, ADD, "64-bit integer addition")
OPS_BENCH(int64_mul, "int64-mul", uint64_t, BENCH_KEEP, 1, 6364136223846793005u, 3935559000370003845u, MULTIPLY, "64-bit integer multiplication")
OPS_BENCH(int64_div, "int64-div", int64_t, BENCH_KEEP, 3037000499, 9223372036854775807, 1, DIVIDE, "64-bit integer division")
OPS_BENCH(int64_mod, "int64-mod", int64_t, BENCH_KEEP, 3037000499, 9223372036854775807, 4294967296, MODULO, "64-bit integer remainder, and an OR")
OPS_BENCH(float_add, "float-add", float, BENCH_KEEP_FLOAT, 1.5f, 1e-20f, 2e-20f, FLOAT_ADD, "single-precision addition")
OPS_BENCH(float_mul, "float-mul", float, BENCH_KEEP_FLOAT, 1.5f, 1 / 3.0f, 3.0f, FLOAT_MULTIPLY, "single-precision multiplication")
OPS_BENCH(float_div, "float-div", float, BENCH_KEEP_FLOAT, 1.7f, 3.0f, 1.0f, FLOAT_DIVIDE, "single-precision division")
OPS_BENCH(double_add, "double-add", double, BENCH_KEEP_FLOAT, 1.5, 1e-20, 2e-20, FLOAT_ADD, "double-precision addition")
OPS_BENCH(double_mul, "double-mul", double, BENCH_KEEP_FLOAT, 1.5, 1 / 3.0, 3.0, FLOAT_MULTIPLY, "double-precision multiplication")
OPS_BENCH(double_div, "double-div", double, BENCH_KEEP_FLOAT, 1.7, 3.0, 1.0, FLOAT_DIVIDE, "double-precision division")
/* clang-format on */
/* NOLINTEND(bugprone-macro-parentheses) */
