/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/io.h"
#include "util/spawn.h"
#include "util/text.h"
#include "util/wait.h"

static const Wait patient = {.deadline_ns = WAIT_FOREVER, .guard_fd = -1, .step = "test"};

static void test_nearest(void)
{
    static const char *const words[] = {"hypervisor", "guest", "vcpus", NULL};

    g_assert_cmpstr(text_nearest("hypervsior", words), ==, "hypervisor");
    g_assert_cmpstr(text_nearest("geust", words), ==, "guest");
    g_assert_null(text_nearest("memory", words));
}

static void test_parse_uint(void)
{
    static const char *const bad[] = {"",      "010", "+1", "-1",  "1e3",
                                      "1_000", " 1",  "1 ", "0x1", "18446744073709551616"};
    guint64 value;

    g_assert_true(text_parse_uint("18446744073709551615", &value));
    g_assert_cmpuint(value, ==, G_MAXUINT64);
    g_assert_true(text_parse_uint("0", &value));
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(text_parse_uint(bad[i], &value));
}

static void test_escape(void)
{
    g_autofree char *noisy = text_escape("a\0b\n\xffé", 7, 100);
    g_autofree char *cut = text_escape("abcdef", -1, 3);

    g_assert_cmpstr(noisy, ==, "a\\x00b\\x0a\\xffé");
    g_assert_cmpstr(cut, ==, "abc…");
}

static void test_format(void)
{
    g_autofree char *utc = clock_format_utc(G_GINT64_CONSTANT(1700000000123000000));
    g_autofree char *size = text_format_size(3 * 512 * 1024);

    g_assert_cmpstr(utc, ==, "2023-11-14T22:13:20.123Z");
    g_assert_cmpstr(size, ==, "1.5 MiB");
}

static void test_wait_order(void)
{
    g_autoptr(Cancel) cancel = cancel_new();
    int pair[2], guard[2];
    Wait wait = {.deadline_ns = 0, .cancel = cancel, .step = "test"};

    g_assert_cmpint(pipe(pair), ==, 0);
    g_assert_cmpint(pipe(guard), ==, 0);
    wait.guard_fd = guard[0];
    g_assert_cmpint(wait_fd(&wait, pair[0], POLLIN), ==, WAIT_TIMEOUT);
    close(guard[1]);
    g_assert_cmpint(wait_fd(&wait, pair[0], POLLIN), ==, WAIT_GUARD);
    close(pair[1]);
    g_assert_cmpint(wait_fd(&wait, pair[0], POLLIN), ==, WAIT_READY);
    cancel_set(cancel);
    g_assert_cmpint(wait_fd(&wait, pair[0], POLLIN), ==, WAIT_CANCELLED);
    close(pair[0]);
    close(guard[0]);
}

static void wake_once(void *data)
{
    int *pair = data;
    char byte;

    g_assert_cmpint(read(pair[0], &byte, 1), ==, 1);
    if (byte == 'c')
        cancel_set(*(Cancel **)(void *)(pair + 2));
}

static void test_cancel_chain(void)
{
    g_autoptr(Cancel) parent = cancel_new();
    g_autoptr(Cancel) child = cancel_new_child(parent);
    struct {
        int pair[2];
        Cancel *token;
    } watch = {.token = child};
    Wait wait = {.deadline_ns = 0, .cancel = child, .guard_fd = -1, .step = "test"};

    g_assert_cmpint(pipe(watch.pair), ==, 0);
    cancel_watch(parent, watch.pair[0], wake_once, &watch);
    g_assert_cmpint(wait_fd(&wait, -1, 0), ==, WAIT_TIMEOUT);
    /* Something else than a cancel: the wait goes on. */
    g_assert_cmpint(write(watch.pair[1], "x", 1), ==, 1);
    g_assert_cmpint(wait_fd(&wait, -1, 0), ==, WAIT_TIMEOUT);
    wait.deadline_ns = WAIT_FOREVER;
    g_assert_cmpint(write(watch.pair[1], "c", 1), ==, 1);
    g_assert_cmpint(wait_fd(&wait, -1, 0), ==, WAIT_CANCELLED);
    g_assert_true(cancel_is_set(child));
    g_assert_false(cancel_is_set(parent));
    cancel_set(parent);
    g_assert_true(cancel_is_set(parent));
    close(watch.pair[0]);
    close(watch.pair[1]);
}

static void test_wait_within(void)
{
    Wait parent = {.deadline_ns = clock_mono_ns() + CLOCK_NS_PER_S, .guard_fd = -1, .step = "test"};

    g_assert_cmpint(wait_within(&parent, 3600 * CLOCK_NS_PER_S).deadline_ns, ==,
                    parent.deadline_ns);
    g_assert_cmpint(wait_within(&parent, 0).deadline_ns, <, parent.deadline_ns);
    g_assert_cmpint(wait_within(&patient, WAIT_FOREVER).deadline_ns, ==, WAIT_FOREVER);
}

static void test_spawn_streams(void)
{
    static const char *const argv[] = {"sh", "-c", "cat; echo err >&2; exit 3", NULL};
    SpawnRequest request = {.argv = argv, .input = "hello", .input_length = 5};
    g_auto(SpawnResult) result = {0};
    g_autoptr(GError) error = NULL;

    g_assert_true(spawn_run(&patient, &request, &result, &error));
    g_assert_no_error(error);
    g_assert_cmpint(result.status, ==, 3);
    g_assert_cmpmem(g_bytes_get_data(result.output, NULL), g_bytes_get_size(result.output), "hello",
                    5);
    g_assert_cmpmem(g_bytes_get_data(result.errors, NULL), g_bytes_get_size(result.errors), "err\n",
                    4);
}

static void test_spawn_bounded(void)
{
    static const char *const argv[] = {"sh", "-c", "head -c 300000 /dev/zero", NULL};
    SpawnRequest request = {.argv = argv, .output_max = 1000};
    g_auto(SpawnResult) result = {0};
    g_autoptr(GError) error = NULL;

    g_assert_true(spawn_run(&patient, &request, &result, &error));
    g_assert_cmpuint(g_bytes_get_size(result.output), ==, 1000);
    g_assert_true(result.truncated);
}

static void test_spawn_cancelled(void)
{
    static const char *const argv[] = {"sh", "-c", "sleep 1000", NULL};
    g_autoptr(Cancel) cancel = cancel_new();
    Wait wait = {.deadline_ns = WAIT_FOREVER, .cancel = cancel, .guard_fd = -1, .step = "test"};
    SpawnRequest request = {.argv = argv};
    SpawnResult result = {0};
    g_autoptr(GError) error = NULL;

    cancel_set(cancel);
    g_assert_false(spawn_run(&wait, &request, &result, &error));
    g_assert_true(vm_error_is(error, VM_ERROR_CANCELLED));
    g_assert_cmpint(vm_error_exit_code(error), ==, VM_EXIT_INTERRUPTED);
}

static void test_files(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("vmatrix-io-XXXXXX", &error);
    g_autofree char *deep = g_build_filename(folder, "a", "b", NULL);
    g_autofree char *file = g_build_filename(deep, "file", NULL);
    gsize length;

    g_assert_true(io_make_folder(deep, &error));
    g_assert_true(io_replace_file(file, "abc", 3, 0600, &error));
    g_autofree char *text = io_read_file(file, 3, &length, &error);
    g_assert_cmpmem(text, length, "abc", 3);
    g_autofree char *digest = io_digest_file(NULL, file, &error);
    g_assert_cmpstr(digest, ==, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    g_assert_null(io_read_file(file, 2, &length, &error));
    g_assert_true(vm_error_is(error, VM_ERROR_INVALID));
    g_clear_error(&error);
    g_assert_true(io_remove_tree(folder, &error));
    g_assert_false(g_file_test(folder, G_FILE_TEST_EXISTS));
    g_assert_true(io_remove_tree(folder, &error));
}

/* An image of many gigabytes is left when the program is to end, or its time is up. */
static void test_digest_heard(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Cancel) cancel = cancel_new();
    g_autofree char *folder = g_dir_make_tmp("vmatrix-io-XXXXXX", &error);
    g_autofree char *file = g_build_filename(folder, "image", NULL);
    Wait wait = {.deadline_ns = WAIT_FOREVER, .cancel = cancel, .guard_fd = -1, .step = "image"};
    g_autofree char *digest = NULL;

    g_assert_true(io_replace_file(file, "abc", 3, 0600, &error));
    digest = io_digest_file(&wait, file, &error);
    g_assert_no_error(error);
    g_assert_nonnull(digest);
    wait.deadline_ns = clock_mono_ns();
    g_assert_null(io_digest_file(&wait, file, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_TIMEOUT);
    g_clear_error(&error);
    wait.deadline_ns = WAIT_FOREVER;
    cancel_set(cancel);
    g_assert_null(io_digest_file(&wait, file, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_CANCELLED);
    g_assert_nonnull(strstr(error->message, file));
    g_assert_true(io_remove_tree(folder, NULL));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/io/digest-heard", test_digest_heard);
    g_test_add_func("/text/nearest", test_nearest);
    g_test_add_func("/text/parse-uint", test_parse_uint);
    g_test_add_func("/text/escape", test_escape);
    g_test_add_func("/text/format", test_format);
    g_test_add_func("/wait/order", test_wait_order);
    g_test_add_func("/wait/cancel-chain", test_cancel_chain);
    g_test_add_func("/wait/within", test_wait_within);
    g_test_add_func("/spawn/streams", test_spawn_streams);
    g_test_add_func("/spawn/bounded", test_spawn_bounded);
    g_test_add_func("/spawn/cancelled", test_spawn_cancelled);
    g_test_add_func("/io/files", test_files);
    return g_test_run();
}
