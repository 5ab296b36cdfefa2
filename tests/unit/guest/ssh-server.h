/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A real SSH server on a free loopback port, with keys and settings of its own in a temporary
 * folder, for tests. */
#pragma once
#include <glib.h>

#include "guest/ssh.h"

typedef enum { SERVER_OPENSSH, SERVER_DROPBEAR } ServerKind;

typedef struct {
    ServerKind kind;
    const char *settings;  /* lines for sshd_config, or NULL; "%s" stands for the folder */
    const char *host_type; /* type of the host key; NULL: ed25519 */
    const char *mounts;    /* commands in a mount namespace of its own before the start, or NULL;
                              $F is the folder */
    double delay_s;        /* before the server starts */
} ServerSpec;

typedef struct {
    GPid pid;
    guint port;
    char *folder;   /* has key, other-key (not accepted), log */
    char *user;     /* who may log in */
    char *host_key; /* "ssh-ed25519 AAAA…" */
    char *key;      /* path */
    char *log;      /* path */
} Server;

/* NULL when the server's program is not installed, or no mount namespace can be made: the test is
 * then marked as skipped, with the reason. */
Server *server_start(const ServerSpec *spec);
void server_free(Server *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Server, server_free)

/* What the server has logged so far; transfer full. */
char *server_log(const Server *server);

/* A port of the loopback interface that nobody listens on. */
guint server_free_port(void);

/* A wait with room for a machine that is busy; no test is expected to need all of it. */
Wait room(gint64 seconds);

SshTarget target_of(const Server *server);

/* Log in; a failure ends the test with the server's log. */
SshPeer *connect_to(const Server *server);

/* Run a script, which must end with this status. */
void check_run(SshPeer *peer, const char *script, const void *input, gsize length, int status,
               SshResult *ret_result);
