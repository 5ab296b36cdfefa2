/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the store: where in which metric the open invocation's samples are. */
#pragma once
#include "store/db.h"

SampleCursor *sample_cursor_new(void);
void sample_cursor_free(SampleCursor *cursor); /* accepts NULL */

/* Forget everything: at the begin of an invocation (counting starts anew, and a metric that an
 * earlier one added may have been rolled back). */
void sample_cursor_reset(SampleCursor *cursor);
