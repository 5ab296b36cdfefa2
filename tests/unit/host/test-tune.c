/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of the host's settings, over trees of plain files: what is written and when, and what
 * is given back. */
#include "host/tune.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "util/error.h"
#include "util/io.h"

#define CPU "/sys/devices/system/cpu"
#define VM "/proc/sys/vm"
#define KERNEL "/proc/sys/kernel"

/* One row of a journal in memory. */
typedef struct {
    gint64 id;
    char *boot_id, *knob, *target, *old, *wanted, *got, *reason;
    TuneState state;
} Row;

typedef struct {
    char *root;
    GPtrArray *rows; /* Row* */
    GArray *held;
    TuneWants wants;
    KnobHost host;
    TuneJournal journal;
    guint fail_at; /* the journal's row of this number cannot be written; 0: all can */
} Fixture;

static void row_free(gpointer data)
{
    Row *row = data;

    g_free(row->boot_id);
    g_free(row->knob);
    g_free(row->target);
    g_free(row->old);
    g_free(row->wanted);
    g_free(row->got);
    g_free(row->reason);
    g_free(row);
}

static char *content(const Fixture *f, const char *path)
{
    g_autofree char *full = g_strconcat(f->root, path, NULL);
    char *text = NULL;

    g_file_get_contents(full, &text, NULL, NULL);
    return text;
}

static void put(const Fixture *f, const char *path, const char *text)
{
    g_autofree char *full = g_strconcat(f->root, path, NULL);
    g_autofree char *folder = g_path_get_dirname(full);

    g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
    g_assert_true(g_file_set_contents(full, text, -1, NULL));
}

static void link_to(const Fixture *f, const char *path, const char *target)
{
    g_autofree char *full = g_strconcat(f->root, path, NULL);
    g_autofree char *folder = g_path_get_dirname(full);

    g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
    g_assert_cmpint(symlink(target, full), ==, 0);
}

#define assert_content(f, path, expected)                                                          \
    do {                                                                                           \
        g_autofree char *content_ = content(f, path);                                              \
        g_assert_cmpstr(content_, ==, expected);                                                   \
    } while (0)

/* Before each write: what is there is what the row says. */
static gboolean journal_add(void *data, const TuneChange *change, gint64 *ret_id, GError **error)
{
    Fixture *f = data;
    Row *row = g_new0(Row, 1);

    if (f->fail_at == f->rows->len + 1) {
        g_free(row);
        g_set_error(error, VM_ERROR, VM_ERROR_HALT, "the disk is full");
        return FALSE;
    }
    if (change->state == TUNE_JOURNALLED && knob_find(change->knob)->kind == &knob_file)
        assert_content(f, change->target, change->old);
    *row = (Row){.id = f->rows->len + 1,
                 .boot_id = g_strdup(change->boot_id),
                 .knob = g_strdup(change->knob),
                 .target = g_strdup(change->target),
                 .old = g_strdup(change->old),
                 .wanted = g_strdup(change->wanted),
                 .got = g_strdup(change->got),
                 .reason = g_strdup(change->reason),
                 .state = change->state};
    g_ptr_array_add(f->rows, row);
    *ret_id = row->id;
    return TRUE;
}

static gboolean journal_note(void *data, gint64 id, TuneState state, const char *got,
                             const char *reason, GError **error)
{
    Fixture *f = data;
    Row *row = g_ptr_array_index(f->rows, (guint)id - 1);

    row->state = state;
    if (got != NULL) {
        g_free(row->got);
        row->got = g_strdup(got);
    }
    g_free(row->reason);
    row->reason = g_strdup(reason);
    return TRUE;
}

static void fixture_init(Fixture *f, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    *f = (Fixture){.root = g_dir_make_tmp("vmatrix-tune-XXXXXX", &error)};
    g_assert_no_error(error);
    f->rows = g_ptr_array_new_with_free_func(row_free);
    f->held = g_array_new(FALSE, FALSE, sizeof(int));
    f->host = (KnobHost){.root = f->root,
                         .cpus = "2-3",
                         .housekeeping = "0,1",
                         .no_systemd = "no system bus",
                         .held = f->held};
    f->journal = (TuneJournal){.add = journal_add, .note = journal_note, .data = f};
    put(f, KERNEL "/random/boot_id", "first\n");
}

static void fixture_finish(Fixture *f, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    for (guint i = 0; i < f->held->len; i++)
        close(g_array_index(f->held, int, i));
    g_array_unref(f->held);
    g_ptr_array_unref(f->rows);
    tune_wants_clear(&f->wants);
    io_remove_tree(f->root, &error);
    g_assert_no_error(error);
    g_free(f->root);
}

static void want(Fixture *f, const char *assignment)
{
    g_autoptr(GError) error = NULL;

    tune_wants_set(&f->wants, assignment, &error);
    g_assert_no_error(error);
}

static void apply(Fixture *f)
{
    g_autoptr(GError) error = NULL;

    tune_apply(&f->host, &f->wants, &f->journal, &error);
    g_assert_no_error(error);
}

static TuneState restore_row(Fixture *f, Row *row)
{
    const TuneChange change = {.id = row->id,
                               .boot_id = row->boot_id,
                               .knob = row->knob,
                               .target = row->target,
                               .old = row->old,
                               .wanted = row->wanted,
                               .got = row->got,
                               .state = row->state};
    g_autofree char *reason = NULL;
    g_autoptr(GError) error = NULL;
    TuneState state = TUNE_SET;

    tune_restore(&f->host, &change, &f->journal, &state, &reason, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(reason, ==, row->reason);
    return state;
}

static void restore_all(Fixture *f)
{
    for (guint i = f->rows->len; i-- > 0;) {
        Row *row = g_ptr_array_index(f->rows, i);

        if (row->state == TUNE_SET || row->state == TUNE_JOURNALLED || row->state == TUNE_HELD)
            restore_row(f, row);
    }
}

/* "knob state old>wanted>got" a row, without newlines of files. */
static char *told(const Fixture *f)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < f->rows->len; i++) {
        const Row *row = g_ptr_array_index(f->rows, i);

        g_string_append_printf(text, "%s %s %s>%s>%s;", row->knob, tune_state_name(row->state),
                               row->old != NULL ? row->old : "-",
                               row->wanted != NULL ? row->wanted : "-",
                               row->got != NULL ? row->got : "-");
    }
    for (char *at = strchr(text->str, '\n'); at != NULL; at = strchr(at, '\n'))
        g_string_erase(text, at - text->str, 1);
    return g_string_free(text, FALSE);
}

#define assert_told(f, expected)                                                                   \
    do {                                                                                           \
        g_autofree char *told_ = told(f);                                                          \
        g_assert_cmpstr(told_, ==, expected);                                                      \
    } while (0)

/* ---- every kind of file ---- */

static const struct {
    const char *path, *old, *now; /* now: after "measure" and what test_files adds */
} files[] = {
    {CPU "/smt/control", "on\n", "off"},
    {CPU "/cpufreq/policy0/energy_performance_preference", "balance_power\n", "performance"},
    {CPU "/cpufreq/policy2/energy_performance_preference", "default\n", "performance"},
    {CPU "/cpufreq/policy0/scaling_governor", "schedutil\n", "performance"},
    {CPU "/cpufreq/policy2/scaling_governor", "powersave\n", "performance"},
    {CPU "/cpufreq/boost", "1\n", "0"},
    {CPU "/intel_pstate/no_turbo", "0\n", "1"},
    {KERNEL "/numa_balancing", "1\n", "0"},
    {"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n", "never"},
    {"/sys/kernel/mm/ksm/run", "1\n", "0"},
    {VM "/swappiness", "60\n", "1"},
    {KERNEL "/perf_event_paranoid", "4\n", "-1"},
    {KERNEL "/perf_cpu_time_max_percent", "25\n", "0"},
    {KERNEL "/randomize_va_space", "2\n", "0"},
    {KERNEL "/nmi_watchdog", "1\n", "0"},
    {KERNEL "/soft_watchdog", "1\n", "0"},
    {KERNEL "/watchdog", "1\n", "0"},
    {"/proc/irq/default_smp_affinity", "ff\n", "f3"},
    {"/proc/irq/24/smp_affinity_list", "0-3\n", "0,1"},
    {"/proc/irq/25/smp_affinity_list", "3\n", "0,1"},
    {"/proc/irq/26/smp_affinity_list", "1\n", "1\n"}, /* of no concern */
};

static void put_files(const Fixture *f)
{
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
        put(f, files[i].path, files[i].old);
}

static void test_files(Fixture *f, gconstpointer data)
{
    put_files(f);
    want(f, "preset=measure");
    for (guint i = TUNE_SMT; i < TUNE_KEYS; i++)
        if (i == TUNE_STOP || i == TUNE_SLEEP || i == TUNE_IDLE_LATENCY)
            g_clear_pointer(&f->wants.values[i], g_free);
    want(f, "smt=off");
    want(f, "thp=never");
    want(f, "perf-paranoid=-1");
    want(f, "perf-cpu=0");
    want(f, "aslr=0");
    apply(f);
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
        assert_content(f, files[i].path, files[i].now);
    /* One row a file that was changed, in the order of the table. */
    g_assert_cmpuint(f->rows->len, ==, G_N_ELEMENTS(files) - 1);
    for (guint i = 0; i < f->rows->len; i++) {
        const Row *row = g_ptr_array_index(f->rows, i);

        g_assert_cmpstr(row->target, ==, files[i].path);
        g_assert_cmpstr(row->old, ==, files[i].old);
        g_assert_cmpint(row->state, ==, TUNE_SET);
        g_assert_cmpstr(row->boot_id, ==, "first");
        g_assert_null(row->reason);
    }
    restore_all(f);
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
        /* Only the kernel puts the brackets back. */
        assert_content(f, files[i].path,
                       strchr(files[i].old, '[') != NULL ? "madvise" : files[i].old);
    for (guint i = 0; i < f->rows->len; i++)
        g_assert_cmpint(((Row *)g_ptr_array_index(f->rows, i))->state, ==, TUNE_RESTORED);
}

/* What has the value already is not written, and so not given back. */
static void test_same(Fixture *f, gconstpointer data)
{
    put(f, VM "/swappiness", "1\n");
    put(f, "/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    put(f, KERNEL "/numa_balancing", "2\n");
    want(f, "swappiness=1");
    want(f, "thp=never");
    want(f, "numa-balancing=on");
    apply(f);
    assert_told(f, "thp same ->->always madvise [never];swappiness same ->->1;");
    put(f, VM "/swappiness", "7\n");
    restore_all(f);
    assert_content(f, VM "/swappiness", "7\n");
}

/* A machine without anything: each key says so once, and nothing fails. */
static void test_absent(Fixture *f, gconstpointer data)
{
    want(f, "preset=measure");
    want(f, "smt=off");
    want(f, "isolate=on");
    apply(f);
    assert_told(f, "smt absent ->->-;energy absent ->->-;governor absent ->->-;"
                   "boost-intel absent ->->-;idle-latency absent ->->-;"
                   "numa-balancing absent ->->-;ksm absent ->->-;swappiness absent ->->-;"
                   "watchdog absent ->->-;stop absent ->->-;sleep absent ->->-;"
                   "irq absent ->->-;isolate-cpuset absent ->->-;");
    const Row *stop = g_ptr_array_index(f->rows, 9);

    g_assert_cmpstr(stop->reason, ==, "no system bus");
}

static void test_not_supported(Fixture *f, gconstpointer data)
{
    put(f, CPU "/smt/control", "notsupported\n");
    put(f, CPU "/cpufreq/boost", "1\n");
    want(f, "smt=off");
    want(f, "boost=off");
    apply(f);
    /* One of the two ways to switch boost is there: it is not absent. */
    assert_told(f, "smt absent ->->notsupported;boost set 1>0>0;");
    assert_content(f, CPU "/smt/control", "notsupported\n");
}

/* What irq and isolate need. */
static void test_cpus(Fixture *f, gconstpointer data)
{
    put(f, "/proc/irq/24/smp_affinity_list", "0-3\n");
    want(f, "irq=away");
    f->host.cpus = NULL;
    apply(f);
    f->host.cpus = "0-3";
    f->host.housekeeping = NULL;
    apply(f);
    assert_told(f, "irq refused ->->-;irq refused ->->-;");
    g_assert_nonnull(strstr(((Row *)g_ptr_array_index(f->rows, 0))->reason, "say cpus"));
    g_assert_nonnull(
        strstr(((Row *)g_ptr_array_index(f->rows, 1))->reason, "no CPU would be left"));
    assert_content(f, "/proc/irq/24/smp_affinity_list", "0-3\n");
}

static void test_masks(void)
{
    const Knob *mask = knob_find("irq-default");
    const Knob *list = knob_find("irq");
    const Knob *choice = knob_find("thp");
    const Knob *unit = knob_find("stop");
    const KnobHost host = {.cpus = "1,33", .housekeeping = "0"};
    g_autofree char *wide = mask->want(&host, "away", "00000003,00000007");
    g_autofree char *none = mask->want(&host, "away", "1");
    g_autofree char *only = mask->want(&host, "away", "00000002,00000002");
    g_autofree char *word = knob_canonical(choice, "always defer+madvise [defer]\n");

    g_assert_cmpstr(wide, ==, "1,00000005");
    g_assert_null(none);
    g_assert_cmpstr(only, ==, "1");
    g_assert_true(knob_same(mask, "00000000,0000000f\n", "F"));
    g_assert_false(knob_same(mask, "00000001,00000000", "1"));
    g_assert_true(knob_same(list, "0-2,5\n", "0,1,2,5"));
    g_assert_false(knob_same(list, "0-2", "0-1"));
    g_assert_true(knob_same(list, "", "\n"));
    g_assert_cmpstr(word, ==, "defer");
    g_assert_true(knob_same(unit, "active", "activating"));
    g_assert_true(knob_same(unit, "failed", "inactive"));
    g_assert_false(knob_same(unit, "active", "inactive"));
}

/* ---- what is refused ---- */

static void test_refused(Fixture *f, gconstpointer data)
{
    g_autofree char *folder = g_strconcat(f->root, VM "/swappiness", NULL);

    /* A folder cannot be read; a file of /proc that nobody may write refuses even root. */
    g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
    link_to(f, KERNEL "/randomize_va_space", "/proc/version");
    put(f, "/sys/kernel/mm/ksm/run", "1\n");
    want(f, "swappiness=1");
    want(f, "aslr=0");
    want(f, "ksm=off");
    apply(f);
    const Row *ksm = g_ptr_array_index(f->rows, 0);
    const Row *swappiness = g_ptr_array_index(f->rows, 1);
    const Row *aslr = g_ptr_array_index(f->rows, 2);

    g_assert_cmpint(swappiness->state, ==, TUNE_REFUSED);
    g_assert_nonnull(strstr(swappiness->reason, VM "/swappiness"));
    g_assert_cmpint(aslr->state, ==, TUNE_REFUSED);
    g_assert_nonnull(strstr(aslr->reason, KERNEL "/randomize_va_space"));
    /* The others are set all the same. */
    g_assert_cmpint(ksm->state, ==, TUNE_SET);
    assert_content(f, "/sys/kernel/mm/ksm/run", "0");
}

/* Nothing is changed that is not in the journal. */
static void test_journal_fails(Fixture *f, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    put(f, "/sys/kernel/mm/ksm/run", "1\n");
    put(f, VM "/swappiness", "60\n");
    want(f, "ksm=off");
    want(f, "swappiness=1");
    f->fail_at = 2;
    g_assert_false(tune_apply(&f->host, &f->wants, &f->journal, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_HALT);
    assert_content(f, "/sys/kernel/mm/ksm/run", "0");
    assert_content(f, VM "/swappiness", "60\n");
}

/* ---- what is held ---- */

static void test_held(Fixture *f, gconstpointer data)
{
    gint32 *number;
    g_autofree char *path = g_strconcat(f->root, "/dev/cpu_dma_latency", NULL);
    g_autofree char *text = NULL;
    gsize length = 0;

    put(f, "/dev/cpu_dma_latency", "");
    want(f, "idle-latency=3us");
    apply(f);
    assert_told(f, "idle-latency held ->->3;");
    g_assert_cmpuint(f->held->len, ==, 1);
    g_assert_true(g_file_get_contents(path, &text, &length, NULL));
    g_assert_cmpuint(length, ==, sizeof *number);
    number = (gint32 *)text;
    g_assert_cmpint(*number, ==, 3);
    restore_all(f);
    assert_told(f, "idle-latency released ->->3;");
    /* A process that ends at once can hold nothing. */
    f->host.held = NULL;
    apply(f);
    g_assert_cmpint(((Row *)g_ptr_array_index(f->rows, 1))->state, ==, TUNE_REFUSED);
}

/* ---- a cpuset ---- */

/* Version 2: what it takes is asked for. A folder of plain files is no cgroup: making it one fails
 * half-way, and what was made is taken away again. */
static void test_cgroup2(Fixture *f, gconstpointer data)
{
    g_autofree char *folder = g_strconcat(f->root, "/sys/fs/cgroup/vmatrix-housekeeping", NULL);

    put(f, "/proc/self/mountinfo", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put(f, "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
    put(f, "/sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n");
    put(f, "/sys/fs/cgroup/cgroup.procs", "");
    want(f, "isolate=on");
    apply(f);
    assert_content(f, "/sys/fs/cgroup/cgroup.subtree_control", "+cpuset");
    assert_told(f, "isolate-cpuset set absent, controller off>0,1>;");
    g_assert_true(g_file_test(folder, G_FILE_TEST_IS_DIR));
    restore_all(f);
    assert_content(f, "/sys/fs/cgroup/cgroup.subtree_control", "-cpuset");
    g_assert_false(g_file_test(folder, G_FILE_TEST_EXISTS));
    assert_told(f, "isolate-cpuset restored absent, controller off>0,1>;");
}

/* A hierarchy without the controller is none. */
static void test_cgroup2_without(Fixture *f, gconstpointer data)
{
    put(f, "/proc/self/mountinfo", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put(f, "/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    want(f, "isolate=on");
    apply(f);
    assert_told(f, "isolate-cpuset absent ->->-;");
}

/* ---- giving back ---- */

/* Killed with the row in the journal: the file has the old value, the wanted one, or another. */
static void test_killed(Fixture *f, gconstpointer data)
{
    static const struct {
        const char *now, *after;
        TuneState state;
    } cases[] = {
        {"60\n", "60\n", TUNE_RESTORED},
        {"1\n", "60\n", TUNE_RESTORED},
        {"10\n", "10\n", TUNE_LEFT},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const TuneChange change = {.boot_id = "first",
                                   .knob = "swappiness",
                                   .target = VM "/swappiness",
                                   .old = "60\n",
                                   .wanted = "1",
                                   .state = TUNE_JOURNALLED};
        gint64 id;

        put(f, VM "/swappiness", "60\n");
        g_assert_true(journal_add(f, &change, &id, NULL));
        put(f, VM "/swappiness", cases[i].now);
        g_assert_cmpint(restore_row(f, g_ptr_array_index(f->rows, i)), ==, cases[i].state);
        assert_content(f, VM "/swappiness", cases[i].after);
    }
}

static void test_left(Fixture *f, gconstpointer data)
{
    put(f, VM "/swappiness", "60\n");
    put(f, "/sys/kernel/mm/ksm/run", "1\n");
    want(f, "swappiness=1");
    want(f, "ksm=off");
    apply(f);
    put(f, VM "/swappiness", "10\n");
    restore_all(f);
    const Row *swappiness = g_ptr_array_index(f->rows, 1);

    g_assert_cmpint(swappiness->state, ==, TUNE_LEFT);
    g_assert_cmpstr(swappiness->reason, ==,
                    "somebody has set it to 10 meanwhile; before it was 60");
    assert_content(f, VM "/swappiness", "10\n");
    assert_content(f, "/sys/kernel/mm/ksm/run", "1\n");
}

/* After a reboot the values are fresh, even where one equals what was set. */
static void test_rebooted(Fixture *f, gconstpointer data)
{
    put(f, VM "/swappiness", "60\n");
    want(f, "swappiness=1");
    apply(f);
    put(f, KERNEL "/random/boot_id", "second\n");
    restore_all(f);
    assert_told(f, "swappiness rebooted 60>1>1;");
    assert_content(f, VM "/swappiness", "1");
}

/* It stays to be tried again, and then works. */
static void test_stuck(Fixture *f, gconstpointer data)
{
    g_autofree char *path = g_strconcat(f->root, VM "/swappiness", NULL);

    put(f, VM "/swappiness", "60\n");
    want(f, "swappiness=1");
    apply(f);
    g_assert_cmpint(g_unlink(path), ==, 0);
    restore_all(f);
    Row *row = g_ptr_array_index(f->rows, 0);

    g_assert_cmpint(row->state, ==, TUNE_STUCK);
    g_assert_cmpstr(row->reason, ==, "it is not there any more");
    put(f, VM "/swappiness", "1");
    g_assert_cmpint(restore_row(f, row), ==, TUNE_RESTORED);
    assert_content(f, VM "/swappiness", "60\n");
}

/* A row of a newer vmatrix. */
static void test_unknown(Fixture *f, gconstpointer data)
{
    const TuneChange change = {.boot_id = "first",
                               .knob = "warp-drive",
                               .target = VM "/swappiness",
                               .old = "60\n",
                               .state = TUNE_STUCK};
    gint64 id;

    put(f, VM "/swappiness", "1");
    g_assert_true(journal_add(f, &change, &id, NULL));
    g_assert_cmpint(restore_row(f, g_ptr_array_index(f->rows, 0)), ==, TUNE_STUCK);
    assert_content(f, VM "/swappiness", "1");
}

/* Every row of the table can be found by its name, and every key but "cpus" has one. */
static void test_table(void)
{
    gsize n;
    const Knob *table = knob_table(&n);
    gboolean seen[TUNE_KEYS] = {FALSE};

    for (gsize i = 0; i < n; i++) {
        g_assert_true(knob_find(table[i].name) == &table[i]);
        seen[table[i].key] = TRUE;
    }
    for (guint key = 0; key < TUNE_KEYS; key++)
        g_assert_cmpint(seen[key], ==, key != TUNE_CPUS);
    g_assert_null(knob_find("swap"));
}

#define ADD(name, function)                                                                        \
    g_test_add("/tune/" name, Fixture, NULL, fixture_init, function, fixture_finish)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tune/table", test_table);
    g_test_add_func("/tune/masks", test_masks);
    ADD("files", test_files);
    ADD("same", test_same);
    ADD("absent", test_absent);
    ADD("not-supported", test_not_supported);
    ADD("cpus", test_cpus);
    ADD("refused", test_refused);
    ADD("journal-fails", test_journal_fails);
    ADD("held", test_held);
    ADD("cgroup2", test_cgroup2);
    ADD("cgroup2-without", test_cgroup2_without);
    ADD("killed", test_killed);
    ADD("left", test_left);
    ADD("rebooted", test_rebooted);
    ADD("stuck", test_stuck);
    ADD("unknown", test_unknown);
    return g_test_run();
}
