/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/idle.h"

#include <stddef.h>
#include <sys/resource.h>
#include <time.h>

#include "util/clock.h"
#include "util/text.h"

/* ---- signals ---- */

/* Counters may step back: iowait and steal do on some kernels, and a disk that is taken away takes
 * its counts along. */
static double grown(guint64 from, guint64 to)
{
    return to > from ? (double)(to - from) : 0;
}

static double seconds(const IdleSample *from, const IdleSample *to)
{
    return (double)(to->mono_ns - from->mono_ns) / (double)CLOCK_NS_PER_S;
}

static void take_cpu(const IdleSample *from, const IdleSample *to, double *ret_amount,
                     double *ret_divisor)
{
    *ret_divisor = grown(from->total_ticks, to->total_ticks);
    *ret_amount = MIN(grown(from->busy_ticks, to->busy_ticks), *ret_divisor);
}

static void take_queue(const IdleSample *from, const IdleSample *to, double *ret_amount,
                       double *ret_divisor)
{
    *ret_amount = grown(from->runnable, to->runnable);
    *ret_divisor = grown(from->looks, to->looks);
}

static void take_pressure(guint which, const IdleSample *from, const IdleSample *to,
                          double *ret_amount, double *ret_divisor)
{
    *ret_divisor = seconds(from, to) * 1e6;
    *ret_amount = MIN(grown(from->pressure_us[which], to->pressure_us[which]), *ret_divisor);
}

static void take_cpu_pressure(const IdleSample *from, const IdleSample *to, double *ret_amount,
                              double *ret_divisor)
{
    take_pressure(0, from, to, ret_amount, ret_divisor);
}

static void take_io_pressure(const IdleSample *from, const IdleSample *to, double *ret_amount,
                             double *ret_divisor)
{
    take_pressure(1, from, to, ret_amount, ret_divisor);
}

static void take_memory_pressure(const IdleSample *from, const IdleSample *to, double *ret_amount,
                                 double *ret_divisor)
{
    take_pressure(2, from, to, ret_amount, ret_divisor);
}

static void take_disk_busy(const IdleSample *from, const IdleSample *to, double *ret_amount,
                           double *ret_divisor)
{
    *ret_divisor = seconds(from, to) * 1e3;
    *ret_amount = MIN(grown(from->disk_ms, to->disk_ms), *ret_divisor);
}

static void take_disk_rate(const IdleSample *from, const IdleSample *to, double *ret_amount,
                           double *ret_divisor)
{
    *ret_amount = grown(from->disk_bytes, to->disk_bytes);
    *ret_divisor = seconds(from, to);
}

static void take_network_rate(const IdleSample *from, const IdleSample *to, double *ret_amount,
                              double *ret_divisor)
{
    *ret_amount = grown(from->network_bytes, to->network_bytes);
    *ret_divisor = seconds(from, to);
}

/* Not a counter: from is what to is compared with (idle_window_temperature()). */
static void take_temperature(const IdleSample *from, const IdleSample *to, double *ret_amount,
                             double *ret_divisor)
{
    *ret_amount = (double)(to->temperature_mc - from->temperature_mc);
    *ret_divisor = 1000;
}

/* The grains: two of the kernel's ticks, since one may fall upon anybody; one task seen once, since
 * a look is a moment; what a journal's fsync and some broadcasts amount to. */
const struct idle_signal idle_signals[IDLE_N_SIGNALS] = {
    [IDLE_CPU_BUSY] = {.name = "cpu-busy",
                       .title = "CPU busy",
                       .unit = IDLE_FRACTION,
                       .limit = offsetof(PlanIdle, cpu_busy),
                       .grain = 2,
                       .take = take_cpu},
    [IDLE_RUN_QUEUE] = {.name = "run-queue",
                        .title = "run queue",
                        .unit = IDLE_TASKS,
                        .limit = offsetof(PlanIdle, run_queue),
                        .grain = 1,
                        .take = take_queue},
    [IDLE_CPU_PRESSURE] = {.name = "cpu-pressure",
                           .title = "CPU pressure",
                           .unit = IDLE_FRACTION,
                           .limit = offsetof(PlanIdle, cpu_pressure),
                           .grain = 10e3,
                           .take = take_cpu_pressure},
    [IDLE_IO_PRESSURE] = {.name = "io-pressure",
                          .title = "I/O pressure",
                          .unit = IDLE_FRACTION,
                          .limit = offsetof(PlanIdle, io_pressure),
                          .grain = 20e3,
                          .take = take_io_pressure},
    [IDLE_MEMORY_PRESSURE] = {.name = "memory-pressure",
                              .title = "memory pressure",
                              .unit = IDLE_FRACTION,
                              .limit = offsetof(PlanIdle, memory_pressure),
                              .grain = 10e3,
                              .take = take_memory_pressure},
    [IDLE_DISK_BUSY] = {.name = "disk-busy",
                        .title = "disk busy",
                        .unit = IDLE_FRACTION,
                        .limit = offsetof(PlanIdle, disk_busy),
                        .grain = 20,
                        .take = take_disk_busy},
    [IDLE_DISK_RATE] = {.name = "disk-rate",
                        .title = "disk traffic",
                        .unit = IDLE_RATE,
                        .limit = offsetof(PlanIdle, disk_rate),
                        .grain = 256 << 10,
                        .take = take_disk_rate},
    [IDLE_NETWORK_RATE] = {.name = "network-rate",
                           .title = "network traffic",
                           .unit = IDLE_RATE,
                           .limit = offsetof(PlanIdle, network_rate),
                           .grain = 64 << 10,
                           .take = take_network_rate},
    [IDLE_TEMPERATURE] = {.name = "temperature",
                          .title = "temperature above the start's",
                          .unit = IDLE_KELVIN,
                          .limit = offsetof(PlanIdle, temperature_k),
                          .grain = 0,
                          .take = take_temperature},
};

double idle_value(IdleSignal signal, const IdleSample *from, const IdleSample *to)
{
    double amount, divisor;

    idle_signals[signal].take(from, to, &amount, &divisor);
    return divisor > 0 ? amount / divisor : 0;
}

double idle_limit(IdleSignal signal, const PlanIdle *limits)
{
    const char *member = (const char *)limits + idle_signals[signal].limit;

    return idle_signals[signal].unit == IDLE_RATE ? (double)*(const guint64 *)(gconstpointer)member
                                                  : *(const double *)(gconstpointer)member;
}

char *idle_format(IdleSignal signal, double value)
{
    g_autofree char *size = NULL;

    switch (idle_signals[signal].unit) {
    case IDLE_FRACTION:
        return g_strdup_printf(value < 0.0995 ? "%.1f %%" : "%.0f %%", value * 100);
    case IDLE_RATE:
        size = text_format_size((guint64)MAX(0, value));
        return g_strdup_printf("%s/s", size);
    case IDLE_TASKS:
        return g_strdup_printf("%.1f tasks", value);
    case IDLE_KELVIN:
        break;
    }
    return g_strdup_printf("%.1f K", value);
}

/* Over the limit by more than grain. */
static gboolean exceeds(IdleSignal signal, const PlanIdle *limits, const IdleSample *from,
                        const IdleSample *to, double grain)
{
    double amount, divisor;

    idle_signals[signal].take(from, to, &amount, &divisor);
    return divisor > 0 && amount > idle_limit(signal, limits) * divisor + grain;
}

/* ---- the window ---- */

struct IdleWindow {
    const PlanIdle *limits;
    GArray *samples;    /* IdleSample: as many as span settle_ns, and the last one */
    gint start_mc;      /* what temperatures are compared with */
    gboolean has_start; /* there is such a thing */
};

IdleWindow *idle_window_new(const PlanIdle *limits)
{
    IdleWindow *window = g_new0(IdleWindow, 1);

    window->limits = limits;
    window->samples = g_array_new(FALSE, FALSE, sizeof(IdleSample));
    return window;
}

void idle_window_free(IdleWindow *window)
{
    if (window == NULL)
        return;
    g_array_unref(window->samples);
    g_free(window);
}

void idle_window_temperature(IdleWindow *window, gint start_mc)
{
    window->start_mc = start_mc;
    window->has_start = TRUE;
}

/* Its temperature becomes the distance from the start's. */
static void append(IdleWindow *window, const IdleSample *sample)
{
    IdleSample copy = *sample;

    if (!window->has_start && (sample->has & 1U << IDLE_TEMPERATURE) != 0)
        idle_window_temperature(window, sample->temperature_mc);
    g_array_append_val(window->samples, copy);
}

void idle_window_begin(IdleWindow *window, const IdleSample *sample)
{
    g_array_set_size(window->samples, 0);
    append(window, sample);
}

static const IdleSample *sample_at(const IdleWindow *window, guint index)
{
    return &g_array_index(window->samples, IdleSample, index);
}

/* Drop from the front what is not needed to span settle_ns. */
static void forget(IdleWindow *window)
{
    const IdleSample *now = sample_at(window, window->samples->len - 1);
    guint old = 0;

    while (old + 2 < window->samples->len &&
           now->mono_ns - sample_at(window, old + 1)->mono_ns >= window->limits->settle_ns)
        old++;
    if (old > 0)
        g_array_remove_range(window->samples, 0, old);
}

/* One signal: *ret_blocked: the gate stays shut; *ret_loud: for what goes on now. */
static double judge_signal(const IdleWindow *window, IdleSignal signal, gboolean *ret_blocked,
                           gboolean *ret_loud)
{
    guint n = window->samples->len;
    const IdleSample *now = sample_at(window, n - 1);
    IdleSample first = *sample_at(window, 0), last = *sample_at(window, n - 2);
    double grain = idle_signals[signal].grain;
    gboolean slice, whole;

    first.temperature_mc = last.temperature_mc = window->start_mc;
    slice = exceeds(signal, window->limits, &last, now, grain);
    whole = exceeds(signal, window->limits, &first, now, grain);
    *ret_blocked = slice || whole;
    *ret_loud = slice || (whole && exceeds(signal, window->limits, &last, now, 0));
    return idle_value(signal, whole || !slice ? &first : &last, now);
}

static void judge(const IdleWindow *window, IdleVerdict *verdict, gboolean *ret_loud)
{
    guint n = window->samples->len;

    verdict->present = sample_at(window, n - 1)->has & sample_at(window, n - 2)->has;
    for (IdleSignal signal = 0; signal < IDLE_N_SIGNALS; signal++) {
        gboolean blocked, loud;

        if ((verdict->present & 1U << signal) == 0)
            continue;
        verdict->value[signal] = judge_signal(window, signal, &blocked, &loud);
        verdict->over |= (guint)blocked << signal;
        *ret_loud = *ret_loud || loud;
    }
}

IdleStep idle_window_add(IdleWindow *window, const IdleSample *sample, IdleVerdict *ret_verdict)
{
    IdleVerdict verdict = {0};
    gboolean loud = FALSE;

    append(window, sample);
    forget(window);
    judge(window, &verdict, &loud);
    *ret_verdict = verdict;
    if (loud)
        return IDLE_DISTURBED;
    return verdict.over == 0 &&
                   sample->mono_ns - sample_at(window, 0)->mono_ns >= window->limits->settle_ns
               ? IDLE_OPEN
               : IDLE_GO_ON;
}

char *idle_explain(const IdleVerdict *verdict, const PlanIdle *limits)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (IdleSignal signal = 0; signal < IDLE_N_SIGNALS; signal++) {
        g_autofree char *value = idle_format(signal, verdict->value[signal]);
        g_autofree char *limit = idle_format(signal, idle_limit(signal, limits));

        if ((verdict->over & 1U << signal) != 0)
            g_string_append_printf(text, "%s%s %s (%s allowed)", text->len > 0 ? ", " : "",
                                   idle_signals[signal].title, value, limit);
    }
    return text->len > 0 ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

void observer_cost(ObserverCost *ret_cost)
{
    struct rusage usage;
    struct timespec cpu;

    *ret_cost = (ObserverCost){0};
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
        ret_cost->cpu_ns = (gint64)cpu.tv_sec * CLOCK_NS_PER_S + cpu.tv_nsec;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        ret_cost->switches = usage.ru_nvcsw + usage.ru_nivcsw;
}
