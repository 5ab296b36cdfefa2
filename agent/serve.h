/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `vmatrix-agent serve`: the far side of the benchmarks peer.*. Each connection gets a process of
 * its own, which ends with it. */
#ifndef VMATRIX_AGENT_SERVE_H
#define VMATRIX_AGENT_SERVE_H
#include "os-net.h"
#include "token.h"

#define SERVE_REASON_MAX 512

struct serve_options {
    const char *host; /* of address */
    struct os_address address;
    struct token token;
    bool made_token; /* it was made here, and is printed */
    int64_t limit_ns;
};

/* argv is what follows "serve". false: ret_reason says what is wrong with it. */
bool serve_parse(int argc, char **argv, struct serve_options *ret_options, char *ret_reason);

/* Returns the exit status: 0 at the end of standard input, of the time, or by a signal; 1: it could
 * not serve. */
int serve_run(const struct serve_options *options);

#endif
