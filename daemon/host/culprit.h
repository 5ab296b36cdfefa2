/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who makes the host busy, in words. */
#pragma once
#include "host/process.h"

/* "dd (pid 412, job.service) 31 MiB/s, make (pid 300) 0.93 CPUs": who took most between two
 * readings that are span_ns apart, ourselves left out; of the disks or of the CPUs, as the signals
 * that are over (bits 1 << IDLE_…) have it. NULL when nobody stands out. *ret_key (may be NULL):
 * what stays the same while the greediest is the same unit, or program: NULL as well. root: where
 * their units are read. Both transfer full. */
char *culprit_find(const char *root, const ProcessTable *from, const ProcessTable *to,
                   gint64 span_ns, guint over, char **ret_key);
