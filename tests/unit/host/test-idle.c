/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/idle.h"
#include "host/process.h"
#include "util/clock.h"
#include "util/error.h"

static const Wait patient = {.deadline_ns = WAIT_FOREVER, .guard_fd = -1, .step = "gate"};

static void test_sample(void)
{
    g_autoptr(GError) error = NULL;
    IdleSample sample;

    g_assert_true(idle_sample(TEST_DATA "/minimal", &sample, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(sample.cpus, ==, 2);
    g_assert_cmpuint(sample.busy_ticks, ==, 3129 + 1266 + 49 + 3);
    g_assert_cmpuint(sample.total_ticks, ==, 3129 + 1266 + 181744 + 570 + 49 + 3);
}

static void test_sample_missing(void)
{
    g_autoptr(GError) error = NULL;
    IdleSample sample = {.cpus = 77};

    g_assert_false(idle_sample(TEST_DATA "/empty", &sample, &error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, "/proc/stat"));
    g_assert_cmpuint(sample.cpus, ==, 77);
}

static void test_busy(void)
{
    g_autoptr(GError) error = NULL;
    IdleSample from, to;

    g_assert_true(idle_sample(TEST_DATA "/busy-before", &from, &error));
    g_assert_true(idle_sample(TEST_DATA "/busy-after", &to, &error));
    g_assert_cmpfloat_with_epsilon(idle_busy(&from, &to), 0.1, 1e-12); /* 200 of 2000 ticks */
    g_assert_cmpfloat(idle_busy(&to, &from), ==, 0.0);
    g_assert_cmpfloat(idle_busy(&to, &to), ==, 0.0);
}

static void test_judge(void)
{
    const IdleLimits limits = {.cpu_busy = 0.03, .settle_ns = 2 * CLOCK_NS_PER_S};
    const IdleSample start = {0};
    const IdleSample one = {.mono_ns = CLOCK_NS_PER_S, .busy_ticks = 3, .total_ticks = 100};
    const IdleSample two = {.mono_ns = 2 * CLOCK_NS_PER_S, .busy_ticks = 6, .total_ticks = 200};
    const IdleSample burst = {.mono_ns = 2 * CLOCK_NS_PER_S, .busy_ticks = 7, .total_ticks = 200};

    g_assert_cmpint(idle_judge(&limits, &start, &start, &one), ==, IDLE_STEP_GO_ON);
    g_assert_cmpint(idle_judge(&limits, &start, &one, &two), ==, IDLE_STEP_OPEN);
    g_assert_cmpint(idle_judge(&limits, &start, &one, &burst), ==, IDLE_STEP_RESTART);
}

static void test_culprits(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ProcessTable) from = process_table_read(TEST_DATA "/busy-before", &error);
    g_autoptr(ProcessTable) to = process_table_read(TEST_DATA "/busy-after", &error);
    g_autofree char *top = process_table_top(from, to, 2.0, 100, 500);
    g_autofree char *none = process_table_top(to, to, 2.0, 100, 500);

    /* init reaped "old one", whose 1000 ticks were all before; vmatrix (500) is left out; make's
     * compiler ended, with 60 of 140 reaped ticks since the first reading … */
    g_assert_cmpstr(top, ==,
                    "apt-get (pid 412) 0.93 CPUs, make (pid 300) 0.50 CPUs, "
                    "a) R 1 (b\\x1b[31m (pid 600) 0.15 CPUs");
    g_assert_null(none);
}

static void test_culprits_missing(void)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(process_table_read(TEST_DATA "/empty", &error));
    g_assert_true(vm_error_is(error, VM_ERROR_ENVIRONMENT));
}

static void test_opens(void)
{
    /* Bound 1: any host is idle enough, so that this does not hang on a busy one. */
    const IdleLimits at_once = {.cpu_busy = 0.0, .settle_ns = 0, .wait_ns = 0};
    const IdleLimits lenient = {.cpu_busy = 1.0, .settle_ns = 50 * CLOCK_NS_PER_MS, .wait_ns = 0};
    g_autoptr(GError) error = NULL;
    g_autofree char *who = NULL;
    IdleResult result = IDLE_TIMEOUT;
    double busy = -1;
    gint64 start = clock_mono_ns();

    g_assert_true(idle_wait(&patient, &at_once, &result, &busy, &who, &error));
    g_assert_cmpint(result, ==, IDLE_OPEN);
    result = IDLE_TIMEOUT;
    g_assert_true(idle_wait(&patient, &lenient, &result, &busy, &who, &error));
    g_assert_no_error(error);
    g_assert_cmpint(result, ==, IDLE_OPEN);
    g_assert_null(who);
    g_assert_cmpfloat(busy, >=, 0.0);
    g_assert_cmpint(clock_mono_ns() - start, >=, 50 * CLOCK_NS_PER_MS);
}

/* A process of its own that takes all it can get, until it is killed. */
static pid_t start_burner(void)
{
    pid_t pid = fork();

    if (pid == 0)
        for (volatile guint i = 0;; i++)
            ;
    return pid;
}

static void test_times_out(void)
{
    /* Bound 0 while something runs: the gate cannot open. */
    const IdleLimits limits = {
        .cpu_busy = 0.0, .settle_ns = CLOCK_NS_PER_S, .wait_ns = CLOCK_NS_PER_S};
    g_autoptr(GError) error = NULL;
    g_autofree char *who = NULL;
    g_autofree char *self = g_strdup_printf("(pid %d)", getpid());
    IdleResult result = IDLE_OPEN;
    double busy = -1;
    pid_t burner = start_burner();
    gboolean ok = idle_wait(&patient, &limits, &result, &busy, &who, &error);
    g_autofree char *name = g_strdup_printf("(pid %d) ", burner);

    kill(burner, SIGKILL);
    waitpid(burner, NULL, 0);
    g_assert_true(ok);
    g_assert_cmpint(result, ==, IDLE_TIMEOUT);
    g_assert_cmpfloat(busy, >, 0.0);
    g_assert_nonnull(who);
    g_test_message("%s", who);
    g_assert_null(strstr(who, self));
    /* On a very busy machine three others may take more. */
    g_assert_true(strstr(who, name) != NULL || g_strrstr(who, ", ") != NULL);
}

static void test_cancelled(void)
{
    const IdleLimits limits = {
        .cpu_busy = 1.0, .settle_ns = 3600 * CLOCK_NS_PER_S, .wait_ns = 3600 * CLOCK_NS_PER_S};
    g_autoptr(Cancel) cancel = cancel_new();
    Wait wait = patient;
    g_autoptr(GError) error = NULL;
    char *who = NULL;
    IdleResult result;
    double busy;

    wait.cancel = cancel;
    cancel_set(cancel);
    g_assert_false(idle_wait(&wait, &limits, &result, &busy, &who, &error));
    g_assert_true(vm_error_is(error, VM_ERROR_CANCELLED));
    g_assert_null(who);
}

static void test_observer(void)
{
    ObserverCost before, after;
    volatile guint sink = 0;

    observer_cost(&before);
    for (guint i = 0; i < 20000000; i++)
        sink |= i;
    g_usleep(1000);
    g_assert_cmpuint(sink, >, 0);
    observer_cost(&after);
    g_assert_cmpint(after.cpu_ns, >, before.cpu_ns);
    g_assert_cmpint(after.switches, >, before.switches);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/idle/sample", test_sample);
    g_test_add_func("/idle/sample-missing", test_sample_missing);
    g_test_add_func("/idle/busy", test_busy);
    g_test_add_func("/idle/judge", test_judge);
    g_test_add_func("/idle/culprits", test_culprits);
    g_test_add_func("/idle/culprits-missing", test_culprits_missing);
    g_test_add_func("/idle/opens", test_opens);
    g_test_add_func("/idle/times-out", test_times_out);
    g_test_add_func("/idle/cancelled", test_cancelled);
    g_test_add_func("/idle/observer", test_observer);
    return g_test_run();
}
