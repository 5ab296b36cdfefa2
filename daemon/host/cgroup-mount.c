/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/cgroup-mount.h"

#include <string.h>

#include "host/tree.h"

void cgroup_mount_clear(CgroupMount *mount)
{
    g_clear_pointer(&mount->folder, g_free);
    g_clear_pointer(&mount->path, g_free);
    mount->version = 0;
}

static gboolean has_word(const char *words, const char *separator, const char *word)
{
    g_auto(GStrv) all = g_strsplit(words, separator, -1);

    return g_strv_contains((const char *const *)all, word);
}

/* One line of mountinfo: "36 35 0:31 ROOT MOUNT-POINT OPTIONS … - TYPE SOURCE SUPER-OPTIONS". */
typedef struct {
    const char *root, *point, *type, *options; /* borrowed */
} Mount;

static gboolean parse_mount(char **words, Mount *ret_mount)
{
    guint n = g_strv_length(words), dash = 6;

    while (dash < n && !g_str_equal(words[dash], "-"))
        dash++;
    if (dash + 3 >= n)
        return FALSE;
    *ret_mount = (Mount){
        .root = words[3], .point = words[4], .type = words[dash + 1], .options = words[dash + 3]};
    return TRUE;
}

static gboolean is_wanted(const Mount *mount, guint version, const char *controller)
{
    if (version == 2)
        return g_str_equal(mount->type, "cgroup2");
    return g_str_equal(mount->type, "cgroup") &&
           (controller == NULL || has_word(mount->options, ",", controller));
}

/* The first mount of that version (and controller): its root and mount point. */
static gboolean find_mount(const char *root, guint version, const char *controller, char **ret_top,
                           char **ret_point)
{
    g_autofree char *text = tree_read(root, "/proc/self/mountinfo");
    g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);

    for (char **line = lines; *line != NULL; line++) {
        g_auto(GStrv) words = g_strsplit(*line, " ", -1);
        Mount mount;

        if (!parse_mount(words, &mount) || !is_wanted(&mount, version, controller))
            continue;
        if (ret_top != NULL)
            *ret_top = g_strdup(mount.root);
        if (ret_point != NULL)
            *ret_point = g_strdup(mount.point);
        return TRUE;
    }
    return FALSE;
}

gboolean cgroup_mounted(const char *root, guint version)
{
    return find_mount(root, version, NULL, NULL, NULL);
}

char *cgroup_mount_point(const char *root, guint version, const char *controller)
{
    char *point = NULL;

    return find_mount(root, version, controller, NULL, &point) ? point : NULL;
}

/* Our group in the hierarchy, "4:memory:/x" or "0::/x"; NULL when there is none. */
static char *own_path(const char *root, const char *controller)
{
    g_autofree char *text = tree_read(root, "/proc/self/cgroup");
    g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);

    for (char **line = lines; *line != NULL; line++) {
        g_auto(GStrv) parts = g_strsplit(*line, ":", 3);

        if (g_strv_length(parts) == 3 &&
            (controller != NULL ? has_word(parts[1], ",", controller) : *parts[1] == '\0'))
            return g_strdup(parts[2]);
    }
    return NULL;
}

/* Where path of a hierarchy is seen, when the hierarchy's top ("/" or below) is mounted at point.
 * NULL: outside of what is mounted. */
static char *seen_at(const char *top, const char *point, const char *path)
{
    gsize length = g_str_equal(top, "/") ? 0 : strlen(top);

    if (!g_str_has_prefix(path, length > 0 ? top : "/") || strstr(path, "/..") != NULL ||
        (length > 0 && path[length] != '/' && path[length] != '\0'))
        return NULL;
    return g_str_equal(path + length, "/") ? g_strdup(point)
                                           : g_strconcat(point, path + length, NULL);
}

/* Our group in the hierarchy; all zero where there is none, or it cannot be seen. */
static void find_own(const char *root, guint version, const char *controller, CgroupMount *ret_own)
{
    g_autofree char *top = NULL, *point = NULL;
    g_autofree char *path = own_path(root, version == 1 ? controller : NULL);

    if (path == NULL || !find_mount(root, version, controller, &top, &point))
        return;
    ret_own->folder = seen_at(top, point, path);
    if (ret_own->folder == NULL)
        return;
    ret_own->path = g_steal_pointer(&path);
    ret_own->version = version;
}

void cgroup_mount_find(const char *root, const char *controller, CgroupMount *ret_mount)
{
    g_autofree char *path = NULL, *available = NULL;

    *ret_mount = (CgroupMount){0};
    find_own(root, 1, controller, ret_mount);
    if (ret_mount->version == 1)
        return;
    find_own(root, 2, NULL, ret_mount);
    if (ret_mount->version != 2)
        return;
    path = g_build_filename(ret_mount->folder, "cgroup.controllers", NULL);
    available = tree_read(root, path);
    if (available == NULL || !has_word(available, " ", controller))
        cgroup_mount_clear(ret_mount);
}
