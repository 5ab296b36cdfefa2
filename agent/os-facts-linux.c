/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts of Linux, from files of /proc and /sys. Each may be missing, and is then no fact. */
#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* struct sysinfo */
#endif
#include "os-linux.h"
#include "os.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define CPU_FOLDER "/sys/devices/system/cpu/"
#define DEVICES_MAX 64 /* of a kind: more disks or interfaces than that are not listed */

static void add_file(struct facts *facts, const char *key, const char *path)
{
    char text[4096];

    linux_read_text(path, text, sizeof(text));
    facts_add(facts, key, text);
}

/* The name that a symbolic link ends with; "": there is none. */
static void read_link_name(const char *path, char *ret_name, size_t size)
{
    char target[512];
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    const char *slash;

    target[length > 0 ? length : 0] = '\0';
    slash = strrchr(target, '/');
    snprintf(ret_name, size, "%.*s", (int)size - 1, slash == NULL ? target : slash + 1);
}

/* --- the system --- */

static void system_facts(struct facts *facts)
{
    struct utsname name;
    char text[4096], *value;

    if (uname(&name) == 0) {
        facts_add(facts, "os.kernel", name.release);
        facts_add(facts, "os.kernel-build", name.version);
        facts_add(facts, "os.machine", name.machine);
    }
    linux_read_text("/etc/os-release", text, sizeof(text));
    value = linux_line_value(text, "PRETTY_NAME", "=\"");
    if (value != NULL) {
        value[strcspn(value, "\"")] = '\0';
        facts_add(facts, "os.distribution", value);
    }
    add_file(facts, "os.boot-id", "/proc/sys/kernel/random/boot_id");
    add_file(facts, "os.cmdline", "/proc/cmdline");
    add_file(facts, "os.load", "/proc/loadavg");
}

static void memory_facts(struct facts *facts)
{
    struct sysinfo info;

    if (sysinfo(&info) == 0) {
        facts_addf(facts, "os.uptime", "%ld", (long)info.uptime);
        facts_addf(facts, "memory.total", "%" PRIu64, (uint64_t)info.totalram * info.mem_unit);
        facts_addf(facts, "memory.swap", "%" PRIu64, (uint64_t)info.totalswap * info.mem_unit);
    }
    facts_addf(facts, "memory.available", "%" PRIu64, os_memory_available());
    facts_addf(facts, "memory.page", "%ld", sysconf(_SC_PAGESIZE));
    add_file(facts, "memory.transparent-huge-pages", "/sys/kernel/mm/transparent_hugepage/enabled");
}

/* What the machine says it is: of a guest, its hypervisor's emulated board. */
static void machine_facts(struct facts *facts)
{
    add_file(facts, "machine.vendor", "/sys/class/dmi/id/sys_vendor");
    add_file(facts, "machine.product", "/sys/class/dmi/id/product_name");
    add_file(facts, "machine.product-version", "/sys/class/dmi/id/product_version");
    add_file(facts, "machine.firmware", "/sys/class/dmi/id/bios_vendor");
    add_file(facts, "machine.firmware-version", "/sys/class/dmi/id/bios_version");
    add_file(facts, "machine.product", "/proc/device-tree/model");
    add_file(facts, "cpu.hypervisor-kind", "/sys/hypervisor/type");
    add_file(facts, "cpu.hypervisor-vendor", "/proc/device-tree/hypervisor/compatible");
}

/* The coarse clock steps with the timer interrupt, whose frequency nothing else tells everybody. */
static void clock_facts(struct facts *facts)
{
    struct timespec step;

    if (clock_getres(CLOCK_MONOTONIC_COARSE, &step) == 0 && step.tv_sec == 0 && step.tv_nsec > 0)
        facts_addf(facts, "clock.timer-hz", "%ld", (1000000000 + step.tv_nsec / 2) / step.tv_nsec);
    if (clock_getres(CLOCK_MONOTONIC, &step) == 0)
        facts_addf(facts, "clock.resolution-ns", "%ld",
                   (long)step.tv_sec * 1000000000 + step.tv_nsec);
    add_file(facts, "clock.source", LINUX_CLOCK_FOLDER "current_clocksource");
    add_file(facts, "clock.available", LINUX_CLOCK_FOLDER "available_clocksource");
}

/* --- CPUs --- */

/* "model name" as x86 and others say it; "Features" as Arm says "flags". */
static void cpuinfo_facts(struct facts *facts)
{
    static const struct {
        const char *line, *key;
    } wanted[] = {
        {"model name", "cpu.model"},    {"flags", "cpu.flags"},
        {"Features", "cpu.flags"},      {"cpu MHz", "cpu.mhz"},
        {"microcode", "cpu.microcode"}, {"vendor_id", "cpu.vendor"},
        {"CPU part", "cpu.part"},       {"CPU implementer", "cpu.vendor"},
    };
    char text[8192], copy[8192], *value;

    linux_read_text("/proc/cpuinfo", text, sizeof(text));
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        memcpy(copy, text, sizeof(text));
        value = linux_line_value(copy, wanted[i].line, "\t: ");
        facts_add(facts, wanted[i].key, value);
    }
}

/* A topology number of a CPU; -1: not known. */
static long topology(int cpu, const char *what)
{
    char path[128], text[32];

    snprintf(path, sizeof(path), CPU_FOLDER "cpu%d/topology/%s", cpu, what);
    linux_read_text(path, text, sizeof(text));
    return text[0] == '\0' ? -1 : strtol(text, NULL, 10);
}

/* Sockets and cores of the CPUs this process may use. */
static void topology_facts(struct facts *facts)
{
    int cpus[OS_CPUS_MAX], count = os_cpus(cpus, OS_CPUS_MAX), sockets = 0, cores = 0;
    long *socket = calloc((size_t)count, sizeof(long)), *core = calloc((size_t)count, sizeof(long));

    for (int i = 0; socket != NULL && core != NULL && i < count && i < OS_CPUS_MAX; i++) {
        bool new_socket = true, new_core = true;

        socket[i] = topology(cpus[i], "physical_package_id");
        core[i] = topology(cpus[i], "core_id");
        for (int j = 0; j < i; j++) {
            new_socket &= socket[j] != socket[i];
            new_core &= socket[j] != socket[i] || core[j] != core[i];
        }
        sockets += new_socket;
        cores += new_core;
    }
    if (socket != NULL && core != NULL && core[0] >= 0) {
        facts_addf(facts, "cpu.sockets", "%d", sockets);
        facts_addf(facts, "cpu.cores", "%d", cores);
        facts_addf(facts, "cpu.threads-per-core", "%d", count / cores);
    }
    free(socket);
    free(core);
}

static void read_cache(int index, const char *what, char *ret_text, size_t size)
{
    char path[128];

    snprintf(path, sizeof(path), CPU_FOLDER "cpu0/cache/index%d/%s", index, what);
    linux_read_text(path, ret_text, size);
}

static void cache_facts(struct facts *facts)
{
    for (int i = 0; i < 8; i++) {
        char level[16], type[16], size[16], shared[64], key[64];

        read_cache(i, "level", level, sizeof(level));
        read_cache(i, "type", type, sizeof(type));
        read_cache(i, "size", size, sizeof(size));
        read_cache(i, "shared_cpu_list", shared, sizeof(shared));
        if (level[0] == '\0')
            return;
        snprintf(key, sizeof(key), "cpu.cache.l%s%s", level,
                 strcmp(type, "Data") == 0          ? "d"
                 : strcmp(type, "Instruction") == 0 ? "i"
                                                    : "");
        facts_add(facts, key, size);
        snprintf(key + strlen(key), sizeof(key) - strlen(key), ".cpus");
        facts_add(facts, key, shared);
    }
}

static void vulnerability_facts(struct facts *facts)
{
    DIR *folder = opendir(CPU_FOLDER "vulnerabilities");
    struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[512], key[300];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), CPU_FOLDER "vulnerabilities/%s", entry->d_name);
        snprintf(key, sizeof(key), "cpu.vulnerability.%s", entry->d_name);
        add_file(facts, key, path);
    }
    if (folder != NULL)
        closedir(folder);
}

static void cpu_facts(struct facts *facts)
{
    cpuinfo_facts(facts);
    topology_facts(facts);
    cache_facts(facts);
    add_file(facts, "cpu.online", CPU_FOLDER "online");
    add_file(facts, "cpu.present", CPU_FOLDER "present");
    add_file(facts, "cpu.governor", CPU_FOLDER "cpu0/cpufreq/scaling_governor");
    add_file(facts, "cpu.smt", CPU_FOLDER "smt/control");
    vulnerability_facts(facts);
}

/* --- disks and network interfaces --- */

/* Calls add for each entry of a folder; it says whether that was one. */
static void each_device(struct facts *facts, const char *folder_path,
                        bool (*add)(struct facts *facts, const char *name))
{
    DIR *folder = opendir(folder_path);
    struct dirent *entry;

    for (int n = 0; folder != NULL && n < DEVICES_MAX && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, "loop", 4) == 0 ||
            strncmp(entry->d_name, "ram", 3) == 0 || strcmp(entry->d_name, "lo") == 0)
            continue;
        n += add(facts, entry->d_name);
    }
    if (folder != NULL)
        closedir(folder);
}

struct device_file {
    const char *what, *file; /* the fact; below the device's folder in /sys */
};

static void add_device_files(struct facts *facts, const char *family, const char *folder,
                             const char *name, const struct device_file *files, size_t count)
{
    char path[512], text[256];

    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s/%s", folder, name, files[i].file);
        linux_read_text(path, text, sizeof(text));
        if (text[0] != '-') /* the speed of what has none is -1 */
            facts_add_of(facts, family, name, files[i].what, text);
    }
    snprintf(path, sizeof(path), "%s/%s/device/driver", folder, name);
    read_link_name(path, text, sizeof(text));
    facts_add_of(facts, family, name, "driver", text);
}

/* The size in /sys is in sectors of 512 bytes, whatever the disk's own are. */
static bool disk_facts(struct facts *facts, const char *name)
{
    static const struct device_file files[] = {
        {"model", "device/model"},
        {"vendor", "device/vendor"},
        {"rotational", "queue/rotational"},
        {"scheduler", "queue/scheduler"},
        {"write-cache", "queue/write_cache"},
        {"block", "queue/physical_block_size"},
        {"read-only", "ro"},
    };
    char path[512], text[32];
    uint64_t sectors;

    snprintf(path, sizeof(path), "/sys/block/%s/size", name);
    linux_read_text(path, text, sizeof(text));
    sectors = strtoull(text, NULL, 10);
    if (sectors == 0)
        return false; /* a drive without a medium, a device that is not set up */
    snprintf(text, sizeof(text), "%" PRIu64, sectors * 512);
    facts_add_of(facts, "disk", name, "size", text);
    add_device_files(facts, "disk", "/sys/block", name, files, sizeof(files) / sizeof(files[0]));
    return true;
}

/* The model is told by the numbers of its maker and of the device, as the bus has them. */
static bool interface_facts(struct facts *facts, const char *name)
{
    static const struct device_file files[] = {
        {"vendor", "device/vendor"}, {"model", "device/device"}, {"mtu", "mtu"},
        {"speed", "speed"},          {"state", "operstate"},
    };

    add_device_files(facts, "net", "/sys/class/net", name, files, sizeof(files) / sizeof(files[0]));
    return true;
}

/* --- other processes --- */

#define TASKS_NAMED 6
#define NAME_SIZE 17

struct task {
    uint64_t ticks; /* of CPU time since it started */
    char name[NAME_SIZE];
};

/* proc(5): "PID (NAME) STATE PPID …", user and system time being the 14th and 15th. */
static bool read_task(const char *pid, struct task *ret_task)
{
    enum { USER_TIME = 14, STATE = 3 };
    char path[300], text[1024], *name, *at;
    size_t length;

    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    linux_read_text(path, text, sizeof(text));
    name = strchr(text, '(');
    at = strrchr(text, ')'); /* a name may have parentheses of its own */
    if (name == NULL || at == NULL || at < name)
        return false;
    length = (size_t)(at - name - 1);
    snprintf(ret_task->name, NAME_SIZE, "%.*s", (int)length, name + 1);
    at++;
    for (int field = STATE; field < USER_TIME && at != NULL; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return false;
    ret_task->ticks = strtoull(at, &at, 10);
    ret_task->ticks += strtoull(at, NULL, 10);
    return true;
}

/* Keeps the greediest, in that order. */
static void rank(struct task *greediest, const struct task *task)
{
    int at = TASKS_NAMED;

    while (at > 0 && task->ticks > greediest[at - 1].ticks)
        at--;
    if (at == TASKS_NAMED)
        return;
    memmove(greediest + at + 1, greediest + at, (size_t)(TASKS_NAMED - 1 - at) * sizeof(*task));
    greediest[at] = *task;
}

static void task_facts(struct facts *facts)
{
    struct task greediest[TASKS_NAMED] = {0}, task;
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    char text[TASKS_NAMED * (NAME_SIZE + 24)] = "";
    long hz = sysconf(_SC_CLK_TCK), self = getpid();
    int count = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        long pid = strtol(entry->d_name, NULL, 10);

        if (pid <= 0 || pid == self || !read_task(entry->d_name, &task))
            continue;
        rank(greediest, &task);
        count++;
    }
    if (folder != NULL)
        closedir(folder);
    for (int i = 0; i < TASKS_NAMED && greediest[i].ticks > 0 && hz > 0; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s=%" PRIu64 ".%02" PRIu64,
                 i > 0 ? " " : "", greediest[i].name, greediest[i].ticks / (uint64_t)hz,
                 greediest[i].ticks % (uint64_t)hz * 100 / (uint64_t)hz);
    if (count > 0)
        facts_addf(facts, "processes.others", "%d", count);
    facts_add(facts, "processes.cpu-seconds", text);
}

void os_facts(struct facts *facts)
{
    system_facts(facts);
    memory_facts(facts);
    machine_facts(facts);
    cpu_facts(facts);
    clock_facts(facts);
    each_device(facts, "/sys/block", disk_facts);
    each_device(facts, "/sys/class/net", interface_facts);
    task_facts(facts);
}
#else
typedef int os_facts_linux_is_empty_here;
#endif
