/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "json.h"

#include <stdio.h>
#include <string.h>

#include "utf8.h"

struct reader {
    char *at, *begin, *end;
    char *reason;
};

static bool refuse(struct reader *reader, const char *what)
{
    snprintf(reader->reason, JSON_REASON_MAX, "%s at byte %zu of the line", what,
             (size_t)(reader->at - reader->begin) + 1);
    return false;
}

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end &&
           (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r'))
        reader->at++;
}

/* The next byte after white space, '\0' at the end (a NUL in the line is no better). */
static char peek(struct reader *reader)
{
    skip_space(reader);
    return reader->at < reader->end ? *reader->at : '\0';
}

static bool expect(struct reader *reader, char byte, const char *what)
{
    if (peek(reader) != byte)
        return refuse(reader, what);
    reader->at++;
    return true;
}

static bool read_hex4(struct reader *reader, uint32_t *ret_code)
{
    uint32_t code = 0;

    if (reader->end - reader->at < 4)
        return refuse(reader, "a cut \\u escape");
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef";
        char byte = *reader->at;
        char lower = byte >= 'A' && byte <= 'F' ? (char)(byte - 'A' + 'a') : byte;
        const char *digit = lower == '\0' ? NULL : strchr(digits, lower);

        if (digit == NULL)
            return refuse(reader, "a \\u escape that is not four hex digits");
        code = code * 16 + (uint32_t)(digit - digits);
        reader->at++;
    }
    *ret_code = code;
    return true;
}

/* After "\u": a scalar value, from one escape or a surrogate pair. */
static bool read_unicode(struct reader *reader, uint32_t *ret_code)
{
    uint32_t high, low;

    if (!read_hex4(reader, &high))
        return false;
    if (high == 0)
        return refuse(reader, "a NUL");
    if (high >= 0xdc00 && high <= 0xdfff)
        return refuse(reader, "a lone surrogate");
    if (high < 0xd800 || high > 0xdbff) {
        *ret_code = high;
        return true;
    }
    if (reader->end - reader->at < 2 || reader->at[0] != '\\' || reader->at[1] != 'u')
        return refuse(reader, "a lone surrogate");
    reader->at += 2;
    if (!read_hex4(reader, &low))
        return false;
    if (low < 0xdc00 || low > 0xdfff)
        return refuse(reader, "a lone surrogate");
    *ret_code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* After the backslash; writes what it stands for at *to. */
static bool read_escape(struct reader *reader, char **to)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    char byte = reader->at < reader->end ? *reader->at : '\0';
    const char *name = byte == '\0' ? NULL : strchr(names, byte);
    uint32_t code;

    if (name != NULL) {
        reader->at++;
        *(*to)++ = values[name - names];
        return true;
    }
    if (byte != 'u')
        return refuse(reader, "an unknown escape");
    reader->at++;
    if (!read_unicode(reader, &code))
        return false;
    *to += utf8_encode(code, *to);
    return true;
}

/* Unescaped in place: what an escape stands for is never longer than the escape. */
static bool read_string(struct reader *reader, char **ret_text)
{
    char *text, *to;

    if (!expect(reader, '"', "something else than a string"))
        return false;
    text = to = reader->at;
    for (;;) {
        size_t length;

        if (reader->at >= reader->end)
            return refuse(reader, "a string without its end");
        if (*reader->at == '"')
            break;
        if ((unsigned char)*reader->at < 0x20)
            return refuse(reader, "a control character in a string");
        if (*reader->at == '\\') {
            reader->at++;
            if (!read_escape(reader, &to))
                return false;
            continue;
        }
        length = utf8_length(reader->at, (size_t)(reader->end - reader->at));
        if (length == 0)
            return refuse(reader, "a byte that is not UTF-8");
        memmove(to, reader->at, length);
        to += length;
        reader->at += length;
    }
    reader->at++;
    *to = '\0';
    *ret_text = text;
    return true;
}

static bool read_digits(struct reader *reader)
{
    char *begin = reader->at;

    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
        reader->at++;
    return reader->at > begin ? true : refuse(reader, "a number without digits");
}

static bool read_fraction_and_exponent(struct reader *reader, bool *ret_plain)
{
    *ret_plain = true;
    if (reader->at < reader->end && *reader->at == '.') {
        *ret_plain = false;
        reader->at++;
        if (!read_digits(reader))
            return false;
    }
    if (reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E')) {
        *ret_plain = false;
        reader->at++;
        if (reader->at < reader->end && (*reader->at == '+' || *reader->at == '-'))
            reader->at++;
        if (!read_digits(reader))
            return false;
    }
    return true;
}

/* Whether the digits fit; negative numbers reach one further. */
static bool to_integer(const char *digits, const char *end, bool negative, int64_t *ret_value)
{
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0), value = 0;

    for (; digits < end; digits++) {
        uint64_t digit = (uint64_t)(*digits - '0');
        if (value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret_value = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static bool read_number(struct reader *reader, struct json_member *ret_member)
{
    bool negative = *reader->at == '-', plain;
    char *digits, *end;

    if (negative)
        reader->at++;
    digits = reader->at;
    if (!read_digits(reader))
        return false;
    end = reader->at;
    if (*digits == '0' && end - digits > 1)
        return refuse(reader, "a number with a leading zero");
    if (!read_fraction_and_exponent(reader, &plain))
        return false;
    ret_member->kind = plain && to_integer(digits, end, negative, &ret_member->integer)
                           ? JSON_INTEGER
                           : JSON_OTHER;
    return true;
}

static bool read_word(struct reader *reader, const char *word)
{
    size_t length = strlen(word);

    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return refuse(reader, "something that is no JSON value");
    reader->at += length;
    return true;
}

static bool read_value(struct reader *reader, struct json_member *ret_member, int depth);

/* An array or object: checked, and its content dropped. */
static bool skip_nested(struct reader *reader, char close, int depth)
{
    struct json_member ignored;
    char *key;

    if (depth > JSON_DEPTH_MAX)
        return refuse(reader, "nesting that is too deep");
    reader->at++;
    if (peek(reader) == close) {
        reader->at++;
        return true;
    }
    for (;;) {
        if (close == '}' &&
            (!read_string(reader, &key) || !expect(reader, ':', "no ':' after a key")))
            return false;
        if (!read_value(reader, &ignored, depth))
            return false;
        if (peek(reader) != ',')
            break;
        reader->at++;
    }
    return expect(reader, close, "no ',' and no end of an array or object");
}

static bool read_value(struct reader *reader, struct json_member *ret_member, int depth)
{
    char *text;

    ret_member->kind = JSON_OTHER;
    switch (peek(reader)) {
    case '"':
        if (!read_string(reader, &text))
            return false;
        ret_member->kind = JSON_STRING;
        ret_member->text = text;
        return true;
    case '{':
        return skip_nested(reader, '}', depth + 1);
    case '[':
        ret_member->kind = JSON_ARRAY;
        ret_member->text = reader->at;
        return skip_nested(reader, ']', depth + 1);
    case 't':
        return read_word(reader, "true");
    case 'f':
        return read_word(reader, "false");
    case 'n':
        return read_word(reader, "null");
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return read_number(reader, ret_member);
    default:
        return refuse(reader, "something that is no JSON value");
    }
}

static bool read_member(struct reader *reader, struct json_object *object)
{
    struct json_member *member = &object->members[object->count];
    char *key;

    if (object->count == JSON_MEMBERS_MAX)
        return refuse(reader, "one member too many");
    if (!read_string(reader, &key))
        return false;
    if (json_find(object, key) != NULL)
        return refuse(reader, "a key that was there before");
    member->key = key;
    if (!expect(reader, ':', "no ':' after a key") || !read_value(reader, member, 1))
        return false;
    object->count++;
    return true;
}

bool json_parse(char *line, size_t length, struct json_object *ret_object, char *ret_reason)
{
    struct reader reader = {.at = line, .begin = line, .end = line + length, .reason = ret_reason};

    ret_object->count = 0;
    if (!expect(&reader, '{', "no JSON object"))
        return false;
    if (peek(&reader) != '}') {
        for (;;) {
            if (!read_member(&reader, ret_object))
                return false;
            if (peek(&reader) != ',')
                break;
            reader.at++;
        }
    }
    if (!expect(&reader, '}', "no ',' and no end of the object"))
        return false;
    skip_space(&reader);
    return reader.at == reader.end ? true : refuse(&reader, "something after the object");
}

const struct json_member *json_find(const struct json_object *object, const char *key)
{
    for (size_t i = 0; i < object->count; i++)
        if (strcmp(object->members[i].key, key) == 0)
            return &object->members[i];
    return NULL;
}
