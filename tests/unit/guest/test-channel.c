/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "guest/channel.h"
#include "util/clock.h"
#include "util/error.h"

static const Wait patient = {.deadline_ns = WAIT_FOREVER, .guard_fd = -1, .step = "test"};

static Channel *shell(const char *script, const char *cpus, int *ret_pidfd)
{
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    g_autoptr(GError) error = NULL;
    Channel *channel = channel_local_new(argv, cpus, ret_pidfd, &error);

    g_assert_no_error(error);
    g_assert_nonnull(channel);
    return channel;
}

static GString *read_all(Channel *channel)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    ChannelRead kind = CHANNEL_DATA;
    char buffer[1000];
    gsize got;

    while (kind == CHANNEL_DATA) {
        g_assert_true(
            channel->ops->read(channel, &patient, buffer, sizeof buffer, &got, &kind, &error));
        g_assert_no_error(error);
        g_string_append_len(text, buffer, (gssize)got);
    }
    return text;
}

static int status_of(Channel *channel)
{
    g_autoptr(GError) error = NULL;
    int status = -2;

    g_assert_true(channel->ops->exit_status(channel, &patient, &status, &error));
    g_assert_no_error(error);
    return status;
}

static void test_echo(void)
{
    g_autoptr(Channel) channel = shell("cat; echo oops >&2; exit 126", NULL, NULL);
    g_autoptr(GString) text = NULL;

    g_assert_true(channel->ops->write(channel, &patient, "hello", 5, NULL));
    g_assert_true(channel->ops->close_input(channel, &patient, NULL));
    text = read_all(channel);
    g_assert_cmpstr(text->str, ==, "hello");
    g_assert_cmpint(status_of(channel), ==, 126);
    g_assert_cmpint(status_of(channel), ==, 126);
    g_assert_cmpstr(channel->errors->str, ==, "oops\n");
}

static void test_signal(void)
{
    g_autoptr(Channel) channel = shell("kill -SEGV $$", NULL, NULL);
    g_autoptr(GString) text = read_all(channel);

    g_assert_cmpuint(text->len, ==, 0);
    g_assert_cmpint(status_of(channel), ==, 128 + SIGSEGV);
}

/* More standard error than a pipe holds, before any output: taken aside, cut, and no deadlock. */
static void test_errors_bounded(void)
{
    g_autoptr(Channel) channel =
        shell("head -c 300000 /dev/zero | tr '\\0' e >&2; echo", NULL, NULL);
    g_autoptr(GString) text = read_all(channel);

    g_assert_cmpstr(text->str, ==, "\n");
    g_assert_cmpint(status_of(channel), ==, 0);
    g_assert_cmpuint(channel->errors->len, ==, CHANNEL_ERRORS_MAX);
}

/* The same while nobody reads the input: the write goes on as soon as there is room. */
static void test_errors_while_writing(void)
{
    g_autoptr(Channel) channel =
        shell("head -c 300000 /dev/zero | tr '\\0' e >&2; wc -c", NULL, NULL);
    g_autofree char *data = g_malloc0(500000);
    g_autoptr(GString) text = NULL;

    g_assert_true(channel->ops->write(channel, &patient, data, 500000, NULL));
    g_assert_true(channel->ops->close_input(channel, &patient, NULL));
    text = read_all(channel);
    g_assert_cmpstr(g_strstrip(text->str), ==, "500000");
}

static void test_time_out(void)
{
    g_autoptr(Channel) channel = shell("sleep 1000", NULL, NULL);
    Wait wait = wait_within(&patient, 20 * CLOCK_NS_PER_MS);
    g_autoptr(GError) error = NULL;
    ChannelRead kind;
    char buffer[10];
    gsize got;

    g_assert_false(channel->ops->read(channel, &wait, buffer, sizeof buffer, &got, &kind, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_TIMEOUT);
}

static void test_input_lost(void)
{
    g_autoptr(Channel) channel = shell("exec <&-; echo closed; sleep 1000", NULL, NULL);
    g_autoptr(GError) error = NULL;
    ChannelRead kind;
    char buffer[10];
    gsize got;

    g_assert_true(channel->ops->read(channel, &patient, buffer, sizeof buffer, &got, &kind, NULL));
    g_assert_false(channel->ops->write(channel, &patient, "x", 1, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_LOST);
}

/* The pidfd is the guard: a process that ends while something else is waited for. */
static void test_guard(void)
{
    int pidfd = -1;
    g_autoptr(Channel) channel = shell("read line; exit 0", NULL, &pidfd);
    Wait wait = patient;

    if (pidfd < 0) {
        g_test_skip("no pidfd here");
        return;
    }
    wait.guard_fd = pidfd;
    g_assert_cmpint(wait_sleep(&wait, 0), ==, WAIT_TIMEOUT);
    g_assert_true(channel->ops->close_input(channel, &patient, NULL));
    g_assert_cmpint(wait_sleep(&wait, 60 * CLOCK_NS_PER_S), ==, WAIT_GUARD);
    g_assert_cmpint(status_of(channel), ==, 0);
}

/* Freeing ends the whole group, also what the process has started. */
static void test_free_ends_group(void)
{
    int ends[2];
    char byte;

    g_assert_cmpint(pipe(ends), ==, 0);
    g_autofree char *script =
        g_strdup_printf("sleep 1000 >/proc/%d/fd/%d & echo started; wait", getpid(), ends[1]);
    g_autoptr(Channel) channel = shell(script, NULL, NULL);
    ChannelRead kind;
    gsize got;

    g_assert_true(channel->ops->read(channel, &patient, &byte, 1, &got, &kind, NULL));
    close(ends[1]);
    g_clear_pointer(&channel, channel_free);
    g_assert_cmpint(read(ends[0], &byte, 1), ==, 0);
    close(ends[0]);
}

static void test_affinity(void)
{
    cpu_set_t allowed;
    g_autofree char *cpus = NULL;
    int cpu = 0;

    g_assert_cmpint(sched_getaffinity(0, sizeof allowed, &allowed), ==, 0);
    while (!CPU_ISSET(cpu, &allowed))
        cpu++;
    cpus = g_strdup_printf("%d", cpu);
    g_autofree char *expected = g_strdup_printf("Cpus_allowed_list:\t%d\n", cpu);
    g_autoptr(Channel) channel = shell("grep Cpus_allowed_list: /proc/self/status", cpus, NULL);
    g_autoptr(GString) text = read_all(channel);

    g_assert_cmpstr(text->str, ==, expected);
}

static void test_bad_requests(void)
{
    static const struct {
        const char *program, *cpus;
        int code; /* of VM_ERROR; -1: another domain */
    } cases[] = {
        {"/nonexistent/agent", NULL, -1},          {"/bin/sh", "0,x", VM_ERROR_INVALID},
        {"/bin/sh", "3-1", VM_ERROR_INVALID},      {"/bin/sh", "", VM_ERROR_INVALID},
        {"/bin/sh", "99999", VM_ERROR_INVALID},    {"/bin/sh", "0-", VM_ERROR_INVALID},
        {"/bin/sh", "1023", VM_ERROR_ENVIRONMENT},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *argv[] = {cases[i].program, NULL};
        g_autoptr(GError) error = NULL;

        g_assert_null(channel_local_new(argv, cases[i].cpus, NULL, &error));
        g_assert_nonnull(error);
        if (cases[i].code >= 0)
            g_assert_error(error, VM_ERROR, cases[i].code);
        else
            g_assert_nonnull(strstr(error->message, "/nonexistent/agent"));
    }
}

/* A child joins each group before it is itself, by writing "0"; one that cannot does not start. */
static void test_joins(void)
{
    const char *argv[] = {"/bin/cat", NULL};
    g_autoptr(GArray) joins = g_array_new(FALSE, FALSE, sizeof(int));
    g_autofree char *path = NULL, *text = NULL;
    int fd = g_file_open_tmp("vmatrix-join-XXXXXX", &path, NULL), closed = -1, status = 0;

    g_array_append_val(joins, fd);
    g_array_append_val(joins, fd);
    g_autoptr(Channel) channel = channel_local_joined(argv, NULL, joins, NULL, NULL);

    g_assert_nonnull(channel);
    g_assert_true(channel->ops->close_input(channel, &patient, NULL));
    g_assert_true(channel->ops->exit_status(channel, &patient, &status, NULL));
    g_assert_cmpint(status, ==, 0);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "00");

    g_array_append_val(joins, closed);
    g_autoptr(Channel) refused = channel_local_joined(argv, NULL, joins, NULL, NULL);

    g_assert_true(refused == NULL || refused->ops->exit_status(refused, &patient, &status, NULL));
    g_assert_true(refused == NULL || status == 126);
    close(fd);
    g_assert_cmpint(g_unlink(path), ==, 0);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/channel/echo", test_echo);
    g_test_add_func("/channel/signal", test_signal);
    g_test_add_func("/channel/errors-bounded", test_errors_bounded);
    g_test_add_func("/channel/errors-while-writing", test_errors_while_writing);
    g_test_add_func("/channel/time-out", test_time_out);
    g_test_add_func("/channel/input-lost", test_input_lost);
    g_test_add_func("/channel/guard", test_guard);
    g_test_add_func("/channel/free-ends-group", test_free_ends_group);
    g_test_add_func("/channel/affinity", test_affinity);
    g_test_add_func("/channel/bad-requests", test_bad_requests);
    g_test_add_func("/channel/joins", test_joins);
    return g_test_run();
}
