/* SPDX-License-Identifier: GPL-3.0-or-later */
#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_SET, syscall */
#endif
#include "os.h"
#include "os-linux.h"
#include "os-posix.h"

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
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

const char *const os_name = "linux";

/* --- small files of /proc and /sys, which may all be missing --- */

/* The kernel gives such a file a page at a time, in whole lines: less than half a page is its end,
 * and needs no second read. There are hundreds of them, and each call costs an emulated guest. */
#define LINUX_END_BELOW 2048

void linux_read_text(const char *path, char *ret_text, size_t size)
{
    int fd = open(path, O_RDONLY);
    size_t used = 0;
    ssize_t got = LINUX_END_BELOW;

    while (fd >= 0 && got >= LINUX_END_BELOW && used + 1 < size) {
        got = read(fd, ret_text + used, size - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    while (used > 0 && strchr(" \n\t", ret_text[used - 1]) != NULL)
        used--;
    ret_text[used] = '\0';
}

char *linux_line_value(char *text, const char *key, const char *separators)
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
    cpu_set_t set[OS_CPUS_MAX / CPU_SETSIZE]; /* no malloc: a helper pins itself too */

    if (cpu < 0 || cpu >= OS_CPUS_MAX)
        return false;
    CPU_ZERO_S(sizeof(set), set);
    CPU_SET_S((size_t)cpu, sizeof(set), set);
    return sched_setaffinity(0, sizeof(set), set) == 0;
}

/* --- memory --- */

static bool read_number(const char *folder, const char *group, const char *file,
                        uint64_t *ret_number)
{
    char path[1024], text[64], *end;

    if ((size_t)snprintf(path, sizeof(path), "%s%s/%s", folder, group, file) >= sizeof(path))
        return false;
    linux_read_text(path, text, sizeof(text));
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
        linux_read_text("/proc/self/cgroup", text, sizeof(text));
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

    linux_read_text("/proc/meminfo", text, sizeof(text));
    value = linux_line_value(text, "MemAvailable", ": ");
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
    linux_read_text(LINUX_CLOCK_FOLDER "current_clocksource", ret_watch->clocksource,
                    sizeof(ret_watch->clocksource));
    linux_read_text("/proc/stat", text, sizeof(text));
    read_cpu_times(text, ret_watch);
    value = linux_line_value(text, "ctxt", " ");
    ret_watch->switches = value == NULL ? -1 : strtoll(value, NULL, 10);
    linux_read_text("/proc/vmstat", text, sizeof(text));
    value = linux_line_value(text, "pswpin", " ");
    ret_watch->swapped_in_pages = value == NULL ? -1 : strtoll(value, NULL, 10);
}
#else
typedef int os_linux_is_empty_here;
#endif
