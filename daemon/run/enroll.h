/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Enrolling a guest: boot it once, note the host key it shows. */
#pragma once
#include <glib.h>

#include "model/inventory.h"
#include "store/store.h"
#include "util/wait.h"

/* Boot guest on hypervisor (NULL: the first in the inventory that can be opened), take the host key
 * it shows, log in with the inventory's key to prove that it is the guest, and pin the key in the
 * store. work NULL: "runs" beside the database. *ret_key: "ssh-ed25519 AAAA…", transfer full.
 * VM_ERROR_INVALID for a name that the inventory does not have. */
gboolean enroll_guest(Store *store, const Inventory *inventory, const char *guest,
                      const char *hypervisor, const char *work, Cancel *cancel, char **ret_key,
                      GError **error);
