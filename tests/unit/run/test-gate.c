/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/gate.h"
#include "util/clock.h"
#include "util/error.h"

#define S CLOCK_NS_PER_S

static const Wait patient = {.deadline_ns = WAIT_FOREVER, .guard_fd = -1, .step = "gate"};

/* Limits that any host keeps, however busy. */
static void lenient_init(PlanIdle *limits)
{
    plan_idle_defaults(limits);
    limits->cpu_busy = limits->cpu_pressure = limits->io_pressure = limits->memory_pressure = 1;
    limits->disk_busy = 1;
    limits->run_queue = 1e6;
    limits->disk_rate = limits->network_rate = G_GUINT64_CONSTANT(1) << 50;
    limits->temperature_k = 1000;
    limits->guests = limits->chores = ON_PRESENCE_IGNORE;
    limits->settle_ns = S / 20;
    limits->wait_ns = 0;
}

static void test_opens(void)
{
    PlanIdle limits;
    GateSpec spec = {.limits = &limits};
    g_auto(GateResult) at_once = {0}, later = {0};
    g_autoptr(GError) error = NULL;

    lenient_init(&limits);
    limits.settle_ns = 0;
    limits.cpu_busy = 0;
    g_assert_true(gate_wait(&patient, &spec, &at_once, &error));
    g_assert_cmpint(at_once.outcome, ==, GATE_OPEN);
    lenient_init(&limits);
    g_assert_true(gate_wait(&patient, &spec, &later, &error));
    g_assert_no_error(error);
    g_assert_cmpint(later.outcome, ==, GATE_OPEN);
    g_assert_cmpuint(later.verdict.over, ==, 0);
    g_assert_cmpint(later.quiet_ns, ==, later.began_ns);
    g_assert_cmpint(later.ended_ns - later.began_ns, >=, S / 20);
    g_assert_null(later.why);
    g_assert_null(later.who);
}

/* A process of its own that takes all it can get, until it is killed. */
static pid_t start_burner(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile guint i = 0;; i++)
            ;
    }
    return pid;
}

static gboolean note_told(void *data, gboolean waits, const char *what, GError **error)
{
    g_assert_true(waits);
    g_ptr_array_add(data, g_strdup(what));
    return TRUE;
}

static void test_times_out(void)
{
    PlanIdle limits;
    g_autoptr(GPtrArray) told = g_ptr_array_new_with_free_func(g_free);
    GateSpec spec = {.limits = &limits, .tell = note_told, .tell_data = told};
    g_auto(GateResult) result = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *self = g_strdup_printf("(pid %d", getpid());
    g_autofree char *text = NULL;

    /* Nothing is allowed while something runs: the gate cannot open. */
    lenient_init(&limits);
    limits.cpu_busy = 0;
    limits.settle_ns = S;
    limits.wait_ns = 2 * S;
    pid_t burner = start_burner();
    gboolean ok = gate_wait(&patient, &spec, &result, &error);
    g_autofree char *name = g_strdup_printf("(pid %d", burner);

    kill(burner, SIGKILL);
    waitpid(burner, NULL, 0);
    g_assert_true(ok);
    g_assert_cmpint(result.outcome, ==, GATE_TIMEOUT);
    g_assert_cmpuint(result.verdict.over, ==, 1U << IDLE_CPU_BUSY);
    g_assert_cmpfloat(result.verdict.value[IDLE_CPU_BUSY], >, 0);
    g_assert_cmpint(result.quiet_ns, >, result.began_ns + S);
    text = gate_explain(&result);
    g_test_message("%s", text);
    g_assert_nonnull(result.who);
    g_assert_nonnull(strstr(text, "CPU busy"));
    g_assert_null(strstr(result.who, self));
    /* On a very busy machine three others may take more. */
    g_assert_true(strstr(result.who, name) != NULL || g_strrstr(result.who, ", ") != NULL);
    /* It was said while it waited, too; and not again for the same one. */
    g_assert_cmpuint(told->len, >=, 1);
    g_assert_nonnull(strstr(g_ptr_array_index(told, 0), "CPU busy"));
}

static void test_rows(void)
{
    PlanIdle limits;
    g_auto(GateResult) result = {0};
    g_autoptr(GPtrArray) rows = NULL;
    GateSpec spec = {.limits = &limits};
    g_autoptr(GError) error = NULL;
    guint over = 0;

    lenient_init(&limits);
    g_assert_true(gate_wait(&patient, &spec, &result, &error));
    rows = gate_rows(&result, &limits);
    g_assert_cmpuint(rows->len, ==, IDLE_N_SIGNALS + 2);
    for (guint i = 0; i < rows->len; i++) {
        const GateRow *row = g_ptr_array_index(rows, i);

        over += row->over;
        g_assert_nonnull(row->limit_text);
        g_assert_true((row->value_text != NULL) == row->present);
    }
    g_assert_cmpuint(over, ==, 0);
    g_assert_cmpstr(((const GateRow *)g_ptr_array_index(rows, 0))->name, ==, "cpu-busy");
}

/* A gate that would wait an hour, and what ends that at once. */
static gboolean long_wait(const Wait *wait, Cancel *pause, gint64 until_ns, GateResult *ret_result,
                          GError **error)
{
    PlanIdle limits;
    GateSpec spec = {.limits = &limits, .pause = pause, .until_ns = until_ns};

    lenient_init(&limits);
    limits.settle_ns = limits.wait_ns = 3600 * S;
    return gate_wait(wait, &spec, ret_result, error);
}

static void test_cancelled(void)
{
    g_autoptr(Cancel) cancel = cancel_new();
    g_autoptr(Cancel) pause = cancel_new_child(cancel);
    g_auto(GateResult) result = {.outcome = 77};
    g_autoptr(GError) error = NULL;
    Wait wait = patient;

    wait.cancel = cancel;
    cancel_set(cancel);
    g_assert_false(long_wait(&wait, pause, 0, &result, &error));
    g_assert_true(vm_error_is(error, VM_ERROR_CANCELLED));
    g_assert_cmpint(result.outcome, ==, 77);
}

static void test_paused(void)
{
    g_autoptr(Cancel) cancel = cancel_new();
    g_autoptr(Cancel) pause = cancel_new_child(cancel);
    g_auto(GateResult) result = {0};
    g_autoptr(GError) error = NULL;
    Wait wait = patient;

    wait.cancel = cancel;
    cancel_set(pause);
    g_assert_true(long_wait(&wait, pause, 0, &result, &error));
    g_assert_no_error(error);
    g_assert_cmpint(result.outcome, ==, GATE_PAUSED);
    g_assert_false(cancel_is_set(cancel));
}

static void test_late(void)
{
    g_auto(GateResult) result = {0};
    g_autoptr(GError) error = NULL;
    gint64 until = clock_mono_ns() + S / 10;

    g_assert_true(long_wait(&patient, NULL, until, &result, &error));
    g_assert_no_error(error);
    g_assert_cmpint(result.outcome, ==, GATE_LATE);
    g_assert_cmpint(result.ended_ns, >=, until);
}

/* Lives until it is killed (or this test ends), under another program's name. */
static pid_t start_named(const char *name)
{
    int ready[2];
    char byte = 0;

    g_assert_cmpint(pipe(ready), ==, 0);
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, name);
        close(ready[0]);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
    close(ready[0]);
    return pid;
}

static void test_guest(void)
{
    PlanIdle limits;
    GateSpec spec = {.limits = &limits};
    g_auto(GateResult) busy = {0}, ignored = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    pid_t pid = start_named("VBoxHeadless");
    g_autofree char *name = g_strdup_printf("guest VBoxHeadless (pid %d)", pid);
    gboolean ok;

    lenient_init(&limits);
    ok = gate_wait(&patient, &spec, &ignored, &error);
    limits.guests = ON_PRESENCE_WAIT;
    limits.wait_ns = S / 10;
    ok = ok && gate_wait(&patient, &spec, &busy, &error);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    g_assert_true(ok);
    g_assert_cmpint(ignored.outcome, ==, GATE_OPEN);
    g_assert_cmpint(busy.outcome, ==, GATE_TIMEOUT);
    g_assert_cmpint(busy.quiet_ns, >, busy.began_ns);
    text = gate_explain(&busy);
    g_test_message("%s", text);
    g_assert_nonnull(strstr(text, name));
}

static gboolean end_when_told(void *data, gboolean waits, const char *what, GError **error)
{
    pid_t *pid = data;

    kill(*pid, SIGKILL);
    waitpid(*pid, NULL, 0);
    return TRUE;
}

/* There at the first look, gone at the second: that was a wait, and is recorded as one. */
static void test_guest_seen_once(void)
{
    PlanIdle limits;
    pid_t pid = start_named("VBoxHeadless");
    GateSpec spec = {.limits = &limits, .tell = end_when_told, .tell_data = &pid};
    g_auto(GateResult) result = {0};
    g_autoptr(GError) error = NULL;

    lenient_init(&limits);
    limits.guests = ON_PRESENCE_WAIT;
    limits.wait_ns = 60 * S;
    g_assert_true(gate_wait(&patient, &spec, &result, &error));
    g_assert_cmpint(result.outcome, ==, GATE_OPEN);
    g_assert_cmpint(result.quiet_ns, >, result.began_ns);
}

typedef struct {
    pid_t pid;
    gint64 ended_ns;
} Ending;

/* It ends when the gate first says that it waits for it. */
static gboolean end_named(void *data, gboolean waits, const char *what, GError **error)
{
    Ending *ending = data;

    if (ending->ended_ns != 0)
        return TRUE;
    kill(ending->pid, SIGKILL);
    waitpid(ending->pid, NULL, 0);
    ending->ended_ns = clock_mono_ns();
    return TRUE;
}

/* It was there when the time began, and has gone: the time begins then, not before. */
static void test_chore_ends(void)
{
    PlanIdle limits;
    Ending ending = {.pid = start_named("restic")};
    GateSpec spec = {.limits = &limits, .tell = end_named, .tell_data = &ending};
    g_auto(GateResult) result = {0};
    g_autoptr(GError) error = NULL;

    lenient_init(&limits);
    limits.chores = ON_PRESENCE_WAIT;
    limits.settle_ns = S / 2;
    limits.wait_ns = 600 * S;
    g_assert_true(gate_wait(&patient, &spec, &result, &error));
    g_assert_no_error(error);
    g_assert_cmpint(result.outcome, ==, GATE_OPEN);
    g_assert_cmpint(ending.ended_ns, >, result.began_ns);
    /* The look that found it gone, and a window from there. */
    g_assert_cmpint(result.ended_ns - ending.ended_ns, >=, S / 2 + S / 2);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gate/opens", test_opens);
    g_test_add_func("/gate/times-out", test_times_out);
    g_test_add_func("/gate/rows", test_rows);
    g_test_add_func("/gate/cancelled", test_cancelled);
    g_test_add_func("/gate/paused", test_paused);
    g_test_add_func("/gate/late", test_late);
    g_test_add_func("/gate/guest", test_guest);
    g_test_add_func("/gate/guest-seen-once", test_guest_seen_once);
    g_test_add_func("/gate/chore-ends", test_chore_ends);
    return g_test_run();
}
