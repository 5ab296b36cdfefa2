/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the store: the queue's statement that must never get slower, for the test that looks at
 * its plan. */
#pragma once

/* ?1: campaign. */
extern const char queue_next_sql[];
