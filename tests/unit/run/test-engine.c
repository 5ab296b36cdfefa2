/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/engine.h"

#include <glib/gstdio.h>
#include <unistd.h>

#include "fixture.h"
#include "util/clock.h"

static void note_alive(void *data, gint64 within_ns)
{
    *(gint64 *)data = within_ns;
}

/* The watchdog must not end a daemon that reads a large image for its digest. */
static void test_reading(Fixture *fixture, gconstpointer data)
{
    gint64 within_ns = 0;
    CampaignOptions options = {.alive = note_alive, .alive_data = &within_ns}, none = {0};
    Engine engine = {.options = &options}, silent = {.options = &none};
    g_autofree char *path = g_build_filename(fixture->folder, "image", NULL);

    write_file(path, "", 0600);
    engine_tell_reading(&engine, path);
    g_assert_cmpint(within_ns, ==, CLOCK_NS_PER_S);
    g_assert_cmpint(truncate(path, (off_t)40 << 30), ==, 0); /* without a byte on the disk */
    engine_tell_reading(&engine, path);
    g_assert_cmpint(within_ns, ==, (4096 + 1) * CLOCK_NS_PER_S);
    engine_tell_reading(&silent, path);
    g_unlink(path);
    within_ns = 0;
    engine_tell_reading(&engine, path);
    g_assert_cmpint(within_ns, ==, 0); /* whoever reads it will tell that it is not there */
}

int main(int argc, char **argv)
{
    fixture_begin(&argc, &argv);
    g_test_add("/engine/reading", Fixture, NULL, fixture_init, test_reading, fixture_finish);
    return g_test_run();
}
