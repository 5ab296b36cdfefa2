/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/plan-idle.h"

#include <stddef.h>
#include <string.h>

#include "util/clock.h"

#define DAY_NS (86400 * CLOCK_NS_PER_S)
#define RATE_MAX (G_GUINT64_CONSTANT(1) << 50)

static const char *const on_timeout_names[] = {"fail", "run", NULL};
static const char *const on_presence_names[] = {"wait", "ignore", NULL};

#define IDLE_KEY(name, reader, member)                                                             \
    {                                                                                              \
        .key = (name), .read = (reader), .offset = offsetof(PlanIdle, member)                      \
    }
#define IDLE_BOUNDED(name, reader, member, most)                                                   \
    {                                                                                              \
        .key = (name), .read = (reader), .offset = offsetof(PlanIdle, member), .max = (most)       \
    }
#define IDLE_CHOICE(name, member, names)                                                           \
    {                                                                                              \
        .key = (name), .read = node_read_choice, .offset = offsetof(PlanIdle, member),             \
        .choices = (names)                                                                         \
    }

static const NodeField idle_fields[] = {
    IDLE_KEY("cpu-busy", node_read_percent, cpu_busy),
    IDLE_KEY("run-queue", node_read_count, run_queue),
    IDLE_KEY("cpu-pressure", node_read_percent, cpu_pressure),
    IDLE_KEY("io-pressure", node_read_percent, io_pressure),
    IDLE_KEY("memory-pressure", node_read_percent, memory_pressure),
    IDLE_KEY("disk-busy", node_read_percent, disk_busy),
    IDLE_BOUNDED("disk-rate", node_read_size, disk_rate, RATE_MAX),
    IDLE_BOUNDED("network-rate", node_read_size, network_rate, RATE_MAX),
    IDLE_KEY("temperature", node_read_kelvin, temperature_k),
    IDLE_CHOICE("guests", guests, on_presence_names),
    IDLE_CHOICE("chores", chores, on_presence_names),
    IDLE_BOUNDED("settle", node_read_duration, settle_ns, DAY_NS),
    IDLE_BOUNDED("wait", node_read_duration, wait_ns, 7 * DAY_NS),
    IDLE_CHOICE("on-timeout", on_timeout, on_timeout_names),
    {NULL},
};

void plan_idle_defaults(PlanIdle *idle)
{
    *idle = (PlanIdle){
        .gate = TRUE,
        .settle_ns = 10 * CLOCK_NS_PER_S,
        .wait_ns = 900 * CLOCK_NS_PER_S,
        .cpu_busy = 0.03,
        .run_queue = 0.5,
        .cpu_pressure = 0.05,
        .io_pressure = 0.05,
        .memory_pressure = 0.01,
        .disk_busy = 0.1,
        .disk_rate = G_GUINT64_CONSTANT(1) << 20,
        .network_rate = G_GUINT64_CONSTANT(256) << 10,
        .temperature_k = 10,
    };
}

gboolean plan_idle_read(const Node *value, const NodeField *field, gpointer member, GError **error)
{
    PlanIdle *idle = member;

    if (value->kind == NODE_MAP)
        return node_read_fields(value, field->key, idle_fields, idle, error);
    if (value->kind != NODE_SCALAR || strcmp(value->text, "off") != 0)
        return node_fail(value, error, "%s: must be a mapping, or off for no gate", field->key);
    idle->gate = FALSE;
    return TRUE;
}
