/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Putting the agent into a guest, with real servers. */
#include <glib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>

#include "guest/ssh.h"
#include "ssh-server.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/io.h"

enum { MIB = 1024 * 1024 };

static const ServerSpec openssh = {.kind = SERVER_OPENSSH};

/* body is run before it tells its digest. */
#define AGENT(body) "#!/bin/sh\n[ \"$1\" = digest ] || exit 0\n" body "\nsha256sum \"$2\"\nexit 0\n"

static Channel *start(SshPeer *peer, const char *folder, const char *agent, gsize length,
                      char **ret_folder, GError **error)
{
    g_autoptr(GBytes) plain = g_bytes_new_static(agent, length);
    Wait wait = room(60);

    return ssh_peer_start_agent(peer, &wait, folder, plain, ret_folder, error);
}

static char *push(const Server *server, const char *folder, const char *agent, gsize length,
                  GError **error)
{
    g_autoptr(SshPeer) peer = connect_to(server);
    char *found = NULL;
    g_autoptr(Channel) channel = start(peer, folder, agent, length, &found, error);

    g_assert_cmpint(channel != NULL, ==, found != NULL);
    return found;
}

static void check_pushed(const char *folder, const char *agent, gsize length)
{
    g_autofree char *path = g_build_filename(folder, "vmatrix-agent", NULL);
    g_autoptr(GError) error = NULL;
    gsize got;
    g_autofree char *data = io_read_file(path, 16 * MIB, &got, &error);

    g_assert_no_error(error);
    g_assert_cmpmem(data, got, agent, length);
    g_assert_true(g_file_test(path, G_FILE_TEST_IS_EXECUTABLE));
}

/* A large agent: the script, then ballast. */
static char *large_agent(gsize length)
{
    char *data = g_strnfill(length, '\n');

    memcpy(data, AGENT(":"), strlen(AGENT(":")));
    return data;
}

static void test_push(void)
{
    g_autoptr(Server) server = server_start(&openssh);
    g_autofree char *data = large_agent(2 * MIB);
    g_autofree char *place = NULL, *there = NULL, *anywhere = NULL;
    g_autoptr(GError) error = NULL;

    if (server == NULL)
        return;
    place = g_strdup_printf("%s/a b's", server->folder);
    g_assert_true(io_make_folder(place, NULL));
    there = push(server, place, data, 2 * MIB, &error);
    g_assert_no_error(error);
    g_assert_true(g_str_has_prefix(there, place));
    check_pushed(there, data, 2 * MIB);
    anywhere = push(server, NULL, data, 2 * MIB, &error);
    g_assert_no_error(error);
    check_pushed(anywhere, data, 2 * MIB);
    g_assert_true(io_remove_tree(anywhere, NULL));
}

/* Put there and started by one command; what follows on the input is the session's. */
static void test_start_agent(void)
{
    static const char body[] =
        "#!/bin/sh\n[ \"$1\" = session ] || exec sha256sum \"$2\"\nread line; echo \"got $line\"\n";
    const ServerSpec dropbear = {.kind = SERVER_DROPBEAR};
    const ServerSpec *const servers[] = {&openssh, &dropbear};

    for (guint i = 0; i < G_N_ELEMENTS(servers); i++) {
        g_autoptr(Server) server = server_start(servers[i]);
        g_autofree char *data = g_strnfill(MIB, '#'), *folder = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(SshPeer) peer = NULL;
        g_autoptr(Channel) channel = NULL;
        Wait wait = room(60);
        char buffer[64];
        gsize got;
        ChannelRead kind;
        int status;

        if (server == NULL)
            return;
        memcpy(data, body, strlen(body));
        memcpy(data + strlen(body), "exit 5\n", strlen("exit 5\n"));
        peer = connect_to(server);
        channel = start(peer, server->folder, data, MIB, &folder, &error);
        g_assert_no_error(error);
        check_pushed(folder, data, MIB);
        g_assert_true(channel->ops->write(channel, &wait, "hello\n", 6, &error));
        g_assert_true(
            channel->ops->read(channel, &wait, buffer, sizeof buffer, &got, &kind, &error));
        g_assert_cmpmem(buffer, got, "got hello\n", 10);
        g_assert_true(channel->ops->exit_status(channel, &wait, &status, &error));
        g_assert_cmpint(status, ==, 5);
    }
}

static void test_start_agent_refused(void)
{
    g_autoptr(Server) server = server_start(&openssh);
    g_autoptr(GError) error = NULL;
    g_autoptr(SshPeer) peer = NULL;
    g_autofree char *folder = NULL;

    if (server == NULL)
        return;
    peer = connect_to(server);
    g_assert_null(
        start(peer, server->folder, AGENT("exit 1"), strlen(AGENT("exit 1")), &folder, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_FAILED);
    g_assert_nonnull(strstr(error->message, "status 1"));
    g_assert_null(folder);
}

static void expect_push_failure(const Server *server, const char *agent, const char *why)
{
    g_autofree char *place = g_strdup_printf("%s/only", server->folder);
    g_autoptr(GError) error = NULL;

    g_assert_true(io_make_folder(place, NULL));
    g_assert_null(push(server, place, agent, strlen(agent), &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_FAILED);
    if (strstr(error->message, why) == NULL)
        g_error("\"%s\" is not in \"%s\"", why, error->message);
    /* Nothing is left behind. */
    g_assert_cmpint(rmdir(place), ==, 0);
}

static void test_push_refused(void)
{
    g_autoptr(Server) server = server_start(&openssh);
    g_autoptr(GError) error = NULL;

    if (server == NULL)
        return;
    expect_push_failure(server, AGENT("kill -SEGV $$"), "crashed when started (139)");
    expect_push_failure(server, "#!/nonexistent/loader\n", "127");
    expect_push_failure(server, AGENT("echo 'GLIBC_9.9 not found' >&2; exit 1"),
                        "status 1 (script status 1); the guest says: GLIBC_9.9 not found");
    g_assert_null(push(server, "/nonexistent", AGENT(":"), strlen(AGENT(":")), &error));
    g_assert_nonnull(strstr(error->message, "/nonexistent: no such folder"));
}

/* The first candidate is mounted noexec, the second is too small, the third does. */
static void test_push_candidates(void)
{
    const ServerSpec spec = {
        .kind = SERVER_OPENSSH,
        .settings = "SetEnv XDG_RUNTIME_DIR=%s/noexec",
        .mounts =
            "mkdir $F/noexec; mount -t tmpfs -o noexec none $F/noexec; "
            "mount -t tmpfs -o size=64k none /run; mkdir /run/sshd; mount -t tmpfs none /var/tmp"};
    g_autoptr(Server) server = server_start(&spec);
    g_autofree char *data = large_agent(MIB), *noexec = NULL, *found = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(SshPeer) peer = NULL;
    g_auto(SshResult) result = {0};

    if (server == NULL)
        return;
    noexec = g_strdup_printf("%s/noexec", server->folder);
    g_assert_null(push(server, noexec, AGENT(":"), strlen(AGENT(":")), &error));
    g_assert_nonnull(strstr(error->message, "/noexec: cannot be executed there (126"));
    g_clear_error(&error);
    found = push(server, NULL, data, MIB, &error);
    g_assert_no_error(error);
    g_assert_true(g_str_has_prefix(found, "/tmp/vmatrix-"));
    check_pushed(found, data, MIB);
    g_assert_true(io_remove_tree(found, NULL));
    peer = connect_to(server);
    check_run(peer, "ls $XDG_RUNTIME_DIR; ls -d /run/vmatrix-*", NULL, 0, 2, &result);
    g_assert_cmpstr(result.output->str, ==, "");
}

/* The data do not fit in the first folder, and are sent again for the next. */
static void test_push_no_room(void)
{
    const ServerSpec spec = {.kind = SERVER_OPENSSH,
                             .settings = "SetEnv XDG_RUNTIME_DIR=%s/small",
                             .mounts = "mkdir $F/small; mount -t tmpfs -o size=64k none $F/small; "
                                       "mount -t tmpfs -o mode=755 none /run; mkdir /run/sshd"};
    g_autoptr(Server) server = server_start(&spec);
    g_autofree char *data = large_agent(MIB), *small = NULL, *found = NULL;
    g_autoptr(GError) error = NULL;

    if (server == NULL)
        return;
    small = g_strdup_printf("%s/small", server->folder);
    g_assert_null(push(server, small, data, MIB, &error));
    g_assert_nonnull(strstr(error->message, "/small: no room"));
    g_clear_error(&error);
    found = push(server, NULL, data, MIB, &error);
    g_assert_no_error(error);
    g_assert_true(g_str_has_prefix(found, "/run/vmatrix-"));
}

/* One where the bytes are wrong is found out: by the agent's digest, and where the agent cannot
 * even run by the guest's own tool. */
static void test_push_digest(void)
{
    const ServerSpec spec = {.kind = SERVER_OPENSSH,
                             .settings = "SetEnv PATH=%s/bin",
                             .mounts = "mkdir $F/bin; for p in mkdir rm chmod wc mv head; do "
                                       "ln -s `command -v $p` $F/bin/$p; done"};
    g_autoptr(Server) server = server_start(&spec);
    static const char zeros[] = "#!/bin/sh\nprintf '%064d  -' 0\n";
    static const char honest[] = "#!/bin/sh\n[ \"$1\" = session ] || /usr/bin/sha256sum \"$2\"\n";
    g_autofree char *tool = NULL, *place = NULL, *found = NULL;
    g_autoptr(GError) error = NULL;

    if (server == NULL)
        return;
    place = g_strdup_printf("%s/only", server->folder);
    expect_push_failure(server, "#!/bin/sh\n", "arrived damaged"); /* tells no digest at all */
    expect_push_failure(server, zeros, "0000000000000000");
    expect_push_failure(server, "#!/bin/sh\nexit 3\n", "status 3");
    g_assert_true(io_make_folder(place, NULL));
    found = push(server, place, honest, strlen(honest), &error);
    g_assert_no_error(error);
    g_assert_true(g_str_has_prefix(found, place));
    check_pushed(found, honest, strlen(honest));
    g_assert_true(io_remove_tree(place, NULL));
    tool = g_strdup_printf("%s/bin/sha256sum", server->folder);
    g_assert_true(g_file_set_contents_full(tool, zeros, -1, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
    expect_push_failure(server, "#!/bin/sh\nexit 3\n", "0000000000000000");
}

/* By dd alone, and by head where dd is another one. */
static void test_push_ways(void)
{
    const ServerSpec spec = {.kind = SERVER_OPENSSH,
                             .settings = "SetEnv PATH=%s/bin",
                             .mounts =
                                 "mkdir $F/bin; for p in mkdir rm chmod wc mv dd sha256sum; do "
                                 "ln -s `command -v $p` $F/bin/$p; done"};
    g_autoptr(Server) server = server_start(&spec);
    g_autofree char *data = large_agent(MIB), *dd = NULL, *head = NULL, *real = NULL;
    g_autoptr(GError) error = NULL;

    if (server == NULL)
        return;
    dd = g_strdup_printf("%s/bin/dd", server->folder);
    head = g_strdup_printf("%s/bin/head", server->folder);
    real = g_find_program_in_path("head");
    for (int way = 0; way < 2; way++) {
        g_autofree char *found = push(server, server->folder, data, MIB, &error);

        g_assert_no_error(error);
        check_pushed(found, data, MIB);
        g_assert_true(io_remove_tree(found, NULL));
        g_assert_cmpint(unlink(dd), ==, 0);
        g_assert_true(g_file_set_contents_full(
            dd, "#!/bin/sh\necho \"dd: unknown operand '$3'\" >&2; exit 1\n", -1,
            G_FILE_SET_CONTENTS_NONE, 0755, NULL));
        if (way == 0)
            g_assert_cmpint(symlink(real, head), ==, 0);
    }
}

static void test_push_dropbear(void)
{
    const ServerSpec spec = {.kind = SERVER_DROPBEAR};
    g_autoptr(Server) server = server_start(&spec);
    g_autofree char *data = large_agent(MIB), *found = NULL;
    g_autoptr(GError) error = NULL;

    if (server == NULL)
        return;
    found = push(server, server->folder, data, MIB, &error);
    g_assert_no_error(error);
    check_pushed(found, data, MIB);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ssh/push", test_push);
    g_test_add_func("/ssh/start-agent", test_start_agent);
    g_test_add_func("/ssh/start-agent-refused", test_start_agent_refused);
    g_test_add_func("/ssh/push-refused", test_push_refused);
    g_test_add_func("/ssh/push-candidates", test_push_candidates);
    g_test_add_func("/ssh/push-no-room", test_push_no_room);
    g_test_add_func("/ssh/push-digest", test_push_digest);
    g_test_add_func("/ssh/push-ways", test_push_ways);
    g_test_add_func("/ssh/push-dropbear", test_push_dropbear);
    return g_test_run();
}
