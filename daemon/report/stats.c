/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/stats.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

double stats_median(double *values, gsize n)
{
    g_assert(n >= 1);
    gsl_sort(values, 1, n);
    return gsl_stats_median_from_sorted_data(values, 1, n);
}

double stats_mean(const double *values, gsize n)
{
    return gsl_stats_mean(values, 1, n);
}

double stats_stddev(const double *values, gsize n)
{
    return n >= 2 ? gsl_stats_sd(values, 1, n) : NAN;
}

double stats_quantile(const double *sorted, gsize n, double p)
{
    /* GSL interpolates at (n - 1) p: Hyndman & Fan's type 7. */
    return gsl_stats_quantile_from_sorted_data(sorted, 1, n, p);
}

void stats_t_interval(const double *values, gsize n, double level, Interval *ret_interval)
{
    Interval interval = {.centre = NAN, .low = NAN, .high = NAN, .n = n};

    g_assert(level > 0.0 && level < 1.0);
    if (n >= 1)
        interval.centre = stats_mean(values, n);
    if (n >= 2) {
        double t = gsl_cdf_tdist_Pinv(0.5 + level / 2, (double)(n - 1));
        double half = t * stats_stddev(values, n) / sqrt((double)n);

        interval.low = interval.centre - half;
        interval.high = interval.centre + half;
    }
    *ret_interval = interval;
}

void stats_ratio_interval(const double *subject, const double *baseline, gsize n, double level,
                          Interval *ret_interval)
{
    g_autofree double *logs = g_new(double, n);
    gsize used = 0;
    Interval interval;

    for (gsize i = 0; i < n; i++)
        if (subject[i] > 0.0 && baseline[i] > 0.0)
            logs[used++] = log(subject[i]) - log(baseline[i]);
    stats_t_interval(logs, used, level, &interval);
    interval.centre = exp(interval.centre);
    interval.low = exp(interval.low);
    interval.high = exp(interval.high);
    *ret_interval = interval;
}
