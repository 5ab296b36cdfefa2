/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hooks get the facts, and harm nothing: not by failing, not by hanging, not by what they print. */
#include "run/hook.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "util/io.h"
#include "util/log.h"

static const gint64 patience_ns = 60 * CLOCK_NS_PER_S;

static char *hooks_folder(Fixture *fixture)
{
    char *folder = g_build_filename(fixture->folder, "hooks", NULL);
    g_autoptr(GError) error = NULL;

    io_make_folder(folder, &error);
    g_assert_no_error(error);
    return folder;
}

/* A shell script among the hooks; its words are told apart by "NAME ARGUMENT: INPUT" lines in the
 * file "heard". */
static void add_hook(Fixture *fixture, const char *name, const char *body, guint mode)
{
    g_autofree char *folder = hooks_folder(fixture);
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autofree char *text =
        g_strdup_printf("#!/bin/sh\nheard=%s/heard\n%s\n", fixture->folder, body);

    write_file(path, text, mode);
}

static char *heard(Fixture *fixture)
{
    g_autofree char *path = g_build_filename(fixture->folder, "heard", NULL);
    char *text = io_read_file(path, 1 << 20, NULL, NULL);

    return text != NULL ? text : g_strdup("");
}

static const char listen[] = "printf '%s %s: ' \"${0##*/}\" \"$1\" >>$heard; cat >>$heard";

static HookFacts facts_of(StoreCampaign *campaign)
{
    *campaign = (StoreCampaign){.id = 7, .name = (char *)"night \"1\"", .uuid = (char *)"u-u"};
    return (HookFacts){.event = HOOK_RUN_FAILED,
                       .campaign = campaign,
                       .run = 12,
                       .cell_key = "guest=a vcpus=1",
                       .reason = "it broke\nin two lines",
                       .done = 3,
                       .failed = 1,
                       .total = 9};
}

static void run_hooks(Fixture *fixture, gint64 limit_ns)
{
    StoreCampaign campaign;
    HookFacts facts = facts_of(&campaign);
    g_autofree char *folder = hooks_folder(fixture);

    hook_run_all(folder, &facts, limit_ns, fixture->cancel);
}

static void test_facts(Fixture *fixture, gconstpointer data)
{
    g_autofree char *text = NULL;
    json_t *object;

    add_hook(fixture, "tell", listen, 0700);
    run_hooks(fixture, patience_ns);
    text = heard(fixture);
    g_assert_true(g_str_has_prefix(text, "tell run-failed: {"));
    object = json_loads(strchr(text, '{'), 0, NULL);
    g_assert_nonnull(object);
    g_assert_cmpint(json_integer_value(json_object_get(object, "campaign")), ==, 7);
    g_assert_cmpint(json_integer_value(json_object_get(object, "run")), ==, 12);
    g_assert_cmpint(json_integer_value(json_object_get(object, "done")), ==, 3);
    g_assert_cmpint(json_integer_value(json_object_get(object, "failed")), ==, 1);
    g_assert_cmpint(json_integer_value(json_object_get(object, "total")), ==, 9);
    g_assert_cmpstr(json_string_value(json_object_get(object, "event")), ==, "run-failed");
    g_assert_cmpstr(json_string_value(json_object_get(object, "name")), ==, "night \"1\"");
    g_assert_cmpstr(json_string_value(json_object_get(object, "uuid")), ==, "u-u");
    g_assert_cmpstr(json_string_value(json_object_get(object, "cell")), ==, "guest=a vcpus=1");
    g_assert_cmpstr(json_string_value(json_object_get(object, "reason")), ==,
                    "it broke\nin two lines");
    g_assert_nonnull(strchr(json_string_value(json_object_get(object, "time")), 'Z'));
    json_decref(object);
}

/* All of them, in the order of their names; what is no program of the user's is left alone. */
static void test_which(Fixture *fixture, gconstpointer data)
{
    static const char say[] = "echo ${0##*/} >>$heard";
    g_autofree char *folder = hooks_folder(fixture);
    g_autofree char *inner = g_build_filename(folder, "15-folder", NULL);
    g_autofree char *text = NULL;

    add_hook(fixture, "20-second", say, 0700);
    add_hook(fixture, "10-first", say, 0755);
    add_hook(fixture, ".hidden", say, 0700);
    add_hook(fixture, "12-not-executable", say, 0600);
    g_assert_true(io_make_folder(inner, NULL));
    run_hooks(fixture, patience_ns);
    text = heard(fixture);
    g_assert_cmpstr(text, ==, "10-first\n20-second\n");
    hook_run_all(NULL, NULL, patience_ns, NULL);
}

static void test_harmless(Fixture *fixture, gconstpointer data)
{
    g_autofree char *text = NULL;
    gint64 since;

    add_hook(fixture, "1-fails", "echo on purpose >&2; exit 3", 0700);
    add_hook(fixture, "2-hangs", "sleep 1000 & sleep 1000", 0700);
    add_hook(fixture, "3-dies", "kill -KILL $$", 0700);
    add_hook(fixture, "4-floods", "head -c 10000000 /dev/zero", 0700);
    add_hook(fixture, "5-reads-nothing", "exec <&-", 0700);
    add_hook(fixture, "6-is-no-program", "", 0700);
    add_hook(fixture, "7-tells", listen, 0700);
    g_autofree char *folder = hooks_folder(fixture);
    g_autofree char *broken = g_build_filename(folder, "6-is-no-program", NULL);
    write_file(broken, "#!/no/such/interpreter\n", 0700);
    since = clock_mono_ns();
    run_hooks(fixture, 5 * CLOCK_NS_PER_S);
    g_assert_cmpint(clock_mono_ns() - since, >=, 5 * CLOCK_NS_PER_S);
    text = heard(fixture);
    g_assert_true(g_str_has_prefix(text, "7-tells run-failed: {"));
}

/* The engine calls them, and a campaign whose hooks all fail is as good as any. */
static void test_campaign(Fixture *fixture, gconstpointer data)
{
    CampaignOptions options = fixture_options(fixture);
    g_autofree char *folder = hooks_folder(fixture), *text = NULL;
    g_auto(GStrv) lines = NULL;
    CampaignTotals totals = {0};
    g_autoptr(GError) error = NULL;
    gint64 campaign;

    add_hook(fixture, "tell", "echo $1 >>$heard; exit 1", 0700);
    options.hooks = folder;
    campaign = fixture_submit(fixture, "version: 1\n"
                                       "plan: engine\n"
                                       "axes:\n"
                                       "  hypervisor: [bare]\n"
                                       "repeat: {boots: 3, invocations: 1, samples: 5}\n"
                                       "idle: off\n"
                                       "workloads: [fake.one]\n");
    g_setenv("FAKE_AGENT", "good dies good", TRUE);
    campaign_run(fixture->store, campaign, &options, &totals, &error);
    g_assert_no_error(error);
    g_assert_cmpint(totals.done, ==, 3);
    g_assert_cmpint(totals.failed, ==, 1);
    assert_answer(fixture, "SELECT state FROM campaign", "done");
    text = heard(fixture);
    g_assert_cmpstr(text, ==, "run-failed\ncampaign-finished\n");
}

int main(int argc, char **argv)
{
    fixture_begin(&argc, &argv);
    /* What failing hooks are reported with. */
    g_log_set_always_fatal(G_LOG_FATAL_MASK);
    g_test_add("/hook/facts", Fixture, NULL, fixture_init, test_facts, fixture_finish);
    g_test_add("/hook/which", Fixture, NULL, fixture_init, test_which, fixture_finish);
    g_test_add("/hook/harmless", Fixture, NULL, fixture_init, test_harmless, fixture_finish);
    g_test_add("/hook/campaign", Fixture, NULL, fixture_init, test_campaign, fixture_finish);
    return g_test_run();
}
