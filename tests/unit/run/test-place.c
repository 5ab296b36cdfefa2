/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where bare cells run: on the CPUs that guests of as many vCPUs get, in a control group with the
 * cell's memory; and what is said where there is none. */
#include "run/place.h"

#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "host/probe.h"
#include "util/cpulist.h"
#include "util/io.h"

#define FACT(scope, name)                                                                          \
    "SELECT v.value FROM fact f JOIN fact_name n ON n.id = f.name_id "                             \
    "JOIN fact_value v ON v.id = f.value_id WHERE n.scope = '" scope "' AND n.name = '" name "'"

static void run_bare(Fixture *fixture, const char *more)
{
    CampaignOptions options = fixture_options(fixture);
    g_autofree char *plan = g_strdup_printf("version: 1\n"
                                            "plan: place\n"
                                            "axes:\n"
                                            "  hypervisor: [bare]\n"
                                            "  vcpus: [1]\n"
                                            "workloads: [fake.one]\n"
                                            "repeat: {boots: 1, samples: 2}\n"
                                            "idle: off\n"
                                            "%s",
                                            more);
    gint64 campaign = fixture_submit(fixture, plan);
    CampaignTotals totals = {0};
    g_autoptr(GError) error = NULL;

    campaign_run(fixture->store, campaign, &options, &totals, &error);
    g_assert_no_error(error);
    g_assert_cmpint(totals.done, ==, 1);
}

static const char *one_cpu(CpuPick *pick)
{
    g_assert_true(cpu_pick_here(1, CPU_ORDER_CORES, pick));
    return pick->cpus;
}

/* Whether this machine lets us make groups with CPUs and memory. */
static gboolean groups_work(void)
{
    g_autofree char *name = g_strdup_printf("vmatrix-try-%d", (int)getpid());
    g_auto(CpuPick) pick = {0};
    CgroupSpec spec = {.name = name, .cpus = one_cpu(&pick), .memory = 64 << 20};
    g_autoptr(Cgroup) cgroup = cgroup_new("", &spec);
    g_autofree char *lacks = NULL;

    return cgroup_make(cgroup, &lacks) && lacks == NULL;
}

static void test_bare(Fixture *fixture, gconstpointer data)
{
    g_auto(CpuPick) pick = {0};
    g_autofree char *path = NULL, *groups = NULL, *flags = NULL;

    g_assert_true(cpu_pick_here(1, CPU_ORDER_CORES, &pick));
    run_bare(fixture, "memory: 512MiB\n");
    assert_answer(fixture, FACT("hypervisor", "subject.cpus"), pick.cpus);
    assert_answer(fixture, FACT("hypervisor", "subject.housekeeping"), pick.housekeeping);
    assert_answer(fixture, FACT("hypervisor", "subject.emulator"), NULL);
    assert_answer(fixture, FACT("hypervisor", "subject.memory"), "536870912");
    assert_answer(fixture, FACT("guest", "test.cpus"), pick.cpus);
    assert_nothing_left(fixture);
    path = fixture_ask(fixture, FACT("hypervisor", "subject.cgroup"));
    groups = fixture_ask(fixture, FACT("guest", "test.cgroups"));
    flags = fixture_ask(fixture, "SELECT ifnull(flags, '') FROM run");
    if (groups_work()) {
        g_assert_nonnull(strstr(path, "/vmatrix-"));
        g_assert_nonnull(strstr(groups, path));
        assert_answer(fixture, FACT("hypervisor", "subject.cgroup.lacks"), NULL);
        g_assert_null(strstr(flags, "no-cgroup"));
    } else {
        g_autofree char *lacks = fixture_ask(fixture, FACT("hypervisor", "subject.cgroup.lacks"));

        g_assert_nonnull(strstr(lacks, "no "));
        g_assert_nonnull(strstr(flags, "no-cgroup"));
    }
}

static void test_without_memory(Fixture *fixture, gconstpointer data)
{
    run_bare(fixture, "");
    assert_answer(fixture, FACT("hypervisor", "subject.memory"), "not limited");
}

/* A daemon that was killed leaves its run's folder, and the group whose name is in there. */
static void test_recover(Fixture *fixture, gconstpointer data)
{
    g_autofree char *name = g_strdup_printf("vmatrix-left-%d", (int)getpid());
    g_autofree char *folder = g_build_filename(fixture->folder, "runs", name, NULL);
    g_autofree char *note = g_build_filename(folder, "cgroup", NULL);
    g_auto(CpuPick) pick = {0};
    CgroupSpec spec = {.name = name, .cpus = one_cpu(&pick)};
    g_autoptr(Cgroup) cgroup = cgroup_new("", &spec);
    g_autoptr(GString) text = g_string_new("relative/path\n");
    g_autofree char *lacks = NULL;

    if (!cgroup_make(cgroup, &lacks)) {
        g_test_skip(lacks);
        return;
    }
    for (guint i = 0; i < cgroup_folders(cgroup)->len; i++)
        g_string_append_printf(text, "%s\n",
                               (const char *)g_ptr_array_index(cgroup_folders(cgroup), i));
    g_assert_true(io_make_folder(folder, NULL));
    write_file(note, text->str, 0600);
    run_bare(fixture, "");
    for (guint i = 0; i < cgroup_folders(cgroup)->len; i++)
        g_assert_false(
            g_file_test(g_ptr_array_index(cgroup_folders(cgroup), i), G_FILE_TEST_EXISTS));
    assert_nothing_left(fixture);
}

static void test_refusal(void)
{
    g_autofree char *allowed = host_cpus_allowed();
    g_autoptr(GArray) cpus = cpulist_parse(allowed);
    g_autoptr(GHashTable) memo = place_memo_new();
    Plan plan = {0};

    for (int again = 0; again < 2; again++) {
        g_autofree char *many = place_refusal(memo, &plan, cpus->len + 1, TRUE, 0);
        g_autofree char *all = place_refusal(memo, &plan, cpus->len, TRUE, 0);
        g_autofree char *beside = place_refusal(memo, &plan, cpus->len, FALSE, 0);
        g_autofree char *no_room =
            place_refusal(memo, &plan, cpus->len, FALSE, EMULATOR_ON_HOUSEKEEPING);
        /* Not pinned at all: recorded, no reason not to run. */
        g_autofree char *loose =
            place_refusal(memo, &plan, cpus->len + 1, FALSE, EMULATOR_ON_HOUSEKEEPING);

        g_assert_nonnull(strstr(many, "this host gives fewer"));
        g_assert_null(all);
        g_assert_null(beside);
        g_assert_nonnull(strstr(no_room, "take fewer vcpus, or emulator: subject"));
        g_assert_null(loose);
    }
}

int main(int argc, char **argv)
{
    fixture_begin(&argc, &argv);
    g_test_add("/place/bare", Fixture, NULL, fixture_init, test_bare, fixture_finish);
    g_test_add("/place/without-memory", Fixture, NULL, fixture_init, test_without_memory,
               fixture_finish);
    g_test_add("/place/recover", Fixture, NULL, fixture_init, test_recover, fixture_finish);
    g_test_add_func("/place/refusal", test_refusal);
    return g_test_run();
}
