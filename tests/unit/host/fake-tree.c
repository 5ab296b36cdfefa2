/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake-tree.h"

#include <string.h>

#include "util/io.h"

char *fake_tree_new(void)
{
    g_autoptr(GError) error = NULL;
    char *root = g_dir_make_tmp("vmatrix-tree-XXXXXX", &error);

    g_assert_no_error(error);
    return root;
}

void fake_tree_free(char *root)
{
    g_autoptr(GError) error = NULL;

    io_remove_tree(root, &error);
    g_assert_no_error(error);
    g_free(root);
}

void fake_tree_put_bytes(const char *root, const char *path, const char *data, gsize length)
{
    g_autofree char *full = g_strconcat(root, path, NULL);
    g_autofree char *folder = g_path_get_dirname(full);
    g_autoptr(GError) error = NULL;

    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    g_file_set_contents(full, data, (gssize)length, &error);
    g_assert_no_error(error);
}

void fake_tree_put(const char *root, const char *path, const char *text)
{
    fake_tree_put_bytes(root, path, text, strlen(text));
}

void fake_tree_process(const char *root, int pid, const char *name, char state, int ticks,
                       int written)
{
    g_autofree char *stat_path = g_strdup_printf("/proc/%d/stat", pid);
    g_autofree char *io_path = g_strdup_printf("/proc/%d/io", pid);
    g_autofree char *stat = g_strdup_printf("%d (%s) %c 1 1 1 0 -1 0 1 2 3 4 %d 0 0 0 20 0 1 0 100 "
                                            "1000 10 0 0 0 0\n",
                                            pid, name, state, ticks);
    g_autofree char *io = g_strdup_printf("rchar: 99\nwchar: 99\nsyscr: 1\nsyscw: 1\nread_bytes: "
                                          "0\nwrite_bytes: %d\ncancelled_write_bytes: 7\n",
                                          written);

    fake_tree_put(root, stat_path, stat);
    fake_tree_put(root, io_path, io);
}
