/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "os.h"

static bool refuse(char *reason, const char *format, ...) AGENT_PRINTF(2, 3);

static bool refuse(char *reason, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, REQUEST_REASON_MAX, format, arguments);
    va_end(arguments);
    return false;
}

/* --- lines --- */

static void drop_taken(struct request_input *input)
{
    input->filled -= input->taken;
    memmove(input->bytes, input->bytes + input->taken, input->filled);
    input->taken = 0;
}

bool request_input_read(struct request_input *input)
{
    ptrdiff_t got;

    drop_taken(input);
    got = os_input_read(input->bytes + input->filled, sizeof(input->bytes) - input->filled);
    input->filled += got > 0 ? (size_t)got : 0;
    return got != 0;
}

enum request_line request_input_next(struct request_input *input, char **ret_line,
                                     size_t *ret_length)
{
    char *end;

    drop_taken(input);
    end = memchr(input->bytes, '\n', input->filled);
    if (end == NULL)
        return input->filled == sizeof(input->bytes) ? REQUEST_TOO_LONG : REQUEST_NONE;
    *ret_line = input->bytes;
    *ret_length = (size_t)(end - input->bytes);
    input->taken = *ret_length + 1;
    return REQUEST_LINE;
}

/* --- members --- */

bool request_integer(const struct json_object *object, struct request_range range,
                     int64_t *ret_value, char *ret_reason)
{
    const struct json_member *member = json_find(object, range.key);

    if (member == NULL)
        return refuse(ret_reason, "the request has no member \"%s\"", range.key);
    if (member->kind != JSON_INTEGER || member->integer < range.least ||
        member->integer > range.most)
        return refuse(ret_reason, "\"%s\" is not an integer from %" PRId64 " to %" PRId64,
                      range.key, range.least, range.most);
    *ret_value = member->integer;
    return true;
}

bool request_string(const struct json_object *object, const char *key, const char **ret_text,
                    char *ret_reason)
{
    const struct json_member *member = json_find(object, key);

    if (member == NULL || member->kind != JSON_STRING)
        return refuse(ret_reason, "the request has no string \"%s\"", key);
    *ret_text = member->text;
    return true;
}

/* The next integer of an array's text (which is valid JSON) that is in range. */
static bool next_integer(const char **at, struct request_range range, int64_t *ret_value)
{
    char *end;

    *at += 1 + strspn(*at + 1, " \t\r"); /* past the '[' or ',' */
    if (**at == '\0' || strchr("0123456789-", **at) == NULL)
        return false;
    *ret_value = strtoll(*at, &end, 10); /* beyond its range: not in ours either */
    *at = end + strspn(end, " \t\r");
    return (**at == ',' || **at == ']') && *ret_value >= range.least && *ret_value <= range.most;
}

static bool is_empty(const char *array)
{
    return array[1 + strspn(array + 1, " \t\r")] == ']';
}

bool request_integers(const struct json_object *object, struct request_range range, int64_t max,
                      int64_t *ret_values, int64_t *ret_count, char *ret_reason)
{
    const struct json_member *member = json_find(object, range.key);
    const char *at;
    int64_t count = 0, value;

    *ret_count = 0;
    if (member == NULL || (member->kind == JSON_ARRAY && is_empty(member->text)))
        return true;
    at = member->kind == JSON_ARRAY ? member->text : "[]";
    do {
        if (count == max || !next_integer(&at, range, &value))
            return refuse(ret_reason,
                          "\"%s\" is not an array of at most %" PRId64 " integers from %" PRId64
                          " to %" PRId64,
                          range.key, max, range.least, range.most);
        ret_values[count++] = value;
    } while (*at == ',');
    *ret_count = count;
    return true;
}
