/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/workload.h"

#include <stddef.h>
#include <string.h>

#include "model/scalar.h"

#define COPIES ":copies="
#define THREADS ":threads="

void workload_clear(Workload *workload)
{
    g_clear_pointer(&workload->name, g_free);
}

gsize workload_name_length(const char *label)
{
    return strcspn(label, ":");
}

/* What follows prefix as a number above 1, as labels have it; 0: it is none. */
static guint count_after(const char *text, const char *prefix)
{
    guint64 count;

    if (!g_str_has_prefix(text, prefix) ||
        !g_ascii_string_to_unsigned(text + strlen(prefix), 10, 2, WORKLOAD_COPIES_MAX, &count,
                                    NULL))
        return 0;
    return (guint)count;
}

gboolean workload_parse(const char *label, Workload *ret_workload)
{
    gsize length = workload_name_length(label);
    guint copies = count_after(label + length, COPIES), threads;

    threads = count_after(label + length, THREADS);
    if (length == 0 || (label[length] != '\0' && copies == 0 && threads == 0))
        return FALSE;
    *ret_workload = (Workload){
        .name = g_strndup(label, length), .copies = MAX(copies, 1), .threads = MAX(threads, 1)};
    return TRUE;
}

/* ---- an entry of a plan ---- */

/* "ops", "ops.int32-add", "openssl-rsa4096": small letters, digits, "-" and single points. */
static gboolean is_name(const char *text)
{
    gsize length = strlen(text);

    return length >= 1 && length <= 64 && text[0] != '.' && text[0] != '-' &&
           text[length - 1] != '.' && strstr(text, "..") == NULL &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-") == length;
}

/* A NodeReader; member: a char*. */
static gboolean read_name(const Node *value, const NodeField *field, gpointer member,
                          GError **error)
{
    char **name = member;

    if (!node_expect(value, NODE_SCALAR, "workloads", error))
        return FALSE;
    if (!is_name(value->text))
        return node_fail(value, error,
                         "workloads: not a name of a workload or group: up to 64 small letters, "
                         "digits, \"-\" and \".\", such as ops or ops.int32-add");
    g_free(*name);
    *name = g_strdup(value->text);
    return TRUE;
}

/* A NodeReader; member: a GArray* of guint, made here. A number, or a list of them. */
static gboolean read_counts(const Node *value, const NodeField *field, gpointer member,
                            GError **error)
{
    const NodeField number = {.key = field->key, .min = 1, .max = WORKLOAD_COPIES_MAX};
    GArray **counts = member;
    guint count;

    *counts = g_array_new(FALSE, FALSE, sizeof count);
    if (value->kind != NODE_LIST) {
        if (!node_read_uint(value, &number, &count, error))
            return FALSE;
        g_array_append_val(*counts, count);
        return TRUE;
    }
    if (value->items->len == 0)
        return node_fail(value, error, "%s: none: name at least one number", field->key);
    for (guint i = 0; i < value->items->len; i++) {
        if (!node_read_uint(g_ptr_array_index(value->items, i), &number, &count, error))
            return FALSE;
        g_array_append_val(*counts, count);
    }
    return TRUE;
}

typedef struct {
    char *name;
    GArray *copies, *threads; /* guint; NULL: not said */
} Entry;

static const NodeField entry_fields[] = {
    {.key = "workload", .read = read_name, .offset = offsetof(Entry, name), .required = TRUE},
    {.key = "copies", .read = read_counts, .offset = offsetof(Entry, copies)},
    {.key = "threads", .read = read_counts, .offset = offsetof(Entry, threads)},
    {NULL},
};

static void entry_clear(Entry *entry)
{
    g_free(entry->name);
    g_clear_pointer(&entry->copies, g_array_unref);
    g_clear_pointer(&entry->threads, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Entry, entry_clear)

/* Takes label over. */
static gboolean add_label(const Node *item, const WorkloadList *list, char *label, GError **error)
{
    NodePlace place = {item->line, item->column};

    for (guint i = 0; i < list->labels->len; i++) {
        if (strcmp(g_ptr_array_index(list->labels, i), label) == 0) {
            node_fail(item, error, "workloads: duplicate \"%s\": it stands in line %u already",
                      label, g_array_index(list->places, NodePlace, i).line);
            g_free(label);
            return FALSE;
        }
    }
    g_ptr_array_add(list->labels, label);
    g_array_append_val(list->places, place);
    return TRUE;
}

/* One copy and one thread are the same: the plain name. */
static gboolean add_counts(const Node *item, const WorkloadList *list, const Entry *entry,
                           GError **error)
{
    const GArray *counts = entry->copies != NULL ? entry->copies : entry->threads;
    const char *what = entry->copies != NULL ? COPIES : THREADS;

    for (guint i = 0; i < counts->len; i++) {
        guint count = g_array_index(counts, guint, i);
        char *label = count == 1 ? g_strdup(entry->name)
                                 : g_strdup_printf("%s%s%u", entry->name, what, count);

        if (!add_label(item, list, label, error))
            return FALSE;
    }
    return TRUE;
}

gboolean workload_read(const Node *item, const WorkloadList *list, GError **error)
{
    g_auto(Entry) entry = {0};

    if (item->kind != NODE_MAP)
        return read_name(item, NULL, &entry.name, error) &&
               add_label(item, list, g_steal_pointer(&entry.name), error);
    if (!node_read_fields(item, "workloads", entry_fields, &entry, error))
        return FALSE;
    if (entry.copies != NULL && entry.threads != NULL)
        return node_fail(item, error,
                         "workloads: %s: copies and threads together: make two entries of it",
                         entry.name);
    if (entry.copies == NULL && entry.threads == NULL)
        return add_label(item, list, g_steal_pointer(&entry.name), error);
    return add_counts(item, list, &entry, error);
}
