/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/access.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/io.h"
#include "util/spawn.h"

/* QEMU locks bytes of an image: one byte a permission it has at 100 and up, one a permission it
 * denies to others at 200 and up (block/file-posix.c, RAW_LOCK_PERM_BASE). A user of the image in
 * any manner holds some of them; a writer holds the one of BLK_PERM_WRITE. */
enum { LOCK_FIRST = 100, LOCK_LENGTH = 200, LOCK_WRITER = LOCK_FIRST + 1, CHAIN_MAX = 64 };

static const gint64 info_limit_ns = 30 * CLOCK_NS_PER_S;

void overlay_base_free(OverlayBase *base)
{
    if (base == NULL)
        return;
    g_free(base->format);
    g_clear_pointer(&base->chain, g_ptr_array_unref);
    g_clear_pointer(&base->formats, g_ptr_array_unref);
    g_free(base);
}

static gboolean lock_held(int fd, off_t start, off_t length)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = length};

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Whether a descriptor of process pid is this file. */
static gboolean process_has_open(const char *pid, const struct stat *wanted)
{
    g_autofree char *folder = g_build_filename("/proc", pid, "fd", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;

    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *link = g_build_filename(folder, name, NULL);
        struct stat st;

        if (stat(link, &st) == 0 && st.st_dev == wanted->st_dev && st.st_ino == wanted->st_ino)
            return TRUE;
    }
    return FALSE;
}

/* "process 1234 (qemu-system-x86)", or "another process" where we may not look. Our own descriptor
 * must be the only one of ours. */
static char *describe_holder(const struct stat *wanted)
{
    g_autoptr(GDir) dir = g_dir_open("/proc", 0, NULL);
    g_autofree char *own = g_strdup_printf("%d", (int)getpid());
    const char *name;

    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = NULL, *command = NULL;

        if (!g_ascii_isdigit(name[0]) || g_str_equal(name, own) || !process_has_open(name, wanted))
            continue;
        path = g_build_filename("/proc", name, "comm", NULL);
        if (!g_file_get_contents(path, &command, NULL, NULL))
            continue;
        return g_strdup_printf("process %s (%s)", name, g_strstrip(command));
    }
    return g_strdup("another process");
}

static gboolean busy(int fd, const char *path, const char *what, GError **error)
{
    struct stat st = {0};
    g_autofree char *holder = fstat(fd, &st) == 0 ? describe_holder(&st) : NULL;

    g_set_error(error, VM_ERROR, VM_ERROR_BUSY, "%s: %s %s: end that guest first", path,
                holder != NULL ? holder : "another process", what);
    return FALSE;
}

static gboolean bad_info(const char *path, const char *why, GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: %s", path, why);
    return FALSE;
}

/* One file of the chain, as qemu-img describes it. Its names are absolute but for what is no local
 * file ("nbd://…", "json:{…}"). */
static gboolean add_link(OverlayBase *base, const char *path, const json_t *link, GError **error)
{
    const char *file = json_string_value(json_object_get(link, "filename"));
    const char *format = json_string_value(json_object_get(link, "format"));

    if (file == NULL || format == NULL)
        return bad_info(path, "qemu-img info told neither file name nor format", error);
    if (file[0] != '/') {
        g_set_error(error, VM_ERROR, VM_ERROR_UNSUPPORTED,
                    "%s: %s in its backing chain is not a local file: copy it (qemu-img convert) "
                    "to have a base that does not change",
                    path, file);
        return FALSE;
    }
    g_ptr_array_add(base->chain, g_strdup(file));
    g_ptr_array_add(base->formats, g_strdup(format));
    return TRUE;
}

static OverlayBase *decode_info(const char *path, const char *text, GError **error)
{
    json_auto_t *chain = json_loads(text, 0, NULL);
    g_autoptr(OverlayBase) base = g_new0(OverlayBase, 1);
    gsize i;
    const json_t *link;

    base->chain = g_ptr_array_new_with_free_func(g_free);
    base->formats = g_ptr_array_new_with_free_func(g_free);
    json_array_foreach (chain, i, link) {
        if (!add_link(base, path, link, error))
            return NULL;
    }
    if (base->chain->len == 0) {
        bad_info(path, "qemu-img info described no image", error);
        return NULL;
    }
    base->format = g_strdup(g_ptr_array_index(base->formats, 0));
    base->virtual_size =
        (guint64)json_integer_value(json_object_get(json_array_get(chain, 0), "virtual-size"));
    return g_steal_pointer(&base);
}

/* -U: an image that another guest has open read-only (or an overlay in use) can be described. */
static OverlayBase *read_chain(const Wait *wait, const char *path, const char *format,
                               GError **error)
{
    const char *argv[] = {"qemu-img",           "info",          "-U",
                          "--backing-chain",    "--output=json", path,
                          format ? "-f" : NULL, format,          NULL};
    g_autofree char *text = NULL;

    if (!spawn_check(wait, argv, &text, error)) {
        g_prefix_error(error, "image %s cannot be used: ", path);
        return NULL;
    }
    return decode_info(path, text, error);
}

static gboolean check_base(const char *path, GError **error)
{
    autofd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                    "base image %s cannot be opened: %s: see the guest's disk in the inventory",
                    path, g_strerror(errno));
        return FALSE;
    }
    if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
        return bad_info(path, "a base image must be a file or a block device", error);
    if (lock_held(fd, LOCK_WRITER, 1))
        return busy(fd, path, "has this base image open for writing", error);
    return TRUE;
}

OverlayBase *overlay_base_probe(const Wait *wait, const char *path, const char *format,
                                GError **error)
{
    g_autofree char *absolute = g_canonicalize_filename(path, NULL);

    if (!check_base(absolute, error))
        return NULL;
    return read_chain(wait, absolute, format, error);
}

/* Claim the name: qemu-img itself would write over what is there. */
static gboolean claim(const char *path, GError **error)
{
    autofd fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        return TRUE;
    if (errno == EEXIST)
        g_set_error(error, VM_ERROR, VM_ERROR_BUSY,
                    "overlay %s is there already, and is never made again over an old one: an "
                    "earlier run's guest may still use it",
                    path);
    else
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "overlay %s cannot be made: %s", path,
                    g_strerror(errno));
    return FALSE;
}

gboolean overlay_create(const Wait *wait, const char *path, const char *base,
                        const OverlayBase *info, GError **error)
{
    g_autofree char *absolute = g_canonicalize_filename(path, NULL);
    g_autofree char *absolute_base = g_canonicalize_filename(base, NULL);
    g_autofree char *blocked = NULL;
    g_autoptr(GError) local = NULL;
    const char *argv[] = {"qemu-img",    "create", "-q",         "-f",     "qcow2", "-b",
                          absolute_base, "-F",     info->format, absolute, NULL};

    if (!claim(absolute, error))
        return FALSE;
    if (spawn_check(wait, argv, NULL, &local))
        return TRUE;
    unlink(absolute);
    /* qemu-img does not always say which file of the chain it was. */
    blocked = overlay_blocked_by(absolute_base, NULL);
    g_set_error(error, local->domain, local->code, "overlay %s on %s: %s", path, base,
                blocked != NULL ? blocked : local->message);
    return FALSE;
}

/* Take every lock byte, so that no QEMU can start on it between the look and the removal. */
static gboolean lock_all(int fd)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_FIRST, .l_len = LOCK_LENGTH};

    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

gboolean overlay_remove(const Wait *wait, const char *path, GError **error)
{
    gboolean writable = TRUE;
    autofd fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0 && errno == ENOENT)
        return TRUE;
    if (fd < 0) {
        /* Another user's while its domain runs: the locks can be seen, not taken. */
        writable = FALSE;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    }
    if (fd < 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                    "overlay %s cannot be looked at, and is left in place: %s", path,
                    g_strerror(errno));
        return FALSE;
    }
    if (writable ? !lock_all(fd) : lock_held(fd, LOCK_FIRST, LOCK_LENGTH))
        return busy(fd, path, "still has this overlay open; it is left in place", error);
    if (unlink(path) == 0 || errno == ENOENT)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "overlay %s cannot be removed: %s", path,
                g_strerror(errno));
    return FALSE;
}

/* One file's own description: its backing file, or NULL with no error at the end of the chain. */
static gboolean next_backing(const Wait *wait, const char *path, char **ret_next, GError **error)
{
    const char *const argv[] = {"qemu-img", "info", "-U", "--output=json", path, NULL};
    g_autofree char *text = NULL;
    json_auto_t *info = NULL;
    const char *file;

    if (!spawn_check(wait, argv, &text, error)) {
        g_prefix_error(error, "image %s cannot be used: ", path);
        return FALSE;
    }
    info = json_loads(text, 0, NULL);
    file = json_string_value(json_object_get(info, "full-backing-filename"));
    *ret_next = file != NULL && file[0] == '/' ? g_strdup(file) : NULL;
    return TRUE;
}

/* File by file, since qemu-img names only the last one of a chain that it cannot open, and not the
 * folder that is in the way. */
char *overlay_blocked_by(const char *path, const char *user_name)
{
    Wait wait = {
        .deadline_ns = clock_mono_ns() + info_limit_ns, .guard_fd = -1, .step = "permissions"};
    g_autofree char *at = g_canonicalize_filename(path, NULL);

    for (guint depth = 0; at != NULL && depth < CHAIN_MAX; depth++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *next = NULL;
        char *blocked = access_blocked_by(at, user_name, ACCESS_READ);

        if (blocked != NULL)
            return blocked;
        if (!next_backing(&wait, at, &next, &error))
            return g_strdup(error->message);
        g_free(at);
        at = g_steal_pointer(&next);
    }
    return at == NULL
               ? NULL
               : g_strdup_printf("%s: more than %d backing files, or a cycle", path, CHAIN_MAX);
}
