/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fixture.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "run/submit.h"
#include "util/io.h"
#include "util/log.h"

void write_file(const char *path, const char *text, guint mode)
{
    g_autoptr(GError) error = NULL;

    io_replace_file(path, text, strlen(text), mode, &error);
    g_assert_no_error(error);
}

void fixture_init(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *count = NULL;

    fixture->folder = g_dir_make_tmp("vmatrix-run-XXXXXX", &error);
    g_assert_no_error(error);
    fixture->db = g_build_filename(fixture->folder, "test.db", NULL);
    fixture->plan = g_build_filename(fixture->folder, "plan.yaml", NULL);
    fixture->inventory = g_build_filename(fixture->folder, "inventory.yaml", NULL);
    count = g_build_filename(fixture->folder, "count", NULL);
    g_setenv("FAKE_AGENT_COUNT", count, TRUE);
    g_setenv("FAKE_AGENT", "good", TRUE);
    g_setenv("FAKE_READER", "quiet", TRUE);
    g_unsetenv("FAKE_VALUES");
    write_file(fixture->inventory, "version: 1\n", 0600);
    fixture->store = store_open(fixture->db, STORE_READ_WRITE, &error);
    g_assert_no_error(error);
    fixture->cancel = cancel_new();
}

void fixture_finish(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    store_free(fixture->store);
    cancel_free(fixture->cancel);
    io_remove_tree(fixture->folder, &error);
    g_assert_no_error(error);
    g_free(fixture->folder);
    g_free(fixture->db);
    g_free(fixture->plan);
    g_free(fixture->inventory);
}

gint64 fixture_submit(Fixture *fixture, const char *plan_text)
{
    SubmitRequest request = {.plan_path = fixture->plan,
                             .inventory_path = fixture->inventory,
                             .agent = g_getenv("FAKE_AGENT_PATH")};
    g_autoptr(GError) error = NULL;
    guint cells = 0, skipped = 0;
    gint64 campaign = 0;

    write_file(fixture->plan, plan_text, 0600);
    submit_campaign(fixture->store, &request, &campaign, &cells, &skipped, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(skipped, ==, 0);
    return campaign;
}

CampaignOptions fixture_options(Fixture *fixture)
{
    return (CampaignOptions){.agent = g_getenv("FAKE_AGENT_PATH"), .cancel = fixture->cancel};
}

char *fixture_ask(Fixture *fixture, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreQuery) query = store_query_new(fixture->store, sql, &error);
    StoreStep step = STORE_END;

    g_assert_no_error(error);
    store_query_step(query, &step, &error);
    g_assert_no_error(error);
    return step == STORE_ROW ? g_strdup(store_query_text(query, 0)) : NULL;
}

void assert_nothing_left(Fixture *fixture)
{
    g_autofree char *runs = g_build_filename(fixture->folder, "runs", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(GDir) dir = g_dir_open(runs, 0, &error);

    g_assert_no_error(error);
    g_assert_null(g_dir_read_name(dir));
}

void fixture_begin(int *argc, char ***argv)
{
    g_autofree char *lock = g_strdup_printf("vmatrix-test-%d", (int)getpid());

    g_setenv("VMATRIX_HOST_LOCK", lock, TRUE);
    signal(SIGPIPE, SIG_IGN); /* as both programs do */
    g_test_init(argc, argv, NULL);
    log_init(LOG_QUIET);
}
