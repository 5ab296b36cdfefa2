/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/hook.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/spawn.h"
#include "util/text.h"

const char *hook_event_name(HookEvent event)
{
    static const char *const names[] = {
        [HOOK_CAMPAIGN_FINISHED] = "campaign-finished",
        [HOOK_RUN_FAILED] = "run-failed",
        [HOOK_PAUSED] = "paused",
    };

    return names[event];
}

static char *facts_json(const HookFacts *facts)
{
    g_autofree char *utc = clock_format_utc(clock_wall_ns());
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:I, s:s?, s:s?}", "event",
        hook_event_name(facts->event), "time", utc, "campaign", (json_int_t)facts->campaign->id,
        "uuid", facts->campaign->uuid, "name", facts->campaign->name, "done",
        (json_int_t)facts->done, "failed", (json_int_t)facts->failed, "total",
        (json_int_t)facts->total, "cell", facts->cell_key, "reason", facts->reason);
    char *text;
    char *copy;

    if (object == NULL)
        return g_strdup("{}\n");
    if (facts->run > 0)
        json_object_set_new(object, "run", json_integer(facts->run));
    text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    copy = g_strdup_printf("%s\n", text != NULL ? text : "{}");
    free(text);
    json_decref(object);
    return copy;
}

static void hook_run(const char *path, const HookFacts *facts, const char *json, gint64 limit_ns,
                     Cancel *cancel)
{
    Wait wait = {.deadline_ns = clock_mono_ns() + limit_ns,
                 .cancel = cancel,
                 .guard_fd = -1,
                 .step = "hook"};
    const char *argv[] = {path, hook_event_name(facts->event), NULL};
    SpawnRequest request = {
        .argv = argv, .input = json, .input_length = strlen(json), .output_max = 4096};
    g_auto(SpawnResult) result = {0};
    g_autoptr(GError) error = NULL;

    if (!spawn_run(&wait, &request, &result, &error)) {
        g_warning("hook %s: %s", path, error->message);
    } else if (result.status != 0) {
        gsize length;
        const char *said = g_bytes_get_data(result.errors, &length);
        g_autofree char *shown = text_escape(said != NULL ? said : "", (gssize)length, 200);

        g_warning("hook %s: exit status %d: %s", path, result.status, shown);
    }
}

static int by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void hook_run_all(const char *folder, const HookFacts *facts, gint64 limit_ns, Cancel *cancel)
{
    g_autoptr(GDir) dir = folder != NULL ? g_dir_open(folder, 0, NULL) : NULL;
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *json = NULL;
    const char *name;

    if (dir == NULL)
        return;
    while ((name = g_dir_read_name(dir)) != NULL)
        if (*name != '.')
            g_ptr_array_add(paths, g_build_filename(folder, name, NULL));
    g_ptr_array_sort(paths, by_name);
    json = facts_json(facts);
    for (guint i = 0; i < paths->len; i++) {
        const char *path = g_ptr_array_index(paths, i);

        if (access(path, X_OK) == 0 && g_file_test(path, G_FILE_TEST_IS_REGULAR))
            hook_run(path, facts, json, limit_ns, cancel);
    }
}
