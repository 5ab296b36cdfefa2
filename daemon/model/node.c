/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/node.h"

#include <stdarg.h>
#include <string.h>

#include "model/scalar.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/text.h"

static void set_invalid(const char *path, NodePlace place, GError **error, const char *format,
                        va_list arguments) G_GNUC_PRINTF(4, 0);

static void set_invalid(const char *path, NodePlace place, GError **error, const char *format,
                        va_list arguments)
{
    g_autofree char *message = g_strdup_vprintf(format, arguments);

    g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "%s:%u:%u: %s", path, place.line, place.column,
                message);
}

gboolean node_fail(const Node *at, GError **error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    set_invalid(at->path, (NodePlace){at->line, at->column}, error, format, arguments);
    va_end(arguments);
    return FALSE;
}

gboolean node_fail_at(const char *path, NodePlace place, GError **error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    set_invalid(path, place, error, format, arguments);
    va_end(arguments);
    return FALSE;
}

char *node_suggest(const char *word, const char *const *candidates, const char *label)
{
    enum { SHOWN = 12 };
    const char *nearest = text_nearest(word, candidates);
    GString *list;

    if (nearest != NULL)
        return g_strdup_printf("; did you mean \"%s\"?", nearest);
    if (candidates[0] == NULL)
        return g_strdup("");
    list = g_string_new("; ");
    g_string_append_printf(list, "%s: %s", label, candidates[0]);
    for (guint i = 1; candidates[i] != NULL && i < SHOWN; i++)
        g_string_append_printf(list, ", %s", candidates[i]);
    if (g_strv_length((char **)candidates) > SHOWN)
        g_string_append(list, ", …");
    return g_string_free(list, FALSE);
}

char *node_quote(const Node *scalar)
{
    g_autofree char *text = text_escape(scalar->text, -1, 60);

    return g_strdup_printf("\"%s\"", text);
}

gboolean node_expect(const Node *node, NodeKind kind, const char *what, GError **error)
{
    static const char *const names[] = {"a single value", "a list", "a mapping"};

    if (node->kind == kind)
        return TRUE;
    if (node->kind == NODE_SCALAR && node->plain && node->text[0] == '\0')
        return node_fail(node, error, "%s: there is nothing here; %s is wanted", what, names[kind]);
    return node_fail(node, error, "%s: must be %s, not %s", what, names[kind], names[node->kind]);
}

const Node *node_get(const Node *map, const char *key)
{
    for (guint i = 0; i < map->keys->len; i++) {
        const Node *at = g_ptr_array_index(map->keys, i);

        if (strcmp(at->text, key) == 0)
            return g_ptr_array_index(map->items, i);
    }
    return NULL;
}

gboolean node_is_name(const char *text)
{
    gsize length = strlen(text);

    return length >= 1 && length <= 64 && g_ascii_isalnum(text[0]) &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+:-") ==
               length;
}

static const NodeField *find_field(const NodeField *fields, const char *key)
{
    for (; fields->key != NULL; fields++) {
        if (strcmp(fields->key, key) == 0)
            return fields;
    }
    return NULL;
}

static gboolean fail_unknown_key(const Node *key, const char *what, const NodeField *fields,
                                 GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *name = node_quote(key);

    for (; fields->key != NULL; fields++)
        g_ptr_array_add(names, (gpointer)fields->key);
    g_ptr_array_add(names, NULL);
    g_autofree char *hint =
        node_suggest(key->text, (const char *const *)names->pdata, "known keys");

    return node_fail(key, error, "%s: unknown key %s%s", what, name, hint);
}

gboolean node_read_fields(const Node *map, const char *what, const NodeField *fields,
                          gpointer target, GError **error)
{
    if (!node_expect(map, NODE_MAP, what, error))
        return FALSE;
    for (guint i = 0; i < map->keys->len; i++) {
        const Node *key = g_ptr_array_index(map->keys, i);

        if (find_field(fields, key->text) == NULL)
            return fail_unknown_key(key, what, fields, error);
    }
    for (const NodeField *field = fields; field->key != NULL; field++) {
        const Node *value = node_get(map, field->key);

        if (value == NULL && field->required)
            return node_fail(map, error, "%s: the key \"%s\" is missing", what, field->key);
        if (value != NULL && !field->read(value, field, (char *)target + field->offset, error))
            return FALSE;
    }
    return TRUE;
}

/* A single value that is not empty. */
static gboolean expect_value(const Node *value, const NodeField *field, GError **error)
{
    if (!node_expect(value, NODE_SCALAR, field->key, error))
        return FALSE;
    return value->text[0] != '\0' ||
           node_fail(value, error, "%s: there is nothing here; a value is wanted", field->key);
}

gboolean node_read_version(const Node *value, const NodeField *field, gpointer member,
                           GError **error)
{
    if (!expect_value(value, field, error))
        return FALSE;
    if (strcmp(value->text, "1") == 0)
        return TRUE;
    g_autofree char *text = node_quote(value);

    return node_fail(value, error, "version %s is not known: this vmatrix reads \"version: 1\"",
                     text);
}

gboolean node_read_nested(const Node *value, const NodeField *field, gpointer member,
                          GError **error)
{
    return node_read_fields(value, field->key, field->fields, member, error);
}

static gboolean read_number(const Node *value, const NodeField *field, guint64 type_max,
                            guint64 *ret_number, GError **error)
{
    guint64 max = field->max == 0 ? type_max : field->max;
    guint64 number = 0;

    if (!expect_value(value, field, error))
        return FALSE;
    g_autofree char *text = node_quote(value);

    if (strspn(value->text, "0123456789") != strlen(value->text) ||
        (value->text[0] == '0' && value->text[1] != '\0'))
        return node_fail(value, error,
                         "%s: %s is not a whole number: write plain decimal digits, without "
                         "sign, leading zero, \"_\" or exponent",
                         field->key, text);
    if (!text_parse_uint(value->text, &number) || number < field->min || number > max)
        return node_fail(value, error,
                         "%s: %s is out of range: %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
                         " is allowed",
                         field->key, text, field->min, max);
    *ret_number = number;
    return TRUE;
}

gboolean node_read_uint(const Node *value, const NodeField *field, gpointer member, GError **error)
{
    guint64 number;

    if (!read_number(value, field, G_MAXUINT, &number, error))
        return FALSE;
    *(guint *)member = (guint)number;
    return TRUE;
}

gboolean node_read_uint64(const Node *value, const NodeField *field, gpointer member,
                          GError **error)
{
    return read_number(value, field, G_MAXUINT64, member, error);
}

/* Say why a value with a unit was refused; what is "size", forms are examples. */
static gboolean fail_form(const Node *value, const NodeField *field, ScalarResult result,
                          const char *what, const char *forms, GError **error)
{
    g_autofree char *text = node_quote(value);

    if (result == SCALAR_NO_UNIT)
        return node_fail(value, error, "%s: %s has no unit: write %s", field->key, text, forms);
    if (result == SCALAR_TOO_BIG)
        return node_fail(value, error, "%s: %s is out of range: too large for a %s", field->key,
                         text, what);
    return node_fail(value, error, "%s: %s is not a %s: write %s", field->key, text, what, forms);
}

gboolean node_read_size(const Node *value, const NodeField *field, gpointer member, GError **error)
{
    guint64 bytes = 0;

    if (!expect_value(value, field, error))
        return FALSE;
    ScalarResult result = scalar_parse_size(value->text, &bytes);

    if (result != SCALAR_OK)
        return fail_form(value, field, result, "size", SCALAR_SIZE_FORMS, error);
    if (bytes < field->min || (field->max != 0 && bytes > field->max)) {
        g_autofree char *least = text_format_size(field->min);
        g_autofree char *most = text_format_size(field->max);

        return node_fail(value, error, "%s: \"%s\" is out of range: %s to %s is allowed",
                         field->key, value->text, least, most);
    }
    *(guint64 *)member = bytes;
    return TRUE;
}

gboolean node_read_duration(const Node *value, const NodeField *field, gpointer member,
                            GError **error)
{
    gint64 ns = 0;

    if (!expect_value(value, field, error))
        return FALSE;
    ScalarResult result = scalar_parse_duration(value->text, &ns);

    if (result != SCALAR_OK)
        return fail_form(value, field, result, "duration", SCALAR_DURATION_FORMS, error);
    if ((guint64)ns < field->min || (field->max != 0 && (guint64)ns > field->max)) {
        g_autofree char *least = clock_format_duration((gint64)field->min);
        g_autofree char *most = clock_format_duration((gint64)field->max);

        return node_fail(value, error, "%s: \"%s\" is out of range: %s to %s is allowed",
                         field->key, value->text, least, most);
    }
    *(gint64 *)member = ns;
    return TRUE;
}

gboolean node_read_percent(const Node *value, const NodeField *field, gpointer member,
                           GError **error)
{
    if (!expect_value(value, field, error))
        return FALSE;
    ScalarResult result = scalar_parse_percent(value->text, member);

    return result == SCALAR_OK ||
           fail_form(value, field, result, "percentage", "3% or 2.5%", error);
}

gboolean node_read_ppm(const Node *value, const NodeField *field, gpointer member, GError **error)
{
    if (!expect_value(value, field, error))
        return FALSE;
    ScalarResult result = scalar_parse_ppm(value->text, member);

    return result == SCALAR_OK ||
           fail_form(value, field, result, "drift", "500ppm or 0.5ppm", error);
}

gboolean node_read_count(const Node *value, const NodeField *field, gpointer member, GError **error)
{
    if (!expect_value(value, field, error))
        return FALSE;
    ScalarResult result = scalar_parse_count(value->text, member);

    return result == SCALAR_OK || fail_form(value, field, result, "number", "2 or 0.5", error);
}

gboolean node_read_kelvin(const Node *value, const NodeField *field, gpointer member,
                          GError **error)
{
    if (!expect_value(value, field, error))
        return FALSE;
    ScalarResult result = scalar_parse_kelvin(value->text, member);

    return result == SCALAR_OK ||
           fail_form(value, field, result, "difference of temperature", "10K or 2.5K", error);
}

gboolean node_read_minute(const Node *value, const NodeField *field, gpointer member,
                          GError **error)
{
    if (!expect_value(value, field, error))
        return FALSE;
    ScalarResult result = scalar_parse_minute(value->text, member);

    return result == SCALAR_OK || fail_form(value, field, result, "time of day",
                                            "\"07:00\", 00:00 to 23:59, two digits each", error);
}

gboolean node_read_choice(const Node *value, const NodeField *field, gpointer member,
                          GError **error)
{
    if (!expect_value(value, field, error))
        return FALSE;
    for (guint i = 0; field->choices[i] != NULL; i++) {
        if (strcmp(field->choices[i], value->text) == 0) {
            *(guint *)member = i + (guint)field->min;
            return TRUE;
        }
    }
    g_autofree char *text = node_quote(value);
    g_autofree char *hint = node_suggest(value->text, field->choices, "one of");

    return node_fail(value, error, "%s: %s is not known%s", field->key, text, hint);
}

static void replace_string(gpointer member, const char *text)
{
    char **string = member;

    g_free(*string);
    *string = g_strdup(text);
}

gboolean node_read_name(const Node *value, const NodeField *field, gpointer member, GError **error)
{
    if (!expect_value(value, field, error))
        return FALSE;
    g_autofree char *text = node_quote(value);

    if (!node_is_name(value->text))
        return node_fail(value, error,
                         "%s: %s is not a name: up to 64 letters, digits and ._+:- with a letter "
                         "or digit first",
                         field->key, text);
    replace_string(member, value->text);
    return TRUE;
}

gboolean node_read_text(const Node *value, const NodeField *field, gpointer member, GError **error)
{
    if (!node_expect(value, NODE_SCALAR, field->key, error))
        return FALSE;
    for (const char *at = value->text; *at != '\0'; at++) {
        if (g_ascii_iscntrl(*at))
            return node_fail(value, error,
                             "%s: a line break or control character in the text: it must be one "
                             "line",
                             field->key);
    }
    replace_string(member, value->text);
    return TRUE;
}

gboolean node_read_string(const Node *value, const NodeField *field, gpointer member,
                          GError **error)
{
    return expect_value(value, field, error) && node_read_text(value, field, member, error);
}
