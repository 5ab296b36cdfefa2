/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of the day as people say and read them: local time. Stored is UTC. */
#pragma once
#include <glib.h>

/* "22:00" (the next time at which the local clock shows it), or a date and a time in ISO 8601:
 * "2026-12-24T22:00", "2026-12-24 22:00:30", local, or with a zone ("Z", "+01:00"). A time that is
 * over is VM_ERROR_INVALID, as is all else. *ret_ns is UTC. */
gboolean daytime_parse(const char *text, gint64 now_ns, gint64 *ret_ns, GError **error);

/* ns (UTC) seen from now_ns: "22:14" today, "Tue 22:14" within six days, else "2026-12-24 22:14".
 * Transfer full. */
char *daytime_format(gint64 ns, gint64 now_ns);

/* The same with seconds, and always with the date where it is not today's. Transfer full. */
char *daytime_format_exact(gint64 ns, gint64 now_ns);
