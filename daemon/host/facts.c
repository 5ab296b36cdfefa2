/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/facts.h"

#include <string.h>
#include <unistd.h>

#include "host/tree.h"
#include "util/text.h"

void fact_add(GHashTable *facts, const char *name, char *value)
{
    if (value != NULL && *value != '\0')
        g_hash_table_insert(facts, g_strdup(name), value);
    else
        g_free(value);
}

void fact_add_files(GHashTable *facts, const char *root, const FactFile *files, gsize n)
{
    for (gsize i = 0; i < n; i++)
        fact_add(facts, files[i].name, tree_read(root, files[i].path));
}

char *fact_choice(const char *root, const char *path)
{
    g_autofree char *text = tree_read(root, path);
    const char *open = text != NULL ? strchr(text, '[') : NULL;
    const char *close = open != NULL ? strchr(open, ']') : NULL;

    return close != NULL ? g_strndup(open + 1, (gsize)(close - open - 1)) : NULL;
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *fact_folder(const char *root, const char *path)
{
    g_autofree char *full = g_strconcat(root, path, NULL);
    g_autoptr(GDir) dir = g_dir_open(full, 0, NULL);
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    const char *name;

    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL)
        g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, compare_names);
    return names;
}

char *fact_link(const char *root, const char *path)
{
    g_autofree char *full = g_strconcat(root, path, NULL);
    g_autofree char *target = g_file_read_link(full, NULL);

    return target != NULL ? g_path_get_basename(target) : NULL;
}

char *fact_kib(const char *text, const char *key)
{
    g_autofree char *value = text != NULL ? tree_field(text, key, ':') : NULL;
    g_auto(GStrv) words = g_strsplit(value != NULL ? value : "", " ", 2);
    guint64 kib;

    if (words[0] == NULL || !text_parse_uint(words[0], &kib) || kib > G_MAXUINT64 / 1024)
        return NULL;
    return g_strdup_printf("%" G_GUINT64_FORMAT, kib * 1024);
}

char *fact_of_cpus(const char *root, const char *file)
{
    g_autoptr(GPtrArray) cpus = fact_folder(root, "/sys/devices/system/cpu");
    g_autoptr(GPtrArray) seen = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < cpus->len; i++) {
        const char *cpu = g_ptr_array_index(cpus, i);
        g_autofree char *path = g_strdup_printf("/sys/devices/system/cpu/%s/%s", cpu, file);
        gboolean is_cpu = g_str_has_prefix(cpu, "cpu") && g_ascii_isdigit(cpu[3]);
        g_autofree char *value = is_cpu ? tree_read(root, path) : NULL;

        if (value != NULL && !g_ptr_array_find_with_equal_func(seen, value, g_str_equal, NULL))
            g_ptr_array_add(seen, g_steal_pointer(&value));
    }
    if (seen->len == 0)
        return NULL;
    g_ptr_array_sort(seen, compare_names);
    g_ptr_array_add(seen, NULL);
    return g_strjoinv(",", (char **)seen->pdata);
}

/* ---- what is nobody's business ---- */

static char *replace_all(const char *text, const char *pattern, const char *by)
{
    g_autoptr(GRegex) regex = g_regex_new(pattern, G_REGEX_CASELESS | G_REGEX_RAW, 0, NULL);
    char *result = g_regex_replace(regex, text, -1, 0, by, 0, NULL);

    return result != NULL ? result : g_strdup("(hidden)");
}

char *fact_conceal(const char *text)
{
    static const struct {
        const char *pattern, *by;
    } rules[] = {
        {"\\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\\b", "(hidden)"},
        {"\\b(?:[0-9a-f]{2}[:-]){5,7}[0-9a-f]{2}\\b", "(hidden)"},
        /* "root=PARTUUID=614e0000-01", "androidboot.serialno=…", "systemd.machine_id=…" */
        {"((?:uuid|serial[a-z_]*|machine_id|passw[a-z]*|secret|token)=)[^\\s=]+", "\\1(hidden)"},
    };
    char *result = g_strdup(text);

    for (gsize i = 0; i < G_N_ELEMENTS(rules); i++) {
        char *next = replace_all(result, rules[i].pattern, rules[i].by);

        g_free(result);
        result = next;
    }
    return result;
}
