/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/chore.h"

#include <string.h>

#include "host/tree.h"
#include "util/io.h"
#include "util/text.h"

enum {
    COMM_MAX = 15, /* bytes of a process's name that the kernel keeps */
    COMMAND_MAX = 1 << 20,
    LABEL_MAX = 64,
};

/* Names of programs as the kernel has them: a script's is its file's. One of more than COMM_MAX
 * characters must stand in the command line too: "unattended-upgr" alone could be the -shutdown
 * helper, which sits there for ever. Daemons that mostly do nothing (packagekitd, snapd) are left
 * to the other signals. */
static const struct program {
    const char *name;
    ChoreKind kind;
} programs[] = {
    {"qemu-kvm", CHORE_GUEST},
    {"qemu-system-*", CHORE_GUEST},
    {"kvm", CHORE_GUEST},
    {"VBoxHeadless", CHORE_GUEST},
    {"VirtualBoxVM", CHORE_GUEST},
    {"VBoxSDL", CHORE_GUEST},
    {"vmware-vmx", CHORE_GUEST},
    {"vmware-vmx-debug", CHORE_GUEST},
    {"libvirt_lxc", CHORE_GUEST},
    {"cloud-hypervisor", CHORE_GUEST},
    {"firecracker", CHORE_GUEST},
    {"crosvm", CHORE_GUEST},
    {"lkvm", CHORE_GUEST},
    {"apt", CHORE_PACKAGES},
    {"apt-get", CHORE_PACKAGES},
    {"apt.systemd.daily", CHORE_PACKAGES},
    {"aptitude", CHORE_PACKAGES},
    {"dpkg", CHORE_PACKAGES},
    {"unattended-upgrade", CHORE_PACKAGES},
    {"dnf", CHORE_PACKAGES},
    {"dnf5", CHORE_PACKAGES},
    {"dnf-automatic", CHORE_PACKAGES},
    {"yum", CHORE_PACKAGES},
    {"rpm", CHORE_PACKAGES},
    {"rpm-ostree", CHORE_PACKAGES},
    {"zypper", CHORE_PACKAGES},
    {"pacman", CHORE_PACKAGES},
    {"apk", CHORE_PACKAGES},
    {"emerge", CHORE_PACKAGES},
    {"dkms", CHORE_PACKAGES},
    {"update-initramfs", CHORE_PACKAGES},
    {"dracut", CHORE_PACKAGES},
    {"mkinitcpio", CHORE_PACKAGES},
    {"restic", CHORE_BACKUP},
    {"borg", CHORE_BACKUP},
    {"borgmatic", CHORE_BACKUP},
    {"rsnapshot", CHORE_BACKUP},
    {"duplicity", CHORE_BACKUP},
    {"rdiff-backup", CHORE_BACKUP},
    {"btrbk", CHORE_BACKUP},
    {"xfsdump", CHORE_BACKUP},
    {"pg_dump", CHORE_BACKUP},
    {"mysqldump", CHORE_BACKUP},
    {"mariadb-dump", CHORE_BACKUP},
    {"updatedb", CHORE_UPKEEP},
    {"updatedb.mlocate", CHORE_UPKEEP},
    {"updatedb.plocate", CHORE_UPKEEP},
    {"mandb", CHORE_UPKEEP},
    {"logrotate", CHORE_UPKEEP},
    {"debsums", CHORE_UPKEEP},
    {"aide", CHORE_UPKEEP},
    {"rkhunter", CHORE_UPKEEP},
    {"chkrootkit", CHORE_UPKEEP},
    {"clamscan", CHORE_UPKEEP},
    {"fstrim", CHORE_UPKEEP},
    {"e2scrub", CHORE_UPKEEP},
    {"e4defrag", CHORE_UPKEEP},
    {"xfs_fsr", CHORE_UPKEEP},
    {"xfs_scrub", CHORE_UPKEEP},
    {"btrfs", CHORE_UPKEEP},
    {"md*_resync", CHORE_UPKEEP}, /* threads of the kernel */
    {"md*_recovery", CHORE_UPKEEP},
    {"md*_reshape", CHORE_UPKEEP},
};

/* Units whose programs have no name of their own. Those of system.slice. */
static const struct unit {
    const char *name;
    ChoreKind kind;
} units[] = {
    {"apt-daily.service", CHORE_PACKAGES},
    {"apt-daily-upgrade.service", CHORE_PACKAGES},
    {"dnf-makecache.service", CHORE_PACKAGES},
    {"dnf-automatic.service", CHORE_PACKAGES},
    {"dnf-automatic-install.service", CHORE_PACKAGES},
    {"dnf5-automatic.service", CHORE_PACKAGES},
    {"rpm-ostreed-automatic.service", CHORE_PACKAGES},
    {"transactional-update.service", CHORE_PACKAGES},
    {"snapd.refresh.service", CHORE_PACKAGES},
    {"backup.service", CHORE_BACKUP},
    {"borgmatic.service", CHORE_BACKUP},
    {"restic-backup.service", CHORE_BACKUP},
    {"dpkg-db-backup.service", CHORE_BACKUP},
    {"snapper-timeline.service", CHORE_BACKUP},
    {"man-db.service", CHORE_UPKEEP},
    {"plocate-updatedb.service", CHORE_UPKEEP},
    {"mlocate-updatedb.service", CHORE_UPKEEP},
    {"logrotate.service", CHORE_UPKEEP},
    {"fstrim.service", CHORE_UPKEEP},
    {"e2scrub_all.service", CHORE_UPKEEP},
    {"xfs_scrub_all.service", CHORE_UPKEEP},
    {"mdcheck_start.service", CHORE_UPKEEP},
    {"mdcheck_continue.service", CHORE_UPKEEP},
    {"raid-check.service", CHORE_UPKEEP},
};

void chore_free(Chore *chore)
{
    if (chore == NULL)
        return;
    g_free(chore->name);
    g_free(chore->label);
    g_free(chore);
}

static void add(GPtrArray *found, ChoreKind kind, gint64 pid, const char *name, char *label)
{
    Chore *chore = g_new(Chore, 1);

    *chore = (Chore){.kind = kind, .pid = pid, .name = g_strdup(name), .label = label};
    g_ptr_array_add(found, chore);
}

/* ---- programs ---- */

/* Words of a command line, NULL-terminated; transfer full. NULL: a thread of the kernel, or gone.
 */
static char **read_command(const char *root, gint64 pid)
{
    g_autofree char *path = g_strdup_printf("%s/proc/%" G_GINT64_FORMAT "/cmdline", root, pid);
    gsize length = 0;
    g_autofree char *text = io_read_file(path, COMMAND_MAX, &length, NULL);
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();

    if (text == NULL || length == 0)
        return NULL;
    for (const char *word = text; word < text + length; word += strlen(word) + 1)
        g_strv_builder_add(words, word);
    return g_strv_builder_end(words);
}

/* Whether the file of one of the first words (an interpreter stands before its script) has this
 * name. */
static gboolean runs_file(char **words, const char *name)
{
    for (guint i = 0; words != NULL && i < 3 && words[i] != NULL; i++) {
        g_autofree char *file = g_path_get_basename(words[i]);

        if (g_str_equal(file, name))
            return TRUE;
    }
    return FALSE;
}

/* As far as the kernel's name goes. */
static gboolean may_be(const struct program *program, const char *comm)
{
    return strchr(program->name, '*') != NULL ? g_pattern_match_simple(program->name, comm)
                                              : strncmp(comm, program->name, COMM_MAX) == 0;
}

static gboolean is_program(const struct program *program, char **words)
{
    return strchr(program->name, '*') != NULL || strlen(program->name) <= COMM_MAX ||
           runs_file(words, program->name);
}

/* What a person calls a guest, out of its program's words: "-name guest=mint,debug-threads=on",
 * "--comment mint", ".../mint.vmx", "--name mint". */
static char *guest_label(char **words)
{
    static const char *const flags[] = {"-name", "--name", "--comment", "--startvm", NULL};

    for (guint i = 0; words != NULL && words[i] != NULL; i++) {
        const char *value = words[i];

        if (g_strv_contains(flags, words[i]) && words[i + 1] != NULL) {
            value = words[i + 1];
            if (g_str_has_prefix(value, "guest="))
                value += strlen("guest=");
            return text_escape(value, (gssize)strcspn(value, ","), LABEL_MAX);
        }
        if (g_str_has_suffix(value, ".vmx"))
            return text_escape(value, -1, LABEL_MAX);
    }
    return NULL;
}

/* The whole name of the program where the kernel's is cut. */
static char *whole_name(char **words, const char *comm)
{
    g_autofree char *file =
        words != NULL && words[0] != NULL ? g_path_get_basename(words[0]) : NULL;

    return file != NULL && strlen(comm) >= COMM_MAX && g_str_has_prefix(file, comm)
               ? text_escape(file, -1, LABEL_MAX)
               : g_strdup(comm);
}

typedef struct {
    const char *root;
    GPtrArray *found;
} Search;

static void look_at(gint64 pid, const char *comm, gpointer data)
{
    const Search *search = data;

    for (guint i = 0; i < G_N_ELEMENTS(programs); i++) {
        if (!may_be(&programs[i], comm))
            continue;
        g_auto(GStrv) words = read_command(search->root, pid);
        g_autofree char *name = whole_name(words, comm);

        if (!is_program(&programs[i], words))
            continue;
        add(search->found, programs[i].kind, pid, name,
            programs[i].kind == CHORE_GUEST ? guest_label(words) : NULL);
        return;
    }
}

/* ---- units ---- */

/* A unit's cgroup is there while it is active; v2 says whether anything is in it. */
static gboolean is_active(const char *root, const char *unit)
{
    static const char *const mounts[] = {"/sys/fs/cgroup/system.slice/",
                                         "/sys/fs/cgroup/unified/system.slice/",
                                         "/sys/fs/cgroup/systemd/system.slice/"};

    for (guint i = 0; i < G_N_ELEMENTS(mounts); i++) {
        g_autofree char *folder = g_strconcat(root, mounts[i], unit, NULL);
        g_autofree char *events = g_strconcat(mounts[i], unit, "/cgroup.events", NULL);
        g_autofree char *text = NULL;

        if (!g_file_test(folder, G_FILE_TEST_IS_DIR))
            continue;
        text = tree_read(root, events);
        return text == NULL || strstr(text, "populated 0") == NULL;
    }
    return FALSE;
}

GPtrArray *chore_find(const char *root, const ProcessTable *table)
{
    GPtrArray *found = g_ptr_array_new_with_free_func((GDestroyNotify)chore_free);
    Search search = {.root = root, .found = found};

    process_table_each(table, look_at, &search);
    for (guint i = 0; i < G_N_ELEMENTS(units); i++)
        if (is_active(root, units[i].name))
            add(found, units[i].kind, 0, units[i].name, NULL);
    return found;
}

char *chore_format(const Chore *chore)
{
    static const char *const kinds[] = {
        [CHORE_GUEST] = "guest",
        [CHORE_PACKAGES] = "package manager",
        [CHORE_BACKUP] = "backup",
        [CHORE_UPKEEP] = "upkeep",
    };
    const char *kind = kinds[chore->kind];

    if (chore->pid == 0)
        return g_strdup_printf("%s %s", kind, chore->name);
    if (chore->label != NULL)
        return g_strdup_printf("%s %s (%s, pid %" G_GINT64_FORMAT ")", kind, chore->label,
                               chore->name, chore->pid);
    return g_strdup_printf("%s %s (pid %" G_GINT64_FORMAT ")", kind, chore->name, chore->pid);
}
