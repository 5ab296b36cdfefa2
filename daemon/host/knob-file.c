/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings that are files of /proc and /sys, and the one that is an open file of /dev. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "host/knob.h"
#include "host/tree.h"
#include "util/error.h"
#include "util/io.h"

static gboolean fail(const char *what, const char *path, GError **error)
{
    int number = errno;

    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: %s: %s", path, what,
                g_strerror(number));
    return FALSE;
}

static void find_files(const KnobHost *host, const Knob *knob, const char *value,
                       GPtrArray *targets)
{
    g_autofree char *pattern = g_strconcat(host->root, knob->path, NULL);
    glob_t found = {0};

    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            g_ptr_array_add(targets, g_strdup(found.gl_pathv[i] + strlen(host->root)));
    globfree(&found);
}

static gboolean read_file(const KnobHost *host, const char *target, char **ret_text, GError **error)
{
    g_autofree char *path = g_strconcat(host->root, target, NULL);
    g_autofree char *text = NULL;

    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        *ret_text = NULL;
        return TRUE;
    }
    text = tree_read_whole(host->root, target, error);
    if (text == NULL)
        return FALSE;
    *ret_text = g_steal_pointer(&text);
    return TRUE;
}

/* In one write(2), as the kernel takes it. O_TRUNC means something only to a tree of plain files.
 */
static gboolean write_file(const KnobHost *host, const char *target, const char *text,
                           GError **error)
{
    g_autofree char *path = g_strconcat(host->root, target, NULL);
    autofd fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
    gsize length = strlen(text);
    ssize_t done;

    if (fd < 0)
        return fail("open for writing", path, error);
    do
        done = write(fd, text, length);
    while (done < 0 && errno == EINTR);
    if (done < 0)
        return fail("write", path, error);
    if ((gsize)done == length)
        return TRUE;
    errno = EIO;
    return fail("write the whole", path, error);
}

const struct knob_kind knob_file = {
    .find = find_files, .read = read_file, .write = write_file, .lacks = "there is no such file"};

/* ---- /dev/cpu_dma_latency: holds as long as it is open (Documentation/power/pm_qos_interface) */

/* What is in force now, of whoever: a 32-bit number of microseconds. */
static gboolean read_latency(const KnobHost *host, const char *target, char **ret_text,
                             GError **error)
{
    g_autofree char *path = g_strconcat(host->root, target, NULL);
    autofd fd = open(path, O_RDONLY | O_CLOEXEC);
    gint32 now = 0;

    if (fd < 0 && errno == ENOENT) {
        *ret_text = NULL;
        return TRUE;
    }
    if (fd < 0)
        return fail("open", path, error);
    if (pread(fd, &now, sizeof now, 0) < 0)
        return fail("read", path, error);
    *ret_text = g_strdup_printf("%d", now);
    return TRUE;
}

static gboolean hold_latency(const KnobHost *host, const char *target, const char *text,
                             GError **error)
{
    g_autofree char *path = g_strconcat(host->root, target, NULL);
    autofd fd = open(path, O_WRONLY | O_CLOEXEC);
    gint32 wanted = (gint32)g_ascii_strtoll(text, NULL, 10);
    int kept;

    if (fd < 0)
        return fail("open for writing", path, error);
    if (write(fd, &wanted, sizeof wanted) != (ssize_t)sizeof wanted)
        return fail("write", path, error);
    kept = io_steal_fd(&fd);
    g_array_append_val(host->held, kept);
    return TRUE;
}

const struct knob_kind knob_latency = {.find = find_files,
                                       .read = read_latency,
                                       .write = hold_latency,
                                       .held = TRUE,
                                       .lacks = "there is no such file"};
