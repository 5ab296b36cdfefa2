/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the store: the queue's statement that must never get slower, for the test that looks at
 * its plan, and what steering does to the queue. */
#pragma once
#include <glib.h>

#include "store/store.h"

/* ?1: campaign. */
extern const char queue_next_sql[];
/* ?1: the time. */
extern const char steer_next_sql[];
/* ?1: cell. */
extern const char steer_duration_sql[];

/* So many interruptions of one try are borne; then it is failed, and the queue goes on. */
#define QUEUE_INTERRUPTIONS_MAX 20

typedef enum {
    QUEUE_BY_ENGINE, /* goes on counting interruptions, up to their cap */
    QUEUE_BY_PERSON, /* a new attempt, with no interruptions behind it */
} QueueBy;

/* Queue a done run again. Inside a transaction. */
gboolean queue_again(Store *store, gint64 run, QueueBy by, GError **error);

/* All runs of the campaign that wait become skipped, with the reason. Inside a transaction. */
gboolean queue_drop(Store *store, gint64 campaign, const char *reason, GError **error);

/* store_campaign_set_state() inside a transaction. */
gboolean queue_set_state(Store *store, gint64 campaign, const char *state, GError **error);
