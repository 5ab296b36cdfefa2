/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The undo journal. */
#include "store/undo.h"

#include <string.h>

#include "fixture.h"
#include "util/error.h"

/* One that was changed: old "60\n". */
static gint64 add(Store *store, gint64 campaign, const char *target, const char *state)
{
    g_autoptr(GBytes) old = g_bytes_new("60\n", 3);
    const StoreUndo undo = {.campaign = campaign,
                            .boot_id = (char *)"boot",
                            .knob = (char *)"swappiness",
                            .target = (char *)target,
                            .old = old,
                            .wanted = (char *)"1",
                            .state = (char *)state};
    g_autoptr(GError) error = NULL;
    gint64 id = 0;

    store_undo_add(store, &undo, &id, &error);
    g_assert_no_error(error);
    return id;
}

static void set(Store *store, gint64 id, const char *state, const char *got, const char *reason)
{
    g_autoptr(GBytes) bytes = got != NULL ? g_bytes_new(got, strlen(got)) : NULL;
    g_autoptr(GError) error = NULL;

    store_undo_set(store, id, state, bytes, reason, &error);
    g_assert_no_error(error);
}

static void test_states(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_open(&f);
    fixture_add_campaign(&f);
    g_autoptr(GError) error = NULL;
    gint64 hand = add(f.store, 0, "/a", "journalled");
    gint64 first = add(f.store, f.campaign, "/b", "journalled");
    gint64 second = add(f.store, f.campaign, "/c", "journalled");

    set(f.store, first, "set", "1\n", NULL);
    set(f.store, second, "set", "1\n", NULL);
    set(f.store, second, "restored", NULL, NULL);
    g_autoptr(GPtrArray) open = store_undo_open(f.store, &error);
    g_assert_no_error(error);
    g_autoptr(GPtrArray) all = store_undo_list(f.store, f.campaign, 0, &error);
    g_autoptr(GPtrArray) by_hand = store_undo_list(f.store, 0, 0, &error);
    const StoreUndo *last = g_ptr_array_index(open, 0);

    g_assert_cmpuint(open->len, ==, 2);
    g_assert_cmpint(last->id, ==, first);
    g_assert_cmpint(((StoreUndo *)g_ptr_array_index(open, 1))->id, ==, hand);
    g_assert_cmpint(last->campaign, ==, f.campaign);
    g_assert_cmpstr(last->target, ==, "/b");
    g_assert_cmpstr(last->boot_id, ==, "boot");
    g_assert_cmpmem(g_bytes_get_data(last->old, NULL), g_bytes_get_size(last->old), "60\n", 3);
    g_assert_cmpmem(g_bytes_get_data(last->got, NULL), g_bytes_get_size(last->got), "1\n", 2);
    g_assert_cmpuint(all->len, ==, 2);
    g_assert_cmpuint(by_hand->len, ==, 1);
    g_autofree char *rows =
        ask_rows(f.store, "SELECT target, state, reason, ended_ns > 0, ended_utc IS NULL,"
                          " campaign_id IS NULL FROM undo ORDER BY id");

    g_assert_cmpstr(rows, ==, "/a|journalled|-|-|1|1\n/b|set|-|-|1|0\n/c|restored|-|1|0|0");
    fixture_finish(&f);
}

/* It stays, and says why, until it succeeds. */
static void test_stuck(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_open(&f);
    gint64 id = add(f.store, 0, "/a", "journalled");

    set(f.store, id, "set", "1\n", NULL);
    set(f.store, id, "stuck", NULL, "Read-only file system");
    g_autofree char *stuck = ask_rows(f.store, "SELECT state, reason, ended_ns FROM undo");

    g_assert_cmpstr(stuck, ==, "stuck|Read-only file system|-");
    set(f.store, id, "restored", NULL, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) open = store_undo_open(f.store, &error);
    g_autofree char *done = ask_rows(f.store, "SELECT state, reason, CAST(got AS TEXT) FROM undo");

    g_assert_cmpuint(open->len, ==, 0);
    g_assert_cmpstr(done, ==, "restored|-|1\n");
    fixture_finish(&f);
}

static void test_refusals(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_open(&f);
    const StoreUndo bare = {.boot_id = (char *)"b",
                            .knob = (char *)"k",
                            .target = (char *)"t",
                            .state = (char *)"journalled"};
    StoreUndo absent = bare;
    g_autoptr(GError) without_old = NULL;
    g_autoptr(GError) nested = NULL;
    g_autoptr(GError) error = NULL;
    gint64 id = -1;

    /* A change without what was there before could not be given back. */
    g_assert_false(store_undo_add(f.store, &bare, &id, &without_old));
    g_assert_nonnull(without_old);
    g_assert_cmpint(id, ==, -1);
    /* Inside a transaction it would be on the disk too late. */
    absent.state = (char *)"absent";
    g_assert_true(store_begin(f.store, &error));
    g_assert_false(store_undo_add(f.store, &absent, &id, &nested));
    g_assert_error(nested, VM_ERROR, VM_ERROR_FAILED);
    g_assert_true(store_end(f.store, FALSE, NULL) == FALSE);
    g_assert_true(store_undo_add(f.store, &absent, &id, &error));
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM undo"), ==, 1);
    fixture_finish(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/undo/states", test_states);
    g_test_add_func("/undo/stuck", test_stuck);
    g_test_add_func("/undo/refusals", test_refusals);
    return g_test_run();
}
