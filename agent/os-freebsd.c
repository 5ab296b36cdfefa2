/* SPDX-License-Identifier: GPL-3.0-or-later */
#if defined(__FreeBSD__)
#include <sys/types.h>
#include <sys/param.h>
#include <sys/cpuset.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/procctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <net/if.h>
#include <errno.h>
#include <inttypes.h>
#include <kenv.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os.h"
#include "os-posix.h"

const char *const os_name = "freebsd";

/* --- sysctl --- */

/* A number of any width; fallback where there is none of that name. */
static uint64_t sysctl_number(const char *name, uint64_t fallback)
{
    union {
        uint64_t wide;
        uint32_t narrow;
    } value = {0};
    size_t size = sizeof(value);

    if (sysctlbyname(name, &value, &size, NULL, 0) != 0)
        return fallback;
    return size == sizeof(value.narrow) ? value.narrow : value.wide;
}

static void sysctl_text(const char *name, char *ret_text, size_t size)
{
    size_t room = size - 1;

    if (sysctlbyname(name, ret_text, &room, NULL, 0) != 0)
        room = 0;
    ret_text[room] = '\0';
}

static void add_sysctl(struct facts *facts, const char *key, const char *name)
{
    char text[1024];

    sysctl_text(name, text, sizeof(text));
    facts_add(facts, key, text);
}

/* --- clock: there is no raw one; ntpd's correction of the frequency is in this one --- */

const char *os_clock_name(void)
{
    return "CLOCK_MONOTONIC";
}

int64_t os_clock_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* --- CPUs --- */

int os_cpus(int *ret_cpus, int max)
{
    cpuset_t set;
    int count = 0;

    if (cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_TID, -1, sizeof(set), &set) == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (!CPU_ISSET(cpu, &set))
                continue;
            if (count < max)
                ret_cpus[count] = cpu;
            count++;
        }
    }
    if (count == 0 && max > 0)
        ret_cpus[0] = 0;
    return count > 0 ? count : 1;
}

bool os_pin(int cpu)
{
    cpuset_t set;

    if (cpu < 0 || cpu >= CPU_SETSIZE)
        return false;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return cpuset_setaffinity(CPU_LEVEL_WHICH, CPU_WHICH_TID, -1, sizeof(set), &set) == 0;
}

/* --- memory --- */

uint64_t os_memory_available(void)
{
    uint64_t pages = sysctl_number("vm.stats.vm.v_free_count", 0) +
                     sysctl_number("vm.stats.vm.v_inactive_count", 0);

    return pages * (uint64_t)getpagesize();
}

/* --- kernel work --- */

void os_null_syscall(void)
{
    syscall(SYS_getppid);
}

void os_die_with(pid_t parent)
{
    int number = SIGKILL;

    procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &number);
    if (getppid() != parent)
        _exit(1);
}

bool os_loopback_up(char *reason)
{
    struct ifreq request = {.ifr_name = "lo0"};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;

    if (up && !(request.ifr_flags & IFF_UP)) {
        request.ifr_flags |= IFF_UP;
        up = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    }
    if (!up)
        snprintf(reason, OS_REASON_MAX,
                 "the loopback interface is down and cannot be brought up: %s: run `ifconfig lo0 "
                 "127.0.0.1 up` as root",
                 strerror(errno));
    if (fd >= 0)
        close(fd);
    return up;
}

/* --- files --- */

void os_file_system(const char *path, char *ret_name, size_t size, bool *ret_memory)
{
    struct statfs info;

    ret_name[0] = '\0';
    *ret_memory = false;
    if (statfs(path, &info) != 0)
        return;
    snprintf(ret_name, size, "%s", info.f_fstypename);
    *ret_memory = strcmp(ret_name, "tmpfs") == 0;
}

/* --- what may spoil an invocation --- */

/* kern.cp_time: user nice system interrupt idle, in ticks of the statistics clock. */
static int64_t busy_ns(void)
{
    struct clockinfo clock = {0};
    long ticks[CPUSTATES];
    size_t size = sizeof(ticks), clock_size = sizeof(clock);
    int64_t busy = 0;

    if (sysctlbyname("kern.cp_time", ticks, &size, NULL, 0) != 0 || size != sizeof(ticks) ||
        sysctlbyname("kern.clockrate", &clock, &clock_size, NULL, 0) != 0 || clock.stathz <= 0)
        return -1;
    for (int i = 0; i < CPUSTATES; i++)
        busy += i == CP_IDLE ? 0 : ticks[i];
    return busy * (1000000000 / clock.stathz);
}

void os_watch_read(struct os_watch *ret_watch)
{
    *ret_watch = (struct os_watch){
        .steal_ns = -1, /* the kernel does not account for it */
        .busy_ns = busy_ns(),
        .swapped_in_pages = (int64_t)sysctl_number("vm.stats.vm.v_swappgsin", 0),
        .switches = (int64_t)sysctl_number("vm.stats.sys.v_swtch", (uint64_t)-1),
    };
    sysctl_text("kern.timecounter.hardware", ret_watch->clocksource,
                sizeof(ret_watch->clocksource));
}

/* --- facts --- */

/* A variable of the kernel's environment: where the loader puts what the firmware tells. */
static void add_kenv(struct facts *facts, const char *key, const char *name)
{
    char text[KENV_MVALLEN + 1] = "";

    if (kenv(KENV_GET, name, text, KENV_MVALLEN) > 0)
        facts_add(facts, key, text);
}

static void machine_facts(struct facts *facts)
{
    add_kenv(facts, "machine.vendor", "smbios.system.maker");
    add_kenv(facts, "machine.product", "smbios.system.product");
    add_kenv(facts, "machine.product-version", "smbios.system.version");
    add_kenv(facts, "machine.firmware", "smbios.bios.vendor");
    add_kenv(facts, "machine.firmware-version", "smbios.bios.version");
    add_sysctl(facts, "disk.names", "kern.disks");
}

void os_facts(struct facts *facts)
{
    struct utsname name;
    struct timespec uptime;

    if (uname(&name) == 0) {
        facts_add(facts, "os.kernel", name.release);
        facts_add(facts, "os.kernel-build", name.version);
        facts_add(facts, "os.machine", name.machine);
    }
    if (clock_gettime(CLOCK_UPTIME, &uptime) == 0)
        facts_addf(facts, "os.uptime", "%jd", (intmax_t)uptime.tv_sec);
    add_sysctl(facts, "cpu.model", "hw.model");
    add_sysctl(facts, "cpu.hypervisor-kind", "kern.vm_guest");
    facts_addf(facts, "cpu.online", "%" PRIu64, sysctl_number("hw.ncpu", 1));
    facts_addf(facts, "cpu.cores", "%" PRIu64, sysctl_number("kern.smp.cores", 1));
    facts_addf(facts, "cpu.threads-per-core", "%" PRIu64,
               sysctl_number("kern.smp.threads_per_core", 1));
    facts_addf(facts, "memory.total", "%" PRIu64, sysctl_number("hw.physmem", 0));
    facts_addf(facts, "memory.available", "%" PRIu64, os_memory_available());
    add_sysctl(facts, "clock.source", "kern.timecounter.hardware");
    add_sysctl(facts, "clock.available", "kern.timecounter.choice");
    if (sysctl_number("kern.hz", 0) > 0)
        facts_addf(facts, "clock.timer-hz", "%" PRIu64, sysctl_number("kern.hz", 0));
    machine_facts(facts);
}
#else
typedef int os_freebsd_is_empty_here;
#endif
