/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts of the host, read below a root prefix so that tests can give a fake tree. */
#pragma once
#include <glib.h>

/* char* -> char*: "host.boot-id", "host.name", "host.machine-id", "os.name", "os.version",
 * "kernel.release", "kernel.cmdline", "cpu.model", "cpu.count", "cpu.online", "cpu.microcode",
 * "cpu.flags", "cpu.smt", "cpu.governor", "cpu.mitigations.<name>", "memory.total", "memory.thp",
 * "clocksource", "virtualisation" (what this host itself runs on: "none", "kvm", …),
 * "numa.nodes". A fact the machine does not have is absent, never empty. root "" is the real one.
 */
GHashTable *host_facts(const char *root);

/* List of the CPUs this process may use, in order ("0,1,5"); transfer full. */
char *host_cpus_allowed(void);

/* The first n of them as a list, or NULL when there are fewer. Transfer full. */
char *host_cpus_first(guint n);

/* Free bytes on the file system of path (an existing file or folder), or its nearest existing
 * parent. */
gboolean host_free_space(const char *path, guint64 *ret_bytes, GError **error);
