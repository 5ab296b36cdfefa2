/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts: the operating system, the firmware, what the kernel is set to, and how it keeps time. */
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include "host/cgroup-mount.h"
#include "host/facts.h"
#include "host/tree.h"
#include "host/virtualisation.h"

static void add_os(GHashTable *facts, const char *root)
{
    g_autofree char *release = tree_read(root, "/etc/os-release");

    if (release == NULL)
        release = tree_read(root, "/usr/lib/os-release");
    if (release == NULL)
        return;
    fact_add(facts, "os.name", tree_field(release, "NAME", '='));
    fact_add(facts, "os.version", tree_field(release, "VERSION_ID", '='));
}

/* Settings of the kernel that people turn; each is a fact by its own name. */
static void add_sysctls(GHashTable *facts, const char *root)
{
    static const char *const names[] = {
        "kernel.randomize_va_space",
        "kernel.perf_event_paranoid",
        "kernel.nmi_watchdog",
        "kernel.soft_watchdog",
        "kernel.watchdog",
        "kernel.sched_autogroup_enabled",
        "kernel.sched_schedstats",
        "kernel.sched_rt_runtime_us",
        "kernel.timer_migration",
        "vm.swappiness",
        "vm.overcommit_memory",
        "vm.zone_reclaim_mode",
        "vm.dirty_ratio",
        "vm.dirty_background_ratio",
        "vm.stat_interval",
        "vm.compaction_proactiveness",
    };

    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_strconcat("/proc/sys/", names[i], NULL);
        g_autofree char *fact = g_strconcat("sysctl.", names[i], NULL);

        *strchr(path + strlen("/proc/sys/"), '.') = '/';
        fact_add(facts, fact, tree_read(root, path));
    }
}

static gboolean there(const char *root, const char *path)
{
    g_autofree char *full = g_strconcat(root, path, NULL);

    return access(full, F_OK) == 0;
}

/* A device tree's text ends with a NUL, which tree_read() stops at. */
static void add_firmware(GHashTable *facts, const char *root)
{
    static const FactFile files[] = {
        {"machine.vendor", "/sys/class/dmi/id/sys_vendor"},
        {"machine.model", "/proc/device-tree/model"},
        {"machine.model", "/sys/class/dmi/id/product_name"},
        {"machine.board", "/sys/class/dmi/id/board_name"},
        {"firmware.vendor", "/sys/class/dmi/id/bios_vendor"},
        {"firmware.version", "/sys/class/dmi/id/bios_version"},
        {"firmware.date", "/sys/class/dmi/id/bios_date"},
    };

    fact_add_files(facts, root, files, G_N_ELEMENTS(files));
    if (there(root, "/sys/firmware/efi"))
        fact_add(facts, "firmware.kind", g_strdup("UEFI"));
    else if (there(root, "/sys/class/dmi/id/bios_vendor"))
        fact_add(facts, "firmware.kind", g_strdup("BIOS"));
    else if (there(root, "/proc/device-tree"))
        fact_add(facts, "firmware.kind", g_strdup("device tree"));
}

/* The module is kvm_intel or kvm_amd; elsewhere KVM has no such parameter. */
static void add_kvm(GHashTable *facts, const char *root)
{
    static const FactFile files[] = {
        {"kvm.nested", "/sys/module/kvm_intel/parameters/nested"},
        {"kvm.nested", "/sys/module/kvm_amd/parameters/nested"},
        {"kvm.ept", "/sys/module/kvm_intel/parameters/ept"},
        {"kvm.npt", "/sys/module/kvm_amd/parameters/npt"},
        {"kvm.halt-poll-ns", "/sys/module/kvm/parameters/halt_poll_ns"},
    };
    g_autofree char *device = g_strconcat(root, "/dev/kvm", NULL);

    fact_add_files(facts, root, files, G_N_ELEMENTS(files));
    if (access(device, R_OK | W_OK) == 0)
        fact_add(facts, "kvm.device", g_strdup("usable"));
    else if (there(root, "/dev"))
        fact_add(facts, "kvm.device",
                 g_strdup(access(device, F_OK) == 0 ? "no permission" : "absent"));
    fact_add(facts, "virtualisation", g_strdup(virtualisation_detect(root)));
}

/* What the kernel counts, and where. */
static void add_accounting(GHashTable *facts, const char *root)
{
    g_autoptr(GPtrArray) pressure = fact_folder(root, "/proc/pressure");
    gboolean first = cgroup_mounted(root, 1), second = cgroup_mounted(root, 2);

    if (first || second)
        fact_add(facts, "cgroup.version",
                 g_strdup(first && second ? "1 and 2"
                          : first         ? "1"
                                          : "2"));
    fact_add(facts, "cgroup.controllers", tree_read(root, "/sys/fs/cgroup/cgroup.controllers"));
    g_ptr_array_add(pressure, NULL);
    fact_add(facts, "psi", g_strjoinv(",", (char **)pressure->pdata));
    if (there(root, "/proc/self/schedstat"))
        fact_add(facts, "schedstat", g_strdup("per task"));
}

/* The services leave these behind while they run. */
static void add_time(GHashTable *facts, const char *root)
{
    static const struct {
        const char *path, *service;
    } services[] = {
        {"/run/chrony", "chrony"},
        {"/run/systemd/timesync", "systemd-timesyncd"},
        {"/run/ntpd.pid", "ntpd"},
        {"/run/ntpsec", "ntpsec"},
    };
    struct timex clock = {0};

    for (gsize i = 0; i < G_N_ELEMENTS(services); i++)
        if (!g_hash_table_contains(facts, "time.service") && there(root, services[i].path))
            fact_add(facts, "time.service", g_strdup(services[i].service));
    /* modes 0: only looks. */
    if (*root == '\0' && adjtimex(&clock) >= 0)
        fact_add(facts, "time.synchronised",
                 g_strdup((clock.status & STA_UNSYNC) != 0 ? "no" : "yes"));
}

void facts_system(GHashTable *facts, const char *root)
{
    static const FactFile files[] = {
        {"host.boot-id", "/proc/sys/kernel/random/boot_id"},
        {"host.name", "/proc/sys/kernel/hostname"},
        {"kernel.release", "/proc/sys/kernel/osrelease"},
        {"kernel.version", "/proc/sys/kernel/version"},
        {"kernel.cmdline", "/proc/cmdline"},
        {"kernel.tainted", "/proc/sys/kernel/tainted"},
        {"kernel.lsm", "/sys/kernel/security/lsm"},
        {"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
        {"clocksource.available",
         "/sys/devices/system/clocksource/clocksource0/available_clocksource"},
        {"entropy.available", "/proc/sys/kernel/random/entropy_avail"},
        {"entropy.source", "/sys/class/misc/hw_random/rng_current"},
    };

    fact_add_files(facts, root, files, G_N_ELEMENTS(files));
    fact_add(facts, "kernel.lockdown", fact_choice(root, "/sys/kernel/security/lockdown"));
    add_os(facts, root);
    add_sysctls(facts, root);
    add_firmware(facts, root);
    add_kvm(facts, root);
    add_accounting(facts, root);
    add_time(facts, root);
}
