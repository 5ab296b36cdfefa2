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
/* One of several things of a family: "disk.vda.model". name: as the OS calls it; what is no letter,
 * digit, '-' or '_' in it becomes '-'. */
void facts_add_of(struct facts *facts, const char *family, const char *name, const char *what,
                  const char *value);
const char *facts_get(const struct facts *facts, const char *key); /* NULL: not known */

/* All there is to know. self: the agent's own path (argv[0]), for its folder's file system. */
void facts_collect(struct facts *ret_facts, const char *self);
/* The part of them that the processor tells (facts-cpuid.c). */
void facts_cpuid(struct facts *facts);
/* The architecture this was built for, as Linux' uname calls it. */
const char *facts_arch(void);
void facts_free(struct facts *facts);

#endif
