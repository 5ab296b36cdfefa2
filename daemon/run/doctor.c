/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/doctor.h"

#include <string.h>
#include <unistd.h>

#include "guest/kvm.h"
#include "host/probe.h"
#include "run/engine.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/io.h"
#include "util/spawn.h"
#include "util/text.h"

/* An overlay of a small guest grows by some tens of MB in a boot; below the first nothing works,
 * below the second a night of runs may end early. */
static const guint64 space_needed = 256 << 20;
static const guint64 space_wanted = G_GUINT64_CONSTANT(2) << 30;

static void finding_free(gpointer data)
{
    DoctorFinding *finding = data;

    g_free(finding->check);
    g_free(finding->message);
    g_free(finding->way_out);
    g_free(finding);
}

const char *doctor_level_name(DoctorLevel level)
{
    static const char *const names[] = {"ok", "warning", "missing"};

    return names[level];
}

void doctor_add(GPtrArray *findings, DoctorLevel level, const char *check, char *message,
                char *way_out)
{
    DoctorFinding *finding = g_new0(DoctorFinding, 1);

    finding->level = level;
    finding->check = g_strdup(check);
    finding->message = message;
    finding->way_out = way_out;
    g_ptr_array_add(findings, finding);
}

Wait doctor_wait(const DoctorSubject *subject, const char *step)
{
    return (Wait){.deadline_ns = clock_mono_ns() + 20 * CLOCK_NS_PER_S,
                  .cancel = subject->cancel,
                  .guard_fd = -1,
                  .step = step};
}

/* ---- this host ---- */

static void check_host(const DoctorSubject *subject, GPtrArray *findings)
{
    g_autoptr(GHashTable) facts = host_facts("");
    const char *below = g_hash_table_lookup(facts, "virtualisation");
    const char *cpus = g_hash_table_lookup(facts, "cpu.online");
    const char *clock = g_hash_table_lookup(facts, "clocksource");

    if (below != NULL && !g_str_equal(below, "none"))
        doctor_add(findings, DOCTOR_WARNING, "host",
                   g_strdup_printf("this host is itself a guest (%s)", below),
                   g_strdup("run on the metal: here results say nothing about hardware"));
    else
        doctor_add(findings, DOCTOR_OK, "host",
                   g_strdup_printf("CPUs online: %s", cpus != NULL ? cpus : "not told"), NULL);
    if (clock != NULL && !g_str_equal(clock, "tsc") && !g_str_equal(clock, "kvm-clock"))
        doctor_add(findings, DOCTOR_WARNING, "clock",
                   g_strdup_printf("the host's clock source is %s", clock),
                   g_strdup("a slow clock source makes short samples noisy; see the kernel's log "
                            "for why the TSC is not used"));
}

static gboolean inventory_wants(const Inventory *inventory, Accelerator accelerator)
{
    for (guint i = 0; inventory != NULL && i < inventory->hypervisors->len; i++) {
        const InventoryHypervisor *config = g_ptr_array_index(inventory->hypervisors, i);

        if (config->accelerator == accelerator)
            return TRUE;
    }
    return FALSE;
}

static void check_kvm(const DoctorSubject *subject, GPtrArray *findings)
{
    g_autofree char *why = NULL;
    KvmState state = kvm_probe("/dev/kvm", &why);
    gboolean wanted = inventory_wants(subject->inventory, ACCELERATOR_KVM);

    if (state == KVM_USABLE)
        doctor_add(findings, DOCTOR_OK, "accelerator", g_strdup("KVM works"), NULL);
    else
        doctor_add(findings, wanted ? DOCTOR_MISSING : DOCTOR_WARNING, "accelerator",
                   g_steal_pointer(&why),
                   g_strdup(state == KVM_FORBIDDEN
                                ? "add yourself to the group kvm"
                                : "enable virtualisation in the firmware and load kvm_intel or "
                                  "kvm_amd; or ask for emulation: accelerator: tcg"));
}

/* ---- folders ---- */

static void check_database(const DoctorSubject *subject, GPtrArray *findings)
{
    g_autofree char *folder = g_path_get_dirname(subject->db_path);
    g_autofree char *parent = g_strdup(folder);

    if (subject->store != NULL) {
        gboolean writable = access(subject->db_path, W_OK) == 0;

        doctor_add(findings, writable ? DOCTOR_OK : DOCTOR_MISSING, "database",
                   g_strdup_printf("%s can be %s", subject->db_path,
                                   writable ? "read and written" : "read, not written"),
                   writable ? NULL : g_strdup("run as its owner, or name another by --db"));
        return;
    }
    while (!g_file_test(parent, G_FILE_TEST_EXISTS)) {
        char *up = g_path_get_dirname(parent);

        g_free(parent);
        parent = up;
    }
    gboolean creatable = access(parent, W_OK | X_OK) == 0;

    doctor_add(findings, creatable ? DOCTOR_OK : DOCTOR_MISSING, "database",
               g_strdup_printf("%s does not exist yet%s", subject->db_path,
                               creatable ? "" : " and cannot be made"),
               creatable
                   ? NULL
                   : g_strdup_printf("name another by --db: %s cannot be written to", parent));
}

static void check_space(const DoctorSubject *subject, GPtrArray *findings)
{
    g_autofree char *folder = g_path_get_dirname(subject->db_path);
    const char *path = subject->work != NULL ? subject->work : folder;
    g_autoptr(GError) error = NULL;
    g_autofree char *size = NULL;
    guint64 free_bytes;
    DoctorLevel level;

    if (!host_free_space(path, &free_bytes, &error)) {
        doctor_add(findings, DOCTOR_MISSING, "space", g_strdup(error->message),
                   g_strdup("name another database or folder by --db or --work"));
        return;
    }
    size = text_format_size(free_bytes);
    level = free_bytes < space_needed   ? DOCTOR_MISSING
            : free_bytes < space_wanted ? DOCTOR_WARNING
                                        : DOCTOR_OK;
    doctor_add(findings, level, "space", g_strdup_printf("%s free for %s", size, path),
               level == DOCTOR_OK ? NULL
                                  : g_strdup("make room: overlays and the database grow there"));
}

/* ---- programs ---- */

/* First line of what argv prints, or NULL when it does not run. Transfer full. */
static char *first_line(const DoctorSubject *subject, const char *const *argv, GError **error)
{
    Wait wait = doctor_wait(subject, argv[0]);
    g_autofree char *text = NULL;

    if (!spawn_check(&wait, argv, &text, error))
        return NULL;
    text[strcspn(text, "\n")] = '\0';
    return g_steal_pointer(&text);
}

static void check_agent(const DoctorSubject *subject, GPtrArray *findings)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *agent = engine_agent_find(&error);
    const char *const argv[] = {agent, "version", NULL};
    g_autofree char *line = agent != NULL ? first_line(subject, argv, &error) : NULL;

    if (line == NULL)
        doctor_add(findings, DOCTOR_MISSING, "agent", g_strdup(error->message),
                   g_strdup("build it (ninja), install vmatrix, or set VMATRIX_AGENT"));
    else
        doctor_add(findings, DOCTOR_OK, "agent", g_strdup_printf("%s: %s", agent, line), NULL);
}

static gboolean inventory_has_disk(const Inventory *inventory)
{
    for (guint i = 0; inventory != NULL && i < inventory->guests->len; i++) {
        const InventoryGuest *guest = g_ptr_array_index(inventory->guests, i);

        if (guest->disk != NULL)
            return TRUE;
    }
    return FALSE;
}

static void check_program(const DoctorSubject *subject, GPtrArray *findings, const char *name,
                          DoctorLevel without, const char *way_out)
{
    const char *const argv[] = {name, "--version", NULL};
    g_autoptr(GError) error = NULL;
    g_autofree char *line = first_line(subject, argv, &error);

    if (line != NULL)
        doctor_add(findings, DOCTOR_OK, name, g_steal_pointer(&line), NULL);
    else
        doctor_add(findings, without, name, g_strdup(error->message), g_strdup(way_out));
}

static void check_programs(const DoctorSubject *subject, GPtrArray *findings)
{
    check_program(subject, findings, "qemu-img",
                  inventory_has_disk(subject->inventory) ? DOCTOR_MISSING : DOCTOR_WARNING,
                  "apt-get install qemu-utils: guests with a disk need it");
    check_program(subject, findings, "gnuplot", DOCTOR_WARNING,
                  "apt-get install gnuplot-nox: figures need it");
}

/* ---- all ---- */

static void check_inventory(const DoctorSubject *subject, GPtrArray *findings)
{
    if (subject->inventory != NULL)
        doctor_add(findings, DOCTOR_OK, "inventory",
                   g_strdup_printf("%s: %u hypervisors, %u guests", subject->inventory->path,
                                   subject->inventory->hypervisors->len,
                                   subject->inventory->guests->len),
                   NULL);
    else
        doctor_add(findings, DOCTOR_WARNING, "inventory", g_strdup("there is none"),
                   g_strdup("name one by --inventory; configs/inventory/ has examples"));
}

static const DoctorCheck checks[] = {
    check_host,          check_inventory,   check_kvm,      doctor_check_hypervisors,
    doctor_check_guests, doctor_check_keys, check_database, check_space,
    check_agent,         check_programs,
};

GPtrArray *doctor_examine(const DoctorSubject *subject)
{
    GPtrArray *findings = g_ptr_array_new_with_free_func(finding_free);

    for (gsize i = 0; i < G_N_ELEMENTS(checks) && !cancel_is_set(subject->cancel); i++)
        checks[i](subject, findings);
    return findings;
}
