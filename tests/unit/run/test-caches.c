/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Page caches before an invocation: of a bare cell, and what a guest is told to do. */
#include "run/caches.h"

#include <linux/magic.h>
#include <sys/statfs.h>

#include "../resident.h"
#include "util/error.h"
#include "util/spawn.h"

typedef struct {
    char *folder, *file;
} Workload;

/* A workload's folder with a file in it, beside us (the temporary folder may be a tmpfs). */
static void workload_init(Workload *workload, gconstpointer data)
{
    g_autofree char *file = resident_file();

    workload->folder = g_strdup("it's a \"folder\" XXXXXX");
    g_assert_nonnull(g_mkdtemp(workload->folder));
    workload->file = g_build_filename(workload->folder, "-data", NULL);
    g_assert_cmpint(g_rename(file, workload->file), ==, 0);
}

static void workload_finish(Workload *workload, gconstpointer data)
{
    g_assert_cmpint(g_unlink(workload->file), ==, 0);
    g_assert_cmpint(g_rmdir(workload->folder), ==, 0);
    g_free(workload->file);
    g_free(workload->folder);
}

static gboolean set_bare(const Workload *workload, CachePolicy host, CachePolicy guest,
                         GError **error)
{
    Plan plan = {.cache = {.host = host, .guest = guest}};
    Attempt attempt = {.spec = {.plan = &plan}, .folder = workload->folder};
    Wait wait = {.deadline_ns = WAIT_FOREVER, .guard_fd = -1, .step = "test"};

    return caches_set(&attempt, &wait, error);
}

static void test_warm(Workload *workload, gconstpointer data)
{
    resident_push_out(workload->file);
    g_assert_true(set_bare(workload, CACHE_LEAVE, CACHE_WARM, NULL));
    g_assert_cmpfloat(resident(workload->file), >, 0.9);
}

static void test_leave(Workload *workload, gconstpointer data)
{
    double before;

    resident_push_out(workload->file);
    before = resident(workload->file);
    g_assert_true(set_bare(workload, CACHE_LEAVE, CACHE_LEAVE, NULL));
    g_assert_cmpfloat(resident(workload->file), <=, before);
}

/* Cold wins, whichever side asks for it: there is one cache. */
static void test_cold(Workload *workload, gconstpointer data)
{
    static const CachePolicy policies[][2] = {
        {CACHE_COLD, CACHE_LEAVE}, {CACHE_LEAVE, CACHE_COLD}, {CACHE_WARM, CACHE_COLD}};
    struct statfs fs;

    g_assert_cmpint(statfs(workload->file, &fs), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(policies); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_true(set_bare(workload, CACHE_LEAVE, CACHE_WARM, NULL));
        if (!set_bare(workload, policies[i][0], policies[i][1], &error)) {
            g_assert_true(vm_error_is(error, VM_ERROR_ENVIRONMENT));
            g_test_skip(error->message);
            return;
        }
        if (fs.f_type != TMPFS_MAGIC)
            g_assert_cmpfloat(resident(workload->file), <, 0.1);
    }
}

/* A guest's shell is a shell: what it is told is tried on this one. */
static void test_guest_warm(Workload *workload, gconstpointer data)
{
    g_autofree char *folder = g_canonicalize_filename(workload->folder, NULL);
    g_autofree char *script = caches_guest_script(CACHE_WARM, folder);
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    Wait wait = {.deadline_ns = WAIT_FOREVER, .guard_fd = -1, .step = "test"};
    g_autofree char *output = NULL;
    g_autoptr(GError) error = NULL;

    resident_push_out(workload->file);
    spawn_check(&wait, argv, &output, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(output, ==, "");
    g_assert_cmpfloat(resident(workload->file), >, 0.9);
}

static void test_guest_scripts(void)
{
    g_autofree char *cold = caches_guest_script(CACHE_COLD, "/tmp/x");
    g_autofree char *leave = caches_guest_script(CACHE_LEAVE, "/tmp/x");
    g_autofree char *nothing = caches_guest_script(CACHE_WARM, NULL);

    /* Dirty pages stay: written back first, they can go. */
    g_assert_cmpstr(cold, ==, "sync && echo 3 > /proc/sys/vm/drop_caches");
    g_assert_null(leave);
    g_assert_null(nothing);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/caches/warm", Workload, NULL, workload_init, test_warm, workload_finish);
    g_test_add("/caches/leave", Workload, NULL, workload_init, test_leave, workload_finish);
    g_test_add("/caches/cold", Workload, NULL, workload_init, test_cold, workload_finish);
    g_test_add("/caches/guest-warm", Workload, NULL, workload_init, test_guest_warm,
               workload_finish);
    g_test_add_func("/caches/guest-scripts", test_guest_scripts);
    return g_test_run();
}
