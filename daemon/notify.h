/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the service manager is told, where there is one (libsystemd at build time, NOTIFY_SOCKET at
 * run time); without either these do nothing. */
#pragma once
#include <glib.h>

void notify_ready(void);
void notify_stopping(void);
void notify_reloading(void);
void notify_status(const char *text);

/* A sign of life, and when the next one is due: the watchdog's patience is set to that. The daemon
 * is silent while an invocation runs, so its patience must be the invocation's limit. */
void notify_alive(gint64 within_ns);

/* How often a sign of life is wanted while nothing is done; 0: no watchdog. */
gint64 notify_heartbeat_ns(void);
