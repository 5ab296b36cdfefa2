/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/site-facts.h"

#include <string.h>
#include <sys/stat.h>

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

/* One that is there. */
typedef struct {
    gsize which; /* of programs */
    char *path;
    struct stat st;
    gboolean known; /* from an earlier time */
    char *version;  /* NULL: it did not tell */
} Program;

static void program_clear(gpointer data)
{
    Program *program = data;

    g_free(program->path);
    g_free(program->version);
}

static gint64 program_mtime_ns(const Program *program)
{
    return (gint64)program->st.st_mtim.tv_sec * CLOCK_NS_PER_S + program->st.st_mtim.tv_nsec;
}

/* The last line of VBoxManage is its version, after complaints; the first one of the others. */
static char *program_ask(const SiteFacts *site, gsize which)
{
    Wait wait = site_wait(site);
    g_autofree char *text = NULL;
    const char *line;

    if (!spawn_check(&wait, programs[which].argv, &text, NULL))
        return NULL;
    g_strstrip(text);
    if (g_str_equal(programs[which].name, "virtualbox")) {
        line = strrchr(text, '\n') != NULL ? strrchr(text, '\n') + 1 : text;
    } else {
        text[strcspn(text, "\n")] = '\0';
        line = text;
    }
    return *line != '\0' ? g_strdup(line) : NULL;
}

typedef struct {
    const SiteFacts *site;
    GArray *found; /* of Program */
    GThread *thread;
} Programs;

static gpointer ask_programs(gpointer data)
{
    const Programs *asked = data;

    for (guint i = 0; i < asked->found->len; i++) {
        Program *program = &g_array_index(asked->found, Program, i);

        if (!program->known)
            program->version = program_ask(asked->site, program->which);
    }
    return NULL;
}

/* Whether it can be found at all. What the store does not know, or cannot tell, is asked. */
static gboolean program_find(const SiteFacts *site, gsize which, Program *ret_program)
{
    Program program = {.which = which, .path = g_find_program_in_path(programs[which].argv[0])};

    if (program.path == NULL || stat(program.path, &program.st) != 0) {
        program_clear(&program);
        return FALSE;
    }
    program.known = site->store != NULL &&
                    store_program_version_get(
                        site->store, program.path, (guint64)program.st.st_size,
                        program_mtime_ns(&program), program.st.st_ino, &program.version, NULL) &&
                    program.version != NULL;
    *ret_program = program;
    return TRUE;
}

/* Each program takes longer to say its version than a hypervisor does: they are asked at the side.
 */
static void programs_begin(Programs *asked, const SiteFacts *site)
{
    Program program;

    asked->site = site;
    asked->found = g_array_new(FALSE, FALSE, sizeof(Program));
    g_array_set_clear_func(asked->found, program_clear);
    for (gsize i = 0; i < G_N_ELEMENTS(programs); i++)
        if (program_find(site, i, &program))
            g_array_append_val(asked->found, program);
    asked->thread = g_thread_new("programs", ask_programs, asked);
}

/* That it cannot be remembered costs the next campaign some milliseconds, no more. */
static void program_remember(const SiteFacts *site, const Program *program)
{
    g_autoptr(GError) error = NULL;

    if (site->store == NULL || program->known)
        return;
    if (!store_program_version_set(site->store, program->path, (guint64)program->st.st_size,
                                   program_mtime_ns(program), program->st.st_ino, program->version,
                                   &error))
        g_debug("%s", error->message);
}

static void programs_end(Programs *asked, GHashTable *facts)
{
    g_thread_join(asked->thread);
    for (guint i = 0; i < asked->found->len; i++) {
        const Program *program = &g_array_index(asked->found, Program, i);

        if (program->version == NULL)
            continue;
        g_hash_table_replace(facts, g_strconcat("program.", programs[program->which].name, NULL),
                             g_strdup(program->version));
        program_remember(asked->site, program);
    }
    g_array_unref(asked->found);
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
