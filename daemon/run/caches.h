/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Page caches made cold or warm before an invocation, as the plan says. Internal to run/. */
#pragma once
#include "run/attempt.h"

/* Call when the workload has set up and warmed up, right before it is to begin: what it read or
 * wrote in doing so would be warm again. On bare the subject's cache is the host's: cold where the
 * plan wants either cold. FALSE with error: what was asked for cannot be done; the message says
 * what to write in the plan instead. */
gboolean caches_set(const Attempt *attempt, const Wait *wait, GError **error);

/* What is run in the guest by /bin/sh; NULL for nothing. folder: of the workload's files there.
 * Pure; transfer full. */
char *caches_guest_script(CachePolicy policy, const char *folder);
