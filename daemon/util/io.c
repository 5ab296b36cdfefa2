/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "util/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/error.h"

void io_clear_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int io_steal_fd(int *fd)
{
    int stolen = *fd;

    *fd = -1;
    return stolen;
}

/* "PATH: cannot VERB: strerror"; returns FALSE always. */
static gboolean fail(GError **error, const char *path, const char *verb, int code)
{
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: cannot %s: %s", path, verb,
                g_strerror(code));
    return FALSE;
}

static gssize read_retry(int fd, void *buffer, gsize size)
{
    gssize got;

    do {
        got = read(fd, buffer, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

char *io_read_file(const char *path, gsize max, gsize *ret_length, GError **error)
{
    autofd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    guint8 block[65536];
    gssize got;

    if (fd < 0) {
        fail(error, path, "open", errno);
        return NULL;
    }
    while ((got = read_retry(fd, block, sizeof block)) > 0) {
        if (bytes->len + (gsize)got > max) {
            g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                        "%s: larger than the %" G_GSIZE_FORMAT " bytes allowed", path, max);
            return NULL;
        }
        g_byte_array_append(bytes, block, (guint)got);
    }
    if (got < 0) {
        fail(error, path, "read", errno);
        return NULL;
    }
    if (ret_length != NULL)
        *ret_length = bytes->len;
    g_byte_array_append(bytes, (const guint8 *)"", 1);
    return (char *)g_byte_array_free(g_steal_pointer(&bytes), FALSE);
}

static gboolean write_blocking(int fd, const void *data, gsize length)
{
    const char *at = data;

    while (length > 0) {
        gssize put = write(fd, at, length);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return FALSE;
        at += put;
        length -= (gsize)put;
    }
    return TRUE;
}

static gboolean sync_folder_of(const char *path, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path);
    autofd fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) != 0)
        return fail(error, folder, "sync", errno);
    return TRUE;
}

gboolean io_replace_file(const char *path, const void *data, gsize length, int mode, GError **error)
{
    g_autofree char *temporary = g_strdup_printf("%s.new", path);
    autofd fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);

    if (fd < 0)
        return fail(error, temporary, "create", errno);
    if (!write_blocking(fd, data, length) || fsync(fd) != 0) {
        int code = errno;

        unlink(temporary);
        return fail(error, temporary, "write", code);
    }
    if (rename(temporary, path) != 0) {
        int code = errno;

        unlink(temporary);
        return fail(error, path, "replace", code);
    }
    return sync_folder_of(path, error);
}

gboolean io_make_folder(const char *path, GError **error)
{
    if (g_mkdir_with_parents(path, 0700) != 0)
        return fail(error, path, "create the folder", errno);
    return TRUE;
}

/* Empty the folder open as fd (consumed). Works on descriptors, so a swapped link leads nowhere. */
static gboolean remove_below(int fd, const char *path, GError **error)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *entry;
    gboolean ok = TRUE;

    if (dir == NULL) {
        close(fd);
        return fail(error, path, "read", errno);
    }
    while (ok && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), name, 0) == 0 || errno == ENOENT)
            continue;
        int below = openat(dirfd(dir), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        ok = below >= 0 ? remove_below(below, path, error) : fail(error, path, "remove", errno);
        if (ok && unlinkat(dirfd(dir), name, AT_REMOVEDIR) != 0)
            ok = fail(error, path, "remove", errno);
    }
    closedir(dir);
    return ok;
}

gboolean io_remove_tree(const char *path, GError **error)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT)
        return TRUE;
    if (fd < 0)
        return fail(error, path, "open", errno);
    if (!remove_below(fd, path, error))
        return FALSE;
    if (rmdir(path) != 0 && errno != ENOENT)
        return fail(error, path, "remove", errno);
    return TRUE;
}

/* FALSE with error: the wait has ended. */
static gboolean may_read_on(const Wait *wait, const char *path, GError **error)
{
    WaitResult result = wait != NULL ? wait_sleep(wait, 0) : WAIT_TIMEOUT;
    g_autofree char *what = NULL;

    if (result == WAIT_TIMEOUT && (wait == NULL || wait_left_ns(wait) > 0))
        return TRUE;
    what = g_strdup_printf("the end of %s", path);
    return wait_fail(wait, result, what, error);
}

char *io_digest_file(const Wait *wait, const char *path, GError **error)
{
    autofd fd = open(path, O_RDONLY | O_CLOEXEC);
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree guint8 *block = g_malloc(1 << 20);
    gssize got;

    if (fd < 0) {
        fail(error, path, "open", errno);
        return NULL;
    }
    while ((got = read_retry(fd, block, 1 << 20)) > 0) {
        g_checksum_update(sum, block, got);
        if (!may_read_on(wait, path, error))
            return NULL;
    }
    if (got < 0) {
        fail(error, path, "read", errno);
        return NULL;
    }
    return g_strdup(g_checksum_get_string(sum));
}

gboolean io_write_all(const Wait *wait, int fd, const void *data, gsize length, GError **error)
{
    const char *at = data;

    while (length > 0) {
        WaitResult result = wait_fd(wait, fd, POLLOUT);

        if (result != WAIT_READY)
            return wait_fail(wait, result, "room to write", error);
        gssize put = write(fd, at, length);

        if (put < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (put < 0) {
            g_set_error(error, VM_ERROR, VM_ERROR_LOST, "%s: write: %s", wait->step,
                        g_strerror(errno));
            return FALSE;
        }
        at += put;
        length -= (gsize)put;
    }
    return TRUE;
}
