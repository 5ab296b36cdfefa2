/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members of an agent's message, each checked. Internal to guest/. */
#pragma once
#include <glib.h>
#include <jansson.h>

#define AGENT_NAME_MAX 128 /* bytes of a name */

/* VM_ERROR_PROTOCOL "WHY"; returns FALSE always. Who decodes the line adds the line. */
gboolean agent_json_malformed(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* An integer from 0. */
gboolean agent_json_int(const json_t *object, const char *member, gint64 *ret_value,
                        GError **error);

/* The string lives as long as object. */
gboolean agent_json_text(const json_t *object, const char *member, const char **ret_text,
                         GError **error);

/* A short name that is safe to store and to print: 1 to AGENT_NAME_MAX printable ASCII characters.
 */
gboolean agent_json_name(const json_t *object, const char *member, const char **ret_text,
                         GError **error);
