/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every commit is heard, and can be read when it is: also one of another program. */
#include "fixture.h"

#include <poll.h>
#include <sqlite3.h>

#include "store/steer.h"
#include "store/watch.h"
#include "util/clock.h"

static gboolean is_ready(const StoreWatch *watch, int timeout_ms)
{
    struct pollfd fd = {.fd = store_watch_fd(watch), .events = POLLIN};

    return poll(&fd, 1, timeout_ms) == 1;
}

static void drain_all(StoreWatch *watch)
{
    while (is_ready(watch, 0))
        store_watch_drain(watch);
}

static StoreWatch *watch_new(const Fixture *f)
{
    g_autoptr(GError) error = NULL;
    StoreWatch *watch = store_watch_new(f->path, &error);

    g_assert_no_error(error);
    return watch;
}

/* Our own: one event after the commit, and nothing later. */
static void test_own_commit(void)
{
    Fixture f;
    g_autoptr(Store) reader = NULL;
    gboolean changed = FALSE;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    reader = store_open(f.path, STORE_READ_ONLY, NULL);
    g_assert_nonnull(reader);
    g_assert_true(store_has_changed(reader, &changed, NULL));
    g_assert_true(changed);
    g_assert_true(store_has_changed(reader, &changed, NULL));
    g_assert_false(changed);
    g_autoptr(StoreWatch) watch = watch_new(&f);

    g_assert_false(is_ready(watch, 0));
    g_assert_true(store_campaign_pause(f.store, 1, TRUE, NULL));
    g_assert_true(is_ready(watch, 0));
    g_assert_true(store_watch_drain(watch));
    g_assert_true(store_has_changed(reader, &changed, NULL));
    g_assert_true(changed);
    /* No look afterwards: an invocation may run. */
    g_assert_false(is_ready(watch, 100));
    /* Nor does reading make an event. */
    g_assert_cmpint(ask_int(reader, "SELECT paused FROM campaign"), ==, 1);
    g_assert_false(is_ready(watch, 0));
    fixture_finish(&f);
}

/* Another program's: the write is heard, and it is looked again until it can be read. */
static void test_foreign_commit(void)
{
    Fixture f;
    sqlite3 *db = NULL;
    guint looks = 0;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_autoptr(StoreWatch) watch = watch_new(&f);

    g_assert_cmpint(sqlite3_open(f.path, &db), ==, SQLITE_OK);
    drain_all(watch);
    g_assert_cmpint(sqlite3_exec(db, "UPDATE campaign SET paused = 1", NULL, NULL, NULL), ==,
                    SQLITE_OK);
    g_assert_true(is_ready(watch, 0));
    g_assert_true(store_watch_drain(watch));
    for (; looks < 20 && is_ready(watch, 10000); looks++) {
        g_assert_true(store_watch_drain(watch));
        if (looks == 6)
            break;
    }
    g_assert_cmpuint(looks, ==, 6);
    /* The last of seven. */
    g_assert_false(is_ready(watch, 0));
    g_assert_cmpint(sqlite3_close(db), ==, SQLITE_OK);
    fixture_finish(&f);
}

static void test_other_files(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_autoptr(StoreWatch) watch = watch_new(&f);
    g_autofree char *other = g_build_filename(f.folder, "test.db-other", NULL);

    g_assert_true(g_file_set_contents(other, "x", 1, NULL));
    if (is_ready(watch, 0))
        g_assert_false(store_watch_drain(watch));
    fixture_finish(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/watch/own-commit", test_own_commit);
    g_test_add_func("/watch/foreign-commit", test_foreign_commit);
    g_test_add_func("/watch/other-files", test_other_files);
    return g_test_run();
}
