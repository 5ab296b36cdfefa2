/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The readers of the gate's counters. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/idle.h"
#include "host/temperature.h"
#include "host/tree.h"
#include "util/clock.h"
#include "util/error.h"

enum { SECTOR_BYTES = 512, NUMBERS_MAX = 17 };

/* The numbers of a line after skip words, at most NUMBERS_MAX; how many there are. */
static guint read_numbers(const char *line, guint skip, guint64 *ret_numbers)
{
    g_auto(GStrv) words = g_strsplit_set(line, " \t", -1);
    guint n = 0;

    for (char **word = words; *word != NULL && n < NUMBERS_MAX; word++) {
        if (**word == '\0')
            continue;
        if (skip > 0)
            skip--;
        else
            ret_numbers[n++] = g_ascii_strtoull(*word, NULL, 10);
    }
    return n;
}

/* ---- /proc/stat ---- */

/* "cpu  3129 0 1266 …": guest time is in user and nice already. Old kernels have fewer fields. */
static gboolean parse_total(const char *line, IdleSample *sample)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL };
    guint64 ticks[NUMBERS_MAX] = {0};

    if (read_numbers(line, 1, ticks) <= IDLE)
        return FALSE;
    sample->busy_ticks =
        ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] + ticks[SOFTIRQ] + ticks[STEAL];
    sample->total_ticks = sample->busy_ticks + ticks[IDLE] + ticks[IOWAIT];
    sample->has |= 1U << IDLE_CPU_BUSY;
    return TRUE;
}

/* "procs_running 3": we are one of them. */
static void parse_running(const char *line, IdleSample *sample)
{
    guint64 running[NUMBERS_MAX] = {0};

    if (read_numbers(line, 1, running) == 0)
        return;
    sample->runnable += running[0] > 0 ? running[0] - 1 : 0;
    sample->looks++;
    sample->has |= 1U << IDLE_RUN_QUEUE;
}

/* Our own looks are not what the gate waits for. */
static void leave_out_own(IdleSample *sample)
{
    ObserverCost own;
    gint64 ns_per_tick = CLOCK_NS_PER_S / MAX(1, sysconf(_SC_CLK_TCK));

    observer_cost(&own);
    sample->busy_ticks -= MIN(sample->busy_ticks, (guint64)(own.cpu_ns / ns_per_tick));
}

static gboolean read_stat(const char *root, IdleSample *sample, GError **error)
{
    g_autofree char *text = tree_read_whole(root, "/proc/stat", error);
    gboolean found = FALSE;

    if (text == NULL)
        return FALSE;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line != NULL; line++) {
        if (g_str_has_prefix(*line, "cpu "))
            found = parse_total(*line, sample);
        else if (g_str_has_prefix(*line, "procs_running "))
            parse_running(*line, sample);
    }
    if (!found)
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                    "%s/proc/stat: no usable line \"cpu\": cannot tell how busy the host is", root);
    return found;
}

/* ---- the rest ---- */

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=4711": the sum is exact and up to date, the
 * averages are neither. */
static void read_pressure(const char *root, IdleSample *sample)
{
    static const char *const paths[] = {"/proc/pressure/cpu", "/proc/pressure/io",
                                        "/proc/pressure/memory"};

    for (guint i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autofree char *text = tree_read(root, paths[i]);
        const char *total = text != NULL ? strstr(text, "total=") : NULL;

        if (total == NULL || !g_str_has_prefix(text, "some "))
            continue;
        sample->pressure_us[i] = g_ascii_strtoull(total + strlen("total="), NULL, 10);
        sample->has |= 1U << (IDLE_CPU_PRESSURE + i);
    }
}

/* Partitions are no block devices of their own, and stacked ones (dm, md, loop, zram) have no
 * device below: what goes through them is counted where it ends. */
static gboolean is_device(const char *root, const char *class, const char *name)
{
    g_autofree char *path = g_strconcat(root, "/sys/", class, "/", name, "/device", NULL);

    return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void add_disk(const char *line, IdleSample *sample)
{
    enum { READ_SECTORS = 2, WRITTEN_SECTORS = 6, IO_MS = 9 };
    guint64 number[NUMBERS_MAX] = {0};

    if (read_numbers(line, 3, number) <= IO_MS)
        return;
    sample->disk_bytes += (number[READ_SECTORS] + number[WRITTEN_SECTORS]) * SECTOR_BYTES;
    sample->disk_ms += number[IO_MS];
    sample->has |= 1U << IDLE_DISK_BUSY | 1U << IDLE_DISK_RATE;
}

static void read_disks(const char *root, IdleSample *sample)
{
    g_autofree char *text = tree_read(root, "/proc/diskstats");
    g_auto(GStrv) lines = text != NULL ? g_strsplit(text, "\n", -1) : NULL;

    for (char **line = lines; line != NULL && *line != NULL; line++) {
        char name[64];

        /* A name with "/" is written with "!" in both places. */
        if (sscanf(*line, " %*u %*u %63s", name) == 1 && is_device(root, "block", name))
            add_disk(*line, sample);
    }
}

/* "  eth0: 753971268   23997 …": received bytes first, sent ones ninth. */
static gboolean parse_interface(const char *line, char **ret_name, guint64 *ret_bytes)
{
    enum { RECEIVED = 0, SENT = 8 };
    const char *colon = strrchr(line, ':');
    guint64 number[NUMBERS_MAX] = {0};

    if (colon == NULL || read_numbers(colon + 1, 0, number) <= SENT)
        return FALSE;
    *ret_name = g_strstrip(g_strndup(line, (gsize)(colon - line)));
    *ret_bytes = number[RECEIVED] + number[SENT];
    return TRUE;
}

/* Interfaces with hardware, since bridges and tunnels count the same bytes again; where there are
 * none (a container), all but loopback. */
static void read_network(const char *root, IdleSample *sample)
{
    g_autofree char *text = tree_read(root, "/proc/net/dev");
    g_auto(GStrv) lines = text != NULL ? g_strsplit(text, "\n", -1) : NULL;
    guint64 real = 0, all = 0;
    gboolean has_real = FALSE, has_any = FALSE;

    for (char **line = lines; line != NULL && *line != NULL; line++) {
        g_autofree char *name = NULL;
        guint64 bytes;

        if (!parse_interface(*line, &name, &bytes) || g_str_equal(name, "lo"))
            continue;
        all += bytes;
        has_any = TRUE;
        if (is_device(root, "class/net", name)) {
            real += bytes;
            has_real = TRUE;
        }
    }
    sample->network_bytes = has_real ? real : all;
    if (has_any)
        sample->has |= 1U << IDLE_NETWORK_RATE;
}

gboolean idle_sample(const char *root, const IdleSample *last, IdleSample *ret_sample,
                     GError **error)
{
    IdleSample sample = {.mono_ns = clock_mono_ns()};

    if (last != NULL) {
        sample.runnable = last->runnable;
        sample.looks = last->looks;
    }
    if (!read_stat(root, &sample, error))
        return FALSE;
    if (*root == '\0')
        leave_out_own(&sample);
    read_pressure(root, &sample);
    read_disks(root, &sample);
    read_network(root, &sample);
    if (temperature_read(root, &sample.temperature_mc))
        sample.has |= 1U << IDLE_TEMPERATURE;
    *ret_sample = sample;
    return TRUE;
}
