/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/ssh-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/reach.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/io.h"
#include "util/text.h"

/* ed25519 first; no signature with SHA-1. */
#define RSA_ALGORITHMS "rsa-sha2-512,rsa-sha2-256"
#define ALGORITHMS                                                                                 \
    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521," RSA_ALGORITHMS

enum {
    GUARD_GRACE_MS = 500,
    AUTH_LOSSES_MAX = 3, /* connections lost between host key and answer to our key */
    SHOWN_MAX = 200,
};

/* One way to the guest, over all its attempts. */
typedef struct {
    const SshTarget *target;
    const Wait *wait;
    Reach reach;
    ssh_key key;    /* ours */
    ssh_key pinned; /* the guest's, or NULL */
    char *where;
    guint auth_losses;
    SshTimes times;
} Way;

typedef enum { ATTEMPT_DONE, ATTEMPT_AGAIN, ATTEMPT_FAILED } Attempt;

static void way_clear(Way *way)
{
    ssh_key_free(way->key);
    ssh_key_free(way->pinned);
    ssh_times_clear(&way->times);
    g_free(way->where);
    reach_finish(&way->reach);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Way, way_clear)

void ssh_times_clear(SshTimes *times)
{
    g_free(times->host_key);
    g_free(times->banner);
    memset(times, 0, sizeof *times);
}

/* libssh closes a socket that it was given on some errors, and leaves it open else. */
static void close_socket(SshPeer *peer)
{
    struct stat its, ours;

    if (peer->copy >= 0 && fstat(peer->fd, &its) == 0 && fstat(peer->copy, &ours) == 0 &&
        its.st_dev == ours.st_dev && its.st_ino == ours.st_ino)
        close(peer->fd);
    io_clear_fd(&peer->copy);
}

void ssh_peer_free(SshPeer *peer)
{
    if (peer == NULL)
        return;
    ssh_disconnect(peer->session);
    ssh_free(peer->session);
    close_socket(peer);
    g_free(peer->where);
    g_free(peer);
}

gboolean ssh_peer_alive(const SshPeer *peer)
{
    return ssh_is_connected(peer->session) &&
           (ssh_get_status(peer->session) & (SSH_CLOSED | SSH_CLOSED_ERROR)) == 0;
}

gboolean ssh_peer_await(SshPeer *peer, const Wait *wait, const char *what, GError **error)
{
    if (!ssh_peer_alive(peer))
        return ssh_peer_lost(peer, wait, what, error);
    gboolean full = (ssh_get_poll_flags(peer->session) & SSH_WRITE_PENDING) != 0;
    WaitResult result =
        wait_fd(wait, ssh_get_fd(peer->session), (short)(full ? POLLIN | POLLOUT : POLLIN));

    return result == WAIT_READY || wait_fail(wait, result, what, error);
}

gboolean ssh_peer_lost(const SshPeer *peer, const Wait *wait, const char *during, GError **error)
{
    /* The sockets of a killed process close a moment before its pidfd tells. */
    WaitResult result =
        wait->guard_fd >= 0 ? wait_sleep(wait, GUARD_GRACE_MS * CLOCK_NS_PER_MS) : WAIT_TIMEOUT;

    if (result == WAIT_GUARD)
        return wait_fail(wait, result, during, error);
    g_autofree char *why = text_escape(ssh_get_error(peer->session), -1, SHOWN_MAX);

    g_set_error(error, VM_ERROR, VM_ERROR_LOST, "%s: SSH connection to %s lost during %s: %s",
                wait->step, peer->where, during, *why != '\0' ? why : "closed by the guest");
    return FALSE;
}

/* This attempt is over; the next one may do better. */
G_GNUC_PRINTF(2, 3) static Attempt again(Way *way, const char *format, ...)
{
    g_autofree char *why = NULL;
    va_list args;

    va_start(args, format);
    why = g_strdup_vprintf(format, args);
    va_end(args);
    reach_again(&way->reach, why);
    return ATTEMPT_AGAIN;
}

static const char *host_key_algorithms(const Way *way)
{
    enum ssh_keytypes_e type;

    if (way->pinned == NULL)
        return ALGORITHMS;
    type = ssh_key_type(way->pinned);
    return type == SSH_KEYTYPE_RSA ? RSA_ALGORITHMS : ssh_key_type_to_char(type);
}

/* Set all that libssh would otherwise take from the user's files. */
static gboolean set_options(const Way *way, ssh_session session, int fd, GError **error)
{
    const gboolean no = FALSE;
    const int quiet = SSH_LOG_NOLOG;
    const struct {
        enum ssh_options_e option;
        const void *value;
    } options[] = {
        {SSH_OPTIONS_FD, &fd},
        {SSH_OPTIONS_PROCESS_CONFIG, &no},
        {SSH_OPTIONS_LOG_VERBOSITY, &quiet},
        {SSH_OPTIONS_SSH_DIR, "/nonexistent"},
        {SSH_OPTIONS_KNOWNHOSTS, "/dev/null"},
        {SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null"},
        {SSH_OPTIONS_HOST, way->target->host},
        {SSH_OPTIONS_PORT, &way->target->port},
        {SSH_OPTIONS_USER, way->target->user},
        {SSH_OPTIONS_HOSTKEYS, host_key_algorithms(way)},
        {SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES, ALGORITHMS},
    };

    for (guint i = 0; i < G_N_ELEMENTS(options); i++) {
        if (ssh_options_set(session, options[i].option, options[i].value) < 0) {
            g_set_error(
                error, VM_ERROR, VM_ERROR_UNSUPPORTED,
                "%s: %s: libssh does not take an option (user \"%s\", host key type %s): %s",
                way->wait->step, way->where, way->target->user, host_key_algorithms(way),
                ssh_get_error(session));
            return FALSE;
        }
    }
    ssh_set_blocking(session, 0);
    return TRUE;
}

static Attempt fail_host_key(const Way *way, const char *shown, GError **error)
{
    g_autofree char *pinned = ssh_key_text(way->pinned, NULL);
    g_autofree char *expected = pinned != NULL ? ssh_fingerprint(pinned, NULL) : NULL;

    g_set_error(error, VM_ERROR, VM_ERROR_HOST_KEY,
                "%s: %s is not the guest that was enrolled: host key %s %s expected, %s shown. No "
                "login was tried. If the guest was made anew, record its key with "
                "\"vmatrix guest enroll %s\"",
                way->wait->step, way->where, ssh_key_type_to_char(ssh_key_type(way->pinned)),
                expected, shown, way->target->guest);
    return ATTEMPT_FAILED;
}

/* Key exchange has failed: by the network (again), or for want of a common algorithm. */
static Attempt fail_handshake(Way *way, const SshPeer *peer, GError **error)
{
    g_autofree char *why = text_escape(ssh_get_error(peer->session), -1, 1000);

    if (strstr(why, "no match for method") == NULL)
        return again(way, "handshake: %s", why);
    if (way->pinned != NULL && strstr(why, "host key") != NULL)
        return fail_host_key(way, why, error);
    g_set_error(error, VM_ERROR, VM_ERROR_UNSUPPORTED,
                "%s: %s: no SSH algorithm in common (its list, then ours): %s", way->wait->step,
                way->where, why);
    return ATTEMPT_FAILED;
}

static Attempt handshake(Way *way, SshPeer *peer, GError **error)
{
    int result;

    while ((result = ssh_connect(peer->session)) == SSH_AGAIN && ssh_peer_alive(peer))
        if (!ssh_peer_await(peer, way->wait, "end of the SSH handshake", error))
            return ATTEMPT_FAILED;
    return result == SSH_OK ? ATTEMPT_DONE : fail_handshake(way, peer, error);
}

/* Before anything about us is told. */
static Attempt check_host_key(Way *way, SshPeer *peer, GError **error)
{
    ssh_key shown = NULL;
    gboolean same;

    if (ssh_get_server_publickey(peer->session, &shown) != SSH_OK)
        return again(way, "no host key was shown");
    same = way->pinned == NULL || ssh_key_cmp(shown, way->pinned, SSH_KEY_CMP_PUBLIC) == 0;
    g_free(way->times.host_key);
    way->times.host_key = ssh_key_text(shown, error);
    ssh_key_free(shown);
    if (way->times.host_key == NULL)
        return ATTEMPT_FAILED;
    if (!same) {
        g_autofree char *print = ssh_fingerprint(way->times.host_key, NULL);

        return fail_host_key(way, print, error);
    }
    return ATTEMPT_DONE;
}

/* "publickey, password" */
static char *methods_text(int methods)
{
    static const struct {
        int bit;
        const char *name;
    } names[] = {
        {SSH_AUTH_METHOD_PUBLICKEY, "publickey"},
        {SSH_AUTH_METHOD_PASSWORD, "password"},
        {SSH_AUTH_METHOD_INTERACTIVE, "keyboard-interactive"},
        {SSH_AUTH_METHOD_HOSTBASED, "hostbased"},
        {SSH_AUTH_METHOD_GSSAPI_MIC, "gssapi"},
    };
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if ((methods & names[i].bit) != 0)
            g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", names[i].name);
    return g_string_free(text, FALSE);
}

static Attempt fail_auth(const Way *way, const SshPeer *peer, GError **error)
{
    g_autofree char *ours = ssh_key_text(way->key, NULL);
    g_autofree char *print = ours != NULL ? ssh_fingerprint(ours, NULL) : NULL;
    g_autofree char *methods = methods_text(ssh_userauth_list(peer->session, NULL));
    const char *said = ssh_get_disconnect_message(peer->session);
    g_autofree char *why =
        text_escape(said != NULL ? said : ssh_get_error(peer->session), -1, SHOWN_MAX);

    g_set_error(
        error, VM_ERROR, VM_ERROR_AUTH,
        "%s: %s refused the key %s (%s) for user %s: %s. Login by: %s; signatures we offer: "
        "%s. Put the public key into ~%s/.ssh/authorized_keys of the guest",
        way->wait->step, way->where, way->target->key, print, way->target->user, why,
        *methods != '\0' ? methods : "not told", ALGORITHMS, way->target->user);
    return ATTEMPT_FAILED;
}

static Attempt authenticate(Way *way, SshPeer *peer, GError **error)
{
    int result;

    while ((result = ssh_userauth_publickey(peer->session, NULL, way->key)) == SSH_AUTH_AGAIN &&
           ssh_peer_alive(peer))
        if (!ssh_peer_await(peer, way->wait, "answer to our SSH key", error))
            return ATTEMPT_FAILED;
    if (result == SSH_AUTH_SUCCESS) {
        way->times.authenticated_ns = clock_mono_ns();
        return ATTEMPT_DONE;
    }
    /* A server that is just starting may drop us; one that says why it does has decided. */
    if (result != SSH_AUTH_DENIED && !ssh_peer_alive(peer) &&
        ssh_get_disconnect_message(peer->session) == NULL && ++way->auth_losses < AUTH_LOSSES_MAX)
        return again(way, "connection lost while logging in");
    return fail_auth(way, peer, error);
}

/* Takes the connected fd. */
static Attempt log_in(Way *way, int fd, SshPeer **ret_peer, GError **error)
{
    g_autoptr(SshPeer) peer = g_new0(SshPeer, 1);
    Attempt result;

    peer->where = g_strdup(way->where);
    peer->session = ssh_new();
    peer->fd = fd;
    peer->copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (!set_options(way, peer->session, fd, error))
        return ATTEMPT_FAILED;
    result = handshake(way, peer, error);
    if (result == ATTEMPT_DONE)
        result = check_host_key(way, peer, error);
    if (result == ATTEMPT_DONE)
        result = authenticate(way, peer, error);
    if (result == ATTEMPT_DONE) {
        g_free(way->times.banner);
        way->times.banner = text_escape(ssh_get_serverbanner(peer->session), -1, SHOWN_MAX);
        *ret_peer = g_steal_pointer(&peer);
    }
    return result;
}

static gboolean prepare(Way *way, GError **error)
{
    const SshTarget *target = way->target;

    way->where =
        g_strdup_printf("guest %s at %s port %u", target->guest, target->host, target->port);
    way->key = ssh_key_load(target->key, error);
    if (way->key == NULL)
        return FALSE;
    if (target->host_key != NULL) {
        way->pinned = ssh_key_parse(target->host_key, error);
        if (way->pinned == NULL) {
            g_prefix_error(error, "host key of guest %s: ", target->guest);
            return FALSE;
        }
    }
    if (!reach_init(&way->reach, way->wait->step, way->where, target->host, target->port, error))
        return FALSE;
    if (target->console != NULL)
        reach_watch_console(&way->reach, target->console);
    return TRUE;
}

SshPeer *ssh_peer_connect(const SshTarget *target, const Wait *wait, SshTimes *ret_times,
                          GError **error)
{
    g_auto(Way) way = {.target = target, .wait = wait};
    SshPeer *peer = NULL;
    Attempt result = ATTEMPT_AGAIN;

    if (!prepare(&way, error))
        return NULL;
    while (result == ATTEMPT_AGAIN) {
        int fd = reach_first_byte(&way.reach, wait, error);

        if (fd < 0)
            return NULL;
        way.times.first_byte_ns = clock_mono_ns();
        result = log_in(&way, fd, &peer, error);
    }
    if (result == ATTEMPT_FAILED)
        return NULL;
    way.times.attempts = way.reach.attempts;
    *ret_times = way.times;
    memset(&way.times, 0, sizeof way.times);
    return peer;
}
