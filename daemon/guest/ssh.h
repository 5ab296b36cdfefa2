/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SSH to a guest: the only code that includes libssh. Non-blocking throughout, so that the cancel
 * token, the guard and the deadline work everywhere. The user's known_hosts and agent are never
 * touched. */
#pragma once
#include <glib.h>

#include "guest/channel.h"
#include "util/wait.h"

typedef struct {
    const char *host; /* numeric address */
    guint port;
    const char *user;
    const char *key;      /* path of the private key; ed25519 preferred */
    const char *host_key; /* expected: "ssh-ed25519 AAAA…" (one line of ssh-keygen's .pub); NULL:
                             accept what comes and report it (enroll, accept-new-per-boot) */
    const char *guest;    /* name of the guest, for messages */
    const char *console;  /* file to which the guest's console goes; NULL: not known */
} SshTarget;

typedef struct {
    gint64 first_byte_ns; /* clock_mono_ns() when the banner's first byte was there */
    gint64 authenticated_ns;
    guint attempts; /* connections tried */
    char *host_key; /* "ssh-ed25519 AAAA…"; transfer full */
    char *banner;   /* "SSH-2.0-dropbear_2022.83"; transfer full */
} SshTimes;

void ssh_times_clear(SshTimes *times);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SshTimes, ssh_times_clear)

typedef struct SshPeer SshPeer;

/* Try until the banner is there, check the host key before any authentication request,
 * authenticate. Refused, reset, silent and EOF are retried until the wait ends; attempts overlap
 * (guest/reach.h). A failed authentication (VM_ERROR_AUTH) and a host-key mismatch
 * (VM_ERROR_HOST_KEY: names the expected and the shown fingerprint and "vmatrix guest enroll NAME")
 * are not retried. */
SshPeer *ssh_peer_connect(const SshTarget *target, const Wait *wait, SshTimes *ret_times,
                          GError **error);
void ssh_peer_free(SshPeer *peer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SshPeer, ssh_peer_free)

typedef struct {
    int status;      /* exit code; 126, 127 and 128+N as the shell gives them; -1: not told */
    GString *output; /* bounded at 1 MiB each; the rest is read and thrown away */
    GString *errors;
    gboolean truncated;
} SshResult;

void ssh_result_clear(SshResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SshResult, ssh_result_clear)

/* Run script by /bin/sh -c (whatever the login shell is), feed input, read both streams to EOF. */
gboolean ssh_peer_run(SshPeer *peer, const Wait *wait, const char *script, const void *input,
                      gsize input_length, SshResult *ret_result, GError **error);

/* Put the agent into a fresh private folder of the guest, as "vmatrix-agent", mode 0700, and start
 * "vmatrix-agent session", all in one command, since each costs a round trip and a shell. It goes
 * through a stdin pipe; its SHA-256 is checked there by the agent's own "digest" command, which
 * also proves the folder executable: 126 (not executable), 127 (missing) and 139 (crash) are told
 * apart in the error. folder NULL: XDG_RUNTIME_DIR-like candidates are tried. *ret_folder: transfer
 * full. The channel is the session's, and must be freed before the peer. */
Channel *ssh_peer_start_agent(SshPeer *peer, const Wait *wait, const char *folder, GBytes *agent,
                              char **ret_folder, GError **error);

/* Start a program by argv (each word quoted for /bin/sh) and talk to it. The channel must be freed
 * before the peer. */
Channel *ssh_peer_open(SshPeer *peer, const Wait *wait, const char *const *argv, GError **error);

/* Read a public or private key file and give "TYPE BASE64"; transfer full. */
char *ssh_public_key_of(const char *private_key_path, GError **error);

/* "SHA256:…" fingerprint of "TYPE BASE64"; transfer full; NULL with error when it is not a key. */
char *ssh_fingerprint(const char *public_key, GError **error);
