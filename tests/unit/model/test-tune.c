/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is wanted of the host's settings: of a plan, and by --set. */
#include "model/tune.h"

#include <string.h>

#include "model/plan.h"
#include "util/error.h"

static Plan *parse(const char *tune)
{
    g_autofree char *text = g_strconcat("version: 1\nplan: p\naxes: {hypervisor: [bare]}\n"
                                        "workloads: [ops]\n",
                                        tune, NULL);
    g_autoptr(GError) error = NULL;
    Plan *plan = plan_parse("p.yaml", text, -1, &error);

    g_assert_no_error(error);
    return plan;
}

/* "governor=performance …" of all that is wanted; transfer full. */
static char *told(const TuneWants *wants)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < TUNE_KEYS; i++)
        if (wants->values[i] != NULL)
            g_string_append_printf(text, "%s%s=%s", text->len > 0 ? " " : "", tune_key_name(i),
                                   wants->values[i]);
    return g_string_free(text, FALSE);
}

#define assert_told(wants, expected)                                                               \
    do {                                                                                           \
        g_autofree char *told_ = told(wants);                                                      \
        g_assert_cmpstr(told_, ==, expected);                                                      \
    } while (0)

/* Nothing is changed that nobody asked for. */
static void test_default(void)
{
    g_autoptr(Plan) none = parse("");
    g_autoptr(Plan) off = parse("tune: off\n");
    g_autoptr(Plan) left = parse("tune: {preset: off, boost: leave}\n");

    assert_told(&none->tune, "");
    assert_told(&off->tune, "");
    assert_told(&left->tune, "");
    g_assert_false(tune_wants_any(&none->tune));
}

/* The preset is what the manual says. */
static void test_measure(void)
{
    g_autoptr(Plan) plan = parse("tune: measure\n");
    g_autofree char *units = g_strdup(plan->tune.values[TUNE_STOP]);

    g_assert_nonnull(strstr(units, "apt-daily.timer,"));
    g_assert_nonnull(strstr(units, "irqbalance.service,"));
    g_clear_pointer(&plan->tune.values[TUNE_STOP], g_free);
    assert_told(&plan->tune, "governor=performance energy=performance boost=off idle-latency=3us "
                             "numa-balancing=off ksm=off swappiness=1 watchdog=off sleep=inhibit "
                             "irq=away");
    g_assert_true(tune_wants_any(&plan->tune));
}

/* Single keys stand on top of the preset, wherever it is written. */
static void test_on_top(void)
{
    g_autoptr(Plan) plan =
        parse("tune: {governor: powersave, irq: leave, stop: [a.timer, b@c.service],"
              " preset: measure, swappiness: 0}\n");

    assert_told(&plan->tune, "governor=powersave energy=performance boost=off idle-latency=3us "
                             "numa-balancing=off ksm=off swappiness=0 watchdog=off "
                             "stop=a.timer,b@c.service sleep=inhibit");
    g_autoptr(Plan) none = parse("tune: {preset: measure, stop: []}\n");

    g_assert_null(none->tune.values[TUNE_STOP]);
}

static void test_set(void)
{
    g_auto(TuneWants) wants = {0};
    g_autoptr(GError) error = NULL;
    static const char *const right[] = {"thp=never",      "perf-paranoid=-1",
                                        "cpus=1,3-4",     "stop=a.timer,b.service",
                                        "swappiness=200", "swappiness=0"};

    for (gsize i = 0; i < G_N_ELEMENTS(right); i++) {
        g_assert_true(tune_wants_set(&wants, right[i], &error));
        g_assert_no_error(error);
    }
    assert_told(&wants,
                "thp=never swappiness=0 perf-paranoid=-1 cpus=1,3-4 stop=a.timer,b.service");
    g_assert_true(tune_wants_set(&wants, "preset=off", &error));
    assert_told(&wants, "");
    /* The CPUs alone change nothing. */
    g_assert_true(tune_wants_set(&wants, "cpus=1", &error));
    g_assert_false(tune_wants_any(&wants));
}

static void test_refused(void)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"boost", "KEY=VALUE"},
        {"bost=on", "did you mean \"boost\""},
        {"x-ray=on", "there are: preset, smt, governor"},
        {"boost=", "on or off"},
        {"boost=on\n", "on or off"},
        {"swappiness=007", "0 to 200"},
        {"swappiness=201", "0 to 200"},
        {"idle-latency=3ms", "0us to 999999us"},
        {"cpus=", "a list of CPUs"},
        {"cpus=1-", "a list of CPUs"},
        {"governor=../x", "a governor's name"},
        {"stop=", "a list of units"},
        {"stop=a.timer,", "a list of units"},
        {"stop=../../x", "a list of units"},
        {"preset=fast", "off or measure"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(TuneWants) wants = {0};
        g_autoptr(GError) error = NULL;

        g_assert_false(tune_wants_set(&wants, cases[i].text, &error));
        g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
        if (strstr(error->message, cases[i].part) == NULL)
            g_error("%s: %s", cases[i].text, error->message);
        assert_told(&wants, "");
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tune-wants/default", test_default);
    g_test_add_func("/tune-wants/measure", test_measure);
    g_test_add_func("/tune-wants/on-top", test_on_top);
    g_test_add_func("/tune-wants/set", test_set);
    g_test_add_func("/tune-wants/refused", test_refused);
    return g_test_run();
}
