/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a plan means. What is refused, and where, is tested on files by test-files.py. */
#include <glib.h>
#include <string.h>

#include "model/plan.h"
#include "model/workload.h"
#include "util/error.h"

#define S G_GINT64_CONSTANT(1000000000)

static Plan *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    Plan *plan = plan_parse("p.yaml", text, -1, &error);

    g_assert_no_error(error);
    g_assert_nonnull(plan);
    return plan;
}

static const PlanLevel *level_of(const Plan *plan, const char *axis, guint level)
{
    const PlanAxis *found = g_ptr_array_index(plan->axes, (guint)plan_axis_index(plan, axis));

    return g_ptr_array_index(found->levels, level);
}

static void test_defaults(void)
{
    g_autoptr(Plan) plan =
        parse("version: 1\nplan: p\naxes: {hypervisor: [bare]}\nworkloads: [ops]\n");

    g_assert_cmpstr(plan->name, ==, "p");
    g_assert_cmpuint(plan->memory, ==, 0);
    g_assert_null(plan->baseline);
    g_assert_cmpuint(plan->exclude->len + plan->include->len, ==, 0);
    g_assert_cmpuint(plan->repeat.boots, ==, 3);
    g_assert_cmpint(plan->repeat.boot_per, ==, BOOT_PER_CELL);
    g_assert_cmpuint(plan->repeat.invocations, ==, 1);
    g_assert_cmpuint(plan->repeat.samples, ==, 11);
    g_assert_cmpuint(plan->repeat.warmup, ==, 1);
    g_assert_cmpint(plan->repeat.sample_ns, ==, 0);
    g_assert_cmpuint(plan->seed, ==, 1);
    g_assert_cmpint(plan->cache.host, ==, CACHE_LEAVE);
    g_assert_cmpfloat(plan->idle.cpu_busy, ==, 0.03);
    g_assert_cmpfloat(plan->idle.run_queue, ==, 0.5);
    g_assert_cmpfloat(plan->idle.memory_pressure, ==, 0.01);
    g_assert_cmpuint(plan->idle.disk_rate, ==, 1048576);
    g_assert_cmpuint(plan->idle.network_rate, ==, 262144);
    g_assert_cmpfloat(plan->idle.temperature_k, ==, 10);
    g_assert_cmpint(plan->idle.guests, ==, ON_PRESENCE_WAIT);
    g_assert_cmpint(plan->idle.chores, ==, ON_PRESENCE_WAIT);
    g_assert_cmpint(plan->idle.settle_ns, ==, 10 * S);
    g_assert_cmpint(plan->idle.wait_ns, ==, 900 * S);
    g_assert_true(plan->idle.gate);
    g_assert_cmpint(plan->limits.boot_ns, ==, 180 * S);
    g_assert_cmpint(plan->limits.invocation_ns, ==, 1800 * S);
    g_assert_cmpuint(plan->limits.attempts, ==, 3);
    g_assert_cmpint(plan->limits.stop_by_minute, ==, -1);
    g_assert_cmpfloat(plan->limits.drift_ppm, ==, 500);
}

static const char full[] =
    "version: 1\n"
    "plan: all\n"
    "workloads: [ops, mem-latency]\n"
    "limits: {boot: 1m, invocation: 2h, attempts: 5, stop-by: 07:00, drift: 0.5ppm}\n"
    "idle: {cpu-busy: 2.5%, settle: 0s, wait: 1m, on-timeout: run, run-queue: 0.25, cpu-pressure: "
    "4%, io-pressure: 5.5%, memory-pressure: 0%, disk-busy: 20%, disk-rate: 3kB, network-rate: 2B, "
    "temperature: 2.5K, guests: ignore, chores: ignore}\n"
    "cache: {host: cold, guest: warm}\n"
    "order: {seed: 18446744073709551615}\n"
    "repeat: {boots: 5, boot-per: workload, invocations: 2, samples: 7, warmup: 0, sample-time: "
    "100ms}\n"
    "baseline: {hypervisor: bare}\n"
    "include:\n  - {vcpus: 2, hypervisor: kvm}\n"
    "exclude:\n  - {vcpus: 2}\n"
    "memory: 512MB\n"
    "axes:\n"
    "  vcpus: [2, 1]\n"
    "  hypervisor: [bare, kvm]\n"
    "  disk-cache:\n"
    "    none: {domain: {devices/disk/driver/@cache: none, devices/disk/driver/@io: native}}\n"
    "    off: {cmdline: \"\"}\n";

/* axes stand last in the file: what names them is read after them all the same. */
static void test_all_fields(void)
{
    g_autoptr(Plan) plan = parse(full);

    g_assert_cmpuint(plan->memory, ==, 512000000);
    g_assert_cmpuint(plan->repeat.boots, ==, 5);
    g_assert_cmpint(plan->repeat.boot_per, ==, BOOT_PER_WORKLOAD);
    g_assert_cmpuint(plan->repeat.invocations, ==, 2);
    g_assert_cmpuint(plan->repeat.samples, ==, 7);
    g_assert_cmpuint(plan->repeat.warmup, ==, 0);
    g_assert_cmpint(plan->repeat.sample_ns, ==, S / 10);
    g_assert_cmpuint(plan->seed, ==, G_MAXUINT64);
    g_assert_cmpint(plan->cache.host, ==, CACHE_COLD);
    g_assert_cmpint(plan->cache.guest, ==, CACHE_WARM);
    g_assert_cmpfloat_with_epsilon(plan->idle.cpu_busy, 0.025, 1e-12);
    g_assert_cmpfloat(plan->idle.run_queue, ==, 0.25);
    g_assert_cmpfloat_with_epsilon(plan->idle.cpu_pressure, 0.04, 1e-12);
    g_assert_cmpfloat_with_epsilon(plan->idle.io_pressure, 0.055, 1e-12);
    g_assert_cmpfloat(plan->idle.memory_pressure, ==, 0);
    g_assert_cmpfloat_with_epsilon(plan->idle.disk_busy, 0.2, 1e-12);
    g_assert_cmpuint(plan->idle.disk_rate, ==, 3000);
    g_assert_cmpuint(plan->idle.network_rate, ==, 2);
    g_assert_cmpfloat(plan->idle.temperature_k, ==, 2.5);
    g_assert_cmpint(plan->idle.guests, ==, ON_PRESENCE_IGNORE);
    g_assert_cmpint(plan->idle.chores, ==, ON_PRESENCE_IGNORE);
    g_assert_cmpint(plan->idle.settle_ns, ==, 0);
    g_assert_cmpint(plan->idle.wait_ns, ==, 60 * S);
    g_assert_cmpint(plan->idle.on_timeout, ==, ON_TIMEOUT_RUN);
    g_assert_cmpint(plan->limits.boot_ns, ==, 60 * S);
    g_assert_cmpint(plan->limits.invocation_ns, ==, 7200 * S);
    g_assert_cmpuint(plan->limits.attempts, ==, 5);
    g_assert_cmpint(plan->limits.stop_by_minute, ==, 420);
    g_assert_cmpfloat(plan->limits.drift_ppm, ==, 0.5);
    g_assert_cmpstr(g_ptr_array_index(plan->workloads, 1), ==, "mem-latency");
    g_assert_cmpuint(g_array_index(plan->workload_lines, NodePlace, 1).line, ==, 3);
    g_assert_cmpuint(g_array_index(plan->workload_lines, NodePlace, 1).column, ==, 18);
}

static void test_axes(void)
{
    g_autoptr(Plan) plan = parse(full);
    const PlanLevel *none = level_of(plan, "disk-cache", 0), *off = level_of(plan, "disk-cache", 1);
    const DomainEdit *edit = g_ptr_array_index(none->edits, 1);

    g_assert_cmpint(plan_axis_index(plan, "disk-cache"), ==, 0);
    g_assert_cmpint(plan_axis_index(plan, "hypervisor"), ==, 1);
    g_assert_cmpint(plan_axis_index(plan, "vcpus"), ==, 2);
    g_assert_cmpint(plan_axis_index(plan, "guest"), ==, -1);
    g_assert_cmpstr(level_of(plan, "vcpus", 0)->name, ==, "2"); /* levels as written */
    g_assert_cmpuint(level_of(plan, "vcpus", 0)->number, ==, 2);
    g_assert_cmpuint(none->edits->len, ==, 2);
    g_assert_cmpstr(edit->xpath, ==, "devices/disk/driver/@io");
    g_assert_cmpstr(edit->value, ==, "native");
    g_assert_null(none->cmdline);
    g_assert_cmpstr(off->name, ==, "off");
    g_assert_cmpstr(off->cmdline, ==, "");
    g_assert_cmpuint(off->edits->len, ==, 0);
    g_assert_cmpuint(off->line, ==, 20);
    g_assert_cmpuint(off->column, ==, 5);
}

static void test_idle_off(void)
{
    g_autoptr(Plan) plan = parse("version: 1\nplan: p\naxes: {hypervisor: [bare]}\n"
                                 "workloads: [ops]\nidle: off\n");

    g_assert_false(plan->idle.gate);
}

static void test_text_and_digest(void)
{
    static const char text[] = "\xef\xbb\xbf"
                               "version: 1\r\nplan: p\r\naxes: {hypervisor: [bare]}\r\n"
                               "workloads: [ops]\r\n";
    g_autoptr(Plan) plan = parse(text);
    g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);

    g_assert_cmpstr(plan->text, ==, text); /* as it was, byte for byte */
    g_assert_cmpstr(plan->digest, ==, digest);
    g_assert_cmpstr(plan->path, ==, "p.yaml");
}

static const char site[] = "version: 1\n"
                           "hypervisors:\n"
                           "  kvm: {driver: qemu, uri: q, accelerator: kvm}\n"
                           "  vbox: {driver: vbox, uri: v}\n"
                           "guests:\n"
                           "  disk: {disk: d, key: k}\n"
                           "  kernel: {kernel: l, key: k}\n";

/* plan_check() of a plan with these axes and what follows; NULL when it passes. */
static char *check(const char *axes, const char *rest)
{
    g_autofree char *text =
        g_strdup_printf("version: 1\nplan: p\nworkloads: [ops]\naxes: %s\n%s", axes, rest);
    g_autoptr(Plan) plan = parse(text);
    g_autoptr(GError) error = NULL;
    g_autoptr(Inventory) inventory = inventory_parse("i.yaml", site, -1, &error);

    g_assert_no_error(error);
    if (plan_check(plan, inventory, &error))
        return NULL;
    g_assert_true(vm_error_is(error, VM_ERROR_INVALID));
    g_assert_true(g_str_has_prefix(error->message, "p.yaml:"));
    return g_strdup(error->message);
}

static void assert_passes(const char *axes, const char *rest)
{
    g_autofree char *message = check(axes, rest);

    g_assert_cmpstr(message, ==, NULL);
}

static void assert_says(const char *axes, const char *rest, const char *part)
{
    g_autofree char *message = check(axes, rest);

    g_assert_nonnull(message);
    g_test_message("%s", message);
    g_assert_nonnull(strstr(message, part));
}

static void test_check_names(void)
{
    assert_passes("{hypervisor: [bare]}", "");
    assert_passes("{hypervisor: [bare, kvm, vbox], guest: [disk]}", "");
    assert_says("{hypervisor: [kvn], guest: [disk]}", "", "did you mean \"kvm\"?");
    assert_says("{hypervisor: [kvm], guest: [dsk]}", "", "did you mean \"disk\"?");
    assert_says("{hypervisor: [bare, kvm]}", "", "\"kvm\" needs a guest");
}

static void test_check_bootable(void)
{
    assert_passes("{hypervisor: [bare, kvm], guest: [kernel]}", "");
    assert_says("{hypervisor: [kvm, vbox], guest: [disk, kernel]}", "",
                "add {hypervisor: vbox, guest: kernel} to exclude");
    assert_passes("{hypervisor: [kvm, vbox], guest: [disk, kernel]}",
                  "exclude:\n  - {hypervisor: vbox, guest: kernel}\n");
    /* Taken away only together. */
    assert_passes("{hypervisor: [kvm, vbox], guest: [disk, kernel], vcpus: [1, 2]}",
                  "exclude:\n  - {hypervisor: vbox, vcpus: 1}\n"
                  "  - {guest: kernel, vcpus: 2}\n");
    /* … and brought back by include. */
    assert_says("{hypervisor: [kvm, vbox], guest: [disk, kernel], vcpus: [1, 2]}",
                "exclude:\n  - {hypervisor: vbox, guest: kernel}\n"
                "include:\n  - {hypervisor: vbox, vcpus: 2}\n",
                "boots disks only");
}

static void test_check_effects(void)
{
    static const char cmdline[] = "{hypervisor: [kvm], guest: [disk, kernel], "
                                  "m: {\"on\": {cmdline: \"\"}, \"off\": {cmdline: m=off}}}";
    static const char edits[] = "{hypervisor: [bare, kvm], guest: [disk], "
                                "c: {a: {domain: {x/@y: z}}, b: {cmdline: \"\"}}}";

    assert_says(cmdline, "", "cmdline cannot take effect in guest \"disk\"");
    assert_passes(cmdline, "exclude:\n  - {m: \"off\", guest: disk}\n");
    assert_says(edits, "", "domain edits cannot take effect on hypervisor \"bare\"");
    assert_passes(edits, "exclude:\n  - {c: a, hypervisor: bare}\n");
    /* An effect of the level bare itself. */
    assert_says("{hypervisor: {bare: {cmdline: quiet}}}", "", "cannot take effect");
    assert_passes("{hypervisor: {bare: {}, kvm: {domain: {x/@y: z}}}, guest: [disk]}", "");
}

static void test_copies(void)
{
    static const char *const labels[] = {"ops",           "ops:copies=2",
                                         "ops:copies=4",  "ops:threads=3",
                                         "syscalls.null", "syscalls.null:copies=2"};
    g_autoptr(Plan) plan = parse("version: 1\nplan: p\naxes: {hypervisor: [bare]}\n"
                                 "workloads:\n  - ops\n  - {workload: ops, copies: [2, 4]}\n"
                                 "  - {workload: ops, threads: 3}\n"
                                 "  - {workload: syscalls.null, copies: [1, 2]}\n");

    g_assert_cmpuint(plan->workloads->len, ==, G_N_ELEMENTS(labels));
    for (guint i = 0; i < G_N_ELEMENTS(labels); i++)
        g_assert_cmpstr(g_ptr_array_index(plan->workloads, i), ==, labels[i]);
    g_assert_cmpuint(g_array_index(plan->workload_lines, NodePlace, 2).line, ==, 6);
}

static void test_labels(void)
{
    static const struct {
        const char *label, *name;
        guint copies, threads;
    } good[] = {
        {"ops", "ops", 1, 1},
        {"ops.int32-add:copies=2", "ops.int32-add", 2, 1},
        {"ops:threads=256", "ops", 1, 256},
    };
    static const char *const bad[] = {
        "",        ":copies=2",      "ops:",         "ops:copies", "ops:copies=1", "ops:copies=257",
        "ops:x=2", "ops:copies=2:x", "ops:copies=-2"};

    for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
        g_auto(Workload) workload = {0};

        g_assert_true(workload_parse(good[i].label, &workload));
        g_assert_cmpstr(workload.name, ==, good[i].name);
        g_assert_cmpuint(workload.copies, ==, good[i].copies);
        g_assert_cmpuint(workload.threads, ==, good[i].threads);
    }
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_auto(Workload) workload = {0};

        g_assert_false(workload_parse(bad[i], &workload));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/defaults", test_defaults);
    g_test_add_func("/plan/all-fields", test_all_fields);
    g_test_add_func("/plan/axes", test_axes);
    g_test_add_func("/plan/idle-off", test_idle_off);
    g_test_add_func("/plan/text-and-digest", test_text_and_digest);
    g_test_add_func("/plan/check-names", test_check_names);
    g_test_add_func("/plan/check-bootable", test_check_bootable);
    g_test_add_func("/plan/check-effects", test_check_effects);
    g_test_add_func("/plan/copies", test_copies);
    g_test_add_func("/plan/labels", test_labels);
    return g_test_run();
}
