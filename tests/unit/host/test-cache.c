/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "../resident.h"
#include "host/cache.h"
#include "util/error.h"

static void test_warm(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = resident_file();

    resident_push_out(path);
    g_assert_true(host_cache_warm(path, &error));
    g_assert_no_error(error);
    g_assert_cmpfloat(resident(path), >, 0.9);
    g_unlink(path);
    g_assert_false(host_cache_warm(path, &error));
    g_assert_true(vm_error_is(error, VM_ERROR_ENVIRONMENT));
    g_assert_nonnull(strstr(error->message, path));
}

static void test_drop(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = resident_file();
    struct statfs fs;

    g_assert_cmpint(statfs(path, &fs), ==, 0);
    if (host_cache_drop(&error)) {
        if (fs.f_type != TMPFS_MAGIC)
            g_assert_cmpfloat(resident(path), <, 0.1);
    } else {
        g_assert_true(vm_error_is(error, VM_ERROR_ENVIRONMENT));
        g_assert_nonnull(strstr(error->message, "drop_caches"));
        g_assert_true(geteuid() != 0 || access("/proc/sys/vm/drop_caches", W_OK) != 0);
    }
    g_unlink(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cache/warm", test_warm);
    g_test_add_func("/cache/drop", test_drop);
    return g_test_run();
}
