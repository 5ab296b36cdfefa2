/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/benchcat.h"

#include <jansson.h>
#include <string.h>

#include "model/metric.h"
#include "model/workload.h"
#include "util/error.h"
#include "util/text.h"

static void metric_free(gpointer data)
{
    BenchMetric *metric = data;

    g_free(metric->name);
    g_free(metric->unit);
    g_free(metric->direction);
    g_free(metric);
}

static void bench_free(gpointer data)
{
    BenchInfo *bench = data;

    g_free(bench->name);
    g_free(bench->groups);
    g_ptr_array_unref(bench->metrics);
    g_free(bench->summary);
    g_free(bench->os);
    g_free(bench);
}

static gboolean fail(GError **error, gsize index, const char *what)
{
    g_set_error(error, VM_ERROR, VM_ERROR_PROTOCOL,
                "the agent's catalogue, entry %" G_GSIZE_FORMAT
                ": %s; does the agent belong to this version of vmatrix?",
                index, what);
    return FALSE;
}

typedef struct {
    const char *key;
    char **member;
} TextMember;

static gboolean read_texts(const json_t *object, gsize index, const TextMember *members,
                           gsize n_members, GError **error)
{
    for (gsize i = 0; i < n_members; i++) {
        const char *value = json_string_value(json_object_get(object, members[i].key));

        if (value == NULL) {
            g_autofree char *what = g_strdup_printf("no text under \"%s\"", members[i].key);

            return fail(error, index, what);
        }
        *members[i].member = g_strdup(value);
    }
    return TRUE;
}

/* name_key: what its name stands under. */
static gboolean read_metric(const json_t *object, gsize index, const char *name_key,
                            GPtrArray *metrics, GError **error)
{
    BenchMetric *metric = g_new0(BenchMetric, 1);
    const TextMember members[] = {
        {name_key, &metric->name}, {"unit", &metric->unit}, {"direction", &metric->direction}};
    Direction direction;

    g_ptr_array_add(metrics, metric);
    return read_texts(object, index, members, G_N_ELEMENTS(members), error) &&
           (direction_parse(metric->direction, &direction) ||
            fail(error, index, "a direction other than lower and higher"));
}

/* Of several there is a list; of one, only the entry's own members. */
static gboolean read_metrics(const json_t *entry, gsize index, GPtrArray *metrics, GError **error)
{
    json_t *list = json_object_get(entry, "metrics"), *metric;
    size_t i;

    if (json_array_size(list) == 0)
        return read_metric(entry, index, "metric", metrics, error);
    json_array_foreach (list, i, metric)
        if (!read_metric(metric, index, "name", metrics, error))
            return FALSE;
    return TRUE;
}

static gboolean read_bench(const json_t *entry, gsize index, BenchInfo *bench, GError **error)
{
    const TextMember members[] = {{"name", &bench->name},
                                  {"groups", &bench->groups},
                                  {"summary", &bench->summary},
                                  {"os", &bench->os}};

    if (!read_texts(entry, index, members, G_N_ELEMENTS(members), error))
        return FALSE;
    if (bench->name[0] == '\0')
        return fail(error, index, "an empty name");
    return read_metrics(entry, index, bench->metrics, error);
}

static gboolean read_benches(const json_t *root, BenchCatalogue *catalogue, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    json_t *entry;
    size_t index;

    json_array_foreach (root, index, entry) {
        BenchInfo *bench = g_new0(BenchInfo, 1);

        bench->metrics = g_ptr_array_new_with_free_func(metric_free);
        g_ptr_array_add(catalogue->benches, bench);
        if (!read_bench(entry, index, bench, error))
            return FALSE;
        if (!g_hash_table_add(seen, bench->name))
            return fail(error, index, "a name that is there already");
    }
    return TRUE;
}

BenchCatalogue *bench_catalogue_parse(const char *json, gsize length, GError **error)
{
    json_error_t problem;
    json_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, &problem);

    if (!json_is_array(root)) {
        g_autofree char *text = text_escape(root == NULL ? problem.text : "not an array", -1, 200);

        g_set_error(error, VM_ERROR, VM_ERROR_PROTOCOL, "the agent's catalogue is no list: %s",
                    text);
        json_decref(root);
        return NULL;
    }
    g_autoptr(BenchCatalogue) catalogue = g_new0(BenchCatalogue, 1);

    catalogue->benches = g_ptr_array_new_with_free_func(bench_free);
    gboolean good = read_benches(root, catalogue, error);

    json_decref(root);
    return good ? g_steal_pointer(&catalogue) : NULL;
}

void bench_catalogue_free(BenchCatalogue *catalogue)
{
    if (catalogue == NULL)
        return;
    g_clear_pointer(&catalogue->benches, g_ptr_array_unref);
    g_free(catalogue);
}

static gboolean in_group(const BenchInfo *bench, const char *group)
{
    g_auto(GStrv) groups = g_strsplit(bench->groups, " ", -1);
    gsize length = strlen(group);

    /* A family is a group too, listed or not. */
    return g_strv_contains((const char *const *)groups, group) ||
           (strncmp(bench->name, group, length) == 0 && bench->name[length] == '.');
}

/* Add what label stands for, a label each; FALSE when that is nothing. */
static gboolean add_matching(const BenchCatalogue *catalogue, const char *label, GHashTable *seen,
                             GPtrArray *expanded)
{
    gsize length = workload_name_length(label);
    g_autofree char *name = g_strndup(label, length);
    gboolean found = FALSE;

    for (guint i = 0; i < catalogue->benches->len; i++) {
        const BenchInfo *bench = g_ptr_array_index(catalogue->benches, i);

        if (strcmp(bench->name, name) != 0 && !in_group(bench, name))
            continue;
        found = TRUE;
        char *one = g_strconcat(bench->name, label + length, NULL);

        if (g_hash_table_add(seen, one))
            g_ptr_array_add(expanded, one);
        else
            g_free(one);
    }
    return found;
}

/* Every name that may be asked for: benches, then groups, then families; NULL-terminated. Owns its
 * strings. */
static GPtrArray *all_names(const BenchCatalogue *catalogue)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < catalogue->benches->len; i++) {
        const BenchInfo *bench = g_ptr_array_index(catalogue->benches, i);
        g_auto(GStrv) groups = g_strsplit(bench->groups, " ", -1);

        g_ptr_array_add(names, g_strdup(bench->name));
        g_ptr_array_add(names, g_strndup(bench->name, strcspn(bench->name, ".")));
        for (guint j = 0; groups[j] != NULL; j++)
            g_ptr_array_add(names, g_strdup(groups[j]));
    }
    g_ptr_array_add(names, NULL);
    return names;
}

static gboolean fail_unknown(const BenchCatalogue *catalogue, const char *path, NodePlace place,
                             const char *label, GError **error)
{
    g_autofree char *name = g_strndup(label, workload_name_length(label));
    g_autoptr(GPtrArray) names = all_names(catalogue);
    const char *nearest = text_nearest(name, (const char *const *)names->pdata);
    g_autofree char *hint = nearest == NULL ? g_strdup("; \"vmatrix workload list\" prints all")
                                            : g_strdup_printf("; did you mean \"%s\"?", nearest);

    return node_fail_at(path, place, error, "workloads: there is no workload or group \"%s\"%s",
                        name, hint);
}

GPtrArray *bench_catalogue_expand(const BenchCatalogue *catalogue, const GPtrArray *names,
                                  const char *plan_path, const GArray *places, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal); /* expanded's */
    g_autoptr(GPtrArray) expanded = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < names->len; i++) {
        const char *name = g_ptr_array_index(names, i);
        NodePlace place = {1, 1};

        if (places != NULL)
            place = g_array_index(places, NodePlace, i);
        if (!add_matching(catalogue, name, seen, expanded)) {
            fail_unknown(catalogue, plan_path, place, name, error);
            return NULL;
        }
    }
    return g_steal_pointer(&expanded);
}
