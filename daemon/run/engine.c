/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/engine.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "host/probe.h"
#include "host/temperature.h"
#include "run/site-facts.h"
#include "store/steer.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/io.h"

enum {
    AGENT_SIZE_MAX = 64 << 20,
    READ_RATE_MIN = 10 << 20, /* bytes a second of a slow disk */
};

char *engine_work_folder(const Store *store, const char *work)
{
    g_autofree char *folder = g_path_get_dirname(store_path(store));

    return work != NULL ? g_strdup(work) : g_build_filename(folder, "runs", NULL);
}

gboolean engine_make_work(const char *work, GError **error)
{
    if (!io_make_folder(work, error))
        return FALSE;
    /* The hypervisor's own user must pass through to the runs; it need not list them. */
    if (chmod(work, 0711) != 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: chmod: %s", work,
                    g_strerror(errno));
        return FALSE;
    }
    return TRUE;
}

char *engine_agent_find(GError **error)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *folder = self != NULL ? g_path_get_dirname(self) : g_strdup(".");
    const char *told = g_getenv("VMATRIX_AGENT");
    /* In a build tree: vmatrixd lies in daemon/, vmatrix one below. */
    g_autofree char *near = g_build_filename(folder, "..", "agent", "vmatrix-agent", NULL);
    g_autofree char *far = g_build_filename(folder, "..", "..", "agent", "vmatrix-agent", NULL);
    const char *candidates[] = {near, far, VMATRIX_LIBEXECDIR "/vmatrix-agent"};

    if (told != NULL && access(told, X_OK) == 0)
        return g_canonicalize_filename(told, NULL);
    for (guint i = 0; told == NULL && i < G_N_ELEMENTS(candidates); i++)
        if (access(candidates[i], X_OK) == 0)
            return g_canonicalize_filename(candidates[i], NULL);
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                "no agent: %s cannot be executed; install vmatrix, or set VMATRIX_AGENT",
                told != NULL ? told : VMATRIX_LIBEXECDIR "/vmatrix-agent");
    return NULL;
}

static void free_bytes(gpointer bytes)
{
    g_bytes_unref(bytes);
}

static gboolean engine_parse(Engine *engine, GError **error)
{
    const StoreCampaign *campaign = &engine->campaign;

    engine->plan = plan_parse(campaign->plan_path, campaign->plan_text, -1, error);
    if (engine->plan == NULL)
        return FALSE;
    engine->inventory =
        inventory_parse(campaign->inventory_path, campaign->inventory_text, -1, error);
    if (engine->inventory == NULL)
        return FALSE;
    engine->matrix = matrix_new(engine->plan, error);
    return engine->matrix != NULL;
}

/* Somebody wrote into the database: is it a cancel of this campaign? */
static void engine_heard(void *data)
{
    Engine *engine = data;
    g_autoptr(GError) error = NULL;
    StoreSteer steer;

    if (!store_watch_drain(engine->watch))
        return;
    if (!store_campaign_steer(engine->store, engine->campaign.id, &steer, &error))
        g_warning("campaign %" G_GINT64_FORMAT ": %s", engine->campaign.id, error->message);
    else if (steer == STORE_STEER_CANCEL)
        cancel_set(engine->stop);
    else if (steer == STORE_STEER_PAUSE)
        cancel_set(engine->pause);
}

static gboolean engine_listen(Engine *engine, GError **error)
{
    engine->watch = store_watch_new(store_path(engine->store), error);
    if (engine->watch == NULL)
        return FALSE;
    cancel_watch(engine->stop, store_watch_fd(engine->watch), engine_heard, engine);
    return TRUE;
}

void engine_read_host(Engine *engine)
{
    g_autoptr(GHashTable) now = host_facts("");
    GHashTableIter each;
    gpointer name, value;

    if (engine->host_facts == NULL)
        engine->host_facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_hash_table_iter_init(&each, now);
    while (g_hash_table_iter_next(&each, &name, &value)) {
        g_hash_table_iter_steal(&each);
        g_hash_table_replace(engine->host_facts, name, value);
    }
}

gboolean engine_init(Engine *engine, Store *store, gint64 campaign, const CampaignOptions *options,
                     GError **error)
{
    g_autofree char *which = g_strdup_printf("%" G_GINT64_FORMAT, campaign);

    *engine = (Engine){.store = store, .options = options};
    engine->stop = cancel_new_child(options->cancel);
    if (!engine_listen(engine, error) ||
        !store_campaign_get(store, which, &engine->campaign, error) || !engine_parse(engine, error))
        return FALSE;
    engine->agents = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_bytes);
    engine->images = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    engine->agent_path =
        options->agent != NULL ? g_strdup(options->agent) : engine_agent_find(error);
    engine->work = engine_work_folder(store, options->work);
    engine_read_host(engine);
    site_facts(&(SiteFacts){.root = "",
                            .inventory = engine->inventory,
                            .plan = engine->plan,
                            .db_path = store_path(store),
                            .work = engine->work,
                            .store = store,
                            .cancel = engine->stop},
               engine->host_facts);
    return engine->agent_path != NULL && engine_make_work(engine->work, error);
}

static const char temperature_fact[] = "temperature.start-mc";

/* What an earlier start of this campaign found; *ret_mc is untouched where there was none. */
static gboolean earlier_temperature(Engine *engine, gint *ret_mc, GError **error)
{
    g_autoptr(StoreQuery) query = store_query_new(
        engine->store,
        "SELECT value FROM run_fact WHERE campaign = :c AND scope = 'host' AND name = :n "
        "ORDER BY run LIMIT 1",
        error);
    StoreStep step;

    if (query == NULL || !store_query_bind_int(query, ":c", engine->campaign.id) ||
        !store_query_bind_text(query, ":n", temperature_fact) ||
        !store_query_step(query, &step, error))
        return FALSE;
    if (step == STORE_ROW)
        *ret_mc = (gint)g_ascii_strtoll(store_query_text(query, 0), NULL, 10);
    return TRUE;
}

gboolean engine_note_temperature(Engine *engine, const char *root, GError **error)
{
    if (!temperature_read(root, &engine->temperature_mc))
        return TRUE;
    if (!earlier_temperature(engine, &engine->temperature_mc, error))
        return FALSE;
    engine->has_temperature = TRUE;
    g_hash_table_replace(engine->host_facts, g_strdup(temperature_fact),
                         g_strdup_printf("%d", engine->temperature_mc));
    return TRUE;
}

void engine_finish(Engine *engine)
{
    store_campaign_clear(&engine->campaign);
    g_clear_pointer(&engine->matrix, matrix_free);
    g_clear_pointer(&engine->plan, plan_free);
    g_clear_pointer(&engine->inventory, inventory_free);
    g_clear_pointer(&engine->host_facts, g_hash_table_unref);
    g_clear_pointer(&engine->agents, g_hash_table_unref);
    g_clear_pointer(&engine->images, g_hash_table_unref);
    g_clear_pointer(&engine->agent_path, g_free);
    g_clear_pointer(&engine->work, g_free);
    g_clear_pointer(&engine->stop, cancel_free);
    g_clear_pointer(&engine->watch, store_watch_free);
}

GBytes *engine_agent(Engine *engine, const InventoryGuest *guest, GError **error)
{
    const char *path = guest != NULL && guest->agent != NULL ? guest->agent : engine->agent_path;
    GBytes *bytes = g_hash_table_lookup(engine->agents, path);
    gsize length;
    char *data;

    if (bytes != NULL)
        return bytes;
    data = io_read_file(path, AGENT_SIZE_MAX, &length, error);
    if (data == NULL)
        return NULL;
    bytes = g_bytes_new_take(data, length);
    g_hash_table_insert(engine->agents, g_strdup(path), bytes);
    return bytes;
}

void engine_tell_reading(const Engine *engine, const char *path)
{
    const CampaignOptions *options = engine->options;
    struct stat st;

    if (options->alive != NULL && stat(path, &st) == 0)
        options->alive(options->alive_data,
                       ((gint64)st.st_size / READ_RATE_MIN + 1) * CLOCK_NS_PER_S);
}

/* The digest of one image; the store remembers it by path, size, time and inode. */
static const char *image_digest(Engine *engine, const char *path, GError **error)
{
    const char *known = g_hash_table_lookup(engine->images, path);
    g_autofree char *digest = NULL;
    Wait wait = {
        .deadline_ns = WAIT_FOREVER, .cancel = engine->stop, .guard_fd = -1, .step = "image"};
    struct stat st;
    gint64 mtime_ns;

    if (known != NULL)
        return known;
    if (stat(path, &st) != 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "image %s: %s; correct the inventory",
                    path, g_strerror(errno));
        return NULL;
    }
    mtime_ns = (gint64)st.st_mtim.tv_sec * CLOCK_NS_PER_S + st.st_mtim.tv_nsec;
    if (!store_image_digest_get(engine->store, path, (guint64)st.st_size, mtime_ns, st.st_ino,
                                &digest, error))
        return NULL;
    if (digest == NULL) {
        engine_tell_reading(engine, path);
        digest = io_digest_file(&wait, path, error);
        if (digest == NULL || !store_image_digest_set(engine->store, path, (guint64)st.st_size,
                                                      mtime_ns, st.st_ino, digest, error))
            return NULL;
    }
    known = digest;
    g_hash_table_insert(engine->images, g_strdup(path), g_steal_pointer(&digest));
    return known;
}

gboolean engine_image_facts(Engine *engine, const InventoryGuest *guest, GHashTable *facts,
                            GError **error)
{
    const struct {
        const char *fact, *path;
    } images[] = {{"image.disk", guest->disk},
                  {"image.kernel", guest->kernel},
                  {"image.initrd", guest->initrd}};

    for (guint i = 0; i < G_N_ELEMENTS(images); i++) {
        const char *digest;

        if (images[i].path == NULL)
            continue;
        digest = image_digest(engine, images[i].path, error);
        if (digest == NULL)
            return FALSE;
        g_hash_table_replace(facts, g_strdup_printf("%s.path", images[i].fact),
                             g_strdup(images[i].path));
        g_hash_table_replace(facts, g_strdup_printf("%s.sha256", images[i].fact), g_strdup(digest));
    }
    return TRUE;
}
