/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this machine is: dotted key to string. */
#ifndef VMATRIX_AGENT_FACTS_H
#define VMATRIX_AGENT_FACTS_H
#include <stdbool.h>
#include <stddef.h>

#include "agent.h"

struct fact {
    char *key, *value;
};
struct facts {
    struct fact *items;
    size_t count;
};

/* Add (copied); an empty value is left out, and the first value of a key stays. */
void facts_add(struct facts *facts, const char *key, const char *value);
void facts_addf(struct facts *facts, const char *key, const char *format, ...) AGENT_PRINTF(3, 4);
const char *facts_get(const struct facts *facts, const char *key); /* NULL: not known */

/* All there is to know. self: the agent's own path (argv[0]), for its folder's file system. */
void facts_collect(struct facts *ret_facts, const char *self);
/* The architecture this was built for, as Linux' uname calls it. */
const char *facts_arch(void);
void facts_free(struct facts *facts);

#endif
