/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/eta.h"

#include "util/clock.h"

#define S CLOCK_NS_PER_S

static void test_unknown(void)
{
    g_auto(Eta) eta;

    eta_init(&eta, 3);
    g_assert_cmpint(eta_left_ns(&eta), ==, 0); /* nothing is left */
    for (guint cell = 0; cell < 3; cell++)
        eta_expect(&eta, cell, 2);
    g_assert_cmpint(eta_left_ns(&eta), ==, -1);
    eta_note(&eta, 0, 10 * S);
    g_assert_cmpint(eta_left_ns(&eta), ==, -1); /* one of three cells is known */
    eta_note(&eta, 1, 4 * S);
    /* 10 s and 4 s once more, and the unknown cell twice at the longest mean. */
    g_assert_cmpint(eta_left_ns(&eta), ==, (10 + 4 + 2 * 10) * S);
}

static void test_means(void)
{
    g_auto(Eta) eta;

    eta_init(&eta, 2);
    eta_expect(&eta, 0, 4);
    eta_expect(&eta, 1, 3);
    eta_note(&eta, 0, 10 * S);
    eta_note(&eta, 0, 20 * S);
    eta_note(&eta, 1, 2 * S);
    g_assert_cmpint(eta_left_ns(&eta), ==, (2 * 15 + 2 * 2) * S);
    eta_note(&eta, 1, 2 * S);
    eta_note(&eta, 1, 2 * S);
    g_assert_cmpint(eta_left_ns(&eta), ==, 2 * 15 * S);
    /* A rerun beyond what was expected counts for the mean, and takes nothing away. */
    eta_note(&eta, 1, 2 * S);
    g_assert_cmpint(eta_left_ns(&eta), ==, 2 * 15 * S);
    eta_note(&eta, 0, 0);
    eta_note(&eta, 0, 10 * S);
    g_assert_cmpint(eta_left_ns(&eta), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/eta/unknown", test_unknown);
    g_test_add_func("/eta/means", test_means);
    return g_test_run();
}
