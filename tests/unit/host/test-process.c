/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "fake-tree.h"
#include "host/culprit.h"
#include "host/idle.h"
#include "host/process.h"
#include "util/clock.h"
#include "util/error.h"

#define S CLOCK_NS_PER_S

static const ProcessShare *share_at(const GPtrArray *shares, guint index)
{
    return g_ptr_array_index(shares, index);
}

static void test_top(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ProcessTable) from = process_table_read(TEST_DATA "/busy-before", &error);
    g_autoptr(ProcessTable) to = process_table_read(TEST_DATA "/busy-after", &error);
    g_autoptr(GPtrArray) top = process_table_top(from, to, PROCESS_CPU, 2, 500);
    g_autoptr(GPtrArray) none = process_table_top(to, to, PROCESS_CPU, 2, 500);

    /* init reaped "old one", whose 1000 ticks were all before; vmatrix (500) is left out; make's
     * compiler ended, with 60 of 140 reaped ticks since the first reading … */
    g_assert_cmpuint(top->len, ==, 3);
    g_assert_cmpstr(share_at(top, 0)->name, ==, "apt-get");
    g_assert_cmpint(share_at(top, 0)->taken, ==, 186);
    g_assert_cmpstr(share_at(top, 1)->name, ==, "make");
    g_assert_cmpint(share_at(top, 1)->taken, ==, 100);
    g_assert_cmpstr(share_at(top, 2)->name, ==, "a) R 1 (b\\x1b[31m");
    g_assert_cmpint(share_at(top, 2)->taken, ==, 30);
    g_assert_cmpuint(none->len, ==, 0);
}

static void test_missing(void)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(process_table_read(TEST_DATA "/empty", &error));
    g_assert_true(vm_error_is(error, VM_ERROR_ENVIRONMENT));
}

static void test_units(void)
{
    static const struct {
        const char *cgroup, *unit;
    } cases[] = {
        {"0::/system.slice/apt-daily.service\n", "apt-daily.service"},
        {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-gimp-12.scope\n",
         "app-gimp-12.scope"},
        /* The unit, not what it keeps below. */
        {"0::/system.slice/docker.service/payload\n", "docker.service"},
        {"12:memory:/other\n1:name=systemd:/system.slice/cron.service\n0::/\n", "cron.service"},
        {"4:memory:/jobs/nightly\n3:cpu:/\n", "/jobs/nightly"},
        {"0::/\n", NULL},
        {"garbage\n", NULL},
    };
    char *root = fake_tree_new();

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        fake_tree_put(root, "/proc/7/cgroup", cases[i].cgroup);
        g_autofree char *unit = process_unit(root, 7);

        g_assert_cmpstr(unit, ==, cases[i].unit);
    }
    g_autofree char *gone = process_unit(root, 8);

    g_assert_null(gone);
    fake_tree_free(root);
}

static void test_culprits(void)
{
    g_autoptr(GError) error = NULL;
    char *root = fake_tree_new();
    g_autofree char *key = NULL, *io_key = NULL;

    fake_tree_process(root, 20, "spin", 'R', 100, 0);
    fake_tree_process(root, 21, "dd", 'D', 3, 1 << 20);
    fake_tree_process(root, 22, "quiet", 'S', 0, 4096);
    fake_tree_put(root, "/proc/21/cgroup", "0::/system.slice/copy.service\n");
    g_autoptr(ProcessTable) from = process_table_read(root, &error);

    fake_tree_process(root, 20, "spin", 'R', 293, 0);
    fake_tree_process(root, 21, "dd", 'D', 13, 9 << 20);
    fake_tree_process(root, 22, "quiet", 'S', 1, 4096 + 4096);
    g_autoptr(ProcessTable) to = process_table_read(root, &error);
    g_autofree char *cpu = culprit_find(root, from, to, 2 * S, 1U << IDLE_CPU_BUSY, &key);
    g_autofree char *io = culprit_find(root, from, to, 2 * S, 1U << IDLE_DISK_RATE, &io_key);
    g_autofree char *both =
        culprit_find(root, from, to, 2 * S, 1U << IDLE_DISK_BUSY | 1U << IDLE_RUN_QUEUE, NULL);
    g_autofree char *none = culprit_find(root, to, to, 2 * S, 1U << IDLE_CPU_BUSY, NULL);

    g_assert_cmpstr(cpu, ==, "spin (pid 20) 0.96 CPUs, dd (pid 21, copy.service) 0.05 CPUs");
    g_assert_cmpstr(key, ==, "spin");
    g_assert_cmpstr(io, ==, "dd (pid 21, copy.service) 4 MiB/s");
    g_assert_cmpstr(io_key, ==, "copy.service");
    g_assert_true(g_str_has_prefix(both, "dd (pid 21, copy.service) 4 MiB/s, spin (pid 20)"));
    g_assert_null(none);
    fake_tree_free(root);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/process/top", test_top);
    g_test_add_func("/process/missing", test_missing);
    g_test_add_func("/process/units", test_units);
    g_test_add_func("/process/culprits", test_culprits);
    return g_test_run();
}
