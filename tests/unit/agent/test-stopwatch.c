/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two clocks that are made up here: when they agree, and when they are said not to. */
#include <glib.h>

#include "agent/os.h"
#include "agent/stopwatch.h"
#include "agent/tsc.h"

#define MS ((int64_t)1000000)
#define HZ 2500000000.0
#define READING_NS 20

static int64_t clock_ns; /* what the clock says */
static double tsc_ticks; /* what the counter says */
static bool tsc_is_there;
static int64_t interruption_ns; /* before the next reading of the counter */

int64_t os_clock_ns(void)
{
    clock_ns += READING_NS;
    tsc_ticks += READING_NS * HZ / 1e9;
    return clock_ns;
}

bool tsc_is_invariant(void)
{
    return tsc_is_there;
}

static void let_pass(int64_t by_clock_ns, int64_t by_tsc_ns)
{
    clock_ns += by_clock_ns;
    tsc_ticks += (double)by_tsc_ns * HZ / 1e9;
}

uint64_t tsc_read(void)
{
    let_pass(interruption_ns, interruption_ns);
    interruption_ns = 0;
    return (uint64_t)tsc_ticks;
}

static void start(struct stopwatch *stopwatch, bool has_tsc)
{
    clock_ns = 1000 * MS;
    tsc_ticks = 7e12;
    tsc_is_there = has_tsc;
    interruption_ns = 0;
    stopwatch_measure(stopwatch);
    let_pass(50 * MS, 50 * MS);
}

static bool sample_disagrees(const struct stopwatch *stopwatch, int64_t by_clock_ns,
                             int64_t by_tsc_ns, int64_t interrupted_ns)
{
    struct stopwatch_moment now, begin, end;
    struct stopwatch_rate rate;

    stopwatch_begin(stopwatch, &now);
    rate = stopwatch_tsc_rate(stopwatch, &now);
    stopwatch_begin(stopwatch, &begin);
    let_pass(by_clock_ns, by_tsc_ns);
    interruption_ns = interrupted_ns;
    stopwatch_end(stopwatch, &end);
    return stopwatch_disagrees(&begin, &end, &rate);
}

static void test_cost_and_rate(void)
{
    struct stopwatch stopwatch;
    struct stopwatch_moment now;
    struct stopwatch_rate rate;

    start(&stopwatch, true);
    g_assert_cmpint(stopwatch.resolution_ns, ==, READING_NS);
    g_assert_cmpfloat_with_epsilon(stopwatch.cost_ns, READING_NS, 1e-9);
    stopwatch_begin(&stopwatch, &now);
    rate = stopwatch_tsc_rate(&stopwatch, &now);
    g_assert_cmpfloat_with_epsilon(rate.hz, HZ, HZ * 1e-5);
    g_assert_cmpfloat(rate.ppm, >, 0);
    g_assert_cmpfloat(rate.ppm, <, 2);
}

static void test_agreement(void)
{
    struct stopwatch stopwatch;

    start(&stopwatch, true);
    g_assert_false(sample_disagrees(&stopwatch, 20 * MS, 20 * MS, 0));
    g_assert_false(sample_disagrees(&stopwatch, 20 * MS, 20 * MS + 15000, 0));
    g_assert_true(sample_disagrees(&stopwatch, 20 * MS, 20 * MS + 25000, 0));
    g_assert_true(sample_disagrees(&stopwatch, 20 * MS, 20 * MS - 25000, 0));
    g_assert_true(sample_disagrees(&stopwatch, 20 * MS, 0, 0));
    g_assert_true(sample_disagrees(&stopwatch, 20 * MS, -5 * MS, 0));
}

/* Who is interrupted between the two clocks' readings has not seen them disagree. */
static void test_interruption(void)
{
    struct stopwatch stopwatch;

    start(&stopwatch, true);
    g_assert_false(sample_disagrees(&stopwatch, 20 * MS, 20 * MS, 10 * MS));
    g_assert_false(sample_disagrees(&stopwatch, 1000, 1000, 0));
}

static void test_without_a_counter(void)
{
    struct stopwatch stopwatch;
    struct stopwatch_moment now = {0};

    start(&stopwatch, false);
    stopwatch_begin(&stopwatch, &now);
    g_assert_cmpfloat(stopwatch_tsc_rate(&stopwatch, &now).hz, ==, 0);
    g_assert_false(sample_disagrees(&stopwatch, 20 * MS, 90 * MS, 0));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stopwatch/cost-and-rate", test_cost_and_rate);
    g_test_add_func("/stopwatch/agreement", test_agreement);
    g_test_add_func("/stopwatch/interruption", test_interruption);
    g_test_add_func("/stopwatch/without-a-counter", test_without_a_counter);
    return g_test_run();
}
