/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must not run beside a measurement, even while it is quiet: other guests, package managers,
 * backups, upkeep. Found by name. Only names that can mean nothing else are in the table: a tar or
 * an rsync shows by what it takes. */
#pragma once
#include <glib.h>

#include "host/process.h"

typedef enum { CHORE_GUEST, CHORE_PACKAGES, CHORE_BACKUP, CHORE_UPKEEP } ChoreKind;

typedef struct {
    ChoreKind kind;
    gint64 pid;  /* 0: found as a unit */
    char *name;  /* "apt-get", "qemu-system-x86_64", "fstrim.service" */
    char *label; /* of a guest: its own name, where its command line tells; else NULL */
} Chore;

void chore_free(Chore *chore); /* accepts NULL */

/* Chore*: those among the processes of table (read below root), and units that are active; transfer
 * full, may be empty. */
GPtrArray *chore_find(const char *root, const ProcessTable *table);

/* "backup restic (pid 12)", "guest mint (qemu-system-x86_64, pid 12)", "upkeep fstrim.service";
 * transfer full. */
char *chore_format(const Chore *chore);
