/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the ssh*.c files alone. */
#pragma once
/* Leaves out the names of libssh 0.4, such as channel_free(), which is ours. */
#define LIBSSH_LEGACY_0_4
#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include "guest/ssh.h"

struct SshPeer {
    ssh_session session;
    int fd;      /* the socket, as libssh has it */
    int copy;    /* the same socket, ours alone; or -1 */
    char *where; /* "guest debian12 at 127.0.0.1 port 2222" */
};

/* Wait until libssh can go on: it has answered SSH_AGAIN. */
gboolean ssh_peer_await(SshPeer *peer, const Wait *wait, const char *what, GError **error);

/* Whether the connection stands. */
gboolean ssh_peer_alive(const SshPeer *peer);

/* The connection is lost (VM_ERROR_LOST), or, as its cause, the guarded process has ended. Returns
 * FALSE always. */
gboolean ssh_peer_lost(const SshPeer *peer, const Wait *wait, const char *during, GError **error);

/* A script that is talked to while it runs: its input stays open. */
Channel *ssh_script_open(SshPeer *peer, const Wait *wait, const char *script, GError **error);

/* Give it data, as far as it takes them: one that has ended takes no more, which is no failure. */
gboolean ssh_script_feed(Channel *channel, const Wait *wait, const void *data, gsize length,
                         GError **error);

/* Its next line of output, without the newline (transfer full); NULL in *ret_line at the end, or
 * when the line is longer than 64 KiB. What follows stays for the channel's readers. */
gboolean ssh_script_line(Channel *channel, const Wait *wait, char **ret_line, GError **error);

/* "TYPE BASE64" of a key; transfer full. */
char *ssh_key_text(ssh_key key, GError **error);

/* The other way; a comment after the key is allowed. Free with ssh_key_free(). */
ssh_key ssh_key_parse(const char *text, GError **error);

/* Read a private key; the file is named in the error. Free with ssh_key_free(). */
ssh_key ssh_key_load(const char *path, GError **error);
