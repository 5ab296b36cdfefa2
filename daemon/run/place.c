/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/place.h"

#include "util/error.h"
#include "util/io.h"

/* Names the control groups' folders, one a line, as long as there are any. */
#define NOTE "cgroup"

enum { NOTE_MAX = 64 * 1024 };

/* ---- CPUs and nodes ---- */

static void add(Attempt *attempt, const char *name, const char *value)
{
    if (value != NULL)
        g_hash_table_replace(attempt->hypervisor_facts, g_strconcat("subject.", name, NULL),
                             g_strdup(value));
}

static gboolean has_nodes(void)
{
    g_autoptr(GArray) all = topology_read("", NULL);

    for (guint i = 0; i < all->len; i++)
        if (g_array_index(all, TopologyCpu, i).node != g_array_index(all, TopologyCpu, 0).node)
            return TRUE;
    return FALSE;
}

static void add_facts(const Place *place, Attempt *attempt)
{
    const CpuPick *pick = &place->pick;
    gboolean aside = attempt->spec.emulator == EMULATOR_ON_HOUSEKEEPING;

    add(attempt, "cpus", pick->cpus != NULL ? pick->cpus : "not pinned");
    add(attempt, "housekeeping", pick->housekeeping);
    add(attempt, "quiet", pick->quiet);
    add(attempt, "nodes", place->nodes);
    if (attempt->spec.guest == NULL)
        return;
    add(attempt, "emulator", aside ? "housekeeping" : "subject");
    add(attempt, "emulator.cpus", place->emulator != NULL ? place->emulator : "not pinned");
    if (aside && pick->shared)
        attempt_flag(attempt, "housekeeping-on-siblings");
}

void place_init(Place *place, Attempt *attempt)
{
    const AttemptSpec *spec = &attempt->spec;

    *place = (Place){0};
    if (cpu_pick_here(spec->vcpus, spec->plan->subject.smt, &place->pick)) {
        place->emulator = spec->emulator == EMULATOR_ON_HOUSEKEEPING ? place->pick.housekeeping
                                                                     : place->pick.cpus;
        place->nodes = has_nodes() ? place->pick.nodes : NULL;
    }
    add_facts(place, attempt);
}

void place_finish(Place *place)
{
    g_clear_pointer(&place->cgroup, cgroup_free);
    cpu_pick_clear(&place->pick);
}

static char *nothing_left(guint vcpus)
{
    return g_strdup_printf("emulator threads on housekeeping CPUs: %u vCPUs take all CPUs that "
                           "vmatrix may use; take fewer vcpus, or emulator: subject",
                           vcpus);
}

gboolean place_check(const Attempt *attempt, GError **error)
{
    const Place *place = attempt->place;
    g_autofree char *why = NULL;

    if (place->pick.cpus == NULL || place->emulator != NULL)
        return TRUE;
    why = nothing_left(attempt->spec.vcpus);
    g_set_error_literal(error, VM_ERROR, VM_ERROR_ENVIRONMENT, why);
    return FALSE;
}

typedef enum { ROOM_UNKNOWN, ROOM_NONE, ROOM_SUBJECT, ROOM_BOTH } Room;

GHashTable *place_memo_new(void)
{
    return g_hash_table_new(NULL, NULL);
}

static Room find_room(GHashTable *memo, const Plan *plan, guint vcpus)
{
    Room room = GPOINTER_TO_INT(g_hash_table_lookup(memo, GUINT_TO_POINTER(vcpus)));
    g_auto(CpuPick) pick = {0};

    if (room != ROOM_UNKNOWN)
        return room;
    if (!cpu_pick_here(vcpus, plan->subject.smt, &pick))
        room = ROOM_NONE;
    else
        room = pick.housekeeping != NULL ? ROOM_BOTH : ROOM_SUBJECT;
    g_hash_table_insert(memo, GUINT_TO_POINTER(vcpus), GINT_TO_POINTER(room));
    return room;
}

char *place_refusal(GHashTable *memo, const Plan *plan, guint vcpus, gboolean bare,
                    EmulatorPlace emulator)
{
    Room room = find_room(memo, plan, vcpus);

    if (bare && room == ROOM_NONE)
        return g_strdup_printf("bare with %u CPUs: this host gives fewer to vmatrix", vcpus);
    if (!bare && room == ROOM_SUBJECT && emulator == EMULATOR_ON_HOUSEKEEPING)
        return nothing_left(vcpus);
    return NULL;
}

/* ---- the control group of a bare cell ---- */

/* Written before there is a group, so that the next start finds it after a crash. */
static gboolean write_note(const Attempt *attempt, const Cgroup *cgroup, GError **error)
{
    g_autofree char *path = g_build_filename(attempt->folder, NOTE, NULL);
    const GPtrArray *folders = cgroup_folders(cgroup);
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = 0; i < folders->len; i++)
        g_string_append_printf(text, "%s\n", (const char *)g_ptr_array_index(folders, i));
    return io_replace_file(path, text->str, text->len, 0600, error);
}

static void tell_lack(Attempt *attempt, const char *lacks)
{
    g_message("the bare subject runs without: %s", lacks);
    add(attempt, "cgroup.lacks", lacks);
    attempt_flag(attempt, "no-cgroup");
}

gboolean place_enter(Attempt *attempt, const Wait *wait, GError **error)
{
    Place *place = attempt->place;
    const CgroupSpec spec = {.name = attempt->spec.name,
                             .cpus = place->pick.cpus,
                             .nodes = place->nodes,
                             .memory = attempt->spec.memory};
    g_autoptr(Cgroup) cgroup = cgroup_new("", &spec);
    g_autofree char *lacks = NULL;
    g_autofree char *memory = g_strdup_printf("%" G_GUINT64_FORMAT, spec.memory);

    if (!write_note(attempt, cgroup, error))
        return FALSE;
    if (cgroup_make(cgroup, &lacks))
        place->cgroup = g_steal_pointer(&cgroup);
    if (lacks != NULL)
        tell_lack(attempt, lacks);
    add(attempt, "cgroup", place->cgroup != NULL ? cgroup_path(place->cgroup) : "none");
    add(attempt, "memory", spec.memory > 0 ? memory : "not limited");
    return TRUE;
}

void place_undo(Attempt *attempt)
{
    g_clear_pointer(&attempt->place->cgroup, cgroup_free);
}

void place_confirm(Attempt *attempt, gint64 pid)
{
    const Cgroup *cgroup = attempt->place->cgroup;

    if (cgroup != NULL && !cgroup_holds(cgroup, (pid_t)pid))
        tell_lack(attempt, "its process is not in the control group");
}

gboolean place_recover(const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, NOTE, NULL);
    g_autofree char *text = io_read_file(path, NOTE_MAX, NULL, NULL);
    g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);

    for (char **line = lines; *line != NULL; line++)
        if (**line == '/' && !cgroup_remove(*line, error))
            return FALSE;
    return TRUE;
}
