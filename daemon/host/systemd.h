/* SPDX-License-Identifier: GPL-3.0-or-later */
/* systemd and logind over the system bus ($DBUS_SYSTEM_BUS_ADDRESS, else the usual one). Interfaces
 * as in org.freedesktop.systemd1(5) and org.freedesktop.login1(5). Each call is bounded by 30 s. */
#pragma once
#include <glib.h>

typedef struct Systemd Systemd;

/* NULL: no systemd to talk to; *ret_why (transfer full) says why, in some words. */
Systemd *systemd_new(char **ret_why);
void systemd_free(Systemd *systemd); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Systemd, systemd_free)

/* ActiveState of the unit ("active", "inactive", …), or NULL in *ret_state when there is no such
 * unit. Transfer full. */
gboolean systemd_unit_state(Systemd *systemd, const char *unit, char **ret_state, GError **error);

/* Start or stop it, and wait until it is so. */
gboolean systemd_unit_run(Systemd *systemd, const char *unit, gboolean run, GError **error);

/* AllowedCPUs of a slice or scope as a list ("0,2-3"; "": all); NULL when there is no such unit, or
 * this systemd does not know the property. Transfer full. */
gboolean systemd_cpus_get(Systemd *systemd, const char *unit, char **ret_cpus, GError **error);

/* Set it until the next boot. */
gboolean systemd_cpus_set(Systemd *systemd, const char *unit, const char *cpus, GError **error);

/* logind's lock against sleep and idle actions, for as long as the descriptor is open; -1 with
 * error. why: for "systemd-inhibit --list". */
int systemd_inhibit_sleep(Systemd *systemd, const char *why, GError **error);
