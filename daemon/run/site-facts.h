/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts of the host that a tree of files does not tell: versions of hypervisors, and where the
 * database and the images lie. */
#pragma once
#include <glib.h>

#include "model/inventory.h"
#include "model/plan.h"
#include "store/store.h"
#include "util/wait.h"

typedef struct {
    const char *root;           /* of /proc and /sys; "" is the real one */
    const Inventory *inventory; /* NULL: none */
    const Plan *plan;           /* only what it names of the inventory; NULL: all of it */
    const char *db_path;        /* NULL: none */
    const char *work;           /* folder of overlays; NULL: not told */
    Store *store;               /* remembers what programs said; NULL: each is asked */
    Cancel *cancel;
} SiteFacts;

/* Add "hypervisor.<name>.libvirt", ".version" and ".driver" of each hypervisor that answers (of the
 * others ".trouble"), "program.<name>" of the programs that are there, and "filesystem.…" of the
 * database, the work folder and the images. */
void site_facts(const SiteFacts *site, GHashTable *facts);

/* The same and all that the host itself tells; transfer full. */
GHashTable *site_facts_read(const SiteFacts *site);
