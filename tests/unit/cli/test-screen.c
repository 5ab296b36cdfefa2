/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "cli/screen.h"

static void assert_cut(const char *text, guint columns, guint rows, const char *expected)
{
    g_autofree char *cut = screen_cut(text, columns, rows);

    g_assert_cmpstr(cut, ==, expected);
}

static void test_cut(void)
{
    assert_cut("one\ntwo\nthree\n", 10, 10, "one\ntwo\nthree");
    assert_cut("one\ntwo\nthree\n", 2, 10, "on\ntw\nth");
    assert_cut("one\ntwo\nthree\n", 10, 2, "one\ntwo");
    assert_cut("exact", 5, 1, "exact");
    assert_cut("", 5, 5, "");
    assert_cut("a\n\nb", 5, 5, "a\n\nb");
}

/* A character counts by the columns that it takes, and is never halved. */
static void test_characters(void)
{
    assert_cut("größer", 3, 1, "grö");
    assert_cut("漢字漢字", 5, 1, "漢字");
    assert_cut("e\xcc\x81x", 1, 1, "e\xcc\x81");
}

/* Colours take no room, and what was begun is ended. */
static void test_escapes(void)
{
    assert_cut("\033[1mbold text\033[0m after", 4, 1, "\033[1mbold\033[0m");
    assert_cut("\033[1", 4, 1, "\033[1");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/screen/cut", test_cut);
    g_test_add_func("/screen/characters", test_characters);
    g_test_add_func("/screen/escapes", test_escapes);
    return g_test_run();
}
