/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts of the host, read below a root prefix so that tests can give a fake tree. */
#pragma once
#include <glib.h>

/* char* -> char*: whatever this machine tells of its processor ("cpu.model",
 * "cpu.mitigations.<name>", "cpu.cache.l2"), its memory, disks ("disk.<name>.model"), network cards
 * ("net.<name>.driver"), firmware, kernel and settings ("sysctl.vm.swappiness"); schema/README.md
 * lists the names. A fact the machine does not have is absent, never empty. Serial numbers, UUIDs
 * and addresses of single machines are in none of them. root "" is the real one. */
GHashTable *host_facts(const char *root);

/* Add "filesystem.<role>.type", ".device" and ".options" of where path lies. */
void host_facts_filesystem(const char *root, const char *role, const char *path, GHashTable *facts);

/* List of the CPUs this process may use, in order ("0,1,5"); transfer full. */
char *host_cpus_allowed(void);

/* Free bytes on the file system of path (an existing file or folder), or its nearest existing
 * parent. */
gboolean host_free_space(const char *path, guint64 *ret_bytes, GError **error);
