/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/tree.h"

#include <string.h>

#include "util/io.h"

/* /proc/cpuinfo is the largest that is read: 2 KB a CPU. */
enum { FILE_MAX = 16 * 1024 * 1024 };

char *tree_read_whole(const char *root, const char *path, GError **error)
{
    g_autofree char *full = g_strconcat(root, path, NULL);

    return io_read_file(full, FILE_MAX, NULL, error);
}

char *tree_read(const char *root, const char *path)
{
    g_autofree char *text = tree_read_whole(root, path, NULL);

    if (text == NULL)
        return NULL;
    g_strstrip(text);
    return *text != '\0' ? g_steal_pointer(&text) : NULL;
}

static char *unquote(char *value)
{
    gsize length = strlen(value);

    if (length < 2 || (value[0] != '"' && value[0] != '\'') || value[length - 1] != value[0])
        return g_strdup(value);
    return g_strndup(value + 1, length - 2);
}

char *tree_field(const char *text, const char *key, char separator)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line != NULL; line++) {
        char *mark = strchr(*line, separator);

        if (mark == NULL)
            continue;
        *mark = '\0';
        if (!g_str_equal(g_strstrip(*line), key))
            continue;
        g_strstrip(mark + 1);
        return mark[1] != '\0' ? unquote(mark + 1) : NULL;
    }
    return NULL;
}
