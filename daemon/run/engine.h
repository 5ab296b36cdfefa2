/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A campaign in memory: what the store holds, parsed again, plus what every run of it needs.
 * Internal to run/. */
#pragma once
#include "model/matrix.h"
#include "run/attempt.h"
#include "run/campaign.h"
#include "store/store.h"
#include "store/watch.h"

typedef struct {
    Store *store;                   /* borrowed */
    const CampaignOptions *options; /* borrowed */
    StoreCampaign campaign;
    Plan *plan;
    Inventory *inventory;
    Matrix *matrix;
    GHashTable *host_facts;
    GHashTable *agents; /* path -> GBytes*: agent binaries to be pushed */
    GHashTable *images; /* path -> digest */
    char *agent_path;
    char *work;
    gboolean has_temperature;
    gint temperature_mc; /* of the host when the campaign began, where it can tell */
    Cancel *pause;    /* of the run that may wait at the gate: set when a pause is heard; or NULL */
    gint64 latest_ns; /* UTC: a run that begins later would not end by stop-by; 0: never */
    Cancel *stop;     /* set with options->cancel, or when a cancel of this campaign is heard */
    StoreWatch *watch; /* hears what other programs write into the database */
} Engine;

gboolean engine_init(Engine *engine, Store *store, gint64 campaign, const CampaignOptions *options,
                     GError **error);
void engine_finish(Engine *engine); /* a zeroed one is fine */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Engine, engine_finish)

/* What the gate compares temperatures with: as it was when the campaign began, also where that was
 * an earlier start of it. A fact of every run. root: "" is the real one. */
gboolean engine_note_temperature(Engine *engine, const char *root, GError **error);

/* Read the host's facts anew, over those that are known. */
void engine_read_host(Engine *engine);

/* The agent for this guest (NULL: the host itself), read once; borrowed. */
GBytes *engine_agent(Engine *engine, const InventoryGuest *guest, GError **error);

/* Path of the agent to use when none is given: $VMATRIX_AGENT, beside the program in a build tree,
 * else where it is installed. Transfer full; VM_ERROR_ENVIRONMENT when there is none. */
char *engine_agent_find(GError **error);

/* The folder for runs when none is given: "runs" beside the database. Transfer full. */
char *engine_work_folder(const Store *store, const char *work);
gboolean engine_make_work(const char *work, GError **error);

/* A whole image is about to be read, which takes long where it is large: before that a sign of life
 * that says how long. */
void engine_tell_reading(const Engine *engine, const char *path);

/* Digests of the guest's images (disk, kernel, initrd) as facts "image.disk.sha256" and so on; read
 * anew only when the file changed. */
gboolean engine_image_facts(Engine *engine, const InventoryGuest *guest, GHashTable *facts,
                            GError **error);
