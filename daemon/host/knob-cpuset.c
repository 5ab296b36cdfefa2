/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Isolation where no systemd does it: a cpuset cgroup (v1 or v2) of our own beside the subject,
 * into which everything is moved that lies in the hierarchy's root and can be moved. What its owner
 * has put into a cgroup stays there. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/cgroup-mount.h"
#include "host/knob.h"
#include "host/tree.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/wait.h"

#define FOLDER "/vmatrix-housekeeping"
/* What a cpuset says that is not there. */
#define ABSENT "absent"
#define ABSENT_AND_OFF "absent, controller off" /* v2: also not handed to the root's children */

enum { PASSES = 3, REMOVE_TRIES = 100, REMOVE_PAUSE_MS = 20 };

static char *in_folder(const char *folder, const char *name)
{
    return g_strconcat(folder, "/", name, NULL);
}

static gboolean file_has_word(const KnobHost *host, const char *folder, const char *name,
                              const char *word)
{
    g_autofree char *path = in_folder(folder, name);
    g_autofree char *text = tree_read(host->root, path);
    g_auto(GStrv) words = text != NULL ? g_strsplit(text, " ", -1) : NULL;

    return words != NULL && g_strv_contains((const char *const *)words, word);
}

/* Only v2 has this file. */
static gboolean is_v2(const KnobHost *host, const char *folder)
{
    g_autofree char *path = g_strconcat(host->root, folder, "/cgroup.controllers", NULL);

    return access(path, F_OK) == 0;
}

static void find_cpusets(const KnobHost *host, const Knob *knob, const char *value,
                         GPtrArray *targets)
{
    g_autofree char *v1 = cgroup_mount_point(host->root, 1, "cpuset");
    g_autofree char *v2 = v1 == NULL ? cgroup_mount_point(host->root, 2, NULL) : NULL;

    if (host->systemd != NULL)
        return;
    if (v1 != NULL)
        g_ptr_array_add(targets, g_strconcat(v1, FOLDER, NULL));
    else if (v2 != NULL && file_has_word(host, v2, "cgroup.controllers", "cpuset"))
        g_ptr_array_add(targets, g_strconcat(v2, FOLDER, NULL));
}

static gboolean read_cpuset(const KnobHost *host, const char *target, char **ret_text,
                            GError **error)
{
    g_autofree char *folder = g_strconcat(host->root, target, NULL);
    g_autofree char *parent = g_path_get_dirname(target);
    g_autofree char *cpus = in_folder(target, "cpuset.cpus");
    g_autofree char *text = NULL;

    if (access(folder, F_OK) == 0) {
        text = tree_read(host->root, cpus);
        *ret_text = text != NULL ? g_steal_pointer(&text) : g_strdup("");
    } else if (is_v2(host, parent) &&
               !file_has_word(host, parent, "cgroup.subtree_control", "cpuset")) {
        *ret_text = g_strdup(ABSENT_AND_OFF);
    } else {
        *ret_text = g_strdup(ABSENT);
    }
    return TRUE;
}

/* ---- moving ---- */

/* Move the processes of one cgroup into another; *ret_moved. Threads of the kernel that belong to
 * one CPU, and processes that end meanwhile, are refused: they stay. This process stays too: its
 * children are subjects. */
static gboolean move_once(const KnobHost *host, const char *from, const char *to, guint *ret_moved,
                          GError **error)
{
    g_autofree char *source = in_folder(from, "cgroup.procs");
    g_autofree char *sink = in_folder(to, "cgroup.procs");
    g_autofree char *self = g_strdup_printf("%d", (int)getpid());
    g_autofree char *text = NULL;
    guint moved = 0;

    if (!knob_file.read(host, source, &text, error))
        return FALSE;
    g_auto(GStrv) pids = g_strsplit(text != NULL ? text : "", "\n", -1);

    for (char **pid = pids; *pid != NULL; pid++)
        if (**pid != '\0' && strcmp(*pid, "0") != 0 && strcmp(*pid, self) != 0)
            moved += (guint)knob_file.write(host, sink, *pid, NULL);
    *ret_moved = moved;
    return TRUE;
}

/* More than once: a process may fork while it is read. */
static gboolean move_all(const KnobHost *host, const char *from, const char *to, GError **error)
{
    guint moved = 1;

    for (guint i = 0; i < PASSES && moved > 0; i++)
        if (!move_once(host, from, to, &moved, error))
            return FALSE;
    return TRUE;
}

/* ---- making and taking away ---- */

static gboolean fail_folder(const KnobHost *host, const char *what, const char *target,
                            GError **error)
{
    int number = errno;

    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s%s: %s: %s", host->root, target, what,
                g_strerror(number));
    return FALSE;
}

/* v1: a cpuset without memory nodes takes no process. */
static gboolean give_nodes(const KnobHost *host, const char *parent, const char *target,
                           GError **error)
{
    g_autofree char *from = in_folder(parent, "cpuset.mems");
    g_autofree char *to = in_folder(target, "cpuset.mems");
    g_autofree char *nodes = tree_read(host->root, from);

    return nodes == NULL || knob_file.write(host, to, nodes, error);
}

static gboolean make_cpuset(const KnobHost *host, const char *parent, const char *target,
                            const char *cpus, GError **error)
{
    g_autofree char *folder = g_strconcat(host->root, target, NULL);
    g_autofree char *control = in_folder(parent, "cgroup.subtree_control");
    g_autofree char *file = in_folder(target, "cpuset.cpus");

    if (is_v2(host, parent) && !knob_file.write(host, control, "+cpuset", error))
        return FALSE;
    if (mkdir(folder, 0755) != 0 && errno != EEXIST)
        return fail_folder(host, "make", target, error);
    return knob_file.write(host, file, cpus, error) && give_nodes(host, parent, target, error) &&
           move_all(host, parent, target, error);
}

/* The kernel calls a cgroup busy for a moment after its last process has left. */
static gboolean remove_folder(const KnobHost *host, const char *target, GError **error)
{
    g_autofree char *folder = g_strconcat(host->root, target, NULL);
    const Wait wait = {.deadline_ns = WAIT_FOREVER, .guard_fd = -1, .step = "tune"};

    for (guint i = 0; rmdir(folder) != 0; i++) {
        if (errno == ENOENT)
            return TRUE;
        if (errno != EBUSY || i == REMOVE_TRIES)
            return fail_folder(host, "remove", target, error);
        wait_sleep(&wait, REMOVE_PAUSE_MS * CLOCK_NS_PER_MS);
    }
    return TRUE;
}

static gboolean remove_cpuset(const KnobHost *host, const char *parent, const char *target,
                              gboolean off, GError **error)
{
    g_autofree char *folder = g_strconcat(host->root, target, NULL);
    g_autofree char *control = in_folder(parent, "cgroup.subtree_control");

    if (access(folder, F_OK) == 0 &&
        (!move_all(host, target, parent, error) || !remove_folder(host, target, error)))
        return FALSE;
    return !off || knob_file.write(host, control, "-cpuset", error);
}

static gboolean write_cpuset(const KnobHost *host, const char *target, const char *text,
                             GError **error)
{
    g_autofree char *parent = g_path_get_dirname(target);

    if (g_str_has_prefix(text, ABSENT))
        return remove_cpuset(host, parent, target, strcmp(text, ABSENT_AND_OFF) == 0, error);
    return make_cpuset(host, parent, target, text, error);
}

const struct knob_kind knob_cpuset = {.find = find_cpusets,
                                      .read = read_cpuset,
                                      .write = write_cpuset,
                                      .owned = TRUE,
                                      .lacks = "there is no cpuset controller"};
