/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/ssh-internal.h"

#include <signal.h>
#include <string.h>

#include "guest/shell.h"
#include "util/error.h"
#include "util/text.h"

enum {
    PIECE = 32 * 1024,
    KEPT_MAX = 1024 * 1024, /* of each stream of a script; the rest is thrown away */
    LINE_MAX_BYTES = 64 * 1024,
    UNREAD_MAX = 4 * 1024 * 1024, /* of an agent that floods us while it takes no input */
};

/* Whatever call of libssh handles a packet, what it brings comes in by the callbacks: so nothing
 * can sit in libssh's own buffers while we wait on the socket. */
typedef struct {
    Channel base; /* errors: standard error, at most errors_max */
    SshPeer *peer;
    ssh_channel raw;
    struct ssh_channel_callbacks_struct callbacks;
    GString *output; /* standard output that nobody has read yet, at most output_max */
    gsize output_max, errors_max;
    gboolean cut; /* something did not fit */
    gboolean eof;
    gboolean closed;
    gboolean told; /* exit status or signal has come */
    int status;
} SshChannel;

void ssh_result_clear(SshResult *result)
{
    if (result->output != NULL)
        g_string_free(result->output, TRUE);
    if (result->errors != NULL)
        g_string_free(result->errors, TRUE);
    memset(result, 0, sizeof *result);
}

static int on_data(ssh_session session, ssh_channel raw, void *data, uint32_t length, int is_errors,
                   void *user)
{
    SshChannel *channel = user;
    GString *kept = is_errors ? channel->base.errors : channel->output;
    gsize max = is_errors ? channel->errors_max : channel->output_max;
    gsize room = max - MIN(max, kept->len);

    channel->cut = channel->cut || length > room;
    g_string_append_len(kept, data, (gssize)MIN(length, room));
    return (int)length;
}

static void on_eof(ssh_session session, ssh_channel raw, void *user)
{
    ((SshChannel *)user)->eof = TRUE;
}

/* Some servers close without saying that the output has ended. */
static void on_close(ssh_session session, ssh_channel raw, void *user)
{
    SshChannel *channel = user;

    channel->eof = channel->closed = TRUE;
}

static void on_exit_status(ssh_session session, ssh_channel raw, int status, void *data)
{
    SshChannel *channel = data;

    channel->told = TRUE;
    channel->status = status;
}

/* RFC 4254 names the signals without "SIG". */
static int signal_number(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {
        {"ABRT", SIGABRT}, {"ALRM", SIGALRM}, {"FPE", SIGFPE},   {"HUP", SIGHUP},
        {"ILL", SIGILL},   {"INT", SIGINT},   {"KILL", SIGKILL}, {"PIPE", SIGPIPE},
        {"QUIT", SIGQUIT}, {"SEGV", SIGSEGV}, {"TERM", SIGTERM}, {"USR1", SIGUSR1},
        {"USR2", SIGUSR2}, {"BUS", SIGBUS},   {"SYS", SIGSYS},   {"TRAP", SIGTRAP},
    };

    for (guint i = 0; i < G_N_ELEMENTS(signals); i++)
        if (g_str_has_prefix(name, signals[i].name))
            return signals[i].number;
    return -1;
}

static void on_exit_signal(ssh_session session, ssh_channel raw, const char *name, int core,
                           const char *message, const char *language, void *data)
{
    SshChannel *channel = data;
    int number = signal_number(name);

    channel->told = TRUE;
    channel->status = number > 0 ? 128 + number : -1;
}

/* Handle what has come, without waiting. FALSE: the connection is lost, and all that came before
 * has been kept. */
static gboolean pump(SshChannel *channel)
{
    if (!channel->eof)
        ssh_channel_poll(channel->raw, FALSE);
    else if (!channel->closed && !channel->told)
        ssh_channel_get_exit_status(channel->raw);
    return ssh_peer_alive(channel->peer);
}

static gboolean channel_read(Channel *base, const Wait *wait, void *buffer, gsize size,
                             gsize *ret_length, ChannelRead *ret_read, GError **error)
{
    SshChannel *channel = (SshChannel *)base;
    gsize length;

    while (channel->output->len == 0 && !channel->eof) {
        gboolean alive = pump(channel);

        if (channel->output->len > 0 || channel->eof)
            break;
        if (!alive)
            return ssh_peer_lost(channel->peer, wait, "the agent's session", error);
        if (!ssh_peer_await(channel->peer, wait, "line of the agent", error))
            return FALSE;
    }
    length = MIN(size, channel->output->len);
    memcpy(buffer, channel->output->str, length);
    g_string_erase(channel->output, 0, (gssize)length);
    *ret_length = length;
    *ret_read = length > 0 ? CHANNEL_DATA : CHANNEL_EOF;
    return TRUE;
}

/* Give some of data as far as the window lets it; *ret_put may be 0. The other side may close at
 * any time, also while this handles what has come: that is no error here, and nothing more is
 * taken. */
static gboolean put_some(SshChannel *channel, const Wait *wait, const char *data, gsize length,
                         gsize *ret_put, GError **error)
{
    gsize piece = MIN(MIN(length, PIECE), ssh_channel_window_size(channel->raw));
    int put =
        piece > 0 && !channel->closed ? ssh_channel_write(channel->raw, data, (uint32_t)piece) : 0;

    if (put < 0 && put != SSH_AGAIN && !channel->closed)
        return ssh_peer_lost(channel->peer, wait, "writing", error);
    *ret_put = (gsize)MAX(put, 0);
    return TRUE;
}

static gboolean flooded(const SshChannel *channel, const Wait *wait, GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_PROTOCOL,
                "%s: the agent sent more than %d bytes unasked while it took no input", wait->step,
                UNREAD_MAX);
    return FALSE;
}

static gboolean channel_write(Channel *base, const Wait *wait, const void *data, gsize length,
                              GError **error)
{
    SshChannel *channel = (SshChannel *)base;
    const char *at = data;

    while (length > 0) {
        gsize put;

        if (!pump(channel) || channel->closed)
            return ssh_peer_lost(channel->peer, wait, "writing to the agent", error);
        if (channel->output->len == channel->output_max)
            return flooded(channel, wait, error);
        if (!put_some(channel, wait, at, length, &put, error))
            return FALSE;
        at += put;
        length -= put;
        if (put == 0 && !channel->closed &&
            !ssh_peer_await(channel->peer, wait, "room in the agent's input", error))
            return FALSE;
    }
    return TRUE;
}

static gboolean channel_close_input(Channel *base, const Wait *wait, GError **error)
{
    SshChannel *channel = (SshChannel *)base;

    if (ssh_channel_is_open(channel->raw) && ssh_channel_send_eof(channel->raw) == SSH_ERROR)
        return ssh_peer_lost(channel->peer, wait, "end of input", error);
    return TRUE;
}

/* The status comes after the end of file; a server that does not tell one just closes. */
static gboolean channel_exit_status(Channel *base, const Wait *wait, int *ret_status,
                                    GError **error)
{
    SshChannel *channel = (SshChannel *)base;

    while (!channel->told && !channel->closed) {
        gboolean alive = pump(channel);

        if (channel->told || channel->closed)
            break;
        if (!alive)
            return ssh_peer_lost(channel->peer, wait, "waiting for the exit status", error);
        if (!ssh_peer_await(channel->peer, wait, "exit status", error))
            return FALSE;
    }
    *ret_status = channel->told ? channel->status : -1;
    return TRUE;
}

static void channel_end(Channel *base)
{
    SshChannel *channel = (SshChannel *)base;

    if (channel->raw != NULL) {
        if (!channel->told && ssh_channel_is_open(channel->raw))
            ssh_channel_request_send_signal(channel->raw, "KILL");
        ssh_remove_channel_callbacks(channel->raw, &channel->callbacks);
        ssh_channel_free(channel->raw);
    }
    g_string_free(channel->output, TRUE);
    g_string_free(channel->base.errors, TRUE);
    g_free(channel);
}

static const struct channel_ops ssh_ops = {
    .read = channel_read,
    .write = channel_write,
    .close_input = channel_close_input,
    .exit_status = channel_exit_status,
    .free = channel_end,
};

static gboolean refused(const SshPeer *peer, const Wait *wait, const char *what, GError **error)
{
    g_autofree char *why = NULL;

    if (!ssh_peer_alive(peer))
        return ssh_peer_lost(peer, wait, what, error);
    why = text_escape(ssh_get_error(peer->session), -1, 200);
    g_set_error(error, VM_ERROR, VM_ERROR_UNSUPPORTED, "%s: %s refused %s: %s", wait->step,
                peer->where, what, why);
    return FALSE;
}

static gboolean start(SshChannel *channel, const Wait *wait, const char *script, GError **error)
{
    g_autofree char *command = shell_command(script);
    int result;

    while ((result = ssh_channel_open_session(channel->raw)) == SSH_AGAIN)
        if (!ssh_peer_await(channel->peer, wait, "SSH channel", error))
            return FALSE;
    if (result != SSH_OK)
        return refused(channel->peer, wait, "a session", error);
    while ((result = ssh_channel_request_exec(channel->raw, command)) == SSH_AGAIN)
        if (!ssh_peer_await(channel->peer, wait, "start of a command", error))
            return FALSE;
    return result == SSH_OK || refused(channel->peer, wait, "to run a command", error);
}

static Channel *open_script(SshPeer *peer, const Wait *wait, const char *script, gsize output_max,
                            gsize errors_max, GError **error)
{
    SshChannel *channel = g_new0(SshChannel, 1);
    g_autoptr(Channel) base = &channel->base;

    channel->base = (Channel){.ops = &ssh_ops, .errors = g_string_new(NULL)};
    channel->output = g_string_new(NULL);
    channel->output_max = output_max;
    channel->errors_max = errors_max;
    channel->peer = peer;
    channel->raw = ssh_channel_new(peer->session);
    if (channel->raw == NULL) {
        refused(peer, wait, "a channel", error);
        return NULL;
    }
    channel->callbacks.userdata = channel;
    channel->callbacks.channel_data_function = on_data;
    channel->callbacks.channel_eof_function = on_eof;
    channel->callbacks.channel_close_function = on_close;
    channel->callbacks.channel_exit_status_function = on_exit_status;
    channel->callbacks.channel_exit_signal_function = on_exit_signal;
    ssh_callbacks_init(&channel->callbacks);
    ssh_set_channel_callbacks(channel->raw, &channel->callbacks);
    if (!start(channel, wait, script, error))
        return NULL;
    return g_steal_pointer(&base);
}

Channel *ssh_peer_open(SshPeer *peer, const Wait *wait, const char *const *argv, GError **error)
{
    g_autofree char *script = shell_exec_script(argv);

    return open_script(peer, wait, script, UNREAD_MAX, CHANNEL_ERRORS_MAX, error);
}

/* Give input as far as it goes, then its end. */
static gboolean feed(SshChannel *channel, const Wait *wait, const char **input, gsize *left,
                     GError **error)
{
    gsize put = 1;

    while (*left > 0 && put > 0) {
        if (!put_some(channel, wait, *input, *left, &put, error))
            return FALSE;
        *input += put;
        *left -= put;
        if (*left == 0)
            return channel_close_input(&channel->base, wait, error);
    }
    return TRUE;
}

/* Feed and read until both streams have ended. A script that ends early takes no more input. */
static gboolean converse(SshChannel *channel, const Wait *wait, const char *input, gsize left,
                         GError **error)
{
    if (left == 0 && !channel_close_input(&channel->base, wait, error))
        return FALSE;
    for (;;) {
        gboolean alive = pump(channel);

        if (channel->eof)
            return TRUE;
        if (!alive)
            return ssh_peer_lost(channel->peer, wait, "a script", error);
        if (!feed(channel, wait, &input, &left, error))
            return FALSE;
        /* Writing handles packets too. */
        if (!channel->eof &&
            !ssh_peer_await(channel->peer, wait, "end of a script's output", error))
            return FALSE;
    }
}

gboolean ssh_peer_run(SshPeer *peer, const Wait *wait, const char *script, const void *input,
                      gsize input_length, SshResult *ret_result, GError **error)
{
    g_autoptr(Channel) base = open_script(peer, wait, script, KEPT_MAX, KEPT_MAX, error);
    SshChannel *channel = (SshChannel *)base;
    int status;

    if (channel == NULL || !converse(channel, wait, input, input_length, error) ||
        !channel_exit_status(base, wait, &status, error))
        return FALSE;
    ret_result->status = status;
    ret_result->truncated = channel->cut;
    ret_result->output = channel->output;
    ret_result->errors = channel->base.errors;
    channel->output = g_string_new(NULL);
    channel->base.errors = g_string_new(NULL);
    return TRUE;
}

Channel *ssh_script_open(SshPeer *peer, const Wait *wait, const char *script, GError **error)
{
    return open_script(peer, wait, script, UNREAD_MAX, CHANNEL_ERRORS_MAX, error);
}

gboolean ssh_script_feed(Channel *base, const Wait *wait, const void *data, gsize length,
                         GError **error)
{
    SshChannel *channel = (SshChannel *)base;
    const char *at = data;

    while (length > 0) {
        gsize put;

        if (!pump(channel))
            return ssh_peer_lost(channel->peer, wait, "feeding a script", error);
        if (channel->eof || channel->closed)
            return TRUE;
        if (!put_some(channel, wait, at, length, &put, error))
            return FALSE;
        at += put;
        length -= put;
        if (put == 0 && !channel->closed &&
            !ssh_peer_await(channel->peer, wait, "room in a script's input", error))
            return FALSE;
    }
    return TRUE;
}

gboolean ssh_script_line(Channel *base, const Wait *wait, char **ret_line, GError **error)
{
    SshChannel *channel = (SshChannel *)base;
    GString *output = channel->output;

    for (;;) {
        gboolean alive = pump(channel);
        const char *end = memchr(output->str, '\n', output->len);

        if (end != NULL) {
            gssize length = end - output->str;

            *ret_line = g_strndup(output->str, (gsize)length);
            g_string_erase(output, 0, length + 1);
            return TRUE;
        }
        if (channel->eof || output->len > LINE_MAX_BYTES) {
            *ret_line = NULL;
            return TRUE;
        }
        if (!alive)
            return ssh_peer_lost(channel->peer, wait, "a script", error);
        if (!ssh_peer_await(channel->peer, wait, "line of a script", error))
            return FALSE;
    }
}
