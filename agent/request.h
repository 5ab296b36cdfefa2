/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host's requests: lines of standard input, and the members of one. */
#ifndef VMATRIX_AGENT_REQUEST_H
#define VMATRIX_AGENT_REQUEST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"

#define REQUEST_MAX 65536      /* bytes in one request, with its newline */
#define REQUEST_REASON_MAX 512 /* bytes of every ret_reason here */

struct request_input {
    char bytes[REQUEST_MAX];
    size_t filled, taken; /* taken: bytes of the line that was handed out */
};

/* Read what is there, waiting for nothing. false: it has ended. */
bool request_input_read(struct request_input *input);

enum request_line { REQUEST_NONE, REQUEST_LINE, REQUEST_TOO_LONG };
/* The next whole line, which may be changed, and is there until the next call. */
enum request_line request_input_next(struct request_input *input, char **ret_line,
                                     size_t *ret_length);

/* A member of the given kind; false, with a reason: there is none. */
struct request_range {
    const char *key;
    int64_t least, most;
};
bool request_integer(const struct json_object *object, struct request_range range,
                     int64_t *ret_value, char *ret_reason);
bool request_string(const struct json_object *object, const char *key, const char **ret_text,
                    char *ret_reason);
/* An array of at most max integers in range; none where there is no such member. */
bool request_integers(const struct json_object *object, struct request_range range, int64_t max,
                      int64_t *ret_values, int64_t *ret_count, char *ret_reason);

#endif
