/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "reference.h"
#include "report/stats.h"

#define assert_near(a, b) g_assert_cmpfloat_with_epsilon(a, b, 1e-9)

static const double five[] = {10.1, 9.8, 10.4, 10.0, 9.9};

static void test_median(void)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, one[] = {7};

    g_assert_cmpfloat(stats_median(odd, 3), ==, 2);
    g_assert_cmpfloat(odd[0], ==, 1); /* sorted in place */
    g_assert_cmpfloat(stats_median(even, 4), ==, 2.5);
    g_assert_cmpfloat(stats_median(one, 1), ==, 7);
}

static void test_moments(void)
{
    assert_near(stats_mean(five, 5), FIVE_MEAN);
    assert_near(stats_stddev(five, 5), FIVE_SD);
    g_assert_true(isnan(stats_stddev(five, 1)));
    g_assert_true(isnan(stats_stddev(five, 0)));
}

static void test_quantile(void)
{
    const double sorted[] = {9.8, 9.9, 10.0, 10.1, 10.4};

    assert_near(stats_quantile(sorted, 5, 0.1), FIVE_Q10);
    assert_near(stats_quantile(sorted, 5, 0.75), FIVE_Q75);
    g_assert_cmpfloat(stats_quantile(sorted, 5, 0), ==, 9.8);
    g_assert_cmpfloat(stats_quantile(sorted, 5, 1), ==, 10.4);
    g_assert_cmpfloat(stats_quantile(sorted, 1, 0.3), ==, 9.8);
}

/* Half the width of the interval of n values with standard deviation sqrt(n): the t quantile. */
static double quantile_from_interval(gsize n, double level)
{
    g_autofree double *values = g_new0(double, n);
    Interval interval;

    /* Two values at +-x, the rest 0: the variance is 2 x^2 / (n - 1) = n. */
    values[0] = sqrt((double)n * (double)(n - 1) / 2);
    values[1] = -values[0];
    stats_t_interval(values, n, level, &interval);
    assert_near(interval.centre, 0);
    assert_near(interval.low, -interval.high);
    g_assert_cmpuint(interval.n, ==, n);
    return interval.high;
}

static void test_t_table(void)
{
    assert_near(quantile_from_interval(2, 0.95), T95_DF1);
    assert_near(quantile_from_interval(3, 0.95), T95_DF2);
    assert_near(quantile_from_interval(4, 0.95), T95_DF3);
    assert_near(quantile_from_interval(5, 0.95), T95_DF4);
    assert_near(quantile_from_interval(11, 0.95), T95_DF10);
    assert_near(quantile_from_interval(30, 0.95), T95_DF29);
    assert_near(quantile_from_interval(5, 0.99), T99_DF4);
}

static void test_t_interval(void)
{
    Interval interval;

    stats_t_interval(five, 5, 0.95, &interval);
    assert_near(interval.centre, FIVE_MEAN);
    assert_near(interval.low, FIVE_LOW);
    assert_near(interval.high, FIVE_HIGH);
}

static void test_few(void)
{
    Interval interval;

    stats_t_interval(five, 1, 0.95, &interval);
    g_assert_cmpfloat(interval.centre, ==, 10.1);
    g_assert_true(isnan(interval.low) && isnan(interval.high));
    stats_t_interval(five, 0, 0.95, &interval);
    g_assert_true(isnan(interval.centre));
    g_assert_cmpuint(interval.n, ==, 0);
}

static void test_ratio(void)
{
    const double subject[] = {12.5, 13.1, 11.9}, baseline[] = {10.0, 10.4, 9.7};
    Interval interval, back;

    stats_ratio_interval(subject, baseline, 3, 0.95, &interval);
    g_assert_cmpuint(interval.n, ==, 3);
    assert_near(interval.centre, RATIO);
    assert_near(interval.low, RATIO_LOW);
    assert_near(interval.high, RATIO_HIGH);
    /* On the log both directions are one interval. */
    stats_ratio_interval(baseline, subject, 3, 0.95, &back);
    assert_near(back.centre, 1 / interval.centre);
    assert_near(back.low, 1 / interval.high);
}

static void test_ratio_left_out(void)
{
    const double subject[] = {12.5, 0, 13.1, 11.9, 5, NAN};
    const double baseline[] = {10.0, 1, 10.4, 9.7, -1, 1};
    Interval interval;

    stats_ratio_interval(subject, baseline, 6, 0.95, &interval);
    g_assert_cmpuint(interval.n, ==, 3);
    assert_near(interval.centre, RATIO);
    stats_ratio_interval(subject + 1, baseline + 1, 1, 0.95, &interval);
    g_assert_cmpuint(interval.n, ==, 0);
    g_assert_true(isnan(interval.centre));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/median", test_median);
    g_test_add_func("/stats/moments", test_moments);
    g_test_add_func("/stats/quantile", test_quantile);
    g_test_add_func("/stats/t-table", test_t_table);
    g_test_add_func("/stats/t-interval", test_t_interval);
    g_test_add_func("/stats/few", test_few);
    g_test_add_func("/stats/ratio", test_ratio);
    g_test_add_func("/stats/ratio-left-out", test_ratio_left_out);
    return g_test_run();
}
