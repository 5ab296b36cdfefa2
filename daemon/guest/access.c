/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/access.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "util/text.h"

enum { MAY_READ = 4, MAY_SEARCH = 1 };

typedef struct {
    gboolean self;
    uid_t uid;
    gid_t groups[NGROUPS_MAX];
    int n_groups;
    char name[64]; /* for messages and for setfacl */
} Person;

/* The kernel's form of a POSIX access list (linux/posix_acl_xattr.h), little-endian. */
enum {
    ACL_VERSION = 2,
    ACL_USER_OBJ = 0x01,
    ACL_USER = 0x02,
    ACL_GROUP_OBJ = 0x04,
    ACL_GROUP = 0x08,
    ACL_MASK = 0x10,
    ACL_OTHER = 0x20,
    ACL_ENTRIES_MAX = 512
};

typedef struct {
    guint16 tag, permissions;
    guint32 id;
} AclEntry;

typedef struct {
    guint32 version;
    AclEntry entries[ACL_ENTRIES_MAX];
} Acl;

static gboolean person_find(const char *user_name, Person *ret_person)
{
    const struct passwd *passwd = NULL;
    guint64 uid;

    memset(ret_person, 0, sizeof *ret_person);
    ret_person->self = user_name == NULL;
    if (user_name == NULL) {
        ret_person->uid = geteuid();
        passwd = getpwuid(ret_person->uid);
    } else if (user_name[0] == '+' && text_parse_uint(user_name + 1, &uid)) {
        ret_person->uid = (uid_t)uid;
        passwd = getpwuid(ret_person->uid);
    } else {
        passwd = getpwnam(user_name);
        if (passwd == NULL)
            return FALSE;
        ret_person->uid = passwd->pw_uid;
    }
    g_snprintf(ret_person->name, sizeof ret_person->name, "%u", (guint)ret_person->uid);
    if (passwd == NULL)
        return TRUE;
    g_strlcpy(ret_person->name, passwd->pw_name, sizeof ret_person->name);
    ret_person->n_groups = NGROUPS_MAX;
    if (getgrouplist(passwd->pw_name, passwd->pw_gid, ret_person->groups, &ret_person->n_groups) <
        0)
        ret_person->n_groups = 0;
    return TRUE;
}

static gboolean in_group(const Person *person, gid_t gid)
{
    for (int i = 0; i < person->n_groups; i++)
        if (person->groups[i] == gid)
            return TRUE;
    return FALSE;
}

/* acl(5), ACCESS CHECK ALGORITHM, without the owner, who is settled before. */
static gboolean acl_allows(const Person *person, const struct stat *st, const AclEntry *entries,
                           gsize n, guint wish)
{
    guint mask = 7, other = 0;
    gboolean group_found = FALSE, group_allows = FALSE;

    for (gsize i = 0; i < n; i++)
        if (GUINT16_FROM_LE(entries[i].tag) == ACL_MASK)
            mask = GUINT16_FROM_LE(entries[i].permissions);
    for (gsize i = 0; i < n; i++) {
        guint tag = GUINT16_FROM_LE(entries[i].tag);
        guint permissions = GUINT16_FROM_LE(entries[i].permissions);
        guint id = GUINT32_FROM_LE(entries[i].id);

        if (tag == ACL_USER && id == person->uid)
            return (permissions & mask & wish) == wish;
        if ((tag == ACL_GROUP_OBJ && in_group(person, st->st_gid)) ||
            (tag == ACL_GROUP && in_group(person, id))) {
            group_found = TRUE;
            group_allows = group_allows || (permissions & mask & wish) == wish;
        }
        if (tag == ACL_OTHER)
            other = permissions;
    }
    return group_found ? group_allows : (other & wish) == wish;
}

static gboolean mode_allows(const Person *person, const struct stat *st, guint wish)
{
    guint bits = in_group(person, st->st_gid) ? st->st_mode >> 3 : st->st_mode;

    return (bits & wish) == wish;
}

static gboolean may(const Person *person, const char *path, const struct stat *st, guint wish)
{
    Acl acl;
    gssize size;

    /* For ourselves the kernel knows more (capabilities, security modules, mounts). */
    if (person->self)
        return faccessat(AT_FDCWD, path, wish == MAY_READ ? R_OK : X_OK, AT_EACCESS) == 0;
    if (person->uid == 0)
        return TRUE;
    if (st->st_uid == person->uid)
        return ((st->st_mode >> 6) & wish) == wish;
    size = getxattr(path, "system.posix_acl_access", &acl, sizeof acl);
    if (size > (gssize)sizeof acl.version && GUINT32_FROM_LE(acl.version) == ACL_VERSION)
        return acl_allows(person, st, acl.entries,
                          ((gsize)size - sizeof acl.version) / sizeof *acl.entries, wish);
    return mode_allows(person, st, wish);
}

static char *describe_block(const Person *person, const char *at, const struct stat *st,
                            const char *path, guint wish)
{
    const struct passwd *owner = getpwuid(st->st_uid);
    g_autofree char *number = g_strdup_printf("%u", (guint)st->st_uid);
    const char *letter = wish == MAY_READ ? "r" : "x";
    gboolean same = g_str_equal(at, path);

    return g_strdup_printf(
        "%s (owner %s, mode %04o) cannot be %s by user %s%s%s%s: setfacl -m u:%s:%s '%s', or chmod "
        "o+%s '%s', or move the file to where that user may read, such as /var/lib/libvirt/images",
        at, owner != NULL ? owner->pw_name : number, (guint)st->st_mode & 07777,
        wish == MAY_READ ? "read" : "searched", person->name, same ? "" : ", so ", same ? "" : path,
        same ? "" : " cannot be opened", person->name, letter, at, letter, at);
}

/* One folder or file on the way; NULL: no obstacle. */
static char *check_one(const Person *person, const char *at, const char *path, guint wish)
{
    struct stat st;

    if (stat(at, &st) < 0)
        return g_strdup_printf("%s: %s", at, errno == ENOENT ? "no such file" : g_strerror(errno));
    if (!may(person, at, &st, wish))
        return describe_block(person, at, &st, path, wish);
    return NULL;
}

/* The folders of path from the root on, then path itself. */
static char *walk(const Person *person, const char *path, AccessWish wish)
{
    char *blocked = check_one(person, "/", path, MAY_SEARCH);

    for (const char *slash = strchr(path + 1, '/'); blocked == NULL && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        g_autofree char *folder = g_strndup(path, (gsize)(slash - path));

        blocked = check_one(person, folder, path, MAY_SEARCH);
    }
    if (blocked == NULL && wish == ACCESS_READ)
        blocked = check_one(person, path, path, MAY_READ);
    return blocked;
}

char *access_blocked_by(const char *path, const char *user_name, AccessWish wish)
{
    g_autofree char *absolute = g_canonicalize_filename(path, NULL);
    g_autofree Person *person = g_new(Person, 1);
    char *blocked;

    if (!person_find(user_name, person))
        return g_strdup_printf("%s: there is no user %s on this machine to check it for", path,
                               user_name);
    blocked = walk(person, absolute, wish);
    if (blocked == NULL) {
        char *real = realpath(absolute, NULL);

        /* A link on the way leads through other folders. */
        if (real != NULL && !g_str_equal(real, absolute))
            blocked = walk(person, real, wish);
        free(real);
    }
    return blocked;
}
