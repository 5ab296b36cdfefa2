/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ssh-server.h"

#include <arpa/inet.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/io.h"

guint server_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    autofd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&address, &length), ==, 0);
    return ntohs(address.sin_port);
}

static void make(const char *command, const char *folder)
{
    const char *argv[] = {"/bin/sh", "-ec", command, NULL};
    g_auto(GStrv) env = g_environ_setenv(g_get_environ(), "F", folder, TRUE);
    g_autoptr(GError) error = NULL;
    int status;

    g_assert_true(g_spawn_sync(NULL, (char **)argv, env, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL,
                               NULL, NULL, &status, &error));
    g_assert_no_error(error);
    if (status != 0)
        g_error("failed: %s", command);
}

static char *read_line(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autoptr(GError) error = NULL;
    char *text = io_read_file(path, 65536, NULL, &error);

    g_assert_no_error(error);
    return g_strchomp(text);
}

/* Program missing, or no namespace for the mounts. */
static gboolean can_run(const ServerSpec *spec, const char **ret_unshare)
{
    const char *program = spec->kind == SERVER_OPENSSH ? "/usr/sbin/sshd" : "/usr/sbin/dropbear";
    const char *unshare = geteuid() == 0 ? "unshare -m" : "unshare -rm";
    g_autofree char *trial = g_strdup_printf("%s true 2>/dev/null", unshare);

    *ret_unshare = spec->mounts != NULL || spec->kind == SERVER_DROPBEAR ? unshare : "";
    if (!g_file_test(program, G_FILE_TEST_IS_EXECUTABLE)) {
        g_autofree char *why = g_strdup_printf("%s is not installed", program);

        g_test_skip(why);
        return FALSE;
    }
    if (**ret_unshare != '\0' && system(trial) != 0) {
        g_test_skip("no mount namespace can be made here");
        return FALSE;
    }
    return TRUE;
}

static char *openssh_command(Server *server, const ServerSpec *spec)
{
    g_autofree char *config = g_build_filename(server->folder, "sshd_config", NULL);
    g_autofree char *extra = NULL;
    g_autofree char *text = NULL;

    if (spec->settings != NULL) {
        g_auto(GStrv) parts = g_strsplit(spec->settings, "%s", -1);

        extra = g_strjoinv(server->folder, parts);
    }
    text =
        g_strdup_printf("%s\nListenAddress 127.0.0.1:%u\nHostKey %s/host-key\n"
                        "AuthorizedKeysFile %s/authorized_keys\nPidFile none\nUsePAM no\n"
                        "StrictModes no\nPermitRootLogin yes\nLogLevel DEBUG3\n"
                        "PasswordAuthentication no\nKbdInteractiveAuthentication no\n",
                        extra != NULL ? extra : "", server->port, server->folder, server->folder);
    g_assert_true(g_file_set_contents(config, text, -1, NULL));
    return g_strdup_printf("exec /usr/sbin/sshd -D -f %s -E %s", config, server->log);
}

/* Dropbear reads ~/.ssh alone: it gets a home of its own, in its mount namespace. */
static char *dropbear_command(Server *server)
{
    return g_strdup_printf("mkdir -p $F/home/.ssh; cp $F/authorized_keys $F/home/.ssh/; "
                           "chmod 700 $F/home $F/home/.ssh; mount --bind $F/home ~%s; "
                           "exec /usr/sbin/dropbear -F -E -s -p 127.0.0.1:%u -P $F/pid "
                           "-r $F/host-key 2>%s",
                           server->user, server->port, server->log);
}

static void make_keys(Server *server, const ServerSpec *spec)
{
    const char *type = spec->host_type != NULL ? spec->host_type : "ed25519";
    g_autofree char *host =
        spec->kind == SERVER_OPENSSH
            ? g_strdup_printf("ssh-keygen -q -t %s -N '' -f $F/host-key", type)
            : g_strdup_printf("dropbearkey -t %s -f $F/host-key 2>/dev/null | grep ^ssh- "
                              ">$F/host-key.pub",
                              type);
    g_autofree char *line = NULL;
    g_auto(GStrv) words = NULL;

    make(
        "ssh-keygen -q -t ed25519 -N '' -f $F/key; ssh-keygen -q -t ed25519 -N '' -f $F/other-key; "
        "cp $F/key.pub $F/authorized_keys; chmod 600 $F/authorized_keys",
        server->folder);
    make(host, server->folder);
    line = read_line(server->folder, "host-key.pub");
    words = g_strsplit(line, " ", 3);
    server->host_key = g_strjoin(" ", words[0], words[1], NULL);
}

/* Its own group, that does not outlive a test which fails. */
static void own_group(gpointer data)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void launch(Server *server, const ServerSpec *spec, const char *unshare)
{
    g_autofree char *command =
        spec->kind == SERVER_OPENSSH ? openssh_command(server, spec) : dropbear_command(server);
    g_autofree char *all = g_strdup_printf("sleep %f; exec %s /bin/sh -ec '%s%s%s'", spec->delay_s,
                                           unshare, spec->mounts != NULL ? spec->mounts : "",
                                           spec->mounts != NULL ? "; " : "", command);
    const char *argv[] = {"/bin/sh", "-c", all, NULL};
    g_auto(GStrv) env = g_environ_setenv(g_get_environ(), "F", server->folder, TRUE);
    g_autoptr(GError) error = NULL;

    g_assert_true(g_spawn_async(NULL, (char **)argv, env,
                                G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL, own_group,
                                NULL, &server->pid, &error));
    g_assert_no_error(error);
}

Server *server_start(const ServerSpec *spec)
{
    Server *server;
    const char *unshare;

    if (!can_run(spec, &unshare))
        return NULL;
    /* sshd insists on this folder when it runs as root. */
    if (geteuid() == 0)
        g_mkdir_with_parents("/run/sshd", 0755);
    server = g_new0(Server, 1);
    server->folder = g_dir_make_tmp("vmatrix-ssh-XXXXXX", NULL);
    g_assert_nonnull(server->folder);
    server->user = g_strdup(*unshare != '\0' ? "root" : g_get_user_name());
    server->port = server_free_port();
    server->key = g_build_filename(server->folder, "key", NULL);
    server->log = g_build_filename(server->folder, "log", NULL);
    make_keys(server, spec);
    launch(server, spec, unshare);
    return server;
}

void server_free(Server *server)
{
    if (server == NULL)
        return;
    kill(-server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    io_remove_tree(server->folder, NULL);
    g_free(server->folder);
    g_free(server->user);
    g_free(server->host_key);
    g_free(server->key);
    g_free(server->log);
    g_free(server);
}

char *server_log(const Server *server)
{
    char *text = io_read_file(server->log, 64 * 1024 * 1024, NULL, NULL);

    return text != NULL ? text : g_strdup("");
}

Wait room(gint64 seconds)
{
    return (Wait){
        .deadline_ns = clock_mono_ns() + seconds * CLOCK_NS_PER_S, .guard_fd = -1, .step = "test"};
}

SshTarget target_of(const Server *server)
{
    return (SshTarget){.host = "127.0.0.1",
                       .port = server->port,
                       .user = server->user,
                       .key = server->key,
                       .host_key = server->host_key,
                       .guest = "g1"};
}

SshPeer *connect_to(const Server *server)
{
    SshTarget target = target_of(server);
    g_auto(SshTimes) times = {0};
    g_autoptr(GError) error = NULL;
    Wait wait = room(60);
    SshPeer *peer = ssh_peer_connect(&target, &wait, &times, &error);

    if (error != NULL) {
        g_autofree char *log = server_log(server);

        g_error("%s\n%s", error->message, log);
    }
    g_assert_nonnull(peer);
    return peer;
}

void check_run(SshPeer *peer, const char *script, const void *input, gsize length, int status,
               SshResult *ret_result)
{
    g_autoptr(GError) error = NULL;
    Wait wait = room(60);

    g_assert_true(ssh_peer_run(peer, &wait, script, input, length, ret_result, &error));
    g_assert_no_error(error);
    g_assert_cmpint(ret_result->status, ==, status);
}
