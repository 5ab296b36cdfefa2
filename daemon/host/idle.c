/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/idle.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "host/process.h"
#include "host/tree.h"
#include "util/clock.h"
#include "util/error.h"

/* One look at /proc/stat a second: its ticks are 10 ms, so a shorter slice cannot tell 3 % from
 * nothing, and a longer one lets a burst hide. */
#define SLICE_NS CLOCK_NS_PER_S

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, N_FIELDS };

/* "cpu  3129 0 1266 …": guest time is in user and nice already. Old kernels have fewer fields. */
static gboolean parse_total(const char *line, IdleSample *sample)
{
    guint64 ticks[N_FIELDS] = {0};
    g_auto(GStrv) words = g_strsplit_set(line, " ", -1);
    guint n = 0;

    for (char **word = words + 1; *word != NULL && n < N_FIELDS; word++)
        if (**word != '\0')
            ticks[n++] = g_ascii_strtoull(*word, NULL, 10);
    if (n <= IDLE)
        return FALSE;
    sample->busy_ticks =
        ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] + ticks[SOFTIRQ] + ticks[STEAL];
    sample->total_ticks = sample->busy_ticks + ticks[IDLE] + ticks[IOWAIT];
    return TRUE;
}

gboolean idle_sample(const char *root, IdleSample *ret_sample, GError **error)
{
    g_autofree char *text = tree_read_whole(root, "/proc/stat", error);
    IdleSample sample = {.mono_ns = clock_mono_ns()};
    gboolean found = FALSE;

    if (text == NULL)
        return FALSE;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line != NULL; line++) {
        if (g_str_has_prefix(*line, "cpu "))
            found = parse_total(*line, &sample);
        else if (g_str_has_prefix(*line, "cpu"))
            sample.cpus++;
    }
    if (!found) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                    "%s/proc/stat: no usable line \"cpu\": cannot tell how busy the host is", root);
        return FALSE;
    }
    *ret_sample = sample;
    return TRUE;
}

double idle_busy(const IdleSample *from, const IdleSample *to)
{
    /* Both sums may step back a little: iowait and steal do on some kernels. */
    if (to->total_ticks <= from->total_ticks || to->busy_ticks <= from->busy_ticks)
        return 0.0;
    return MIN(1.0, (double)(to->busy_ticks - from->busy_ticks) /
                        (double)(to->total_ticks - from->total_ticks));
}

IdleStep idle_judge(const IdleLimits *limits, const IdleSample *window, const IdleSample *last,
                    const IdleSample *now)
{
    if (idle_busy(last, now) > limits->cpu_busy)
        return IDLE_STEP_RESTART;
    return now->mono_ns - window->mono_ns >= limits->settle_ns ? IDLE_STEP_OPEN : IDLE_STEP_GO_ON;
}

/* What to say after a time-out. before: read at the start; span: since then. */
static char *name_culprits(const ProcessTable *before, gint64 span_ns, GError **error)
{
    g_autoptr(ProcessTable) after = process_table_read("", error);
    char *who;

    if (after == NULL)
        return NULL;
    who = process_table_top(before, after, (double)span_ns / (double)CLOCK_NS_PER_S,
                            sysconf(_SC_CLK_TCK), getpid());
    return who != NULL ? who : g_strdup("no process stands out: interrupts, steal or short bursts");
}

/* Sleep one slice and judge it, until the gate opens or give_up_ns passes. */
static gboolean watch_host(const Wait *wait, const IdleLimits *limits, gint64 give_up_ns,
                           IdleResult *ret_result, double *ret_busy, GError **error)
{
    gint64 slice_ns = MIN(limits->settle_ns, SLICE_NS);
    IdleSample window, last, now;
    IdleStep step = IDLE_STEP_GO_ON;

    if (!idle_sample("", &window, error))
        return FALSE;
    last = window;
    do {
        WaitResult slept = wait_sleep(wait, slice_ns);

        if (slept != WAIT_TIMEOUT)
            return wait_fail(wait, slept, "an idle host", error);
        if (!idle_sample("", &now, error))
            return FALSE;
        step = idle_judge(limits, &window, &last, &now);
        *ret_busy = idle_busy(step == IDLE_STEP_RESTART ? &last : &window, &now);
        last = now;
        if (step == IDLE_STEP_RESTART)
            window = now;
    } while (step != IDLE_STEP_OPEN && now.mono_ns < give_up_ns && wait_left_ns(wait) > 0);
    *ret_result = step == IDLE_STEP_OPEN ? IDLE_OPEN : IDLE_TIMEOUT;
    return TRUE;
}

gboolean idle_wait(const Wait *wait, const IdleLimits *limits, IdleResult *ret_result,
                   double *ret_busy, char **ret_who, GError **error)
{
    g_autoptr(ProcessTable) before = NULL;
    gint64 start = clock_mono_ns();
    IdleResult result = IDLE_OPEN;
    g_autofree char *who = NULL;
    double busy = 0.0;

    if (limits->settle_ns > 0) {
        before = process_table_read("", error);
        if (before == NULL ||
            !watch_host(wait, limits, start + MAX(limits->wait_ns, limits->settle_ns), &result,
                        &busy, error))
            return FALSE;
    }
    if (result == IDLE_TIMEOUT) {
        who = name_culprits(before, clock_mono_ns() - start, error);
        if (who == NULL)
            return FALSE;
    }
    *ret_result = result;
    *ret_busy = busy;
    *ret_who = g_steal_pointer(&who);
    return TRUE;
}

void observer_cost(ObserverCost *ret_cost)
{
    struct rusage usage;
    struct timespec cpu;

    *ret_cost = (ObserverCost){0};
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
        ret_cost->cpu_ns = (gint64)cpu.tv_sec * CLOCK_NS_PER_S + cpu.tv_nsec;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        ret_cost->switches = usage.ru_nvcsw + usage.ru_nivcsw;
}
