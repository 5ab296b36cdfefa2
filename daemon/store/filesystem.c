/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/filesystem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "util/error.h"

/* statfs(2)'s f_type is signed on some machines: compared as 32 bits. */
#define FUSE_MAGIC 0x65735546U

static const struct {
    guint32 f_type;
    const char *name;
} network[] = {
    {0x00006969, "NFS"},    {0x0000517b, "SMB"},    {0xfe534d42, "SMB2"}, {0xff534d42, "CIFS"},
    {0x01021997, "9p"},     {0x00c36400, "Ceph"},   {0x5346414f, "AFS"},  {0x6b414653, "AFS"},
    {0x73757245, "Coda"},   {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"},
    {0x786f4256, "vboxsf"},
};

/* A FUSE file system may be local (ntfs-3g, mergerfs); these are not. */
static const struct {
    const char *type;
    const char *name;
} fuse_network[] = {
    {"sshfs", "SSHFS"},       {"glusterfs", "GlusterFS"}, {"s3fs", "S3"},
    {"rclone", "rclone"},     {"davfs", "WebDAV"},        {"curlftpfs", "FTP"},
    {"ceph", "Ceph"},         {"ceph-fuse", "Ceph"},      {"smbnetfs", "SMB"},
    {"nfs", "NFS"},           {"gcsfuse", "GCS"},         {"juicefs", "JuiceFS"},
    {"virtiofs", "virtiofs"},
};

static guint64 pretended;

void filesystem_pretend(guint64 f_type)
{
    pretended = f_type;
}

const char *filesystem_network_name(guint64 f_type, const char *fuse)
{
    for (gsize i = 0; i < G_N_ELEMENTS(network); i++)
        if (network[i].f_type == (guint32)f_type)
            return network[i].name;
    if ((guint32)f_type != FUSE_MAGIC || fuse == NULL)
        return NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(fuse_network); i++)
        if (strcmp(fuse_network[i].type, fuse) == 0)
            return fuse_network[i].name;
    return NULL;
}

/* The file system's type in one line of mountinfo (proc(5)): the field after " - ". Transfer full,
 * or NULL when the line is of another device. */
static char *type_in_line(const char *line, dev_t device)
{
    const char *separator = strstr(line, " - ");
    unsigned major_id, minor_id;

    if (separator == NULL || sscanf(line, "%*d %*d %u:%u", &major_id, &minor_id) != 2 ||
        major_id != major(device) || minor_id != minor(device))
        return NULL;
    separator += 3;
    return g_strndup(separator, strcspn(separator, " \n"));
}

/* "sshfs" for a mount of type fuse.sshfs, "virtiofs" for virtiofs. Transfer full, or NULL. */
static char *fuse_type(dev_t device)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;

    if (!g_file_get_contents("/proc/self/mountinfo", &text, NULL, NULL))
        return NULL;
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        g_autofree char *type = type_in_line(*line, device);

        if (type != NULL)
            return g_strdup(g_str_has_prefix(type, "fuse.") ? type + 5 : type);
    }
    return NULL;
}

/* The path itself, or the nearest folder above it that exists. Transfer full. */
static char *existing_part(const char *path)
{
    char *at = g_canonicalize_filename(path, NULL);
    struct stat st;

    while (strcmp(at, "/") != 0 && stat(at, &st) != 0) {
        char *above = g_path_get_dirname(at);

        g_free(at);
        at = above;
    }
    return at;
}

gboolean filesystem_check(const char *path, GError **error)
{
    g_autofree char *place = existing_part(path);
    g_autofree char *fuse = NULL;
    struct statfs fs;
    struct stat st;
    const char *name;

    if (statfs(place, &fs) != 0 || stat(place, &st) != 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: cannot examine: %s", place,
                    g_strerror(errno));
        return FALSE;
    }
    fuse = fuse_type(st.st_dev);
    name = filesystem_network_name(pretended != 0 ? pretended : (guint64)fs.f_type, fuse);
    if (name == NULL)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                "%s: lies on a network file system (%s), where SQLite's locks cannot be relied on; "
                "nothing was touched: put the database on a local disk and name it with --db",
                path, name);
    return FALSE;
}
