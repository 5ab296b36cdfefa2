/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queue in words, for "vmatrix status" and "vmatrix watch". */
#pragma once
#include "report/status.h"

/* The table of campaigns, and under it what runs now and what is in the way. width: columns of the
 * terminal, 0: unlimited. served: somebody holds the host, so the queue is worked on. Ends with a
 * newline; transfer full. */
char *status_text(const GPtrArray *campaigns, gint64 now_ns, guint width, gboolean colour,
                  gboolean served);

/* Whether some program (vmatrixd, vmatrix run) holds this host for measuring. */
gboolean status_is_served(void);
