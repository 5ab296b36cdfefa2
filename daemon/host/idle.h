/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How quiet the host is: counters that are read now and then, and a verdict over two readings. The
 * verdict is pure; what waits for a good one is run/gate.h. */
#pragma once
#include <glib.h>

#include "model/plan-idle.h"

typedef enum {
    IDLE_CPU_BUSY,
    IDLE_RUN_QUEUE,
    IDLE_CPU_PRESSURE,
    IDLE_IO_PRESSURE,
    IDLE_MEMORY_PRESSURE,
    IDLE_DISK_BUSY,
    IDLE_DISK_RATE,
    IDLE_NETWORK_RATE,
    IDLE_TEMPERATURE,
    IDLE_N_SIGNALS
} IdleSignal;

/* Counters at one moment. has: bit 1 << IDLE_… for each signal that the machine can tell. */
typedef struct {
    gint64 mono_ns;
    guint has;
    guint64 busy_ticks;  /* user+nice+system+irq+softirq+steal of all CPUs */
    guint64 total_ticks; /* those, idle and iowait */
    guint64 runnable;    /* tasks that could run, without ourselves: summed up over all looks */
    guint64 looks;
    guint64 pressure_us[3]; /* cpu, io, memory: "some" */
    guint64 disk_ms;        /* whole disks had work, summed up over them */
    guint64 disk_bytes;     /* read and written */
    guint64 network_bytes;  /* received and sent, without loopback */
    gint temperature_mc;    /* of the hottest sensor of the CPUs, thousandths of a degree Celsius */
} IdleSample;

/* Read one below root ("" is the real one); what the machine does not have stays out of has. last:
 * the sample before, whose looks are gone on with; NULL for the first. FALSE when not even
 * /proc/stat can be read. Our own CPU time is left out of busy_ticks. */
gboolean idle_sample(const char *root, const IdleSample *last, IdleSample *ret_sample,
                     GError **error);

typedef enum { IDLE_FRACTION, IDLE_RATE, IDLE_TASKS, IDLE_KELVIN } IdleUnit;

/* One signal a row. Its value is amount / divisor of the span between two samples. */
struct idle_signal {
    const char *name;  /* the key in the plan */
    const char *title; /* for people */
    IdleUnit unit;
    gsize limit;  /* offset in PlanIdle; IDLE_RATE: guint64, else double */
    double grain; /* of the amount: so much more than allowed says nothing yet */
    void (*take)(const IdleSample *from, const IdleSample *to, double *ret_amount,
                 double *ret_divisor);
};

extern const struct idle_signal idle_signals[IDLE_N_SIGNALS];

/* Of one signal between two samples; 0 where a counter stepped back. Pure. */
double idle_value(IdleSignal signal, const IdleSample *from, const IdleSample *to);
double idle_limit(IdleSignal signal, const PlanIdle *limits);

/* "12 %", "3.4 MiB/s", "0.5 tasks", "4.0 K"; transfer full. */
char *idle_format(IdleSignal signal, double value);

/* What the last look made of the window. */
typedef enum {
    IDLE_OPEN,      /* quiet as long as it must be: now */
    IDLE_GO_ON,     /* quiet now, not long enough yet, or something loud is still in the window */
    IDLE_DISTURBED, /* not quiet now */
} IdleStep;

typedef struct {
    guint present;                /* bit mask of signals, as in IdleSample */
    guint over;                   /* over its limit, in the window or in its last slice */
    double value[IDLE_N_SIGNALS]; /* in the window; where only its last slice is over: in that */
} IdleVerdict;

/* The samples of the last settle_ns. The gate opens when every signal was within its limit in the
 * window as a whole, and in its last slice: a short burst that the mean can bear does not begin the
 * window anew, and nothing that goes on just now slips through. Grains apart. */
typedef struct IdleWindow IdleWindow;

/* limits must outlive it. */
IdleWindow *idle_window_new(const PlanIdle *limits);
void idle_window_free(IdleWindow *window); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IdleWindow, idle_window_free)

/* Forget all; it begins with sample. sample->temperature_mc of the very first is what later ones
 * are compared with, unless idle_window_temperature() says otherwise. */
void idle_window_begin(IdleWindow *window, const IdleSample *sample);
void idle_window_temperature(IdleWindow *window, gint start_mc);

/* One more sample. Pure. */
IdleStep idle_window_add(IdleWindow *window, const IdleSample *sample, IdleVerdict *ret_verdict);

/* "CPU busy 51 % (3.0 % allowed), disk rate …" of what is over; NULL when nothing is. Transfer
 * full. */
char *idle_explain(const IdleVerdict *verdict, const PlanIdle *limits);

/* Own CPU time and voluntary + involuntary context switches so far: the observer's cost. */
typedef struct {
    gint64 cpu_ns;
    gint64 switches;
} ObserverCost;

void observer_cost(ObserverCost *ret_cost);
