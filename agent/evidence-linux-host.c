/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters of the whole host and of its CPUs: files of /proc and /sys. */
#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "evidence-linux.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ONE_READ 4096 /* a file of /proc that is not longer is given whole by one read */
#define WHOLE_START 65536
#define WHOLE_MAX (16 << 20) /* /proc/interrupts of a very big machine */

/* --- files --- */

int evidence_folder(const char *root, const char *path)
{
    char full[2 * OS_PATH_MAX];

    snprintf(full, sizeof(full), "%s%s", root, path);
    return open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

ptrdiff_t evidence_text(int folder, const char *path, char *ret_text, size_t size)
{
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got = 1;

    ret_text[0] = '\0';
    if (fd < 0)
        return -1;
    while (got > 0 && used + 1 < size && (size > ONE_READ || used == 0)) {
        got = read(fd, ret_text + used, size - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    ret_text[used] = '\0';
    return got < 0 && used == 0 ? -1 : (ptrdiff_t)used;
}

/* A whole file of any size; NULL: it cannot be read. */
static char *whole(const char *root, const char *path)
{
    int folder = evidence_folder(root, "/");
    size_t size = WHOLE_START;
    char *text = NULL;

    while (folder >= 0 && size <= WHOLE_MAX) {
        char *grown = realloc(text, size);
        ptrdiff_t got = grown == NULL ? -1 : evidence_text(folder, path, grown, size);

        text = grown == NULL ? text : grown;
        if (got >= 0 && (size_t)got + 1 < size) {
            close(folder);
            return text;
        }
        if (got < 0)
            break;
        size *= 4;
    }
    if (folder >= 0)
        close(folder);
    free(text);
    return NULL;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');

    return end == NULL ? line + strlen(line) : end + 1;
}

static int64_t take_number(const char **at)
{
    char *end;
    int64_t number = strtoll(*at, &end, 10);

    *at = end;
    return number;
}

int64_t evidence_line_number(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = text; *line != '\0'; line = next_line(line)) {
        if (strncmp(line, key, length) == 0) {
            const char *at = line + length + strspn(line + length, ": \t");

            return *at >= '0' && *at <= '9' ? strtoll(at, NULL, 10) : EVIDENCE_ABSENT;
        }
    }
    return EVIDENCE_ABSENT;
}

static int64_t file_number(const char *root, const char *format, int number)
{
    char path[2 * OS_PATH_MAX], text[64], *end;
    size_t used = (size_t)snprintf(path, OS_PATH_MAX + 1, "%s", root);
    int64_t value;

    if (used > OS_PATH_MAX)
        return EVIDENCE_ABSENT;
    snprintf(path + used, sizeof(path) - used, format, number);
    if (evidence_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return EVIDENCE_ABSENT;
    value = strtoll(text, &end, 10);
    return end == text ? EVIDENCE_ABSENT : value;
}

/* --- CPUs --- */

/* proc(5): user nice system idle iowait irq softirq steal; guest time is part of user. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };

static void read_cpu_line(const char *at, struct evidence_host *host)
{
    int64_t ticks[FIELDS] = {0}, tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    int64_t cpu = take_number(&at);

    if (cpu < 0 || cpu >= OS_CPUS_MAX)
        return;
    for (int i = 0; i < FIELDS && *at == ' '; i++)
        ticks[i] = take_number(&at);
    host->cpus[cpu] = (struct evidence_cpu){
        .online = true,
        .idle_ns = (ticks[IDLE] + ticks[IOWAIT]) * tick_ns,
        .work_ns =
            (ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] + ticks[SOFTIRQ]) * tick_ns,
        .steal_ns = ticks[STEAL] * tick_ns,
        .irq_ns = ticks[IRQ] * tick_ns,
        .softirq_ns = ticks[SOFTIRQ] * tick_ns,
    };
}

void evidence_host_cpus(const char *root, struct evidence_host *ret_host)
{
    char *text = whole(root, "proc/stat");

    memset(ret_host->cpus, 0, sizeof(ret_host->cpus));
    for (const char *line = text; line != NULL && strncmp(line, "cpu", 3) == 0;
         line = next_line(line))
        if (line[3] >= '0' && line[3] <= '9')
            read_cpu_line(line + 3, ret_host);
    free(text);
}

/* --- interrupts --- */

/* Which columns of a table are of wanted CPUs, from its first line; returns how many there are. */
static int wanted_columns(const char *header, const struct evidence_cpus *wanted, bool *ret_is)
{
    int columns = 0;

    for (const char *at = header; (at = strstr(at, "CPU")) != NULL && columns < OS_CPUS_MAX;) {
        int64_t cpu;

        at += strlen("CPU");
        cpu = take_number(&at);

        ret_is[columns++] = cpu >= 0 && cpu < OS_CPUS_MAX && evidence_cpus_have(wanted, (int)cpu);
    }
    return columns;
}

/* Of "LABEL: n n n text"; a line with less numbers than there are CPUs (ERR:) is of none. */
static int64_t row_sum(const char *line, int columns, const bool *is_wanted)
{
    const char *at = strchr(line, ':');
    int64_t sum = 0;

    if (at == NULL)
        return 0;
    at++;
    for (int i = 0; i < columns; i++) {
        int64_t value;

        at += strspn(at, " ");
        if (*at < '0' || *at > '9')
            return 0;
        value = take_number(&at);
        sum += is_wanted[i] ? value : 0;
    }
    return sum;
}

static int64_t table_sum(const char *root, const char *path, const struct evidence_cpus *wanted)
{
    static bool is_wanted[OS_CPUS_MAX];
    char *text = whole(root, path), *rows = text == NULL ? NULL : strchr(text, '\n');
    int64_t sum = 0;
    int columns;

    if (rows == NULL) {
        free(text);
        return EVIDENCE_ABSENT;
    }
    *rows++ = '\0';
    columns = wanted_columns(text, wanted, is_wanted);
    for (char *line = rows, *end; columns > 0 && (end = strchr(line, '\n')) != NULL;
         line = end + 1) {
        *end = '\0';
        sum += row_sum(line, columns, is_wanted);
    }
    free(text);
    return columns > 0 ? sum : EVIDENCE_ABSENT;
}

/* --- pressure, memory --- */

static void read_pressure(const char *root, struct evidence_host *host)
{
    static const struct {
        const char *path, *line;
    } files[EVIDENCE_PRESSURES] = {
        [EVIDENCE_CPU_SOME] = {"/proc/pressure/cpu", "some"},
        [EVIDENCE_IO_SOME] = {"/proc/pressure/io", "some"},
        [EVIDENCE_IO_FULL] = {"/proc/pressure/io", "full"},
        [EVIDENCE_MEMORY_SOME] = {"/proc/pressure/memory", "some"},
        [EVIDENCE_MEMORY_FULL] = {"/proc/pressure/memory", "full"},
    };
    char path[2 * OS_PATH_MAX], text[512], *line, *total;

    for (int i = 0; i < EVIDENCE_PRESSURES; i++) {
        host->pressure_ns[i] = EVIDENCE_ABSENT;
        snprintf(path, sizeof(path), "%s%s", root, files[i].path);
        if (evidence_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
            continue;
        line = strstr(text, files[i].line);
        total = line == NULL ? NULL : strstr(line, "total=");
        if (total != NULL) /* in microseconds */
            host->pressure_ns[i] = strtoll(total + strlen("total="), NULL, 10) * 1000;
    }
}

static void read_vm(const char *root, struct evidence_host *host)
{
    char *text = whole(root, "proc/vmstat"), key[32];

    for (int i = 0; i < EVIDENCE_VMS; i++) {
        snprintf(key, sizeof(key), "%s ", evidence_vm_names[i]);
        host->vm[i] = text == NULL ? EVIDENCE_ABSENT : evidence_line_number(text, key);
    }
    free(text);
}

/* --- heat and frequency --- */

static void add_count(int64_t *sum, int64_t value)
{
    if (value >= 0)
        *sum = (*sum < 0 ? 0 : *sum) + value;
}

/* Each core counts for itself; the CPUs of a package all show the package's. */
static void read_throttle(const char *root, const struct evidence_cpus *wanted,
                          struct evidence_host *host)
{
    int64_t package;

    host->core_throttle = host->package_throttle = EVIDENCE_ABSENT;
    for (int cpu = 0; cpu < OS_CPUS_MAX; cpu++) {
        if (!host->cpus[cpu].online || !evidence_cpus_have(wanted, cpu))
            continue;
#define THROTTLE "/sys/devices/system/cpu/cpu%d/thermal_throttle/"
        add_count(&host->core_throttle, file_number(root, THROTTLE "core_throttle_count", cpu));
        package = file_number(root, THROTTLE "package_throttle_count", cpu);
        if (package > host->package_throttle)
            host->package_throttle = package;
    }
}

static void see_frequency(struct evidence_host *host, int64_t khz)
{
    if (khz <= 0)
        return;
    if (host->min_khz < 0 || khz < host->min_khz)
        host->min_khz = khz;
    if (khz > host->max_khz)
        host->max_khz = khz;
}

/* What the CPU says in /proc/cpuinfo, where nothing steers the frequency. */
static void read_cpuinfo(const char *root, const struct evidence_cpus *wanted,
                         struct evidence_host *host)
{
    char *text = whole(root, "proc/cpuinfo");
    long cpu = -1;

    for (const char *line = text; line != NULL && *line != '\0'; line = next_line(line)) {
        const char *value = strpbrk(line, ":\n");

        if (value == NULL || *value == '\n')
            continue;
        if (strncmp(line, "processor", 9) == 0)
            cpu = strtol(value + 1, NULL, 10);
        if (strncmp(line, "cpu MHz", 7) == 0 && cpu >= 0 && cpu < OS_CPUS_MAX &&
            evidence_cpus_have(wanted, (int)cpu))
            see_frequency(host, (int64_t)(strtod(value + 1, NULL) * 1000 + 0.5));
    }
    free(text);
}

static void read_frequency(const char *root, const struct evidence_cpus *wanted,
                           struct evidence_host *host)
{
    host->min_khz = host->max_khz = EVIDENCE_ABSENT;
    for (int cpu = 0; cpu < OS_CPUS_MAX; cpu++)
        if (host->cpus[cpu].online && evidence_cpus_have(wanted, cpu))
            see_frequency(
                host,
                file_number(root, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu));
    if (host->max_khz < 0)
        read_cpuinfo(root, wanted, host);
}

static void see_temperature(struct evidence_host *host, const char *folder, const char *file)
{
    char path[3 * OS_PATH_MAX], text[32];

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    if (evidence_text(AT_FDCWD, path, text, sizeof(text)) > 0 &&
        strtoll(text, NULL, 10) > host->max_mc)
        host->max_mc = strtoll(text, NULL, 10);
}

/* Drivers of the CPU's own sensors: a disk's, or a fan's, says nothing of the CPU. */
static bool is_cpu_sensor(const char *folder)
{
    static const char *const drivers[] = {"coretemp\n", "k10temp\n", "zenpower\n", "cpu_thermal\n"};
    char path[3 * OS_PATH_MAX], text[64];

    snprintf(path, sizeof(path), "%s/name", folder);
    if (evidence_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return false;
    for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
        if (strcmp(text, drivers[i]) == 0)
            return true;
    return false;
}

static void see_sensors(struct evidence_host *host, const char *folder)
{
    DIR *open_folder = is_cpu_sensor(folder) ? opendir(folder) : NULL;
    struct dirent *entry;

    while (open_folder != NULL && (entry = readdir(open_folder)) != NULL)
        if (strncmp(entry->d_name, "temp", 4) == 0 && strstr(entry->d_name, "_input") != NULL)
            see_temperature(host, folder, entry->d_name);
    if (open_folder != NULL)
        closedir(open_folder);
}

static void read_temperature_of(const char *root, const char *class, bool zones,
                                struct evidence_host *host)
{
    char path[OS_PATH_MAX * 2], folder[OS_PATH_MAX * 2 + 300];
    struct dirent *entry;
    DIR *open_class;

    snprintf(path, sizeof(path), "%s/sys/class/%s", root, class);
    open_class = opendir(path);
    while (open_class != NULL && (entry = readdir(open_class)) != NULL) {
        snprintf(folder, sizeof(folder), "%s/%s", path, entry->d_name);
        if (zones && strncmp(entry->d_name, "thermal_zone", 12) == 0)
            see_temperature(host, folder, "temp");
        else if (!zones && entry->d_name[0] != '.')
            see_sensors(host, folder);
    }
    if (open_class != NULL)
        closedir(open_class);
}

static void read_temperature(const char *root, struct evidence_host *host)
{
    host->max_mc = EVIDENCE_ABSENT;
    read_temperature_of(root, "thermal", true, host);
    if (host->max_mc < 0)
        read_temperature_of(root, "hwmon", false, host);
}

/* --- all --- */

static void read_clocksource(const char *root, struct evidence_host *host)
{
    char path[2 * OS_PATH_MAX];

    snprintf(path, sizeof(path), "%s/sys/devices/system/clocksource/clocksource0/%s", root,
             "current_clocksource");
    evidence_text(AT_FDCWD, path, host->clocksource, sizeof(host->clocksource));
    host->clocksource[strcspn(host->clocksource, "\n")] = '\0';
}

void evidence_host_read(const char *root, const struct evidence_cpus *wanted,
                        struct evidence_host *ret_host)
{
    read_pressure(root, ret_host);
    ret_host->interrupts = table_sum(root, "proc/interrupts", wanted);
    ret_host->softirqs = table_sum(root, "proc/softirqs", wanted);
    read_vm(root, ret_host);
    read_throttle(root, wanted, ret_host);
    read_frequency(root, wanted, ret_host);
    read_temperature(root, ret_host);
    read_clocksource(root, ret_host);
}
#else
typedef int evidence_linux_host_is_empty_here;
#endif
