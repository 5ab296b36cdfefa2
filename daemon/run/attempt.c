/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/attempt.h"

#include <string.h>

#include "run/place.h"
#include "run/step.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fault.h"
#include "util/io.h"

enum { CONSOLE_MAX = 1 << 20 };

/* How long the kernel and PID 1 may take until a dead process is seen as one. */
static const gint64 death_seen_ns = 2 * CLOCK_NS_PER_S;

Attempt *attempt_new(const AttemptSpec *spec)
{
    Attempt *attempt = g_new0(Attempt, 1);

    attempt->spec = *spec;
    attempt->uuid = g_uuid_string_random();
    attempt->guard_fd = -1;
    attempt->hypervisor_facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    attempt->phases = g_array_new(FALSE, FALSE, sizeof(AttemptPhase));
    attempt->flags = g_string_new(NULL);
    attempt->place = g_new0(Place, 1);
    place_init(attempt->place, attempt);
    attempt->cpus = attempt->place->pick.cpus;
    return attempt;
}

static gboolean step_applies(const Attempt *attempt, const struct step_ops *step)
{
    gboolean bare = attempt->spec.guest == NULL;

    return step->scope == STEP_ALWAYS || (step->scope == STEP_BARE) == bare;
}

static void unwind(Attempt *attempt)
{
    while (attempt->entered > 0) {
        const struct step_ops *step = &step_table[--attempt->entered];
        g_autofree char *name = g_strconcat("undo-", step->name, NULL);

        if (step->undo == NULL || !step_applies(attempt, step))
            continue;
        fault_point(name, "before");
        step->undo(attempt);
        fault_point(name, "after");
    }
}

void attempt_free(Attempt *attempt)
{
    if (attempt == NULL)
        return;
    unwind(attempt);
    g_free(attempt->uuid);
    place_finish(attempt->place);
    g_free(attempt->place);
    g_free(attempt->folder);
    g_free(attempt->overlay);
    overlay_base_free(attempt->base);
    g_free(attempt->host_key);
    g_free(attempt->guest_folder);
    hv_address_clear(&attempt->address);
    g_clear_pointer(&attempt->guest_facts, g_hash_table_unref);
    g_clear_pointer(&attempt->hypervisor_facts, g_hash_table_unref);
    g_array_unref(attempt->phases);
    g_string_free(attempt->flags, TRUE);
    g_free(attempt);
}

Wait attempt_wait(const Attempt *attempt, const char *step, gint64 limit_ns)
{
    Wait root = {.deadline_ns = WAIT_FOREVER,
                 .cancel = attempt->spec.cancel,
                 .guard_fd = attempt->guard_fd,
                 .step = step};

    return wait_within(&root, limit_ns);
}

void attempt_flag(Attempt *attempt, const char *flag)
{
    g_auto(GStrv) flags = g_strsplit(attempt->flags->str, ",", -1);

    if (g_strv_contains((const char *const *)flags, flag))
        return;
    g_string_append_printf(attempt->flags, "%s%s", attempt->flags->len > 0 ? "," : "", flag);
}

void attempt_phase(Attempt *attempt, const char *name, gint64 since_mono_ns)
{
    gint64 duration = clock_mono_ns() - since_mono_ns;
    AttemptPhase phase = {
        .name = name, .start_wall_ns = clock_wall_ns() - duration, .duration_ns = duration};

    g_array_append_val(attempt->phases, phase);
}

char *attempt_console(const Attempt *attempt)
{
    return attempt->folder != NULL ? g_build_filename(attempt->folder, "console.log", NULL) : NULL;
}

/* The last CONSOLE_MAX bytes of the guest's console, or NULL. */
static GBytes *console_read(const Attempt *attempt)
{
    g_autofree char *path = attempt_console(attempt);
    gsize length = 0;
    char *text = path != NULL ? io_read_file(path, (gsize)64 * CONSOLE_MAX, &length, NULL) : NULL;

    if (text == NULL)
        return NULL;
    if (length > CONSOLE_MAX) {
        memmove(text, text + length - CONSOLE_MAX, CONSOLE_MAX);
        length = CONSOLE_MAX;
    }
    return g_bytes_new_take(text, length);
}

/* The last line with something printable on it, cut; NULL when there is none. */
static char *console_last_line(const Attempt *attempt)
{
    g_autoptr(GBytes) console = console_read(attempt);
    gsize length = 0;
    const char *data = console != NULL ? g_bytes_get_data(console, &length) : NULL;
    g_autofree char *text = data != NULL ? g_strndup(data, length) : NULL;
    g_auto(GStrv) lines = text != NULL ? g_strsplit_set(text, "\r\n", -1) : NULL;
    char *last = NULL;

    for (char **line = lines; line != NULL && *line != NULL; line++) {
        g_strstrip(*line);
        if (**line != '\0') {
            g_free(last);
            last = g_strndup(*line, 160);
        }
    }
    return last;
}

void attempt_explain(Attempt *attempt, GError **error)
{
    Wait wait = {.deadline_ns = clock_mono_ns() + death_seen_ns, .guard_fd = -1, .step = "explain"};
    g_autofree char *line = NULL;

    if (error == NULL || *error == NULL || vm_error_is(*error, VM_ERROR_CANCELLED) ||
        vm_error_is(*error, VM_ERROR_HALT))
        return;
    if (attempt->guard_fd >= 0 && !vm_error_is(*error, VM_ERROR_TIMEOUT) &&
        wait_fd(&wait, attempt->guard_fd, POLLIN) == WAIT_READY) {
        if (!vm_error_is(*error, VM_ERROR_GUEST_DIED))
            g_prefix_error(error, "the subject's process ended: ");
        (*error)->domain = VM_ERROR;
        (*error)->code = VM_ERROR_GUEST_DIED;
    }
    line = console_last_line(attempt);
    if (line != NULL) {
        g_autofree char *message = g_strdup_printf("%s; console: \"%s\"", (*error)->message, line);

        g_free((*error)->message);
        (*error)->message = g_steal_pointer(&message);
    }
}

static gboolean enter_step(Attempt *attempt, const struct step_ops *step, GError **error)
{
    Wait wait = attempt_wait(attempt, step->name, step->limit(attempt));
    gint64 since = clock_mono_ns();

    if (attempt->on_step != NULL &&
        !attempt->on_step(attempt->on_step_data, step->name, step->limit(attempt), error))
        return FALSE;
    fault_point(step->name, "before");
    if (cancel_is_set(attempt->spec.cancel))
        return wait_fail(&wait, WAIT_CANCELLED, "its turn", error);
    /* Counted as entered before it acts: a step that failed half way is undone too. */
    attempt->entered = (guint)(step - step_table) + 1;
    if (!step->enter(attempt, &wait, error)) {
        g_prefix_error(error, "step %s: ", step->name);
        attempt_explain(attempt, error);
        return FALSE;
    }
    attempt_phase(attempt, step->name, since);
    fault_point(step->name, "after");
    return TRUE;
}

gboolean attempt_start(Attempt *attempt, AttemptGoal goal, GError **error)
{
    for (guint i = 0; i < step_table_length; i++) {
        const struct step_ops *step = &step_table[i];

        if (step->goal > goal || !step_applies(attempt, step))
            continue;
        if (!enter_step(attempt, step, error))
            return FALSE;
    }
    return TRUE;
}

gboolean attempt_end(Attempt *attempt, GBytes **ret_console, GError **error)
{
    gint64 since = clock_mono_ns();
    gboolean ok = step_take_down(attempt, error);

    attempt_phase(attempt, "shutdown", since);
    if (ret_console != NULL)
        *ret_console = console_read(attempt);
    unwind(attempt);
    return ok;
}

void attempt_end_broken(Attempt *attempt, GBytes **ret_console)
{
    *ret_console = console_read(attempt);
    unwind(attempt);
}
