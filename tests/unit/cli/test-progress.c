/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "cli/progress.h"
#include "util/clock.h"

static const StoreRun run = {.id = 9,
                             .cell_key = (char *)"guest=micro hypervisor=qemu vcpus=2",
                             .block = 0,
                             .position = 2,
                             .attempt = 1};
static const CampaignTotals totals = {.done = 2, .total = 12};

static void test_step_line(void)
{
    g_autofree char *whole = progress_step_line(79, &run, "ssh", &totals, 80 * CLOCK_NS_PER_S);
    g_autofree char *unknown = progress_step_line(70, &run, "gate", &totals, -1);

    g_assert_cmpstr(whole, ==,
                    "[ 3/12] block 1  guest=micro hypervisor=qemu vcpus=2  booting    ETA 1m 20s");
    g_assert_cmpstr(unknown, ==, "[ 3/12] block 1  micro qemu 2  idle wait");
}

static void test_waiting_line(void)
{
    static const char what[] = "guest mint (qemu-kvm, pid 12); CPU busy 51 % (3.0 % allowed): dd";
    g_autofree char *whole = progress_waiting_line(0, &run, what, &totals);
    g_autofree char *narrow = progress_waiting_line(79, &run, what, &totals);
    g_autofree char *odd = progress_waiting_line(0, &run, "\033[2J", &totals);

    g_assert_cmpstr(whole, ==,
                    "[ 3/12] block 1  guest=micro hypervisor=qemu vcpus=2  waits: guest mint "
                    "(qemu-kvm, pid 12); CPU busy 51 % (3.0 % allowed): dd");
    /* Who it is matters more than which cell waits. */
    g_assert_cmpstr(
        narrow, ==,
        "[ 3/12] block 1  micro qemu 2  waits: guest mint (qemu-kvm, pid 12); CPU busy 5");
    g_assert_null(strchr(odd, '\033'));
    for (guint width = 1; width <= 120; width++) {
        g_autofree char *line = progress_waiting_line(width, &run, what, &totals);

        g_assert_cmpint(g_utf8_strlen(line, -1), <=, width);
    }
}

static void test_step_line_narrow(void)
{
    static const StoreRun other = {
        .cell_key = (char *)"guest=débian-très-long hypervisor=qemu", .block = 9, .attempt = 2};

    for (guint width = 1; width <= 90; width++) {
        g_autofree char *line =
            progress_step_line(width, &other, "measure", &totals, 5 * CLOCK_NS_PER_S);

        g_assert_true(g_utf8_validate(line, -1, NULL));
        g_assert_cmpint(g_utf8_strlen(line, -1), <=, width);
    }
    g_autofree char *cut = progress_step_line(50, &other, "measure", &totals, 5 * CLOCK_NS_PER_S);

    g_assert_cmpstr(cut, ==, "[ 3/12] block 10  débian-…  measuring  ETA 5.0 s");
}

static void test_finished_line(void)
{
    g_autofree char *clean =
        progress_finished_line(&run, "clean", NULL, 12 * CLOCK_NS_PER_S + 300000000, &totals);
    g_autofree char *failed = progress_finished_line(&run, "failed", "step ssh:\x1b[2J no banner",
                                                     90 * CLOCK_NS_PER_S, &totals);

    g_assert_cmpstr(clean, ==,
                    "[ 2/12] block 1  guest=micro hypervisor=qemu vcpus=2  clean  12.3 s");
    /* What a guest wrote must not reach the terminal as it is. */
    g_assert_cmpstr(failed, ==,
                    "[ 2/12] block 1  guest=micro hypervisor=qemu vcpus=2  failed  1m 30s: "
                    "step ssh:\\x1b[2J no banner");
}

/* What the watcher writes in this style for one step, one clean and one failed run. */
static char *watch_once(ProgressStyle style)
{
    char *text = NULL;
    size_t size = 0;
    Progress progress = {.stream = open_memstream(&text, &size), .style = style};
    CampaignWatch watch = progress_watch(&progress);
    char *copy;

    watch.step(watch.data, &run, "ssh", &totals, -1);
    watch.finished(watch.data, &run, "clean", NULL, CLOCK_NS_PER_S, &totals);
    watch.finished(watch.data, &run, "failed", "why", CLOCK_NS_PER_S, &totals);
    progress_finish(&progress);
    fclose(progress.stream);
    copy = g_strdup(text);
    free(text);
    return copy;
}

static void test_styles(void)
{
    g_autofree char *silent = watch_once(PROGRESS_SILENT);
    g_autofree char *lines = watch_once(PROGRESS_LINES);

    g_assert_cmpstr(silent, ==, "");
    g_assert_cmpstr(lines, ==,
                    "[ 2/12] block 1  guest=micro hypervisor=qemu vcpus=2  clean  1.0 s\n"
                    "[ 2/12] block 1  guest=micro hypervisor=qemu vcpus=2  failed  1.0 s: why\n");
}

static void test_redraw(void)
{
    g_autofree char *redraw = watch_once(PROGRESS_REDRAW);
    g_autofree char *all = watch_once(PROGRESS_ALL);

    /* The clean run leaves no line; the drawn one is wiped before the failed one's. */
    g_assert_true(g_str_has_prefix(redraw, "\r[ 3/12]"));
    g_assert_null(strstr(redraw, "clean"));
    g_assert_true(g_str_has_suffix(redraw, "\r\033[K[ 2/12] block 1  guest=micro hypervisor=qemu "
                                           "vcpus=2  failed  1.0 s: why\n"));
    g_assert_nonnull(strstr(all, "\r\033[K[ 2/12] block 1  guest=micro hypervisor=qemu vcpus=2  "
                                 "clean  1.0 s\n"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/progress/waiting-line", test_waiting_line);
    g_test_add_func("/progress/step-line", test_step_line);
    g_test_add_func("/progress/step-line-narrow", test_step_line_narrow);
    g_test_add_func("/progress/finished-line", test_finished_line);
    g_test_add_func("/progress/styles", test_styles);
    g_test_add_func("/progress/redraw", test_redraw);
    return g_test_run();
}
