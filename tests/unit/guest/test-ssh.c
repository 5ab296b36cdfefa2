/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/ssh.h"
#include "ssh-server.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/io.h"

enum { MIB = 1024 * 1024 };

static void expect_failure(const SshTarget *target, const Wait *wait, VmErrorCode code,
                           const char *const *words)
{
    g_auto(SshTimes) times = {0};
    g_autoptr(GError) error = NULL;

    g_assert_null(ssh_peer_connect(target, wait, &times, &error));
    g_assert_error(error, VM_ERROR, (int)code);
    for (; *words != NULL; words++)
        if (strstr(error->message, *words) == NULL)
            g_error("\"%s\" is not in \"%s\"", *words, error->message);
    g_assert_null(times.host_key);
}

static guint open_descriptors(void)
{
    g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
    guint n = 0;

    while (g_dir_read_name(dir) != NULL)
        n++;
    return n;
}

/* "Refused" is met first, as the server starts late. */
static void check_connect(ServerKind kind)
{
    const ServerSpec spec = {.kind = kind, .delay_s = 0.2};
    g_autoptr(Server) server = server_start(&spec);
    g_auto(SshTimes) times = {0};
    g_autoptr(SshPeer) peer = NULL;
    g_autoptr(GError) error = NULL;
    gint64 before = clock_mono_ns();
    guint descriptors = open_descriptors();
    Wait wait = room(60);
    SshTarget target;

    if (server == NULL)
        return;
    target = target_of(server);
    target.host_key = NULL;
    peer = ssh_peer_connect(&target, &wait, &times, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(times.attempts, >, 1);
    g_assert_cmpstr(times.host_key, ==, server->host_key);
    g_assert_true(g_str_has_prefix(times.banner, "SSH-2.0-"));
    g_assert_cmpint(before, <, times.first_byte_ns);
    g_assert_cmpint(times.first_byte_ns, <, times.authenticated_ns);
    g_clear_pointer(&peer, ssh_peer_free);
    ssh_times_clear(&times);
    target.host_key = server->host_key;
    peer = ssh_peer_connect(&target, &wait, &times, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(times.attempts, ==, 1);
    g_clear_pointer(&peer, ssh_peer_free);
    g_assert_cmpuint(open_descriptors(), ==, descriptors);
}

static void test_connect_openssh(void)
{
    check_connect(SERVER_OPENSSH);
}

static void test_connect_dropbear(void)
{
    check_connect(SERVER_DROPBEAR);
}

static const ServerSpec openssh = {.kind = SERVER_OPENSSH};

/* Nothing of us is told to a server with the wrong key; the log of a good login proves that the
 * words looked for are the right ones. */
static void test_wrong_host_key(void)
{
    g_autoptr(Server) server = server_start(&openssh);
    g_autoptr(SshPeer) good = NULL;
    g_autofree char *path = NULL, *other = NULL, *expected = NULL, *shown = NULL, *log = NULL;
    Wait wait = room(60);
    SshTarget target;

    if (server == NULL)
        return;
    path = g_strdup_printf("%s/other-key", server->folder);
    other = ssh_public_key_of(path, NULL);
    target = target_of(server);
    target.host_key = other;
    expected = ssh_fingerprint(other, NULL);
    shown = ssh_fingerprint(server->host_key, NULL);
    const char *words[] = {"guest g1", expected, shown, "vmatrix guest enroll g1", NULL};

    expect_failure(&target, &wait, VM_ERROR_HOST_KEY, words);
    /* The server's log is whole once it has seen the end of the connection. */
    do {
        g_free(log);
        g_usleep(10000);
        log = server_log(server);
    } while (strstr(log, "do_cleanup") == NULL && wait_left_ns(&wait) > 0);
    g_assert_cmpint(wait_left_ns(&wait), >, 0);
    g_assert_nonnull(strstr(log, "SSH2_MSG_KEXINIT"));
    g_assert_null(strstr(log, "userauth-request"));
    g_assert_null(strstr(log, "ssh-userauth"));
    good = connect_to(server);
    g_free(log);
    log = server_log(server);
    g_assert_nonnull(strstr(log, "userauth-request"));
}

static void test_other_type_of_host_key(void)
{
    const ServerSpec rsa = {.kind = SERVER_OPENSSH, .host_type = "rsa"};
    g_autoptr(Server) server = server_start(&rsa);
    g_autoptr(SshPeer) peer = NULL;
    g_autofree char *ours = NULL;
    static const char *const words[] = {"rsa-sha2-512", "ssh-ed25519", "guest enroll g1", NULL};
    Wait wait = room(60);
    SshTarget target;

    if (server == NULL)
        return;
    peer = connect_to(server); /* an RSA key that is pinned is found */
    ours = ssh_public_key_of(server->key, NULL);
    target = target_of(server);
    target.host_key = ours;
    expect_failure(&target, &wait, VM_ERROR_HOST_KEY, words);
}

static void test_no_algorithm(void)
{
    const ServerSpec old = {.kind = SERVER_OPENSSH,
                            .settings = "KexAlgorithms diffie-hellman-group1-sha1"};
    g_autoptr(Server) server = server_start(&old);
    static const char *const words[] = {"diffie-hellman-group1-sha1", "curve25519-sha256", NULL};
    Wait wait = room(60);
    SshTarget target;

    if (server == NULL)
        return;
    target = target_of(server);
    expect_failure(&target, &wait, VM_ERROR_UNSUPPORTED, words);
}

static void check_wrong_user_key(const ServerSpec *spec)
{
    g_autoptr(Server) server = server_start(spec);
    g_autofree char *other = NULL;
    Wait wait = room(60);
    SshTarget target;

    if (server == NULL)
        return;
    other = g_strdup_printf("%s/other-key", server->folder);
    target = target_of(server);
    target.key = other;
    const char *words[] = {"guest g1", other, "SHA256:", server->user, "authorized_keys", NULL};

    expect_failure(&target, &wait, VM_ERROR_AUTH, words);
}

static void test_wrong_user_key(void)
{
    const ServerSpec one_try = {.kind = SERVER_OPENSSH, .settings = "MaxAuthTries 1"};
    const ServerSpec dropbear = {.kind = SERVER_DROPBEAR};

    check_wrong_user_key(&openssh);
    check_wrong_user_key(&one_try);
    check_wrong_user_key(&dropbear);
}

/* A socket that listens. hello: what it says to the first to come, from a thread of its own. */
typedef struct {
    int fd;
    guint port;
} Listener;

static Listener listener_new(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    Listener listener = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

    g_assert_cmpint(bind(listener.fd, (struct sockaddr *)&address, sizeof address), ==, 0);
    g_assert_cmpint(listen(listener.fd, 100), ==, 0);
    g_assert_cmpint(getsockname(listener.fd, (struct sockaddr *)&address, &length), ==, 0);
    listener.port = ntohs(address.sin_port);
    return listener;
}

/* A key of our own for the tests without a server. */
static char *any_key(char **ret_folder)
{
    static const char make[] = "ssh-keygen -q -t ed25519 -N '' -f \"$0\"/key";
    g_autoptr(GError) error = NULL;
    int status;

    *ret_folder = g_dir_make_tmp("vmatrix-key-XXXXXX", &error);
    g_assert_no_error(error);
    const char *argv[] = {"/bin/sh", "-c", make, *ret_folder, NULL};

    g_assert_true(
        g_spawn_sync(NULL, (char **)argv, NULL, 0, NULL, NULL, NULL, NULL, &status, &error));
    g_assert_cmpint(status, ==, 0);
    return g_build_filename(*ret_folder, "key", NULL);
}

/* Accepts, and never speaks: several attempts, then the deadline. */
static void test_silent(void)
{
    Listener listener = listener_new();
    g_autofree char *folder = NULL;
    g_autofree char *key = any_key(&folder);
    SshTarget target = {
        .host = "127.0.0.1", .port = listener.port, .user = "u", .key = key, .guest = "g1"};
    g_auto(SshTimes) times = {0};
    g_autoptr(GError) error = NULL;
    Wait wait = room(2);
    guint attempts = 0;

    g_assert_null(ssh_peer_connect(&target, &wait, &times, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_TIMEOUT);
    g_assert_nonnull(strstr(error->message, "guest g1 at 127.0.0.1"));
    g_assert_nonnull(strstr(error->message, "banner"));
    g_assert_nonnull(strstr(error->message, "attempts: "));
    attempts = (guint)g_ascii_strtoull(strstr(error->message, "attempts: ") + 10, NULL, 10);
    g_assert_cmpuint(attempts, >=, 2);
    g_assert_cmpuint(attempts, <=, 40); /* one every 50 ms */
    close(listener.fd);
    io_remove_tree(folder, NULL);
}

static gpointer set_soon(gpointer cancel)
{
    g_usleep(200000);
    cancel_set(cancel);
    return NULL;
}

static gpointer greet(gpointer data)
{
    int fd = accept(GPOINTER_TO_INT(data), NULL, NULL);

    g_assert_cmpint(write(fd, "SSH-2.0-mute\r\n", 14), ==, 14);
    return GINT_TO_POINTER(fd);
}

/* Connect to port, and cancel soon after: it ends at once, not at the deadline. */
static void check_cancel(guint port, const char *key)
{
    SshTarget target = {.host = "127.0.0.1", .port = port, .user = "u", .key = key, .guest = "g1"};
    g_autoptr(Cancel) cancel = cancel_new();
    g_auto(SshTimes) times = {0};
    g_autoptr(GError) error = NULL;
    Wait wait = room(120);
    GThread *thread = g_thread_new("cancel", set_soon, cancel);

    wait.cancel = cancel;
    g_assert_null(ssh_peer_connect(&target, &wait, &times, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_CANCELLED);
    g_assert_cmpint(wait_left_ns(&wait), >, 60 * CLOCK_NS_PER_S);
    g_thread_join(thread);
}

static void test_cancel_connect(void)
{
    Listener listener = listener_new();
    g_autofree char *folder = NULL;
    g_autofree char *key = any_key(&folder);
    GThread *thread;

    check_cancel(server_free_port(), key); /* refused, in the pause */
    check_cancel(listener.port, key);      /* silent */
    close(listener.fd);
    listener = listener_new();
    thread = g_thread_new("greet", greet, GINT_TO_POINTER(listener.fd));
    check_cancel(listener.port, key); /* in the handshake */
    close(GPOINTER_TO_INT(g_thread_join(thread)));
    close(listener.fd);
    io_remove_tree(folder, NULL);
}

static gboolean all_of(const GString *text, char c, gsize length)
{
    for (gsize i = 0; i < text->len; i++)
        if (text->str[i] != c)
            return FALSE;
    return text->len == length;
}

static void check_streams(SshPeer *peer)
{
    g_autofree char *megabyte = g_strnfill(MIB, 'i');
    struct {
        const char *script, *input;
        gsize length;
        int status;
        gsize output, errors;
    } cases[] = {
        {"exit 0", NULL, 0, 0, 0, 0},
        {"exit 127", NULL, 0, 127, 0, 0},
        {"kill -KILL $$", NULL, 0, 137, 0, 0},
        {"head -c 1048576 /dev/zero | tr '\\0' i; head -c 1048576 /dev/zero | tr '\\0' i >&2; "
         "exit 126",
         NULL, 0, 126, MIB, MIB},
        {"cat", megabyte, MIB, 0, MIB, 0},
        {"cat >&2", megabyte, MIB, 0, 0, MIB},
        {"exec 0<&-; exit 5", megabyte, MIB, 5, 0, 0}, /* takes no input */
        {"cat; cat", "iii", 3, 0, 3, 0},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(SshResult) result = {0};

        check_run(peer, cases[i].script, cases[i].input, cases[i].length, cases[i].status, &result);
        g_assert_false(result.truncated);
        g_assert_true(all_of(result.output, 'i', cases[i].output));
        g_assert_true(all_of(result.errors, 'i', cases[i].errors));
    }
}

static void test_streams_openssh(void)
{
    g_autoptr(Server) server = server_start(&openssh);
    g_autoptr(SshPeer) peer = server != NULL ? connect_to(server) : NULL;
    g_auto(SshResult) result = {0};

    if (server == NULL)
        return;
    check_streams(peer);
    check_run(peer, "head -c 3000000 /dev/zero | tr '\\0' i; echo end >&2", NULL, 0, 0, &result);
    g_assert_true(result.truncated);
    g_assert_true(all_of(result.output, 'i', MIB));
    g_assert_cmpstr(result.errors->str, ==, "end\n");
}

static void test_streams_dropbear(void)
{
    const ServerSpec spec = {.kind = SERVER_DROPBEAR};
    g_autoptr(Server) server = server_start(&spec);
    g_autoptr(SshPeer) peer = server != NULL ? connect_to(server) : NULL;

    if (server != NULL)
        check_streams(peer);
}

/* A login shell that reads commands in its own way. */
static void test_login_shell(void)
{
    const ServerSpec spec = {.kind = SERVER_OPENSSH,
                             .mounts =
                                 "sed \"/^root:/s,[^:]*\\$,/bin/tcsh,\" /etc/passwd >$F/passwd; "
                                 "mount --bind $F/passwd /etc/passwd"};
    g_autoptr(Server) server = NULL;
    g_autoptr(SshPeer) peer = NULL;
    g_auto(SshResult) result = {0};

    if (!g_file_test("/bin/tcsh", G_FILE_TEST_IS_EXECUTABLE)) {
        g_test_skip("tcsh is not installed");
        return;
    }
    server = server_start(&spec);
    if (server == NULL)
        return;
    peer = connect_to(server);
    check_run(peer, "echo a!b 2>&1\ncat; cat /proc/$PPID/comm >/dev/null; echo $SHELL", "in\n", 3,
              0, &result);
    g_assert_cmpstr(result.output->str, ==, "a!b\nin\n/bin/tcsh\n");
}

static void test_cancel_run(void)
{
    g_autoptr(Server) server = server_start(&openssh);
    g_autoptr(SshPeer) peer = server != NULL ? connect_to(server) : NULL;
    g_autoptr(Cancel) cancel = cancel_new();
    g_auto(SshResult) result = {0};
    g_autoptr(GError) error = NULL;
    Wait wait = room(120);
    GThread *thread;

    if (server == NULL)
        return;
    wait.cancel = cancel;
    thread = g_thread_new("cancel", set_soon, cancel);
    g_assert_false(ssh_peer_run(peer, &wait, "sleep 1000", NULL, 0, &result, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_CANCELLED);
    g_assert_cmpint(wait_left_ns(&wait), >, 60 * CLOCK_NS_PER_S);
    g_thread_join(thread);
}

/* The connection breaks: lost, or, where a guard tells it, the guest's death. */
static void test_lost(void)
{
    /* Only the server: an orphan's parent is whoever adopts it, such as a test runner. */
    static const char script[] = "read -r parent </proc/$PPID/comm; case $parent in "
                                 "sshd*) kill -KILL $PPID ;; esac; sleep 1000";
    g_autoptr(Server) server = server_start(&openssh);
    g_autoptr(SshPeer) first = server != NULL ? connect_to(server) : NULL;
    g_autoptr(SshPeer) second = server != NULL ? connect_to(server) : NULL;
    g_auto(SshResult) result = {0};
    g_autoptr(GError) error = NULL;
    Wait wait = room(60);
    int ends[2];

    if (server == NULL)
        return;
    g_assert_false(ssh_peer_run(first, &wait, script, NULL, 0, &result, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_LOST);
    g_clear_error(&error);
    g_assert_cmpint(pipe(ends), ==, 0);
    close(ends[1]);
    wait.guard_fd = ends[0];
    g_assert_false(ssh_peer_run(second, &wait, script, NULL, 0, &result, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_GUEST_DIED);
    close(ends[0]);
}

static void test_open(void)
{
    static const char *const argv[] = {"/bin/sh", "-c", "echo \"$0\" $$; cat; echo e >&2; exit 3",
                                       "it's a !\ntest", NULL};
    static const char *const reader[] = {"/bin/sh", "-c", "echo $$; exec cat >/dev/null", NULL};
    static const char *const sleeper[] = {"sleep", "20", NULL};
    g_autoptr(Server) server = server_start(&openssh);
    g_autoptr(SshPeer) peer = server != NULL ? connect_to(server) : NULL;
    g_autoptr(Channel) channel = NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *big = g_strnfill(3 * MIB, 'x');
    Wait wait = room(60);
    ChannelRead kind = CHANNEL_DATA;
    char buffer[5000];
    int status;
    gsize got;

    if (server == NULL)
        return;
    channel = ssh_peer_open(peer, &wait, argv, &error);
    g_assert_no_error(error);
    g_assert_true(channel->ops->write(channel, &wait, "hello", 5, &error));
    g_assert_true(channel->ops->close_input(channel, &wait, &error));
    while (kind == CHANNEL_DATA) {
        g_assert_true(channel->ops->read(channel, &wait, buffer, 7, &got, &kind, &error));
        g_assert_cmpint(got > 0, ==, kind == CHANNEL_DATA);
        g_string_append_len(text, buffer, (gssize)got);
    }
    g_assert_true(channel->ops->exit_status(channel, &wait, &status, &error));
    g_assert_cmpint(status, ==, 3);
    g_assert_cmpstr(channel->errors->str, ==, "e\n");
    g_assert_true(g_str_has_prefix(text->str, "it's a !\ntest "));
    g_assert_true(g_str_has_suffix(text->str, "\nhello"));
    g_assert_false(channel->ops->write(channel, &wait, "late", 4, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_LOST);
    g_clear_error(&error);
    g_clear_pointer(&channel, channel_free);

    /* Freed while it runs: the remote process ends. */
    channel = ssh_peer_open(peer, &wait, reader, &error);
    g_assert_no_error(error);
    g_assert_true(channel->ops->read(channel, &wait, buffer, sizeof buffer, &got, &kind, &error));
    pid_t pid = (pid_t)g_ascii_strtoll(buffer, NULL, 10);

    g_assert_cmpint(kill(pid, 0), ==, 0);
    g_clear_pointer(&channel, channel_free);
    while (kill(pid, 0) == 0 && wait_left_ns(&wait) > 0)
        g_usleep(10000);
    g_assert_cmpint(wait_left_ns(&wait), >, 0);

    /* Nobody reads the input: the write stops when the window is full, and ends at the deadline. */
    channel = ssh_peer_open(peer, &wait, sleeper, &error);
    g_assert_no_error(error);
    Wait shortly = wait_within(&wait, 300 * CLOCK_NS_PER_MS);

    g_assert_false(channel->ops->write(channel, &shortly, big, 3 * MIB, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_TIMEOUT);
}

static void test_keys(void)
{
    g_autofree char *folder = NULL;
    g_autofree char *key = any_key(&folder);
    g_autofree char *public = g_strconcat(key, ".pub", NULL);
    g_autofree char *junk = g_build_filename(folder, "junk", NULL);
    g_autofree char *line = NULL, *other = NULL, *print = NULL;
    g_autoptr(GError) error = NULL;

    line = ssh_public_key_of(key, &error);
    g_assert_no_error(error);
    other = ssh_public_key_of(public, &error);
    g_assert_cmpstr(line, ==, other);
    g_assert_true(g_str_has_prefix(line, "ssh-ed25519 AAAA"));
    /* From ssh-keygen -lf. */
    print = ssh_fingerprint("ssh-ed25519 "
                            "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl "
                            "comment",
                            &error);
    g_assert_cmpstr(print, ==, "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU");
    g_assert_null(ssh_fingerprint("ssh-ed25519", &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_null(ssh_fingerprint("ssh-ed25519 AAAA!", &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_true(g_file_set_contents(junk, "junk", -1, NULL));
    g_assert_null(ssh_public_key_of(junk, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, junk));
    g_clear_error(&error);
    g_assert_null(ssh_public_key_of("/nonexistent/key", &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT);
    io_remove_tree(folder, NULL);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ssh/keys", test_keys);
    g_test_add_func("/ssh/connect-openssh", test_connect_openssh);
    g_test_add_func("/ssh/connect-dropbear", test_connect_dropbear);
    g_test_add_func("/ssh/wrong-host-key", test_wrong_host_key);
    g_test_add_func("/ssh/other-type-of-host-key", test_other_type_of_host_key);
    g_test_add_func("/ssh/no-algorithm", test_no_algorithm);
    g_test_add_func("/ssh/wrong-user-key", test_wrong_user_key);
    g_test_add_func("/ssh/silent", test_silent);
    g_test_add_func("/ssh/cancel-connect", test_cancel_connect);
    g_test_add_func("/ssh/streams-openssh", test_streams_openssh);
    g_test_add_func("/ssh/streams-dropbear", test_streams_dropbear);
    g_test_add_func("/ssh/login-shell", test_login_shell);
    g_test_add_func("/ssh/cancel-run", test_cancel_run);
    g_test_add_func("/ssh/lost", test_lost);
    g_test_add_func("/ssh/open", test_open);
    return g_test_run();
}
