/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loopback ports for user-mode forwards. */
#pragma once
#include <glib.h>

/* A TCP port of 127.0.0.1 that is free now. Another process may take it before the hypervisor
 * does: start() tells that apart as VM_ERROR_BUSY. */
gboolean forward_port_find(guint *ret_port, GError **error);

/* Whether someone holds this TCP port of 127.0.0.1. */
gboolean forward_port_taken(guint port);
