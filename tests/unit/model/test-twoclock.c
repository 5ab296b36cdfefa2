/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "model/twoclock.h"

#define MS 1000000.0
#define LIMIT_PPM 500.0

enum { PINGS = 4, CASES = 5000 };

/* A host and a guest whose clock runs (1 + drift) times as fast, with delays drawn anew for each
 * message. Host times are exact here; the stamps are what a program would have noted. */
typedef struct {
    GRand *rand;
    double now_ns; /* host */
    double drift;
    double step_ns; /* the guest's clock jumps by this in the middle of the work */
    double jitter_ns;
    double arrived_ns; /* messages of one stream keep their order */
} World;

static gint64 guest_clock(const World *world, double host_ns)
{
    return (gint64)(5e12 + world->step_ns + host_ns * (1 + world->drift));
}

static double delay(World *world)
{
    /* Often short, seldom near the full jitter, as networks are. */
    return world->jitter_ns * pow(g_rand_double(world->rand), 3);
}

static double arrival(World *world, double sent_ns)
{
    world->arrived_ns = fmax(world->arrived_ns, sent_ns + delay(world));
    return world->arrived_ns;
}

static ClockProbe ping(World *world)
{
    double sent = world->now_ns;
    double stamped = sent + delay(world);

    world->now_ns = arrival(world, stamped) + g_rand_double_range(world->rand, 0, 1e4);
    return (ClockProbe){(gint64)sent, guest_clock(world, stamped), (gint64)world->arrived_ns};
}

static TwoClock simulate(World *world, double work_ns, guint n_before, guint n_after)
{
    ClockProbe before[PINGS], after[PINGS], begin, end;
    double step = world->step_ns;
    double go, began, ended;
    TwoClock result;

    world->step_ns = 0;
    for (guint i = 0; i < n_before; i++)
        before[i] = ping(world);
    world->now_ns += g_rand_double_range(world->rand, 0, 20 * MS); /* host reads its evidence */
    go = world->now_ns;
    began = go + delay(world);
    begin = (ClockProbe){(gint64)go, guest_clock(world, began), (gint64)arrival(world, began)};
    ended = began + work_ns;
    world->step_ns = step;
    world->now_ns = arrival(world, ended);
    end = (ClockProbe){(gint64)go, guest_clock(world, ended), (gint64)world->now_ns};
    for (guint i = 0; i < n_after; i++)
        after[i] = ping(world);
    twoclock_judge(&begin, &end, before, n_before, after, n_after, LIMIT_PPM, &result);
    return result;
}

static World world_new(GRand *rand, double drift, double jitter_ns)
{
    return (World){
        .rand = rand, .now_ns = 1e12, .drift = drift, .jitter_ns = jitter_ns, .arrived_ns = 0};
}

/* Within the limit, no jitter raises a flag; and the bound holds the truth. */
static void test_never_false(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);

    for (guint i = 0; i < CASES; i++) {
        double drift = g_rand_double_range(rand, -LIMIT_PPM, LIMIT_PPM) / 1e6;
        double jitter = 50 * MS * g_rand_double(rand);
        double work = 1e9 * exp(g_rand_double_range(rand, -2, 5));
        World world = world_new(rand, drift, jitter);
        TwoClock result =
            simulate(&world, work, g_rand_int_range(rand, 0, 5), g_rand_int_range(rand, 0, 5));

        g_assert_true(result.usable);
        g_assert_false(result.flagged);
        g_assert_cmpfloat(fabs(result.drift_ppm - drift * 1e6), <=, result.bound_ppm + 1e-3);
        g_assert_cmpfloat(fabs((double)result.guest_ns - work * (1 + drift)), <=, 2);
    }
}

/* A message held up for longer than the work itself (a lost packet sent again). */
static void test_held_up(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(2);

    for (guint i = 0; i < CASES; i++) {
        World world = world_new(rand, 0, 4000 * MS);
        TwoClock result = simulate(&world, 1.5e9, PINGS, PINGS);

        g_assert_true(result.usable);
        g_assert_false(result.flagged);
    }
}

/* 1 % and more is seen as soon as there are 2 s of work on a quiet line. */
static void test_always_true(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);

    for (guint i = 0; i < CASES; i++) {
        double drift = 0.01 * exp(g_rand_double_range(rand, 0, 4)); /* up to 55 % */
        double work = 2e9 * exp(g_rand_double_range(rand, 0, 3));
        World world = world_new(rand, g_rand_boolean(rand) ? drift : -drift, 1 * MS);
        TwoClock result = simulate(&world, work, 1 + i % PINGS, 1 + i / 4 % PINGS);

        g_assert_true(result.usable);
        g_assert_true(result.flagged);
        g_assert_cmpfloat(result.drift_ppm * world.drift, >, 0);
        g_assert_cmpfloat(fabs(result.drift_ppm - world.drift * 1e6), <=,
                          result.bound_ppm * (1 + drift));
    }
}

static void test_short_work(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(4);
    World world = world_new(rand, 0.3, 0.01 * MS);
    TwoClock result = simulate(&world, 0.99e9, PINGS, PINGS);

    g_assert_true(result.usable);
    g_assert_false(result.flagged);
    g_assert_cmpfloat_with_epsilon(result.drift_ppm, 300000, 1000);
    result = simulate(&world, 1.01e9, PINGS, PINGS);
    g_assert_true(result.flagged);
}

/* A quiet line gives the truth itself. */
static void test_exact(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    World world = world_new(rand, 0.0001, 0);
    TwoClock result = simulate(&world, 10e9, PINGS, PINGS);

    g_assert_cmpfloat_with_epsilon(result.drift_ppm, 100, 0.01);
    g_assert_cmpfloat(result.bound_ppm, <, 0.01);
    g_assert_cmpint(ABS(result.host_ns - 10000000000), <=, 4);
}

static void test_step(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(6);
    World forward = world_new(rand, 0, 1 * MS), backward = world_new(rand, 0, 1 * MS);

    forward.step_ns = 1e9;
    g_assert_true(simulate(&forward, 2e9, PINGS, PINGS).flagged);
    backward.step_ns = -3e9;
    g_assert_false(simulate(&backward, 2e9, PINGS, PINGS).usable);
}

/* A ping that contradicts the mark beyond any rate: no verdict. Stamps a guest made up: neither. */
static void test_unusable(void)
{
    const ClockProbe begin = {1000, 500, 2000};
    const ClockProbe end = {1000, 2000000500, 2000002000};
    const ClockProbe stepped = {100, 300, 200};
    const ClockProbe wild = {100, G_MININT64, 200};
    const ClockProbe far = {100, G_MAXINT64, 200};
    TwoClock result;

    twoclock_judge(&begin, &end, NULL, 0, NULL, 0, LIMIT_PPM, &result);
    g_assert_true(result.usable);
    twoclock_judge(&begin, &end, &stepped, 1, NULL, 0, LIMIT_PPM, &result);
    g_assert_false(result.usable);
    g_assert_false(result.flagged);
    g_assert_cmpint(result.guest_ns, ==, 2000000000);
    g_assert_cmpint(result.host_ns, ==, 2000000000);
    twoclock_judge(&begin, &end, &wild, 1, &far, 1, LIMIT_PPM, &result);
    g_assert_false(result.usable);
    twoclock_judge(&begin, &end, NULL, 0, &far, 1, LIMIT_PPM, &result);
    g_assert_cmpint(result.guest_ns, ==, 2000000000);
    twoclock_judge(&end, &begin, NULL, 0, NULL, 0, LIMIT_PPM, &result);
    g_assert_false(result.usable);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/twoclock/never-false", test_never_false);
    g_test_add_func("/twoclock/held-up", test_held_up);
    g_test_add_func("/twoclock/always-true", test_always_true);
    g_test_add_func("/twoclock/short-work", test_short_work);
    g_test_add_func("/twoclock/exact", test_exact);
    g_test_add_func("/twoclock/step", test_step);
    g_test_add_func("/twoclock/unusable", test_unusable);
    return g_test_run();
}
