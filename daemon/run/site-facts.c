/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/site-facts.h"

#include <string.h>

#include "guest/hypervisor.h"
#include "host/probe.h"
#include "util/clock.h"
#include "util/spawn.h"

static const gint64 answer_limit_ns = 10 * CLOCK_NS_PER_S;

static Wait site_wait(const SiteFacts *site)
{
    return (Wait){.deadline_ns = clock_mono_ns() + answer_limit_ns,
                  .cancel = site->cancel,
                  .guard_fd = -1,
                  .step = "facts"};
}

/* ---- programs ---- */

static const struct {
    const char *name;
    const char *argv[3];
} programs[] = {
    {"qemu", {"qemu-system-x86_64", "--version", NULL}},
    {"qemu-img", {"qemu-img", "--version", NULL}},
    {"virtualbox", {"VBoxManage", "--version", NULL}},
    {"vmware", {"vmware", "-v", NULL}},
    {"vmplayer", {"vmplayer", "-v", NULL}},
};

/* The last line of VBoxManage is its version, after complaints; the first one of the others. */
static void add_program(const SiteFacts *site, GHashTable *facts, const char *name,
                        const char *const *argv)
{
    Wait wait = site_wait(site);
    g_autofree char *found = g_find_program_in_path(argv[0]);
    g_autofree char *text = NULL;
    const char *line;

    if (found == NULL || !spawn_check(&wait, argv, &text, NULL))
        return;
    g_strstrip(text);
    if (g_str_equal(name, "virtualbox")) {
        line = strrchr(text, '\n') != NULL ? strrchr(text, '\n') + 1 : text;
    } else {
        text[strcspn(text, "\n")] = '\0';
        line = text;
    }
    if (*line != '\0')
        g_hash_table_replace(facts, g_strconcat("program.", name, NULL), g_strdup(line));
}

typedef struct {
    const SiteFacts *site;
    GHashTable *facts;
    GThread *thread;
} Programs;

static gpointer ask_programs(gpointer data)
{
    const Programs *asked = data;

    for (gsize i = 0; i < G_N_ELEMENTS(programs); i++)
        add_program(asked->site, asked->facts, programs[i].name, programs[i].argv);
    return NULL;
}

/* Each program takes longer to say its version than a hypervisor does: they are asked at the side.
 */
static void programs_begin(Programs *asked, const SiteFacts *site)
{
    asked->site = site;
    asked->facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    asked->thread = g_thread_new("programs", ask_programs, asked);
}

static void programs_end(Programs *asked, GHashTable *facts)
{
    GHashTableIter iter;
    gpointer name, value;

    g_thread_join(asked->thread);
    g_hash_table_iter_init(&iter, asked->facts);
    while (g_hash_table_iter_next(&iter, &name, &value)) {
        g_hash_table_replace(facts, name, value);
        g_hash_table_iter_steal(&iter);
    }
    g_hash_table_unref(asked->facts);
}

/* ---- hypervisors ---- */

static void add(GHashTable *facts, const char *hypervisor, const char *name, const char *value)
{
    if (value != NULL)
        g_hash_table_replace(facts, g_strdup_printf("hypervisor.%s.%s", hypervisor, name),
                             g_strdup(value));
}

static gboolean axis_has(const Plan *plan, const char *axis_name, const char *level_name)
{
    int index = plan_axis_index(plan, axis_name);
    const PlanAxis *axis = index >= 0 ? g_ptr_array_index(plan->axes, (guint)index) : NULL;

    for (guint i = 0; axis != NULL && i < axis->levels->len; i++)
        if (g_str_equal(((const PlanLevel *)g_ptr_array_index(axis->levels, i))->name, level_name))
            return TRUE;
    return FALSE;
}

static void add_hypervisor(const SiteFacts *site, GHashTable *facts,
                           const InventoryHypervisor *config)
{
    const struct hypervisor_ops *ops = hypervisor_driver(config->driver);
    g_autoptr(GHashTable) told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GError) error = NULL;
    g_autoptr(Hypervisor) hv = NULL;
    Wait wait = site_wait(site);

    if (ops != NULL && !ops->has_domain)
        return;
    add(facts, config->name, "driver", config->driver);
    hv = hypervisor_open(config, &wait, &error);
    if (hv == NULL || !hv->ops->facts(hv, NULL, told, &error)) {
        add(facts, config->name, "trouble", error->message);
        return;
    }
    add(facts, config->name, "uri", g_hash_table_lookup(told, "libvirt.uri"));
    add(facts, config->name, "libvirt", g_hash_table_lookup(told, "libvirt.version"));
    add(facts, config->name, "version", g_hash_table_lookup(told, "hypervisor.version"));
}

static void add_hypervisors(const SiteFacts *site, GHashTable *facts)
{
    for (guint i = 0; site->inventory != NULL && i < site->inventory->hypervisors->len; i++) {
        const InventoryHypervisor *config = g_ptr_array_index(site->inventory->hypervisors, i);

        if (site->plan == NULL || axis_has(site->plan, "hypervisor", config->name))
            add_hypervisor(site, facts, config);
    }
}

/* ---- where things lie ---- */

static void add_images(const SiteFacts *site, GHashTable *facts)
{
    for (guint i = 0; site->inventory != NULL && i < site->inventory->guests->len; i++) {
        const InventoryGuest *guest = g_ptr_array_index(site->inventory->guests, i);
        g_autofree char *role = g_strconcat("image-", guest->name, NULL);

        if (guest->disk != NULL &&
            (site->plan == NULL || axis_has(site->plan, "guest", guest->name)))
            host_facts_filesystem(site->root, role, guest->disk, facts);
    }
}

void site_facts(const SiteFacts *site, GHashTable *facts)
{
    Programs asked;

    programs_begin(&asked, site);
    add_hypervisors(site, facts);
    if (site->db_path != NULL)
        host_facts_filesystem(site->root, "database", site->db_path, facts);
    if (site->work != NULL)
        host_facts_filesystem(site->root, "work", site->work, facts);
    add_images(site, facts);
    programs_end(&asked, facts);
}

GHashTable *site_facts_read(const SiteFacts *site)
{
    GHashTable *facts = host_facts(site->root);

    site_facts(site, facts);
    return facts;
}
