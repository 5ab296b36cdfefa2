/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics: pure functions over numbers. Boot is the top replication level: intervals are taken
 * across boots (or processes of bare), never across samples. */
#pragma once
#include <glib.h>

/* Median (mean of the middle two). values is sorted in place. n >= 1. */
double stats_median(double *values, gsize n);
double stats_mean(const double *values, gsize n);
/* Sample standard deviation (n - 1); NAN when n < 2. */
double stats_stddev(const double *values, gsize n);
/* Type 7 quantile (Hyndman & Fan 1996), p in 0..1. values must be sorted. */
double stats_quantile(const double *sorted, gsize n, double p);

typedef struct {
    double centre;    /* mean, or geometric mean ratio */
    double low, high; /* NAN when n < 2: no interval from one boot */
    gsize n;
} Interval;

/* Student t interval of the mean across replicates; level e.g. 0.95. */
void stats_t_interval(const double *values, gsize n, double level, Interval *ret_interval);

/* Ratio subject/baseline, paired: t interval of the mean of log(subject/baseline), exponentiated.
 * All values must be above 0; pairs where either is not are left out, and n is what was used. */
void stats_ratio_interval(const double *subject, const double *baseline, gsize n, double level,
                          Interval *ret_interval);
