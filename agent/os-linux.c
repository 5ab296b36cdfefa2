/* SPDX-License-Identifier: GPL-3.0-or-later */
#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_SET, syscall */
#endif
#include "os.h"
#include "os-posix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define CPU_FOLDER "/sys/devices/system/cpu/"
#define CLOCK_FOLDER "/sys/devices/system/clocksource/clocksource0/"

const char *const os_name = "linux";

/* --- small files of /proc and /sys, which may all be missing --- */

/* The beginning of a file, "" if it cannot be read; trailing white space is cut. */
static void read_text(const char *path, char *ret_text, size_t size)
{
    int fd = open(path, O_RDONLY);
    size_t used = 0;
    ssize_t got = 1;

    while (fd >= 0 && got > 0 && used + 1 < size) {
        got = read(fd, ret_text + used, size - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    while (used > 0 && strchr(" \n\t", ret_text[used - 1]) != NULL)
        used--;
    ret_text[used] = '\0';
}

static void add_file(struct facts *facts, const char *key, const char *path)
{
    char text[4096];

    read_text(path, text, sizeof(text));
    facts_add(facts, key, text);
}

/* What follows `key` and separators on the first line that begins with it; NULL: none does. The
 * text is cut there. */
static char *line_value(char *text, const char *key, const char *separators)
{
    size_t length = strlen(key);

    for (char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] != '\0' &&
            strchr(separators, line[length]) != NULL) {
            char *value = line + length + strspn(line + length, separators);
            value[strcspn(value, "\n")] = '\0';
            return value;
        }
    }
    return NULL;
}

/* --- clock --- */

const char *os_clock_name(void)
{
    return "CLOCK_MONOTONIC_RAW";
}

int64_t os_clock_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* --- CPUs --- */

int os_cpus(int *ret_cpus, int max)
{
    size_t size = CPU_ALLOC_SIZE(OS_CPUS_MAX);
    cpu_set_t *set = CPU_ALLOC(OS_CPUS_MAX);
    int count = 0;

    if (set != NULL && sched_getaffinity(0, size, set) == 0) {
        for (int cpu = 0; cpu < OS_CPUS_MAX; cpu++) {
            if (!CPU_ISSET_S((size_t)cpu, size, set))
                continue;
            if (count < max)
                ret_cpus[count] = cpu;
            count++;
        }
    }
    CPU_FREE(set);
    if (count == 0 && max > 0)
        ret_cpus[0] = 0;
    return count > 0 ? count : 1;
}

bool os_pin(int cpu)
{
    size_t size = CPU_ALLOC_SIZE(OS_CPUS_MAX);
    cpu_set_t *set;
    bool pinned;

    if (cpu < 0 || cpu >= OS_CPUS_MAX || (set = CPU_ALLOC(OS_CPUS_MAX)) == NULL)
        return false;
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)cpu, size, set);
    pinned = sched_setaffinity(0, size, set) == 0;
    CPU_FREE(set);
    return pinned;
}

/* --- memory --- */

static bool read_number(const char *folder, const char *group, const char *file,
                        uint64_t *ret_number)
{
    char path[1024], text[64], *end;

    if ((size_t)snprintf(path, sizeof(path), "%s%s/%s", folder, group, file) >= sizeof(path))
        return false;
    read_text(path, text, sizeof(text));
    *ret_number = strtoull(text, &end, 10);
    return end != text;
}

/* What the control group that we are in leaves us, as on bare; UINT64_MAX without a limit. */
static uint64_t group_memory_left(void)
{
    static const struct {
        const char *key, *folder, *limit, *used;
    } kinds[] = {
        {":memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
        {"0::", "/sys/fs/cgroup", "memory.max", "memory.current"},
        {"0::", "/sys/fs/cgroup/unified", "memory.max", "memory.current"},
    };
    uint64_t left = UINT64_MAX, limit, used;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        char text[4096], *group;

        /* "4:memory:/PATH", "0::/PATH" */
        read_text("/proc/self/cgroup", text, sizeof(text));
        group = strstr(text, kinds[i].key);
        group = group != NULL ? strchr(group + 1, '/') : NULL;
        if (group == NULL)
            continue;
        group[strcspn(group, "\n")] = '\0';
        if (!read_number(kinds[i].folder, group, kinds[i].limit, &limit) ||
            !read_number(kinds[i].folder, group, kinds[i].used, &used))
            continue;
        limit = limit > used ? limit - used : 0;
        left = limit < left ? limit : left;
    }
    return left;
}

uint64_t os_memory_available(void)
{
    char text[4096], *value;
    struct sysinfo info;
    uint64_t left = group_memory_left(), host = 0;

    read_text("/proc/meminfo", text, sizeof(text));
    value = line_value(text, "MemAvailable", ": ");
    if (value != NULL)
        host = strtoull(value, NULL, 10) * 1024;
    else if (sysinfo(&info) == 0)
        host = (uint64_t)info.freeram * info.mem_unit;
    return host < left ? host : left;
}

/* --- kernel work --- */

void os_null_syscall(void)
{
    syscall(SYS_getppid);
}

void os_die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

bool os_loopback_up(char *reason)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;

    if (up && !(request.ifr_flags & IFF_UP)) {
        request.ifr_flags |= IFF_UP;
        up = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    }
    if (!up)
        snprintf(reason, OS_REASON_MAX,
                 "the loopback interface is down and cannot be brought up: %s: run `ip link set lo "
                 "up` as root",
                 strerror(errno));
    if (fd >= 0)
        close(fd);
    return up;
}

/* --- files --- */

/* From statfs(2) and the kernel's magic.h. */
static const struct {
    uint32_t magic;
    const char *name;
    bool memory;
} file_systems[] = {
    {0x01021994, "tmpfs", true},  {0x858458f6, "ramfs", true},     {0x794c7630, "overlayfs", false},
    {0x0000ef53, "ext4", false},  {0x58465342, "xfs", false},      {0x9123683e, "btrfs", false},
    {0xf2f52010, "f2fs", false},  {0x2fc12fc1, "zfs", false},      {0x00006969, "nfs", false},
    {0xff534d42, "cifs", false},  {0x01021997, "9p", false},       {0x65735546, "fuse", false},
    {0x00004d44, "vfat", false},  {0x2011bab0, "exfat", false},    {0x73717368, "squashfs", false},
    {0xe0f5e1e2, "erofs", false}, {0x786f4256, "vboxsf", false},   {0x00009660, "iso9660", false},
    {0x3153464a, "jfs", false},   {0xca451a4e, "bcachefs", false},
};

void os_file_system(const char *path, char *ret_name, size_t size, bool *ret_memory)
{
    struct statfs info;
    uint32_t magic;

    ret_name[0] = '\0';
    *ret_memory = false;
    if (statfs(path, &info) < 0)
        return;
    magic = (uint32_t)info.f_type;
    snprintf(ret_name, size, "0x%" PRIx32, magic);
    for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++) {
        if (file_systems[i].magic == magic) {
            snprintf(ret_name, size, "%s", file_systems[i].name);
            *ret_memory = file_systems[i].memory;
        }
    }
}

/* --- what may spoil an invocation --- */

/* The first line of /proc/stat, in ticks; proc(5): user nice system idle iowait irq softirq steal
 * (guest time is part of user). */
static void read_cpu_times(char *text, struct os_watch *ret_watch)
{
    enum { IDLE = 3, IOWAIT = 4, STEAL = 7, FIELDS };
    int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK), busy = 0, ticks;
    char *at = text + strcspn(text, " "), *end;

    for (int i = 0; i < FIELDS; i++, at = end) {
        ticks = strtoll(at, &end, 10);
        if (end == at)
            return;
        busy += i == IDLE || i == IOWAIT || i == STEAL ? 0 : ticks;
    }
    ret_watch->busy_ns = busy * tick_ns;
    ret_watch->steal_ns = ticks * tick_ns;
}

void os_watch_read(struct os_watch *ret_watch)
{
    static char text[65536]; /* the line of the interrupts comes first, and is long */
    char *value;

    *ret_watch =
        (struct os_watch){.steal_ns = -1, .busy_ns = -1, .swapped_in_pages = -1, .switches = -1};
    read_text(CLOCK_FOLDER "current_clocksource", ret_watch->clocksource,
              sizeof(ret_watch->clocksource));
    read_text("/proc/stat", text, sizeof(text));
    read_cpu_times(text, ret_watch);
    value = line_value(text, "ctxt", " ");
    ret_watch->switches = value == NULL ? -1 : strtoll(value, NULL, 10);
    read_text("/proc/vmstat", text, sizeof(text));
    value = line_value(text, "pswpin", " ");
    ret_watch->swapped_in_pages = value == NULL ? -1 : strtoll(value, NULL, 10);
}

/* --- facts --- */

static void system_facts(struct facts *facts)
{
    struct utsname name;
    struct sysinfo info;
    char text[4096], *value;

    if (uname(&name) == 0) {
        facts_add(facts, "os.kernel", name.release);
        facts_add(facts, "os.kernel-build", name.version);
        facts_add(facts, "os.machine", name.machine);
    }
    read_text("/etc/os-release", text, sizeof(text));
    value = line_value(text, "PRETTY_NAME", "=\"");
    if (value != NULL) {
        value[strcspn(value, "\"")] = '\0';
        facts_add(facts, "os.distribution", value);
    }
    add_file(facts, "os.boot-id", "/proc/sys/kernel/random/boot_id");
    add_file(facts, "os.cmdline", "/proc/cmdline");
    if (sysinfo(&info) == 0) {
        facts_addf(facts, "os.uptime", "%ld", (long)info.uptime);
        facts_addf(facts, "memory.total", "%" PRIu64, (uint64_t)info.totalram * info.mem_unit);
        facts_addf(facts, "memory.swap", "%" PRIu64, (uint64_t)info.totalswap * info.mem_unit);
    }
    facts_addf(facts, "memory.available", "%" PRIu64, os_memory_available());
    add_file(facts, "memory.transparent-huge-pages", "/sys/kernel/mm/transparent_hugepage/enabled");
}

/* "model name" as x86 and others say it; "Features" as Arm says "flags". */
static void cpuinfo_facts(struct facts *facts)
{
    static const struct {
        const char *line, *key;
    } wanted[] = {
        {"model name", "cpu.model"}, {"flags", "cpu.flags"},         {"Features", "cpu.flags"},
        {"cpu MHz", "cpu.mhz"},      {"microcode", "cpu.microcode"}, {"vendor_id", "cpu.vendor"},
    };
    char text[8192], copy[8192], *value;

    read_text("/proc/cpuinfo", text, sizeof(text));
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        memcpy(copy, text, sizeof(text));
        value = line_value(copy, wanted[i].line, "\t: ");
        facts_add(facts, wanted[i].key, value);
    }
}

/* A topology number of a CPU; -1: not known. */
static long topology(int cpu, const char *what)
{
    char path[128], text[32];

    snprintf(path, sizeof(path), CPU_FOLDER "cpu%d/topology/%s", cpu, what);
    read_text(path, text, sizeof(text));
    return text[0] == '\0' ? -1 : strtol(text, NULL, 10);
}

/* Sockets and cores of the CPUs this process may use. */
static void topology_facts(struct facts *facts)
{
    int cpus[OS_CPUS_MAX], count = os_cpus(cpus, OS_CPUS_MAX), sockets = 0, cores = 0;
    long *socket = calloc((size_t)count, sizeof(long)), *core = calloc((size_t)count, sizeof(long));

    for (int i = 0; socket != NULL && core != NULL && i < count; i++) {
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

static void cache_facts(struct facts *facts)
{
    for (int i = 0; i < 5; i++) {
        char path[128], level[16], type[16], size[16], key[64];

        snprintf(path, sizeof(path), CPU_FOLDER "cpu0/cache/index%d/level", i);
        read_text(path, level, sizeof(level));
        snprintf(path, sizeof(path), CPU_FOLDER "cpu0/cache/index%d/type", i);
        read_text(path, type, sizeof(type));
        snprintf(path, sizeof(path), CPU_FOLDER "cpu0/cache/index%d/size", i);
        read_text(path, size, sizeof(size));
        snprintf(key, sizeof(key), "cpu.cache.l%s%s", level,
                 strcmp(type, "Data") == 0          ? "d"
                 : strcmp(type, "Instruction") == 0 ? "i"
                                                    : "");
        facts_add(facts, key, size);
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

void os_facts(struct facts *facts)
{
    system_facts(facts);
    cpuinfo_facts(facts);
    topology_facts(facts);
    cache_facts(facts);
    add_file(facts, "cpu.online", CPU_FOLDER "online");
    add_file(facts, "cpu.governor", CPU_FOLDER "cpu0/cpufreq/scaling_governor");
    add_file(facts, "cpu.smt", CPU_FOLDER "smt/control");
    vulnerability_facts(facts);
    add_file(facts, "clock.source", CLOCK_FOLDER "current_clocksource");
    add_file(facts, "clock.available", CLOCK_FOLDER "available_clocksource");
}
#else
typedef int os_linux_is_empty_here;
#endif
