/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/site-facts.h"

#include <glib/gstdio.h>

#include "fixture.h"

/* A qemu-img that says its version, and notes that it was asked. */
static void write_program(const Fixture *fixture, const char *version)
{
    g_autofree char *path = g_build_filename(fixture->folder, "bin/qemu-img", NULL);
    g_autofree char *text =
        g_strdup_printf("#!/bin/sh\necho x >>%s/asked\necho '%s'\necho more\ntest -n '%s'\n",
                        fixture->folder, version, version);

    write_file(path, text, 0700);
}

static void assert_version(const Fixture *fixture, Store *store, const char *version, gsize asked)
{
    g_autoptr(GHashTable) facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autofree char *path = g_build_filename(fixture->folder, "asked", NULL);
    g_autofree char *notes = NULL;

    site_facts(&(SiteFacts){.root = "", .store = store, .cancel = fixture->cancel}, facts);
    g_assert_cmpstr(g_hash_table_lookup(facts, "program.qemu-img"), ==, version);
    g_assert_true(g_file_get_contents(path, &notes, NULL, NULL));
    g_assert_cmpuint(strlen(notes), ==, asked * strlen("x\n"));
}

/* Each start costs the host a process: only what has changed is asked. */
static void test_versions(Fixture *fixture, gconstpointer data)
{
    g_autofree char *folder = g_build_filename(fixture->folder, "bin", NULL);
    g_autofree char *path = g_strdup_printf("%s:%s", folder, g_getenv("PATH"));

    g_assert_cmpint(g_mkdir(folder, 0700), ==, 0);
    g_setenv("PATH", path, TRUE);
    write_program(fixture, "qemu-img version 1.0 (Debian)");
    assert_version(fixture, fixture->store, "qemu-img version 1.0 (Debian)", 1);
    assert_version(fixture, fixture->store, "qemu-img version 1.0 (Debian)", 1);
    assert_version(fixture, NULL, "qemu-img version 1.0 (Debian)", 2);
    write_program(fixture, "qemu-img version 1.0.1 (Debian)");
    assert_version(fixture, fixture->store, "qemu-img version 1.0.1 (Debian)", 3);
    assert_version(fixture, fixture->store, "qemu-img version 1.0.1 (Debian)", 3);
    write_program(fixture, ""); /* one that does not tell is asked each time */
    assert_version(fixture, fixture->store, NULL, 4);
    assert_version(fixture, fixture->store, NULL, 5);
}

int main(int argc, char **argv)
{
    fixture_begin(&argc, &argv);
    g_test_add("/site-facts/versions", Fixture, NULL, fixture_init, test_versions, fixture_finish);
    return g_test_run();
}
