/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a plan under "idle:": how quiet the host must be before a run. */
#pragma once
#include <glib.h>

#include "model/node.h"

typedef enum { ON_TIMEOUT_FAIL, ON_TIMEOUT_RUN } OnTimeout;       /* run and flag */
typedef enum { ON_PRESENCE_WAIT, ON_PRESENCE_IGNORE } OnPresence; /* wait until it has ended */

typedef struct {
    gboolean gate;          /* idle: off gives FALSE */
    gint64 settle_ns;       /* the window that all limits below are for; default 10 s */
    gint64 wait_ns;         /* default 15 m */
    OnTimeout on_timeout;   /* default: fail */
    double cpu_busy;        /* fraction of all CPUs, 0..1; default 0.03 */
    double run_queue;       /* runnable tasks, mean; default 0.5 */
    double cpu_pressure;    /* fraction of the time, PSI "some"; default 0.05 */
    double io_pressure;     /* the same; default 0.05 */
    double memory_pressure; /* the same; default 0.01 */
    double disk_busy;       /* fraction of the time that whole disks had work; default 0.1 */
    guint64 disk_rate;      /* bytes a second read and written; default 1 MiB */
    guint64 network_rate;   /* bytes a second received and sent; default 256 KiB */
    double temperature_k;   /* above the campaign's start; default 10 */
    OnPresence guests;      /* other guests on this host; default: wait */
    OnPresence chores;      /* package managers, backups, upkeep; default: wait */
} PlanIdle;

/* What holds where a plan says nothing. */
void plan_idle_defaults(PlanIdle *idle);

/* A NodeReader; member: a PlanIdle. "off", or a mapping. */
gboolean plan_idle_read(const Node *value, const NodeField *field, gpointer member, GError **error);
