/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "fake-tree.h"
#include "host/idle.h"
#include "host/temperature.h"
#include "util/clock.h"
#include "util/error.h"

#define S CLOCK_NS_PER_S
#define ALL ((1U << IDLE_N_SIGNALS) - 1)

/* ---- readers ---- */

static void test_sample(void)
{
    g_autoptr(GError) error = NULL;
    IdleSample sample, next;

    g_assert_true(idle_sample(TEST_DATA "/minimal", NULL, &sample, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(sample.busy_ticks, ==, 3129 + 1266 + 49 + 3);
    g_assert_cmpuint(sample.total_ticks, ==, 3129 + 1266 + 181744 + 570 + 49 + 3);
    g_assert_cmpuint(sample.has & ~(1U << IDLE_RUN_QUEUE), ==, 1U << IDLE_CPU_BUSY);
    g_assert_true(idle_sample("", NULL, &sample, &error));
    g_assert_true(idle_sample("", &sample, &next, &error));
    g_assert_cmpuint(next.looks, ==, 2 * sample.looks);
    g_assert_cmpuint(next.total_ticks, >=, sample.total_ticks);
}

static void test_sample_missing(void)
{
    g_autoptr(GError) error = NULL;
    IdleSample sample = {.has = 77};

    g_assert_false(idle_sample(TEST_DATA "/empty", NULL, &sample, &error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, "/proc/stat"));
    g_assert_cmpuint(sample.has, ==, 77);
}

static void put_stat(const char *root)
{
    fake_tree_put(root, "/proc/stat",
                  "cpu  10 20 30 400 50 6 7 8 0 0\ncpu0 10 20 30 400 50 6 7 8 0 0\n"
                  "intr 1 2 3\nprocs_running 4\nprocs_blocked 9\n");
}

static void test_sample_whole(void)
{
    g_autoptr(GError) error = NULL;
    char *root = fake_tree_new();
    IdleSample one, two;

    put_stat(root);
    fake_tree_put(root, "/proc/pressure/cpu",
                  "some avg10=77.22 avg60=26.09 avg300=9.06 total=4653161530\n"
                  "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
    fake_tree_put(root, "/proc/pressure/io", "some avg10=0.04 avg60=0.04 avg300=0.00 total=61\n");
    /* sda has a partition and a mapping on it, which count the same bytes. */
    fake_tree_put(root, "/proc/diskstats",
                  "   8       0 sda 1 2 1000 4 5 6 2000 8 0 123 11 12 13 14 15 16 17\n"
                  "   8       1 sda1 1 2 900 4 5 6 1900 8 0 120 11 12 13 14 15 16 17\n"
                  " 253       0 dm-0 1 2 900 4 5 6 1900 8 0 120 11 12 13 14 15 16 17\n"
                  " 259       0 nvme0n1 1 2 10 4 5 6 20 8 0 7 11\n"
                  "   7       0 loop0 0 0 5000 0 0 0 0 0 0 0 0\n");
    fake_tree_put(root, "/sys/block/sda/device/model", "disk\n");
    fake_tree_put(root, "/sys/block/nvme0n1/device/model", "disk\n");
    fake_tree_put(root, "/sys/block/dm-0/size", "1\n");
    fake_tree_put(root, "/proc/net/dev",
                  "Inter-|   Receive          |  Transmit\n"
                  " face |bytes    packets errs drop fifo frame compressed multicast|bytes  \n"
                  "    lo: 1000000 1 0 0 0 0 0 0 1000000 1 0 0 0 0 0 0\n"
                  "  eth0:753 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n"
                  "   br0: 753 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n");
    fake_tree_put(root, "/sys/class/net/eth0/device/vendor", "0x8086\n");
    g_assert_true(idle_sample(root, NULL, &one, &error));
    g_assert_true(idle_sample(root, &one, &two, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(one.busy_ticks, ==, 10 + 20 + 30 + 6 + 7 + 8);
    g_assert_cmpuint(one.total_ticks, ==, 81 + 450);
    g_assert_cmpuint(one.runnable, ==, 3);
    g_assert_cmpuint(two.runnable, ==, 6);
    g_assert_cmpuint(two.looks, ==, 2);
    g_assert_cmpuint(one.pressure_us[0], ==, G_GUINT64_CONSTANT(4653161530));
    g_assert_cmpuint(one.pressure_us[1], ==, 61);
    g_assert_cmpuint(one.disk_bytes, ==, (1000 + 2000 + 10 + 20) * 512);
    g_assert_cmpuint(one.disk_ms, ==, 130);
    g_assert_cmpuint(one.network_bytes, ==, 953);
    g_assert_cmpuint(one.has, ==, ALL & ~(1U << IDLE_MEMORY_PRESSURE | 1U << IDLE_TEMPERATURE));
    fake_tree_free(root);
}

/* A container's interfaces have no hardware. */
static void test_sample_container(void)
{
    g_autoptr(GError) error = NULL;
    char *root = fake_tree_new();
    IdleSample sample;

    put_stat(root);
    fake_tree_put(root, "/proc/net/dev",
                  "    lo: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n"
                  "  eth0: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n");
    g_assert_true(idle_sample(root, NULL, &sample, &error));
    g_assert_cmpuint(sample.network_bytes, ==, 11);
    fake_tree_put(root, "/proc/stat", "cpu  garbage\n");
    g_assert_false(idle_sample(root, NULL, &sample, &error));
    g_assert_true(vm_error_is(error, VM_ERROR_ENVIRONMENT));
    fake_tree_free(root);
}

static void test_temperature(void)
{
    char *root = fake_tree_new();
    gint mc = -1;

    g_assert_false(temperature_read(root, &mc));
    fake_tree_put(root, "/sys/class/thermal/thermal_zone0/type", "iwlwifi_1\n");
    fake_tree_put(root, "/sys/class/thermal/thermal_zone0/temp", "90000\n");
    g_assert_false(temperature_read(root, &mc));
    g_assert_cmpint(mc, ==, -1);
    fake_tree_put(root, "/sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
    fake_tree_put(root, "/sys/class/thermal/thermal_zone1/temp", "43000\n");
    g_assert_true(temperature_read(root, &mc));
    g_assert_cmpint(mc, ==, 43000);
    fake_tree_put(root, "/sys/class/hwmon/hwmon3/name", "nvme\n");
    fake_tree_put(root, "/sys/class/hwmon/hwmon3/temp1_input", "80000\n");
    fake_tree_put(root, "/sys/class/hwmon/hwmon4/name", "coretemp\n");
    fake_tree_put(root, "/sys/class/hwmon/hwmon4/temp1_input", "44000\n");
    fake_tree_put(root, "/sys/class/hwmon/hwmon4/temp2_input", "46500\n");
    fake_tree_put(root, "/sys/class/hwmon/hwmon4/temp2_max", "100000\n");
    g_assert_true(temperature_read(root, &mc));
    g_assert_cmpint(mc, ==, 46500);
    fake_tree_free(root);
}

/* ---- the verdict ---- */

/* A quiet second on two CPUs after at, with everything there is. */
static IdleSample quiet_after(const IdleSample *at)
{
    IdleSample next = *at;

    next.mono_ns += S;
    next.total_ticks += 200;
    next.busy_ticks += 1;
    next.looks += 1;
    return next;
}

/* What one second must add for a signal to be just at its limit, with the grain; and what more is
 * over it. */
static const struct edge {
    IdleSignal signal;
    gsize offset;
    gboolean is_int;
    guint64 allowed;
} edges[] = {
    {IDLE_CPU_BUSY, G_STRUCT_OFFSET(IdleSample, busy_ticks), FALSE, 6 + 2 - 1},
    {IDLE_RUN_QUEUE, G_STRUCT_OFFSET(IdleSample, runnable), FALSE, 1},
    {IDLE_CPU_PRESSURE, G_STRUCT_OFFSET(IdleSample, pressure_us[0]), FALSE, 60000},
    {IDLE_IO_PRESSURE, G_STRUCT_OFFSET(IdleSample, pressure_us[1]), FALSE, 70000},
    {IDLE_MEMORY_PRESSURE, G_STRUCT_OFFSET(IdleSample, pressure_us[2]), FALSE, 20000},
    {IDLE_DISK_BUSY, G_STRUCT_OFFSET(IdleSample, disk_ms), FALSE, 120},
    {IDLE_DISK_RATE, G_STRUCT_OFFSET(IdleSample, disk_bytes), FALSE, (1 << 20) + (256 << 10)},
    {IDLE_NETWORK_RATE, G_STRUCT_OFFSET(IdleSample, network_bytes), FALSE, (256 + 64) << 10},
    {IDLE_TEMPERATURE, G_STRUCT_OFFSET(IdleSample, temperature_mc), TRUE, 10000},
};

static void grow(IdleSample *sample, const struct edge *edge, guint64 by)
{
    char *member = (char *)sample + edge->offset;

    if (edge->is_int)
        *(gint *)(gpointer)member += (gint)by;
    else
        *(guint64 *)(gpointer)member += by;
}

static void limits_init(PlanIdle *limits, gint64 settle_ns)
{
    plan_idle_defaults(limits);
    limits->settle_ns = settle_ns;
}

/* A window of one second and one slice, in which only one signal moves. */
static void test_each_signal(void)
{
    const IdleSample start = {.has = ALL, .busy_ticks = 1000, .total_ticks = 9000, .looks = 3};

    for (guint i = 0; i < G_N_ELEMENTS(edges); i++) {
        const struct edge *edge = &edges[i];
        PlanIdle limits;
        IdleVerdict verdict;
        IdleSample at = quiet_after(&start), over = at, absent;

        limits_init(&limits, S);
        g_autoptr(IdleWindow) window = idle_window_new(&limits);

        grow(&at, edge, edge->allowed);
        grow(&over, edge, edge->allowed + 1);
        idle_window_begin(window, &start);
        g_assert_cmpint(idle_window_add(window, &at, &verdict), ==, IDLE_OPEN);
        g_assert_cmpuint(verdict.over, ==, 0);
        g_assert_cmpuint(verdict.present, ==, ALL);
        idle_window_begin(window, &start);
        g_assert_cmpint(idle_window_add(window, &over, &verdict), ==, IDLE_DISTURBED);
        g_assert_cmpuint(verdict.over, ==, 1U << edge->signal);
        g_autofree char *text = idle_explain(&verdict, &limits);

        g_test_message("%s", text);
        g_assert_nonnull(strstr(text, idle_signals[edge->signal].title));
        g_assert_nonnull(strstr(text, " allowed)"));
        /* What the machine cannot tell is no reason to wait. */
        absent = over;
        absent.has &= ~(1U << edge->signal);
        idle_window_begin(window, &start);
        g_assert_cmpint(idle_window_add(window, &absent, &verdict), ==, IDLE_OPEN);
        g_assert_cmpuint(verdict.present, ==, absent.has);
    }
    g_assert_cmpuint(G_N_ELEMENTS(edges), ==, IDLE_N_SIGNALS);
}

static void test_values(void)
{
    const IdleSample from = {.busy_ticks = 100, .total_ticks = 1000, .disk_bytes = 4096};
    const IdleSample to = {
        .mono_ns = 2 * S, .busy_ticks = 140, .total_ticks = 1400, .disk_bytes = 12288};
    g_autofree char *rate = idle_format(IDLE_DISK_RATE, 4096);
    g_autofree char *small = idle_format(IDLE_CPU_BUSY, 0.0312);
    g_autofree char *large = idle_format(IDLE_CPU_BUSY, 0.512);

    g_assert_cmpfloat_with_epsilon(idle_value(IDLE_CPU_BUSY, &from, &to), 0.1, 1e-12);
    g_assert_cmpfloat_with_epsilon(idle_value(IDLE_DISK_RATE, &from, &to), 4096, 1e-9);
    /* Counters that step back, and no time at all. */
    g_assert_cmpfloat(idle_value(IDLE_CPU_BUSY, &to, &from), ==, 0);
    g_assert_cmpfloat(idle_value(IDLE_DISK_RATE, &to, &from), ==, 0);
    g_assert_cmpfloat(idle_value(IDLE_DISK_RATE, &to, &to), ==, 0);
    g_assert_cmpstr(rate, ==, "4 KiB/s");
    g_assert_cmpstr(small, ==, "3.1 %");
    g_assert_cmpstr(large, ==, "51 %");
}

static void test_steps_back(void)
{
    IdleSample start = {.has = ALL, .busy_ticks = 1000, .total_ticks = 9000, .looks = 3};
    IdleSample now = quiet_after(&start);
    PlanIdle limits;
    IdleVerdict verdict;

    limits_init(&limits, S);
    g_autoptr(IdleWindow) window = idle_window_new(&limits);

    start.disk_bytes = start.disk_ms = start.network_bytes = start.pressure_us[1] = 1 << 30;
    now.busy_ticks = 0;
    idle_window_begin(window, &start);
    g_assert_cmpint(idle_window_add(window, &now, &verdict), ==, IDLE_OPEN);
    for (guint i = 0; i < IDLE_N_SIGNALS; i++)
        g_assert_cmpfloat(verdict.value[i], ==, 0);
}

/* Three quiet seconds; a busy one; then the window must hold three quiet ones again, though the
 * mean of the whole could bear it earlier where the burst was short. */
static void test_window(void)
{
    IdleSample now = {.has = ALL, .total_ticks = 9000};
    PlanIdle limits;
    IdleVerdict verdict;

    limits_init(&limits, 3 * S);
    g_autoptr(IdleWindow) window = idle_window_new(&limits);

    idle_window_begin(window, &now);
    for (guint i = 0; i < 2; i++) {
        now = quiet_after(&now);
        g_assert_cmpint(idle_window_add(window, &now, &verdict), ==, IDLE_GO_ON);
    }
    now = quiet_after(&now);
    now.busy_ticks += 100;
    g_assert_cmpint(idle_window_add(window, &now, &verdict), ==, IDLE_DISTURBED);
    for (guint i = 0; i < 2; i++) {
        now = quiet_after(&now);
        g_assert_cmpint(idle_window_add(window, &now, &verdict), ==, IDLE_GO_ON);
        g_assert_cmpuint(verdict.over, ==, 1U << IDLE_CPU_BUSY);
    }
    now = quiet_after(&now);
    g_assert_cmpint(idle_window_add(window, &now, &verdict), ==, IDLE_OPEN);
}

/* 9 ticks in one second are over, and bearable in ten: the window is not begun anew; but not while
 * that second is the last. */
static void test_short_burst(void)
{
    IdleSample now = {.has = ALL, .total_ticks = 9000};
    PlanIdle limits;
    IdleVerdict verdict;

    limits_init(&limits, 10 * S);
    g_autoptr(IdleWindow) window = idle_window_new(&limits);

    idle_window_begin(window, &now);
    for (guint i = 1; i <= 9; i++) {
        now = quiet_after(&now);
        now.busy_ticks += i == 8 ? 9 : 0;
        g_assert_cmpint(idle_window_add(window, &now, &verdict), ==,
                        i == 8 ? IDLE_DISTURBED : IDLE_GO_ON);
    }
    now = quiet_after(&now);
    g_assert_cmpint(idle_window_add(window, &now, &verdict), ==, IDLE_OPEN);
    now = quiet_after(&now);
    now.busy_ticks += 9;
    g_assert_cmpint(idle_window_add(window, &now, &verdict), ==, IDLE_DISTURBED);
}

/* Each second within limit and grain, all together not: that is no trifle any more. */
static void test_steady(void)
{
    IdleSample now = {.has = ALL, .total_ticks = 9000};
    PlanIdle limits;
    IdleVerdict verdict;
    IdleStep step = IDLE_GO_ON;

    limits_init(&limits, 10 * S);
    g_autoptr(IdleWindow) window = idle_window_new(&limits);

    idle_window_begin(window, &now);
    for (guint i = 0; i < 30; i++) {
        now = quiet_after(&now);
        now.busy_ticks += 6; /* 7 of 200: 3.5 % */
        step = idle_window_add(window, &now, &verdict);
        g_assert_cmpint(step, !=, IDLE_OPEN);
    }
    g_assert_cmpint(step, ==, IDLE_DISTURBED);
    g_assert_cmpfloat_with_epsilon(verdict.value[IDLE_CPU_BUSY], 0.035, 1e-9);
}

static void test_warm(void)
{
    IdleSample now = {.has = ALL, .total_ticks = 9000, .temperature_mc = 60000};
    PlanIdle limits;
    IdleVerdict verdict;

    limits_init(&limits, S);
    g_autoptr(IdleWindow) window = idle_window_new(&limits);

    idle_window_temperature(window, 45000);
    idle_window_begin(window, &now);
    now = quiet_after(&now);
    g_assert_cmpint(idle_window_add(window, &now, &verdict), ==, IDLE_DISTURBED);
    g_assert_cmpfloat_with_epsilon(verdict.value[IDLE_TEMPERATURE], 15, 1e-9);
    now = quiet_after(&now);
    now.temperature_mc = 54900;
    g_assert_cmpint(idle_window_add(window, &now, &verdict), ==, IDLE_OPEN);
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
    g_test_add_func("/idle/sample-whole", test_sample_whole);
    g_test_add_func("/idle/sample-container", test_sample_container);
    g_test_add_func("/idle/temperature", test_temperature);
    g_test_add_func("/idle/each-signal", test_each_signal);
    g_test_add_func("/idle/values", test_values);
    g_test_add_func("/idle/steps-back", test_steps_back);
    g_test_add_func("/idle/window", test_window);
    g_test_add_func("/idle/short-burst", test_short_burst);
    g_test_add_func("/idle/steady", test_steady);
    g_test_add_func("/idle/warm", test_warm);
    g_test_add_func("/idle/observer", test_observer);
    return g_test_run();
}
