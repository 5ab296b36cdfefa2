/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "host/cgroup-mount.h"
#include "host/tree.h"
#include "util/clock.h"
#include "util/cpulist.h"
#include "util/error.h"
#include "util/io.h"
#include "util/text.h"
#include "util/wait.h"

#define SELF "vmatrix-self" /* where this process moves to when it divides its own group */
#define HOUSEKEEPING "vmatrix-housekeeping" /* where knob-cpuset.c moves everything else */

static const gint64 end_limit_ns = 5 * CLOCK_NS_PER_S;
static const gint64 end_look_ns = 10 * CLOCK_NS_PER_MS;

/* One controller that is wanted. */
typedef struct {
    const char *controller, *what; /* static */
    CgroupMount mount;             /* the group to make ours below */
    char *folder;                  /* ours, without root; NULL: nowhere */
    gboolean made;
} Part;

enum { PART_CPUS, PART_MEMORY, N_PARTS };

struct Cgroup {
    char *root, *name, *cpus, *nodes, *path;
    guint64 memory;
    Part parts[N_PARTS];
    GPtrArray *folders; /* with root, each once */
    GArray *joins;
};

/* ---- the files of a group ---- */

static char *in(const char *root, const char *folder, const char *file)
{
    return g_strconcat(root, folder, "/", file, NULL);
}

/* 0, or errno. A file of the kernel's is never made. */
static int put(const char *path, const char *text)
{
    autofd fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);

    if (fd < 0)
        return errno;
    return write(fd, text, strlen(text)) == (gssize)strlen(text) ? 0 : errno;
}

typedef char *(*Value)(const Cgroup *cgroup, const Part *part);

/* NULL: the parent's, which version 2 takes by itself and version 1 must be told. */
static char *or_parent(const Cgroup *cgroup, const Part *part, const char *value, const char *file)
{
    g_autofree char *path = g_build_filename(part->mount.folder, file, NULL);

    return value != NULL || part->mount.version == 2 ? g_strdup(value)
                                                     : tree_read(cgroup->root, path);
}

static char *value_cpus(const Cgroup *cgroup, const Part *part)
{
    return or_parent(cgroup, part, cgroup->cpus, "cpuset.cpus");
}

static char *value_nodes(const Cgroup *cgroup, const Part *part)
{
    return or_parent(cgroup, part, cgroup->nodes, "cpuset.mems");
}

static char *value_memory(const Cgroup *cgroup, const Part *part)
{
    return g_strdup_printf("%" G_GUINT64_FORMAT, cgroup->memory);
}

static char *value_zero(const Cgroup *cgroup, const Part *part)
{
    return g_strdup("0");
}

/* optional: not there in every kernel; without swap it makes no difference. */
static const struct setting {
    guint version, part;
    const char *file;
    Value value;
    gboolean optional;
} settings[] = {
    {1, PART_CPUS, "cpuset.cpus", value_cpus, FALSE},
    {1, PART_CPUS, "cpuset.mems", value_nodes, FALSE},
    {1, PART_MEMORY, "memory.limit_in_bytes", value_memory, FALSE},
    {1, PART_MEMORY, "memory.memsw.limit_in_bytes", value_memory, TRUE},
    {1, PART_MEMORY, "memory.swappiness", value_zero, TRUE},
    {2, PART_CPUS, "cpuset.cpus", value_cpus, FALSE},
    {2, PART_CPUS, "cpuset.mems", value_nodes, FALSE},
    {2, PART_MEMORY, "memory.max", value_memory, FALSE},
    {2, PART_MEMORY, "memory.swap.max", value_zero, TRUE},
};

/* The kernel writes a list in its own way, and cuts bytes to whole pages. */
static gboolean reads_as(const char *text, const char *wanted)
{
    g_autoptr(GArray) left = cpulist_parse(text);
    g_autoptr(GArray) right = cpulist_parse(wanted);
    guint64 a, b, page = (guint64)sysconf(_SC_PAGESIZE);

    if (text_parse_uint(text, &a) && text_parse_uint(wanted, &b))
        return a == b || a / page == b / page;
    if (left == NULL || right == NULL || left->len != right->len)
        return FALSE;
    for (guint i = 0; i < right->len; i++)
        if (!cpulist_has(left, g_array_index(right, guint, i)))
            return FALSE;
    return TRUE;
}

static gboolean apply(const Cgroup *cgroup, const Part *part, const struct setting *setting,
                      char **ret_why)
{
    g_autofree char *value = setting->value(cgroup, part);
    g_autofree char *path = in(cgroup->root, part->folder, setting->file);
    g_autofree char *back = NULL;
    int code;

    if (value == NULL)
        return TRUE;
    code = put(path, value);
    back = tree_read("", path);
    if (code == 0 && back != NULL && reads_as(back, value))
        return TRUE;
    if (setting->optional)
        return TRUE;
    *ret_why = code != 0 ? g_strdup_printf("%s: cannot write %s: %s", path, value, g_strerror(code))
                         : g_strdup_printf("%s: wrote %s and read %s", path, value,
                                           back != NULL ? back : "nothing");
    return FALSE;
}

static gboolean apply_all(const Cgroup *cgroup, const Part *part, char **ret_why)
{
    for (gsize i = 0; i < G_N_ELEMENTS(settings); i++)
        if (settings[i].version == part->mount.version &&
            part == &cgroup->parts[settings[i].part] && !apply(cgroup, part, &settings[i], ret_why))
            return FALSE;
    return TRUE;
}

/* ---- dividing a group of version 2 ---- */

/* Processes of the group (char*), as text. */
static char **members(const char *folder)
{
    g_autofree char *path = in("", folder, "cgroup.procs");
    g_autofree char *text = tree_read("", path);

    return g_strsplit(text != NULL ? text : "", "\n", -1);
}

/* systemd marks what it gave away; a group that holds nobody else is nobody else's. */
static gboolean is_ours(const char *folder)
{
    static const char *const marks[] = {"trusted.delegate", "user.delegate"};
    g_auto(GStrv) pids = members(folder);
    g_autofree char *self = g_strdup_printf("%d", (int)getpid());

    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++) {
        char mark = '\0';

        if (getxattr(folder, marks[i], &mark, 1) == 1 && mark == '1')
            return TRUE;
    }
    return g_strv_length(pids) == 1 && g_str_equal(pids[0], self);
}

/* A group with processes of its own cannot have parts: they move to one beside the new ones. */
static gboolean move_aside(const char *folder)
{
    g_autofree char *self = in("", folder, SELF);
    g_autofree char *join = in("", self, "cgroup.procs");
    g_auto(GStrv) pids = members(folder);

    if (mkdir(self, 0755) != 0 && errno != EEXIST)
        return FALSE;
    for (char **pid = pids; *pid != NULL; pid++) {
        int code = put(join, *pid);

        if (code != 0 && code != ESRCH)
            return FALSE;
    }
    return TRUE;
}

static gboolean divide(const char *folder, const char *controller, char **ret_why)
{
    g_autofree char *path = in("", folder, "cgroup.subtree_control");
    g_autofree char *have = tree_read("", path);
    g_auto(GStrv) words = g_strsplit(have != NULL ? have : "", " ", -1);
    g_autofree char *add = g_strconcat("+", controller, NULL);
    int code;

    if (g_strv_contains((const char *const *)words, controller))
        return TRUE;
    code = put(path, add);
    if (code == EBUSY && is_ours(folder) && move_aside(folder))
        code = put(path, add);
    if (code == 0)
        return TRUE;
    *ret_why = g_strdup_printf(
        "%s: cannot hand on the controller %s: %s; start vmatrix as a "
        "service, or by \"systemd-run --scope -p Delegate=yes\" (with --user where you "
        "are not root)",
        folder, controller, g_strerror(code));
    return FALSE;
}

/* ---- making and removing ---- */

/* A part that vmatrix put itself into: the subject's comes beside it. */
static gboolean is_own(const char *folder)
{
    g_autofree char *name = g_path_get_basename(folder);

    return g_str_equal(name, SELF) || g_str_equal(name, HOUSEKEEPING);
}

static void find_part(Cgroup *cgroup, Part *part)
{
    CgroupMount *mount = &part->mount;
    g_autofree char *full = NULL;

    cgroup_mount_find(cgroup->root, part->controller, mount);
    if (mount->version == 0)
        return;
    if (is_own(mount->folder)) {
        *strrchr(mount->folder, '/') = '\0';
        *strrchr(mount->path, '/') = '\0';
    }
    part->folder = g_build_filename(mount->folder, cgroup->name, NULL);
    full = g_strconcat(cgroup->root, part->folder, NULL);
    if (!g_ptr_array_find_with_equal_func(cgroup->folders, full, g_str_equal, NULL))
        g_ptr_array_add(cgroup->folders, g_steal_pointer(&full));
}

Cgroup *cgroup_new(const char *root, const CgroupSpec *spec)
{
    Cgroup *cgroup = g_new0(Cgroup, 1);

    cgroup->root = g_strdup(root);
    cgroup->name = g_strdup(spec->name);
    cgroup->cpus = g_strdup(spec->cpus);
    cgroup->nodes = g_strdup(spec->nodes);
    cgroup->memory = spec->memory;
    cgroup->folders = g_ptr_array_new_with_free_func(g_free);
    cgroup->joins = g_array_new(FALSE, FALSE, sizeof(int));
    cgroup->parts[PART_CPUS] = (Part){.controller = "cpuset", .what = "CPU set"};
    cgroup->parts[PART_MEMORY] = (Part){.controller = "memory", .what = "memory limit"};
    find_part(cgroup, &cgroup->parts[PART_CPUS]);
    if (spec->memory > 0)
        find_part(cgroup, &cgroup->parts[PART_MEMORY]);
    return cgroup;
}

static void close_joins(Cgroup *cgroup)
{
    for (guint i = 0; i < cgroup->joins->len; i++)
        close(g_array_index(cgroup->joins, int, i));
    g_array_set_size(cgroup->joins, 0);
}

void cgroup_free(Cgroup *cgroup)
{
    if (cgroup == NULL)
        return;
    close_joins(cgroup);
    for (guint i = 0; i < cgroup->folders->len; i++) {
        g_autoptr(GError) error = NULL;

        if (!cgroup_remove(g_ptr_array_index(cgroup->folders, i), &error))
            g_message("%s", error->message);
    }
    for (guint i = 0; i < N_PARTS; i++) {
        cgroup_mount_clear(&cgroup->parts[i].mount);
        g_free(cgroup->parts[i].folder);
    }
    g_ptr_array_unref(cgroup->folders);
    g_array_unref(cgroup->joins);
    g_free(cgroup->root);
    g_free(cgroup->name);
    g_free(cgroup->cpus);
    g_free(cgroup->nodes);
    g_free(cgroup->path);
    g_free(cgroup);
}

const GPtrArray *cgroup_folders(const Cgroup *cgroup)
{
    return cgroup->folders;
}

static gboolean make_part(Cgroup *cgroup, Part *part, char **ret_why)
{
    g_autofree char *parent = NULL, *folder = NULL;

    if (part->folder == NULL) {
        *ret_why = g_strdup_printf("the controller %s is not there", part->controller);
        return FALSE;
    }
    parent = g_strconcat(cgroup->root, part->mount.folder, NULL);
    folder = g_strconcat(cgroup->root, part->folder, NULL);
    if (part->mount.version == 2 && !divide(parent, part->controller, ret_why))
        return FALSE;
    if (mkdir(folder, 0755) != 0 && errno != EEXIST) {
        *ret_why = g_strdup_printf("%s: %s", folder, g_strerror(errno));
        return FALSE;
    }
    return apply_all(cgroup, part, ret_why);
}

/* Both controllers may be parts of one folder: it is joined once, and kept while one needs it. */
static gboolean open_join(Cgroup *cgroup, const char *folder, char **ret_why)
{
    g_autofree char *path = in("", folder, "cgroup.procs");
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0) {
        *ret_why = g_strdup_printf("%s: %s", path, g_strerror(errno));
        return FALSE;
    }
    g_array_append_val(cgroup->joins, fd);
    return TRUE;
}

static gboolean is_made(const Cgroup *cgroup, const char *folder)
{
    gsize skip = strlen(cgroup->root);

    for (guint i = 0; i < N_PARTS; i++)
        if (cgroup->parts[i].made && g_str_equal(cgroup->parts[i].folder, folder + skip))
            return TRUE;
    return FALSE;
}

static void add_lack(GString *lacks, const char *what, const char *why)
{
    g_string_append_printf(lacks, "%sno %s: %s", lacks->len > 0 ? "; " : "", what, why);
}

static gboolean join_made(Cgroup *cgroup, GString *lacks)
{
    for (guint i = 0; i < cgroup->folders->len; i++) {
        const char *folder = g_ptr_array_index(cgroup->folders, i);
        g_autofree char *why = NULL;

        if (is_made(cgroup, folder) && !open_join(cgroup, folder, &why)) {
            add_lack(lacks, "group to join", why);
            close_joins(cgroup);
            return FALSE;
        }
    }
    return cgroup->joins->len > 0;
}

gboolean cgroup_make(Cgroup *cgroup, char **ret_lacks)
{
    g_autoptr(GString) lacks = g_string_new(NULL);
    gboolean any;

    for (guint i = 0; i < N_PARTS; i++) {
        Part *part = &cgroup->parts[i];
        g_autofree char *why = NULL;

        if (i == PART_MEMORY && cgroup->memory == 0)
            continue;
        part->made = make_part(cgroup, part, &why);
        if (!part->made)
            add_lack(lacks, part->what, why);
        else if (cgroup->path == NULL)
            cgroup->path = g_strconcat(g_str_equal(part->mount.path, "/") ? "" : part->mount.path,
                                       "/", cgroup->name, NULL);
    }
    any = join_made(cgroup, lacks);
    if (!any)
        g_clear_pointer(&cgroup->path, g_free);
    *ret_lacks = lacks->len > 0 ? g_strdup(lacks->str) : NULL;
    return any;
}

const GArray *cgroup_joins(const Cgroup *cgroup)
{
    return cgroup->joins;
}

const char *cgroup_path(const Cgroup *cgroup)
{
    return cgroup->path;
}

gboolean cgroup_holds(const Cgroup *cgroup, pid_t pid)
{
    g_autofree char *text = g_strdup_printf("%d", (int)pid);

    for (guint i = 0; i < cgroup->folders->len; i++) {
        const char *folder = g_ptr_array_index(cgroup->folders, i);
        g_auto(GStrv) pids = members(folder);

        if (is_made(cgroup, folder) && !g_strv_contains((const char *const *)pids, text))
            return FALSE;
    }
    return TRUE;
}

static void end_members(const char *folder)
{
    g_auto(GStrv) pids = members(folder);

    for (char **pid = pids; *pid != NULL; pid++) {
        guint64 number;

        if (text_parse_uint(*pid, &number) && number > 1 && number <= G_MAXINT &&
            (pid_t)number != getpid())
            kill((pid_t)number, SIGKILL);
    }
}

gboolean cgroup_remove(const char *folder, GError **error)
{
    Wait wait = {.deadline_ns = clock_mono_ns() + end_limit_ns, .guard_fd = -1, .step = "cgroup"};
    g_autofree char *name = g_path_get_basename(folder);

    if (!g_str_has_prefix(name, "vmatrix-"))
        return TRUE;
    while (rmdir(folder) != 0 && errno != ENOENT) {
        int code = errno;

        if (code == EBUSY)
            end_members(folder);
        /* The dead are members until they are reaped. */
        if (code != EBUSY || wait_left_ns(&wait) == 0) {
            g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                        "%s: the subject's control group stays: %s; remove it by rmdir", folder,
                        g_strerror(code));
            return FALSE;
        }
        wait_sleep(&wait, end_look_ns);
    }
    return TRUE;
}
