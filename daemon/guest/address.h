/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which address a guest has, out of what several sources say. Pure. */
#pragma once
#include <glib.h>

/* What one source says about one address. */
typedef struct {
    char *host; /* numeric */
    char *mac;  /* lower case, or NULL: the source does not know */
} AddressEntry;

typedef struct {
    const char *source; /* "lease", "agent", "arp" */
    GArray *entries;    /* AddressEntry; empty: it listed no address yet */
    char *failure;      /* why the source could not answer, or NULL */
} AddressAnswer;

AddressAnswer *address_answer_new(const char *source);
void address_answer_free(AddressAnswer *answer);
void address_answer_add(AddressAnswer *answer, const char *host, const char *mac);

/* The guest's address by the first source (in the order given) that has one: an entry with one of
 * macs (or of unknown MAC), neither loopback nor link-local, IPv4 before IPv6. NULL: none has one
 * yet. *ret_source is set with it. Transfer full. */
char *address_choose(const GPtrArray *answers, const GPtrArray *macs, const char **ret_source);

/* Another MAC that a source gives for host, or NULL: two guests cloned with one machine-id get one
 * lease. Owned by answers. */
const char *address_other_holder(const GPtrArray *answers, const char *host, const GPtrArray *macs);

/* "lease: no address yet; agent: Guest agent is not responding": for the message of a time-out.
 * Transfer full. */
char *address_report(const GPtrArray *answers);
