/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Control groups in trees of the test's own, and real ones where the kernel and our rights allow.
 */
#include "host/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/cgroup-mount.h"
#include "host/probe.h"
#include "host/tree.h"
#include "util/cpulist.h"
#include "util/error.h"
#include "util/io.h"

#define V2_MOUNT "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNTS                                                                                  \
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw shared:3 - cgroup cgroup rw,cpuset,cpu\n"               \
    "35 31 0:32 /docker/ab /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"

/* A file below the tree, and the folders on its way. */
static void tree_put(const char *root, const char *path, const char *text)
{
    g_autofree char *full = g_strconcat(root, path, NULL);
    g_autofree char *folder = g_path_get_dirname(full);

    g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
    g_assert_true(g_file_set_contents(full, text, -1, NULL));
}

static void expect_file(const char *root, const char *path, const char *text)
{
    g_autofree char *found = tree_read(root, path);

    g_assert_cmpstr(found, ==, text);
}

static char *tree_new(const char *mounts, const char *groups)
{
    char *root = g_dir_make_tmp("vmatrix-cgroup-XXXXXX", NULL);

    tree_put(root, "/proc/self/mountinfo", mounts);
    tree_put(root, "/proc/self/cgroup", groups);
    return root;
}

static void tree_end(char *root)
{
    g_assert_true(io_remove_tree(root, NULL));
    g_free(root);
}

/* What the kernel would put into a new folder. */
static void kernel_files(const char *root, const char *folder, const char *const *files)
{
    for (; *files != NULL; files++) {
        g_autofree char *path = g_build_filename(folder, *files, NULL);

        tree_put(root, path, "");
    }
}

static const char *const v2_files[] = {"cpuset.cpus",     "cpuset.mems",  "memory.max",
                                       "memory.swap.max", "cgroup.procs", NULL};

static const CgroupSpec spec = {
    .name = "vmatrix-test-1", .cpus = "2,3", .nodes = "1", .memory = 536870912};

static void test_v2(void)
{
    char *root = tree_new(V2_MOUNT, "0::/system.slice/vmatrixd.service\n");
    const char *own = "/sys/fs/cgroup/system.slice/vmatrixd.service";
    const char *group = "/sys/fs/cgroup/system.slice/vmatrixd.service/vmatrix-test-1";
    g_autofree char *control = g_build_filename(own, "cgroup.subtree_control", NULL);
    g_autofree char *available = g_build_filename(own, "cgroup.controllers", NULL);
    g_autofree char *full = g_strconcat(root, group, NULL);
    g_autofree char *lacks = NULL, *file = NULL;
    Cgroup *cgroup;

    tree_put(root, available, "cpuset cpu memory pids\n");
    tree_put(root, control, "cpuset memory\n");
    kernel_files(root, group, v2_files);
    cgroup = cgroup_new(root, &spec);
    g_assert_cmpuint(cgroup_folders(cgroup)->len, ==, 1);
    g_assert_cmpstr(g_ptr_array_index(cgroup_folders(cgroup), 0), ==, full);
    g_assert_null(cgroup_path(cgroup));
    g_assert_true(cgroup_make(cgroup, &lacks));
    g_assert_null(lacks);
    g_assert_cmpstr(cgroup_path(cgroup), ==, "/system.slice/vmatrixd.service/vmatrix-test-1");
    g_assert_cmpuint(cgroup_joins(cgroup)->len, ==, 1);
    for (gsize i = 0; v2_files[i] != NULL; i++) {
        static const char *const expected[] = {"2,3", "1", "536870912", "0", NULL};

        g_free(file);
        file = g_build_filename(group, v2_files[i], NULL);
        expect_file(root, file, expected[i]);
    }
    g_assert_false(cgroup_holds(cgroup, getpid()));
    cgroup_free(cgroup);
    tree_end(root);
}

/* After this process moved aside, new groups are made beside it, not below. */
static void test_beside(void)
{
    char *root = tree_new(V2_MOUNT, "0::/a.scope/vmatrix-self\n");
    g_autofree char *full = g_strconcat(root, "/sys/fs/cgroup/a.scope/vmatrix-test-1", NULL);
    Cgroup *cgroup;

    tree_put(root, "/sys/fs/cgroup/a.scope/vmatrix-self/cgroup.controllers", "cpuset memory\n");
    cgroup = cgroup_new(root, &spec);
    g_assert_cmpstr(g_ptr_array_index(cgroup_folders(cgroup), 0), ==, full);
    cgroup_free(cgroup);
    tree_end(root);
}

static void expect_says(const char *text, const char *part)
{
    if (text == NULL || strstr(text, part) == NULL)
        g_error("\"%s\" does not say \"%s\"", text, part);
}

/* The memory's controller was not given to us: the CPU set is made all the same. */
static void test_v2_half(void)
{
    char *root = tree_new(V2_MOUNT, "0::/a\n");
    const char *group = "/sys/fs/cgroup/a/vmatrix-test-1";
    g_autofree char *lacks = NULL;
    Cgroup *cgroup;

    tree_put(root, "/sys/fs/cgroup/a/cgroup.controllers", "cpuset cpu\n");
    tree_put(root, "/sys/fs/cgroup/a/cgroup.subtree_control", "cpuset\n");
    kernel_files(root, group, v2_files);
    cgroup = cgroup_new(root, &spec);
    g_assert_true(cgroup_make(cgroup, &lacks));
    g_assert_cmpstr(lacks, ==, "no memory limit: the controller memory is not there");
    expect_file(root, "/sys/fs/cgroup/a/vmatrix-test-1/cpuset.cpus", "2,3");
    expect_file(root, "/sys/fs/cgroup/a/vmatrix-test-1/memory.max", NULL);
    cgroup_free(cgroup);
    tree_end(root);
}

/* Not ours to divide. */
static void test_not_delegated(void)
{
    char *root = tree_new(V2_MOUNT, "0::/a\n");
    g_autofree char *lacks = NULL;
    Cgroup *cgroup;

    tree_put(root, "/sys/fs/cgroup/a/cgroup.controllers", "cpuset cpu\n");
    cgroup = cgroup_new(root, &spec);
    g_assert_false(cgroup_make(cgroup, &lacks));
    expect_says(lacks, "no CPU set: ");
    expect_says(lacks, "cannot hand on the controller cpuset");
    expect_says(lacks, "Delegate=yes");
    g_assert_null(cgroup_path(cgroup));
    g_assert_cmpuint(cgroup_joins(cgroup)->len, ==, 0);
    cgroup_free(cgroup);
    tree_end(root);
}

static void test_v1(void)
{
    static const char *const cpuset_files[] = {"cpuset.cpus", "cpuset.mems", "cgroup.procs", NULL};
    static const char *const memory_files[] = {"memory.limit_in_bytes", "memory.swappiness",
                                               "cgroup.procs", NULL};
    char *root = tree_new(V1_MOUNTS "40 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
                          "4:memory:/docker/ab/c\n3:cpu,cpuset:/user\n0::/\n");
    CgroupSpec all = spec;
    g_autofree char *lacks = NULL;
    Cgroup *cgroup;

    all.nodes = NULL; /* version 1 must be told: the parent's */
    tree_put(root, "/sys/fs/cgroup/cpuset/user/cpuset.mems", "0-1\n");
    kernel_files(root, "/sys/fs/cgroup/cpuset/user/vmatrix-test-1", cpuset_files);
    kernel_files(root, "/sys/fs/cgroup/memory/c/vmatrix-test-1", memory_files);
    cgroup = cgroup_new(root, &all);
    g_assert_cmpuint(cgroup_folders(cgroup)->len, ==, 2);
    g_assert_true(cgroup_make(cgroup, &lacks));
    g_assert_null(lacks);
    g_assert_cmpstr(cgroup_path(cgroup), ==, "/user/vmatrix-test-1");
    g_assert_cmpuint(cgroup_joins(cgroup)->len, ==, 2);
    expect_file(root, "/sys/fs/cgroup/cpuset/user/vmatrix-test-1/cpuset.cpus", "2,3");
    expect_file(root, "/sys/fs/cgroup/cpuset/user/vmatrix-test-1/cpuset.mems", "0-1");
    expect_file(root, "/sys/fs/cgroup/memory/c/vmatrix-test-1/memory.limit_in_bytes", "536870912");
    expect_file(root, "/sys/fs/cgroup/memory/c/vmatrix-test-1/memory.swappiness", "0");
    cgroup_free(cgroup);
    tree_end(root);
}

static void test_none(void)
{
    static const char *const mounts[] = {"", "broken\n", "22 1 9:0 / / rw - ext4 /dev/md0 rw\n",
                                         "30 22 0:26 / /sys/fs/cgroup rw - cgroup2\n", V2_MOUNT};

    for (gsize i = 0; i < G_N_ELEMENTS(mounts); i++) {
        char *root = tree_new(mounts[i], "0::/../../init\n");
        g_autofree char *lacks = NULL;
        Cgroup *cgroup = cgroup_new(root, &spec);

        g_assert_cmpuint(cgroup_folders(cgroup)->len, ==, 0);
        g_assert_false(cgroup_make(cgroup, &lacks));
        expect_says(lacks, "no CPU set: the controller cpuset is not there; no memory limit: ");
        cgroup_free(cgroup);
        tree_end(root);
    }
}

/* ---- the real thing ---- */

/* A child that joins by the descriptors, and waits to be ended. */
static pid_t joined_child(const Cgroup *cgroup)
{
    const GArray *joins = cgroup_joins(cgroup);
    pid_t pid = fork();

    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        for (;;)
            pause();
    }
    /* As the child itself would by writing "0"; from here, so that nothing has to be waited for. */
    for (guint i = 0; i < joins->len; i++) {
        g_autofree char *text = g_strdup_printf("%d", (int)pid);

        g_assert_cmpint(write(g_array_index(joins, int, i), text, strlen(text)), ==,
                        (gssize)strlen(text));
    }
    return pid;
}

static void expect_status(pid_t pid, const char *field, const char *value)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)pid);
    g_autofree char *text = tree_read("", path);
    g_autofree char *found = tree_field(text, field, ':');

    g_assert_cmpstr(found, ==, value);
}

static void test_real(void)
{
    g_autofree char *allowed = host_cpus_allowed();
    g_autoptr(GArray) cpus = cpulist_parse(allowed);
    g_autofree char *last = g_strdup_printf("%u", g_array_index(cpus, guint, cpus->len - 1));
    g_autofree char *name = g_strdup_printf("vmatrix-test-%d", (int)getpid());
    CgroupSpec real = {.name = name, .cpus = last, .nodes = "0", .memory = 64 << 20};
    Cgroup *cgroup = cgroup_new("", &real);
    g_autoptr(GPtrArray) folders = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *lacks = NULL;
    pid_t child;
    int status;

    for (guint i = 0; i < cgroup_folders(cgroup)->len; i++)
        g_ptr_array_add(folders, g_strdup(g_ptr_array_index(cgroup_folders(cgroup), i)));
    if (!cgroup_make(cgroup, &lacks) || lacks != NULL) {
        g_test_skip(lacks);
        cgroup_free(cgroup);
        return;
    }
    g_assert_false(cgroup_holds(cgroup, getpid()));
    child = joined_child(cgroup);
    g_assert_true(cgroup_holds(cgroup, child));
    expect_status(child, "Cpus_allowed_list", last);
    expect_status(child, "Mems_allowed_list", "0");
    for (guint i = 0; i < folders->len; i++)
        g_assert_true(g_file_test(g_ptr_array_index(folders, i), G_FILE_TEST_IS_DIR));
    /* What is still in there is ended; a zombie is in no group's way for long. */
    signal(SIGCHLD, SIG_IGN);
    cgroup_free(cgroup);
    signal(SIGCHLD, SIG_DFL);
    g_assert_cmpint(waitpid(child, &status, 0), ==, -1);
    g_assert_cmpint(kill(child, 0), ==, -1);
    for (guint i = 0; i < folders->len; i++)
        g_assert_false(g_file_test(g_ptr_array_index(folders, i), G_FILE_TEST_EXISTS));
}

/* After a crash only the folders' names are left. */
static void test_remove(void)
{
    g_autofree char *name = g_strdup_printf("vmatrix-left-%d", (int)getpid());
    CgroupSpec real = {.name = name, .memory = 64 << 20};
    g_autoptr(Cgroup) cgroup = cgroup_new("", &real);
    g_autoptr(GError) error = NULL;
    g_autofree char *lacks = NULL;

    g_assert_true(cgroup_remove("/sys/fs/cgroup", &error)); /* not by our name: left alone */
    g_assert_true(g_file_test("/sys/fs/cgroup", G_FILE_TEST_IS_DIR) ||
                  !g_file_test("/sys/fs", G_FILE_TEST_IS_DIR));
    if (!cgroup_make(cgroup, &lacks)) {
        g_test_skip(lacks);
        return;
    }
    for (guint i = 0; i < cgroup_folders(cgroup)->len; i++) {
        const char *folder = g_ptr_array_index(cgroup_folders(cgroup), i);

        g_assert_true(cgroup_remove(folder, &error));
        g_assert_no_error(error);
        g_assert_false(g_file_test(folder, G_FILE_TEST_EXISTS));
        g_assert_true(cgroup_remove(folder, &error));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/host/cgroup/v2", test_v2);
    g_test_add_func("/host/cgroup/beside", test_beside);
    g_test_add_func("/host/cgroup/v2-half", test_v2_half);
    g_test_add_func("/host/cgroup/not-delegated", test_not_delegated);
    g_test_add_func("/host/cgroup/v1", test_v1);
    g_test_add_func("/host/cgroup/none", test_none);
    g_test_add_func("/host/cgroup/real", test_real);
    g_test_add_func("/host/cgroup/remove", test_remove);
    return g_test_run();
}
