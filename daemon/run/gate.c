/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/gate.h"

#include <string.h>
#include <unistd.h>

#include "guest/hypervisor.h"
#include "host/chore.h"
#include "host/process.h"
#include "host/culprit.h"
#include "util/clock.h"
#include "util/error.h"

/* One look a second: the kernel's ticks are 10 ms, so a shorter slice cannot tell 3 % from nothing,
 * and a longer one keeps people waiting. */
#define SLICE_NS CLOCK_NS_PER_S

enum { TOLD_MAX = 16 };

/* How long a hypervisor may take to say what runs. */
static const gint64 ask_limit_ns = 2 * CLOCK_NS_PER_S;

typedef struct {
    const Wait *wait;
    const GateSpec *spec;
    GateResult *result;
    IdleWindow *window;
    IdleSample last;
    ProcessTable *first, *before, *scan; /* at the start; the last but one; the latest */
    gint64 before_ns, scan_ns;
    guint loud;             /* looks in a row that were not quiet */
    GPtrArray *hypervisors; /* Hypervisor*, asked for guests; NULL: not opened yet */
    GHashTable *told;       /* who was told of already */
} Gate;

static void gate_clear(Gate *gate)
{
    g_clear_pointer(&gate->window, idle_window_free);
    if (gate->scan != gate->first)
        process_table_free(gate->scan);
    if (gate->before != gate->first)
        process_table_free(gate->before);
    process_table_free(gate->first);
    g_clear_pointer(&gate->hypervisors, g_ptr_array_unref);
    g_clear_pointer(&gate->told, g_hash_table_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Gate, gate_clear)

void gate_result_clear(GateResult *result)
{
    g_clear_pointer(&result->guests, g_ptr_array_unref);
    g_clear_pointer(&result->chores, g_ptr_array_unref);
    g_clear_pointer(&result->why, g_free);
    g_clear_pointer(&result->who, g_free);
}

static char *join(const GPtrArray *words)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = 0; words != NULL && i < words->len; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? ", " : "",
                               (const char *)g_ptr_array_index(words, i));
    return text->len > 0 ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

/* ---- other guests, and chores ---- */

/* One that does not answer is for its own cells to report. */
static void add_hypervisor(Gate *gate, const InventoryHypervisor *config)
{
    const struct hypervisor_ops *ops = hypervisor_driver(config->driver);
    Wait wait = wait_within(gate->wait, ask_limit_ns);
    g_autoptr(GError) error = NULL;
    Hypervisor *hv;

    /* A URI with a host in it: what runs there is not on this one. */
    if (ops == NULL || ops->running == NULL ||
        (config->uri != NULL && strstr(config->uri, ":///") == NULL))
        return;
    for (guint i = 0; i < gate->hypervisors->len; i++) {
        const Hypervisor *other = g_ptr_array_index(gate->hypervisors, i);

        if (g_strcmp0(other->config->uri, config->uri) == 0 && other->ops == ops)
            return;
    }
    hv = hypervisor_open(config, &wait, &error);
    if (hv != NULL)
        g_ptr_array_add(gate->hypervisors, hv);
    else
        g_debug("gate: %s", error->message);
}

static void open_hypervisors(Gate *gate)
{
    const Inventory *inventory = gate->spec->inventory;

    gate->hypervisors = g_ptr_array_new_with_free_func((GDestroyNotify)hypervisor_free);
    for (guint i = 0; inventory != NULL && i < inventory->hypervisors->len; i++)
        add_hypervisor(gate, g_ptr_array_index(inventory->hypervisors, i));
}

/* Names of what the hypervisors run, as a set; each is put into words, too. */
static GHashTable *ask_hypervisors(Gate *gate)
{
    GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    if (gate->hypervisors == NULL)
        open_hypervisors(gate);
    for (guint i = 0; i < gate->hypervisors->len; i++) {
        Hypervisor *hv = g_ptr_array_index(gate->hypervisors, i);
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) running = hv->ops->running(hv, &error);

        if (running == NULL)
            g_debug("gate: %s", error->message);
        for (guint j = 0; running != NULL && j < running->len; j++) {
            const char *name = g_ptr_array_index(running, j);

            if (g_hash_table_add(names, g_strdup(name)))
                g_ptr_array_add(gate->result->guests, g_strdup_printf("guest %s (hypervisor %s)",
                                                                      name, hv->config->name));
        }
    }
    return names;
}

static void sort_chores(Gate *gate, const GPtrArray *found, GHashTable *known)
{
    const PlanIdle *limits = gate->spec->limits;

    for (guint i = 0; i < found->len; i++) {
        const Chore *chore = g_ptr_array_index(found, i);
        gboolean is_guest = chore->kind == CHORE_GUEST;

        if (is_guest && chore->label != NULL && g_hash_table_contains(known, chore->label))
            continue;
        if ((is_guest ? limits->guests : limits->chores) == ON_PRESENCE_WAIT)
            g_ptr_array_add(is_guest ? gate->result->guests : gate->result->chores,
                            chore_format(chore));
    }
}

/* Nothing of ours runs at the gate: one guest at a time. So every guest there is, is in the way. */
static gboolean look_around(Gate *gate)
{
    GateResult *result = gate->result;
    g_autoptr(GPtrArray) found = chore_find("", gate->scan);
    g_autoptr(GHashTable) known = NULL;

    g_ptr_array_set_size(result->guests, 0);
    g_ptr_array_set_size(result->chores, 0);
    known = gate->spec->limits->guests == ON_PRESENCE_WAIT
                ? ask_hypervisors(gate)
                : g_hash_table_new(g_str_hash, g_str_equal);
    sort_chores(gate, found, known);
    return result->guests->len > 0 || result->chores->len > 0;
}

static gboolean is_around(const Gate *gate)
{
    return gate->result->guests->len > 0 || gate->result->chores->len > 0;
}

/* ---- saying for whom ---- */

static char *explain(const Gate *gate, const char *who)
{
    GateResult view = *gate->result;

    view.why = idle_explain(&view.verdict, gate->spec->limits);
    view.who = (char *)who;
    g_autofree char *text = gate_explain(&view);

    g_free(view.why);
    return g_steal_pointer(&text);
}

/* Once for each culprit: key is what is the same while it is the same one. */
static gboolean tell(Gate *gate, const char *key, const char *who, GError **error)
{
    g_autofree char *text = NULL;

    if (gate->spec->tell == NULL || g_hash_table_size(gate->told) >= TOLD_MAX ||
        !g_hash_table_add(gate->told, g_strdup(key)))
        return TRUE;
    text = explain(gate, who);
    return gate->spec->tell(gate->spec->tell_data, TRUE, text, error);
}

static gboolean scan(Gate *gate, GError **error)
{
    ProcessTable *table = process_table_read("", error);

    if (table == NULL)
        return FALSE;
    if (gate->before != gate->first)
        process_table_free(gate->before);
    gate->before = gate->scan;
    gate->before_ns = gate->scan_ns;
    gate->scan = table;
    gate->scan_ns = clock_mono_ns();
    return TRUE;
}

/* It is loud now: who is it? Not for a burst that may be over before the window is. */
static gboolean name_loud(Gate *gate, GError **error)
{
    const GateResult *result = gate->result;
    g_autofree char *who = NULL, *key = NULL;

    gate->loud++;
    if (gate->loud < 2 && gate->last.mono_ns - result->began_ns < gate->spec->limits->settle_ns)
        return TRUE;
    if (!scan(gate, error))
        return FALSE;
    who = culprit_find("", gate->before, gate->scan, gate->scan_ns - gate->before_ns,
                       result->verdict.over, &key);
    return tell(gate, key != NULL ? key : "", who, error);
}

static gboolean name_around(Gate *gate, GError **error)
{
    g_autofree char *guests = join(gate->result->guests);
    g_autofree char *chores = join(gate->result->chores);
    g_autofree char *key = g_strconcat(guests != NULL ? guests : "", chores, NULL);

    return tell(gate, key, NULL, error);
}

/* ---- waiting ---- */

/* Something is or was around: is it still? When it has gone, the window begins. */
static gboolean look_again(Gate *gate, GError **error)
{
    if (!scan(gate, error))
        return FALSE;
    if (!look_around(gate)) {
        idle_window_begin(gate->window, &gate->last);
        return TRUE;
    }
    gate->result->quiet_ns = gate->last.mono_ns;
    return name_around(gate, error);
}

/* One look. *ret_open: the gate is open. */
static gboolean look(Gate *gate, gboolean *ret_open, GError **error)
{
    GateResult *result = gate->result;
    gboolean was_around;
    IdleSample now;
    IdleStep step;

    if (!idle_sample("", &gate->last, &now, error))
        return FALSE;
    gate->last = now;
    step = idle_window_add(gate->window, &now, &result->verdict);
    if (step == IDLE_DISTURBED) {
        result->quiet_ns = now.mono_ns;
        if (!name_loud(gate, error))
            return FALSE;
    } else {
        gate->loud = 0;
    }
    was_around = is_around(gate);
    if (!was_around && step != IDLE_OPEN)
        return TRUE;
    if (!look_again(gate, error))
        return FALSE;
    /* Where something has gone just now, the window has begun just now. */
    *ret_open = step == IDLE_OPEN && !was_around && !is_around(gate);
    return TRUE;
}

/* What ends the wait beside an open gate; TRUE: *ret_outcome says what. */
static gboolean is_over(const Gate *gate, gint64 give_up_ns, GateOutcome *ret_outcome)
{
    gint64 now = clock_mono_ns();

    if (gate->spec->until_ns > 0 && now >= gate->spec->until_ns)
        *ret_outcome = GATE_LATE;
    else if (now >= give_up_ns || wait_left_ns(gate->wait) == 0)
        *ret_outcome = GATE_TIMEOUT;
    else
        return FALSE;
    return TRUE;
}

/* Until the next look, or until it is too late for one. */
static WaitResult nap(const Gate *gate)
{
    gint64 slice_ns = MIN(gate->spec->limits->settle_ns, SLICE_NS);
    Wait wait = *gate->wait;

    if (gate->spec->pause != NULL)
        wait.cancel = gate->spec->pause;
    if (gate->spec->until_ns > 0)
        wait.deadline_ns = MIN(wait.deadline_ns, gate->spec->until_ns);
    return wait_sleep(&wait, slice_ns);
}

static gboolean watch(Gate *gate, GError **error)
{
    GateResult *result = gate->result;
    gint64 give_up_ns =
        result->began_ns + MAX(gate->spec->limits->wait_ns, gate->spec->limits->settle_ns);
    gboolean open = FALSE;

    do {
        WaitResult slept = nap(gate);

        if (slept == WAIT_CANCELLED && !cancel_is_set(gate->wait->cancel)) {
            result->outcome = GATE_PAUSED;
            return TRUE;
        }
        if (slept != WAIT_TIMEOUT)
            return wait_fail(gate->wait, slept, "an idle host", error);
        if (!look(gate, &open, error))
            return FALSE;
    } while (!open && !is_over(gate, give_up_ns, &result->outcome));
    return TRUE;
}

static gboolean gate_begin(Gate *gate, GError **error)
{
    GateResult *result = gate->result;

    gate->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gate->window = idle_window_new(gate->spec->limits);
    if (gate->spec->has_start)
        idle_window_temperature(gate->window, gate->spec->start_mc);
    gate->first = gate->scan = process_table_read("", error);
    if (gate->first == NULL)
        return FALSE;
    gate->scan_ns = result->began_ns;
    if (look_around(gate) && !name_around(gate, error))
        return FALSE;
    if (!idle_sample("", NULL, &gate->last, error))
        return FALSE;
    /* Seen once is seen, though the next look may find that it has gone. */
    if (is_around(gate))
        result->quiet_ns = gate->last.mono_ns;
    idle_window_begin(gate->window, &gate->last);
    return TRUE;
}

/* After a time-out: who took most in the whole of it. */
static gboolean name_culprits(Gate *gate, GError **error)
{
    GateResult *result = gate->result;

    result->why = idle_explain(&result->verdict, gate->spec->limits);
    if (result->why == NULL)
        return TRUE;
    if (!scan(gate, error))
        return FALSE;
    result->who = culprit_find("", gate->first, gate->scan, gate->scan_ns - result->began_ns,
                               result->verdict.over, NULL);
    return TRUE;
}

gboolean gate_wait(const Wait *wait, const GateSpec *spec, GateResult *ret_result, GError **error)
{
    g_auto(GateResult) result = {.outcome = GATE_OPEN,
                                 .guests = g_ptr_array_new_with_free_func(g_free),
                                 .chores = g_ptr_array_new_with_free_func(g_free),
                                 .began_ns = clock_mono_ns()};
    g_auto(Gate) gate = {.wait = wait, .spec = spec, .result = &result};

    result.quiet_ns = result.began_ns;
    if (spec->limits->settle_ns > 0 && (!gate_begin(&gate, error) || !watch(&gate, error)))
        return FALSE;
    result.ended_ns = clock_mono_ns();
    if (result.outcome != GATE_OPEN && !name_culprits(&gate, error))
        return FALSE;
    *ret_result = result;
    result = (GateResult){0};
    return TRUE;
}

/* ---- for people ---- */

char *gate_explain(const GateResult *result)
{
    g_autofree char *guests = join(result->guests);
    g_autofree char *chores = join(result->chores);
    g_autoptr(GString) text = g_string_new(NULL);

    if (guests != NULL)
        g_string_append_printf(text, "%s", guests);
    if (chores != NULL)
        g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", chores);
    if (result->why != NULL)
        g_string_append_printf(text, "%s%s: %s", text->len > 0 ? "; " : "", result->why,
                               result->who != NULL ? result->who : GATE_NOBODY);
    if (text->len == 0)
        g_string_append(text, "it was quiet, but not yet for long enough");
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void row_free(gpointer data)
{
    GateRow *row = data;

    g_free(row->value_text);
    g_free(row->limit_text);
    g_free((char *)row->who);
    g_free(row);
}

static const char *const unit_names[] = {
    [IDLE_FRACTION] = "fraction",
    [IDLE_RATE] = "B/s",
    [IDLE_TASKS] = "tasks",
    [IDLE_KELVIN] = "K",
};

static GateRow *signal_row(const GateResult *result, const PlanIdle *limits, IdleSignal signal)
{
    GateRow *row = g_new0(GateRow, 1);

    row->name = idle_signals[signal].name;
    row->unit = unit_names[idle_signals[signal].unit];
    row->present = (result->verdict.present & 1U << signal) != 0;
    row->over = (result->verdict.over & 1U << signal) != 0;
    row->value = result->verdict.value[signal];
    row->limit = idle_limit(signal, limits);
    row->value_text = row->present ? idle_format(signal, row->value) : NULL;
    row->limit_text = idle_format(signal, row->limit);
    row->who = row->over ? g_strdup(result->who) : NULL;
    return row;
}

static GateRow *presence_row(const char *name, const GPtrArray *found, OnPresence policy)
{
    GateRow *row = g_new0(GateRow, 1);

    row->name = name;
    row->unit = "count";
    row->present = policy == ON_PRESENCE_WAIT;
    row->ignored = policy == ON_PRESENCE_IGNORE;
    row->over = found->len > 0;
    row->value = found->len;
    row->value_text = row->present ? g_strdup_printf("%u", found->len) : NULL;
    row->limit_text = g_strdup(policy == ON_PRESENCE_WAIT ? "0" : "any");
    row->who = join(found);
    return row;
}

GPtrArray *gate_rows(const GateResult *result, const PlanIdle *limits)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func(row_free);

    for (IdleSignal signal = 0; signal < IDLE_N_SIGNALS; signal++)
        g_ptr_array_add(rows, signal_row(result, limits, signal));
    g_ptr_array_add(rows, presence_row("guests", result->guests, limits->guests));
    g_ptr_array_add(rows, presence_row("chores", result->chores, limits->chores));
    return rows;
}
