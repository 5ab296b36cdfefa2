/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/temperature.h"

#include <string.h>

#include "host/tree.h"

/* hwmon: names of drivers whose sensors sit in a CPU. thermal: types of zones, by a part of the
 * name. A disk or a wireless card that is warm says nothing of the CPU. */
static const char *const chips[] = {"coretemp",    "k10temp",     "zenpower",
                                    "cpu_thermal", "via_cputemp", NULL};
static const char *const zones[] = {"x86_pkg_temp", "cpu", "soc", "acpitz"};

/* Files say thousandths of a degree; 0 and below is a sensor that is not connected. */
static void note_hottest(const char *root, const char *path, gint *hottest_mc)
{
    g_autofree char *text = tree_read(root, path);
    gint64 mc = text != NULL ? g_ascii_strtoll(text, NULL, 10) : 0;

    if (mc > *hottest_mc && mc < 200000)
        *hottest_mc = (gint)mc;
}

static void read_chip(const char *root, const char *folder, gint *hottest_mc)
{
    g_autofree char *name_path = g_strconcat(folder, "/name", NULL);
    g_autofree char *name = tree_read(root, name_path);
    g_autofree char *full = g_strconcat(root, folder, NULL);
    g_autoptr(GDir) dir = NULL;
    const char *file;

    if (name == NULL || !g_strv_contains(chips, name))
        return;
    dir = g_dir_open(full, 0, NULL);
    while (dir != NULL && (file = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_strconcat(folder, "/", file, NULL);

        if (g_str_has_prefix(file, "temp") && g_str_has_suffix(file, "_input"))
            note_hottest(root, path, hottest_mc);
    }
}

static void read_zone(const char *root, const char *folder, gint *hottest_mc)
{
    g_autofree char *type_path = g_strconcat(folder, "/type", NULL);
    g_autofree char *type = tree_read(root, type_path);
    g_autofree char *path = g_strconcat(folder, "/temp", NULL);

    for (guint i = 0; type != NULL && i < G_N_ELEMENTS(zones); i++)
        if (strstr(type, zones[i]) != NULL) {
            note_hottest(root, path, hottest_mc);
            return;
        }
}

static const struct source {
    const char *class, *prefix;
    void (*read)(const char *root, const char *folder, gint *hottest_mc);
} sources[] = {
    {"/sys/class/hwmon", "hwmon", read_chip},
    {"/sys/class/thermal", "thermal_zone", read_zone},
};

gboolean temperature_read(const char *root, gint *ret_mc)
{
    gint hottest = 0;

    /* The first that has any: both often show the same sensor. */
    for (guint i = 0; hottest == 0 && i < G_N_ELEMENTS(sources); i++) {
        g_autofree char *full = g_strconcat(root, sources[i].class, NULL);
        g_autoptr(GDir) dir = g_dir_open(full, 0, NULL);
        const char *name;

        while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
            g_autofree char *folder = g_strconcat(sources[i].class, "/", name, NULL);

            if (g_str_has_prefix(name, sources[i].prefix))
                sources[i].read(root, folder, &hottest);
        }
    }
    if (hottest == 0)
        return FALSE;
    *ret_mc = hottest;
    return TRUE;
}
