/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings that systemd and logind keep: units that run, the CPUs of slices, sleep. */
#include <string.h>
#include <unistd.h>

#include "host/knob.h"
#include "host/tree.h"

static void add_words(const char *text, const char *separator, GPtrArray *targets)
{
    g_auto(GStrv) words = g_strsplit(text, separator, -1);

    for (char **word = words; *word != NULL; word++)
        g_ptr_array_add(targets, g_strdup(*word));
}

/* ---- units ---- */

static void find_units(const KnobHost *host, const Knob *knob, const char *value,
                       GPtrArray *targets)
{
    if (host->systemd != NULL)
        add_words(value, ",", targets);
}

static gboolean read_unit(const KnobHost *host, const char *target, char **ret_text, GError **error)
{
    if (host->systemd != NULL)
        return systemd_unit_state(host->systemd, target, ret_text, error);
    *ret_text = NULL;
    return TRUE;
}

static gboolean run_unit(const KnobHost *host, const char *target, const char *text, GError **error)
{
    return systemd_unit_run(host->systemd, target, strcmp(text, "inactive") != 0, error);
}

const struct knob_kind knob_unit = {
    .find = find_units, .read = read_unit, .write = run_unit, .lacks = "there is no such unit"};

/* ---- the CPUs of slices ---- */

/* AllowedCPUs works through cgroup v2 alone. */
static void find_slices(const KnobHost *host, const Knob *knob, const char *value,
                        GPtrArray *targets)
{
    g_autofree char *controllers = tree_read(host->root, "/sys/fs/cgroup/cgroup.controllers");

    if (host->systemd != NULL && controllers != NULL && strstr(controllers, "cpuset") != NULL)
        add_words(knob->path, " ", targets);
}

/* Whoever is put on the housekeeping CPUs cannot start a subject on the others. */
static char *forbids_slice(const KnobHost *host, const char *target)
{
    g_autofree char *groups = tree_read(host->root, "/proc/self/cgroup");
    g_autofree char *within = g_strdup_printf("0::/%s/", target);
    const char *at = groups != NULL ? strstr(groups, within) : NULL;

    if (at == NULL || (at != groups && at[-1] != '\n'))
        return NULL;
    return g_strdup("vmatrix and its bare cells are in it themselves; the service vmatrixd has a "
                    "slice of its own");
}

static gboolean read_slice(const KnobHost *host, const char *target, char **ret_text,
                           GError **error)
{
    if (host->systemd != NULL)
        return systemd_cpus_get(host->systemd, target, ret_text, error);
    *ret_text = NULL;
    return TRUE;
}

static gboolean write_slice(const KnobHost *host, const char *target, const char *text,
                            GError **error)
{
    return systemd_cpus_set(host->systemd, target, text, error);
}

const struct knob_kind knob_slice = {.find = find_slices,
                                     .read = read_slice,
                                     .write = write_slice,
                                     .forbids = forbids_slice,
                                     .lacks = "there is no cpuset controller of cgroup v2"};

/* ---- sleep ---- */

static void find_logind(const KnobHost *host, const Knob *knob, const char *value,
                        GPtrArray *targets)
{
    if (host->systemd != NULL)
        g_ptr_array_add(targets, g_strdup("logind"));
}

/* logind counts locks, so that there is no state to read: others may hold one too. */
static gboolean read_logind(const KnobHost *host, const char *target, char **ret_text,
                            GError **error)
{
    *ret_text = host->systemd != NULL ? g_strdup("") : NULL;
    return TRUE;
}

static gboolean inhibit(const KnobHost *host, const char *target, const char *text, GError **error)
{
    int fd = systemd_inhibit_sleep(host->systemd, "a campaign is measured", error);

    if (fd < 0)
        return FALSE;
    g_array_append_val(host->held, fd);
    return TRUE;
}

const struct knob_kind knob_sleep = {.find = find_logind,
                                     .read = read_logind,
                                     .write = inhibit,
                                     .held = TRUE,
                                     .lacks = "there is no logind"};
