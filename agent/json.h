/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bounded reader of the host's requests: one flat JSON object a line. Members of any JSON type
 * are accepted, since members unknown to this version are to be ignored; nested ones are checked
 * and not taken apart. */
#ifndef VMATRIX_AGENT_JSON_H
#define VMATRIX_AGENT_JSON_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_MEMBERS_MAX 32
#define JSON_DEPTH_MAX 16
#define JSON_REASON_MAX 256

enum json_kind {
    JSON_STRING,
    JSON_INTEGER, /* digits only, and fits 64 bits with its sign */
    JSON_ARRAY,
    JSON_OTHER,
};

struct json_member {
    const char *key;
    enum json_kind kind;
    const char *text; /* JSON_STRING; JSON_ARRAY: as it stands in the line, from its '[' on */
    int64_t integer;  /* JSON_INTEGER */
};

struct json_object {
    struct json_member members[JSON_MEMBERS_MAX];
    size_t count;
};

/* Parse line[0..length), which is changed: the strings of ret_object are unescaped within it and
 * live as long. Refused, with a reason and the byte it was met at: anything that is not one JSON
 * object in UTF-8, a key twice, NUL in any form, more than JSON_MEMBERS_MAX members, nesting deeper
 * than JSON_DEPTH_MAX. ret_reason has room for JSON_REASON_MAX bytes. */
bool json_parse(char *line, size_t length, struct json_object *ret_object, char *ret_reason);

/* NULL: there is no such member. */
const struct json_member *json_find(const struct json_object *object, const char *key);

#endif
