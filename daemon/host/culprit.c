/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/culprit.h"

#include <unistd.h>

#include "host/idle.h"
#include "util/clock.h"
#include "util/text.h"

/* One good a row: which signals it explains, what is worth a word in a second. */
static const struct good {
    ProcessGood good;
    guint signals;
    double least;
} goods[] = {
    {PROCESS_IO, 1U << IDLE_IO_PRESSURE | 1U << IDLE_DISK_BUSY | 1U << IDLE_DISK_RATE, 16 << 10},
    {PROCESS_CPU, ~(1U << IDLE_IO_PRESSURE | 1U << IDLE_DISK_BUSY | 1U << IDLE_DISK_RATE), 0.01},
};

static char *format_taken(ProcessGood good, double a_second)
{
    g_autofree char *size = NULL;

    if (good == PROCESS_CPU)
        return g_strdup_printf("%.2f CPUs", a_second);
    size = text_format_size((guint64)a_second);
    return g_strdup_printf("%s/s", size);
}

static void append_shares(GString *text, const char *root, const GPtrArray *shares,
                          ProcessGood good, double unit, char **key)
{
    for (guint i = 0; i < shares->len; i++) {
        const ProcessShare *share = g_ptr_array_index(shares, i);
        g_autofree char *taken = format_taken(good, (double)share->taken / unit);
        g_autofree char *group = process_unit(root, share->pid);

        g_string_append_printf(text, "%s%s (pid %" G_GINT64_FORMAT "%s%s) %s",
                               text->len > 0 ? ", " : "", share->name, share->pid,
                               group != NULL ? ", " : "", group != NULL ? group : "", taken);
        if (*key == NULL)
            *key = g_strdup(group != NULL ? group : share->name);
    }
}

char *culprit_find(const char *root, const ProcessTable *from, const ProcessTable *to,
                   gint64 span_ns, guint over, char **ret_key)
{
    double span = (double)span_ns / (double)CLOCK_NS_PER_S;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *key = NULL;

    for (guint i = 0; span > 0 && i < G_N_ELEMENTS(goods); i++) {
        /* Of the table's numbers in one second to those of the good: ticks to CPUs. */
        double scale = goods[i].good == PROCESS_CPU ? (double)sysconf(_SC_CLK_TCK) : 1;
        double least = goods[i].least * scale * span;

        if ((over & goods[i].signals) == 0)
            continue;
        g_autoptr(GPtrArray) shares =
            process_table_top(from, to, goods[i].good, MAX(1, (gint64)least), getpid());

        append_shares(text, root, shares, goods[i].good, scale * span, &key);
    }
    if (ret_key != NULL)
        *ret_key = g_steal_pointer(&key);
    return text->len > 0 ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}
