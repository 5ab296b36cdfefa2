/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What goes to the journal: each record with the fields that say what it is about. */
#include "util/log.h"

#include <string.h>

static GPtrArray *records; /* char*: "MESSAGE|PRIORITY|campaign|cell|run|step" */

static const char *field(const GLogField *fields, gsize n, const char *key)
{
    for (gsize i = 0; i < n; i++) {
        if (!g_str_equal(fields[i].key, key))
            continue;
        g_assert_cmpint(fields[i].length, ==, -1);
        return fields[i].value;
    }
    return "-";
}

static GLogWriterOutput take(GLogLevelFlags level, const GLogField *fields, gsize n, gpointer data)
{
    g_ptr_array_add(records,
                    g_strjoin("|", field(fields, n, "MESSAGE"), field(fields, n, "PRIORITY"),
                              field(fields, n, "VMATRIX_CAMPAIGN"),
                              field(fields, n, "VMATRIX_CELL"), field(fields, n, "VMATRIX_RUN"),
                              field(fields, n, "VMATRIX_STEP"), NULL));
    return G_LOG_WRITER_HANDLED;
}

static void expect(guint number, const char *text)
{
    g_assert_cmpuint(records->len, >, number);
    g_assert_cmpstr(g_ptr_array_index(records, number), ==, text);
}

static void test_fields(void)
{
    g_ptr_array_set_size(records, 0);
    g_message("before");
    log_set_subject(LOG_CAMPAIGN, "7");
    log_set_subject(LOG_CELL, "guest=a vcpus=1");
    log_set_subject(LOG_RUN, "12");
    log_set_subject(LOG_STEP, "ssh");
    g_warning("slow");
    log_set_subject(LOG_STEP, "shutdown");
    g_message("going");
    log_set_subject(LOG_STEP, NULL);
    log_set_subject(LOG_RUN, NULL);
    log_set_subject(LOG_CELL, NULL);
    g_message("between");
    log_set_subject(LOG_CAMPAIGN, NULL);
    g_message("after");
    g_assert_cmpuint(records->len, ==, 5);
    expect(0, "before|5|-|-|-|-");
    expect(1, "slow|4|7|guest=a vcpus=1|12|ssh");
    expect(2, "going|5|7|guest=a vcpus=1|12|shutdown");
    expect(3, "between|5|7|-|-|-");
    expect(4, "after|5|-|-|-|-");
}

/* While held nothing is written; what comes out later has the fields of its own moment. */
static void test_held(void)
{
    g_ptr_array_set_size(records, 0);
    log_hold();
    log_hold();
    log_set_subject(LOG_STEP, "measure");
    g_message("held");
    log_set_subject(LOG_STEP, NULL);
    log_release();
    g_assert_cmpuint(records->len, ==, 0);
    log_release();
    g_assert_cmpuint(records->len, ==, 1);
    expect(0, "held|5|-|-|-|measure");
}

static void test_levels(void)
{
    g_ptr_array_set_size(records, 0);
    log_set_level(LOG_QUIET);
    g_message("no");
    g_warning("yes");
    log_set_level(LOG_VERBOSE);
    g_info("info");
    g_debug("no");
    log_set_level(LOG_DEBUG_ALL);
    g_debug("debug");
    log_set_level(LOG_NORMAL);
    g_info("no");
    g_assert_cmpuint(records->len, ==, 3);
    expect(0, "yes|4|-|-|-|-");
    expect(1, "info|6|-|-|-|-");
    expect(2, "debug|7|-|-|-|-");
}

/* A journal that does not take a record: it comes out as text. */
static GLogWriterOutput refuse(GLogLevelFlags level, const GLogField *fields, gsize n,
                               gpointer data)
{
    return G_LOG_WRITER_UNHANDLED;
}

static void test_text(void)
{
    if (g_test_subprocess()) {
        log_set_sink(refuse, NULL);
        g_warning("refused");
        log_set_sink(NULL, NULL);
        g_message("plain");
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
    g_test_trap_assert_stderr("*warning: refused\nplain\n*");
}

int main(int argc, char **argv)
{
    int result;

    g_test_init(&argc, &argv, NULL);
    g_log_set_always_fatal(G_LOG_FATAL_MASK);
    log_init(LOG_NORMAL);
    records = g_ptr_array_new_with_free_func(g_free);
    log_set_sink(take, NULL);
    g_test_add_func("/log/fields", test_fields);
    g_test_add_func("/log/held", test_held);
    g_test_add_func("/log/levels", test_levels);
    g_test_add_func("/log/text", test_text);
    result = g_test_run();
    g_ptr_array_unref(records);
    return result;
}
