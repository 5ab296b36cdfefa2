#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reference values of test-stats.c, derived without the library under test.

    python3 reference.py > reference.h

Student's quantile at p has closed forms for 1, 2 and 4 degrees of freedom (W. T. Shaw, "Sampling
Student's T distribution", 2006); the others are found by bisection of the exact finite series of
the distribution function (Abramowitz & Stegun 26.7.3 and 26.7.4). All in 50 decimal digits; sums
and quantiles are exact fractions until the end.
"""
from decimal import Decimal as D, getcontext
from fractions import Fraction as F

getcontext().prec = 50
PI = D("3.14159265358979323846264338327950288419716939937510582")


def atan(x):
    """Reduced by half-angles, then the series."""
    doublings = 0
    while abs(x) > D("0.05"):
        x = x / (1 + (1 + x * x).sqrt())
        doublings += 1
    total, term, k = D(0), x, 0
    while abs(term) > D("1e-55"):
        total += term / (2 * k + 1) if k % 2 == 0 else -term / (2 * k + 1)
        term *= x * x
        k += 1
    return total * 2**doublings


def central(t, df):
    """P(-t < T < t), A&S 26.7.3 (odd) and 26.7.4 (even)."""
    theta = atan(t / D(df).sqrt())
    sin = (t / D(df).sqrt()) / (1 + t * t / df).sqrt()
    cos = 1 / (1 + t * t / df).sqrt()
    if df % 2 == 1:
        series, term = D(0), cos
        for k in range(1, (df - 1) // 2 + 1):
            series += term
            term *= cos * cos * (2 * k) / (2 * k + 1)
        return 2 / PI * (theta + sin * series)
    series, term = D(0), D(1)
    for k in range(1, df // 2 + 1):
        series += term
        term *= cos * cos * (2 * k - 1) / (2 * k)
    return sin * series


def quantile(level, df):
    low, high = D(0), D(10000)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if central(middle, df) < level else (low, middle)
    return (low + high) / 2


def check_closed_forms():
    a = 4 * D("0.975") * D("0.025")
    assert abs(quantile(D("0.95"), 2) - 2 * D("0.475") * (2 / a).sqrt()) < D("1e-40")
    t = quantile(D("0.95"), 1)
    assert abs(atan(t) - PI * D("0.475")) < D("1e-40")


def decimal(fraction):
    return D(fraction.numerator) / D(fraction.denominator)


def mean_sd(values):
    mean = sum(values, F(0)) / len(values)
    variance = sum(((v - mean) ** 2 for v in values), F(0)) / (len(values) - 1)
    return decimal(mean), decimal(variance).sqrt()


def type7(values, p):
    values = sorted(values)
    h = (len(values) - 1) * p
    k = int(h)
    above = values[min(k + 1, len(values) - 1)]
    return decimal(values[k] + (h - k) * (above - values[k]))


def define(name, value):
    print(f"#define {name} {value:.20g}")


check_closed_forms()
print("/* SPDX-License-Identifier: GPL-3.0-or-later */")
print("/* Made by reference.py. */")
print("#pragma once")
for df in (1, 2, 3, 4, 10, 29):
    define(f"T95_DF{df}", quantile(D("0.95"), df))
define("T99_DF4", quantile(D("0.99"), 4))

five = [F(s) for s in ("10.1", "9.8", "10.4", "10.0", "9.9")]
mean, sd = mean_sd(five)
half = quantile(D("0.95"), 4) * sd / D(5).sqrt()
define("FIVE_MEAN", mean)
define("FIVE_SD", sd)
define("FIVE_LOW", mean - half)
define("FIVE_HIGH", mean + half)
define("FIVE_Q10", type7(five, F(1, 10)))
define("FIVE_Q75", type7(five, F(3, 4)))

subject = [D("12.5"), D("13.1"), D("11.9")]
baseline = [D("10.0"), D("10.4"), D("9.7")]
logs = [(s / b).ln() for s, b in zip(subject, baseline)]
log_mean = sum(logs) / 3
log_sd = (sum((x - log_mean) ** 2 for x in logs) / 2).sqrt()
log_half = quantile(D("0.95"), 2) * log_sd / D(3).sqrt()
define("RATIO", log_mean.exp())
define("RATIO_LOW", (log_mean - log_half).exp())
define("RATIO_HIGH", (log_mean + log_half).exp())
