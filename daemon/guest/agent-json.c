/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/agent-json.h"

#include <string.h>

#include "util/error.h"

gboolean agent_json_malformed(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_propagate_error(error, g_error_new_valist(VM_ERROR, VM_ERROR_PROTOCOL, format, args));
    va_end(args);
    return FALSE;
}

gboolean agent_json_int(const json_t *object, const char *member, gint64 *ret_value, GError **error)
{
    const json_t *value = json_object_get(object, member);

    if (value == NULL)
        return agent_json_malformed(error, "member \"%s\" is missing", member);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return agent_json_malformed(error, "member \"%s\" is not an integer from 0", member);
    *ret_value = json_integer_value(value);
    return TRUE;
}

gboolean agent_json_text(const json_t *object, const char *member, const char **ret_text,
                         GError **error)
{
    const json_t *value = json_object_get(object, member);

    if (value == NULL)
        return agent_json_malformed(error, "member \"%s\" is missing", member);
    if (!json_is_string(value))
        return agent_json_malformed(error, "member \"%s\" is not a string", member);
    *ret_text = json_string_value(value);
    return TRUE;
}

gboolean agent_json_name(const json_t *object, const char *member, const char **ret_text,
                         GError **error)
{
    const char *text;

    if (!agent_json_text(object, member, &text, error))
        return FALSE;
    if (*text == '\0' || strlen(text) > AGENT_NAME_MAX)
        return agent_json_malformed(error, "member \"%s\" is not of 1 to %d bytes", member,
                                    AGENT_NAME_MAX);
    for (const char *at = text; *at != '\0'; at++)
        if (!g_ascii_isgraph(*at))
            return agent_json_malformed(
                error, "member \"%s\" has other than printable ASCII characters", member);
    *ret_text = text;
    return TRUE;
}
