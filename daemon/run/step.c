/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "guest/forward.h"
#include "host/probe.h"
#include "run/place.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fault.h"
#include "util/io.h"

enum { PORT_TRIES = 5 };

/* Undoing must not hang, and must not be cut short by the cancel that caused it. */
static const gint64 undo_limit_ns = 30 * CLOCK_NS_PER_S;
static const gint64 shutdown_limit_ns = 30 * CLOCK_NS_PER_S;

static Wait undo_wait(const char *step)
{
    return (Wait){.deadline_ns = clock_mono_ns() + undo_limit_ns, .guard_fd = -1, .step = step};
}

static void note(const char *step, GError **error)
{
    if (*error != NULL)
        g_warning("%s: %s", step, (*error)->message);
    g_clear_error(error);
}

static gint64 short_limit(const Attempt *attempt)
{
    return 60 * CLOCK_NS_PER_S;
}

static gint64 boot_limit(const Attempt *attempt)
{
    return attempt->spec.plan->limits.boot_ns;
}

static gint64 gate_limit(const Attempt *attempt)
{
    return attempt->spec.plan->idle.wait_ns + attempt->spec.plan->idle.settle_ns +
           60 * CLOCK_NS_PER_S;
}

/* ---- gate ---- */

/* How long it was not quiet, and how long it then took to be sure; nothing where it was quiet. */
static void note_gate(Attempt *attempt, const GateResult *result)
{
    gint64 offset = clock_wall_ns() - clock_mono_ns();
    const AttemptPhase phases[] = {
        {"gate-busy", result->began_ns + offset, result->quiet_ns - result->began_ns},
        {"gate-settle", result->quiet_ns + offset, result->ended_ns - result->quiet_ns},
    };

    if (result->quiet_ns > result->began_ns)
        g_array_append_vals(attempt->phases, phases, G_N_ELEMENTS(phases));
}

static gboolean gate_timed_out(Attempt *attempt, const GateResult *result, GError **error)
{
    const GateSpec *gate = attempt->spec.gate;
    g_autofree char *text = gate_explain(result);
    g_autofree char *told = NULL;

    if (gate->limits->on_timeout == ON_TIMEOUT_FAIL) {
        g_set_error(error, VM_ERROR, VM_ERROR_TIMEOUT,
                    "the host did not become idle: %s; stop that, or raise its limit or idle.wait "
                    "in the plan",
                    text);
        return FALSE;
    }
    attempt_flag(attempt, "host-busy");
    told = g_strdup_printf("the host did not become idle, going on as the plan says: %s", text);
    return gate->tell == NULL || gate->tell(gate->tell_data, FALSE, told, error);
}

static gboolean gate_enter(Attempt *attempt, const Wait *wait, GError **error)
{
    const GateSpec *gate = attempt->spec.gate;
    g_auto(GateResult) result = {0};

    if (gate == NULL || !gate->limits->gate)
        return TRUE;
    if (!gate_wait(wait, gate, &result, error))
        return FALSE;
    switch (result.outcome) {
    case GATE_OPEN:
        note_gate(attempt, &result);
        return TRUE;
    case GATE_TIMEOUT:
        note_gate(attempt, &result);
        return gate_timed_out(attempt, &result, error);
    case GATE_PAUSED:
        g_set_error(error, VM_ERROR, VM_ERROR_CANCELLED, "paused while waiting for an idle host");
        break;
    case GATE_LATE:
        g_set_error(error, VM_ERROR, VM_ERROR_CANCELLED,
                    "stop-by: too late to end in time, while waiting for an idle host");
        break;
    }
    return FALSE;
}

/* ---- folder ---- */

static gboolean folder_enter(Attempt *attempt, const Wait *wait, GError **error)
{
    attempt->folder = g_build_filename(attempt->spec.work, attempt->spec.name, NULL);
    /* What an earlier life of this run left there must never be taken for this run's. */
    if (!io_remove_tree(attempt->folder, error) || !io_make_folder(attempt->folder, error))
        return FALSE;
    /* The hypervisor's own user must pass through to the overlay; it need not list. */
    if (chmod(attempt->folder, 0711) != 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: chmod: %s", attempt->folder,
                    g_strerror(errno));
        return FALSE;
    }
    return TRUE;
}

static void folder_undo(Attempt *attempt)
{
    g_autoptr(GError) error = NULL;

    if (attempt->folder != NULL && !io_remove_tree(attempt->folder, &error))
        note("folder", &error);
}

/* ---- hypervisor connection ---- */

static gboolean connect_enter(Attempt *attempt, const Wait *wait, GError **error)
{
    attempt->hv = hypervisor_open(attempt->spec.hypervisor, wait, error);
    return attempt->hv != NULL;
}

static void connect_undo(Attempt *attempt)
{
    g_clear_pointer(&attempt->hv, hypervisor_free);
}

/* ---- overlay ---- */

static gboolean overlay_enter(Attempt *attempt, const Wait *wait, GError **error)
{
    const InventoryGuest *guest = attempt->spec.guest;

    if (guest->disk == NULL)
        return TRUE;
    attempt->base = overlay_base_probe(wait, guest->disk, guest->disk_format, error);
    if (attempt->base == NULL)
        return FALSE;
    attempt->overlay = g_build_filename(attempt->folder, "overlay.qcow2", NULL);
    return overlay_create(wait, attempt->overlay, guest->disk, attempt->base, error);
}

static void overlay_undo(Attempt *attempt)
{
    g_autoptr(GError) error = NULL;
    Wait wait = undo_wait("overlay");

    if (attempt->overlay != NULL && !overlay_remove(&wait, attempt->overlay, &error))
        note("overlay", &error);
}

/* ---- domain ---- */

/* The guest's own command line with what the cell adds; transfer full, or NULL. */
static char *whole_cmdline(const AttemptSpec *spec)
{
    const char *own = spec->guest->cmdline;

    if (spec->cmdline == NULL || *spec->cmdline == '\0')
        return g_strdup(own);
    return own != NULL ? g_strdup_printf("%s %s", own, spec->cmdline) : g_strdup(spec->cmdline);
}

static gboolean define_enter(Attempt *attempt, const Wait *wait, GError **error)
{
    const AttemptSpec *spec = &attempt->spec;
    g_autofree char *cmdline = whole_cmdline(spec);
    HvSpec hv_spec = {.hypervisor = spec->hypervisor,
                      .guest = spec->guest,
                      .name = (char *)spec->name,
                      .uuid = attempt->uuid,
                      .vcpus = spec->vcpus,
                      .memory = spec->memory,
                      .edits = spec->edits,
                      .cmdline = cmdline,
                      .overlay = attempt->overlay,
                      .base = attempt->base,
                      .folder = attempt->folder,
                      .owner = spec->owner,
                      .cpus = attempt->cpus,
                      .emulator = attempt->place->emulator,
                      .nodes = attempt->place->nodes};

    if (!place_check(attempt, error))
        return FALSE;
    if (spec->guest->address == ADDRESS_FORWARD && !forward_port_find(&hv_spec.forward_port, error))
        return FALSE;
    g_clear_pointer(&attempt->domain, hv_domain_free);
    attempt->domain = hv_domain_new();
    return attempt->hv->ops->define(attempt->hv, &hv_spec, attempt->domain, error);
}

static void define_undo(Attempt *attempt)
{
    g_autoptr(GError) error = NULL;

    if (attempt->domain != NULL && attempt->hv != NULL &&
        !attempt->hv->ops->undefine(attempt->hv, attempt->domain, &error))
        note("undefine", &error);
    attempt->guard_fd = -1;
    g_clear_pointer(&attempt->domain, hv_domain_free);
}

/* Start; where another process was quicker to take the forwarded port, with another port. */
static gboolean start_domain(Attempt *attempt, const Wait *wait, GError **error)
{
    for (guint tries = 1;; tries++) {
        g_autoptr(GError) local = NULL;

        if (attempt->hv->ops->start(attempt->hv, attempt->domain, wait, &local))
            return TRUE;
        if (!vm_error_is(local, VM_ERROR_BUSY) || tries == PORT_TRIES) {
            g_propagate_error(error, g_steal_pointer(&local));
            return FALSE;
        }
        if (!define_enter(attempt, wait, error))
            return FALSE;
    }
}

static gboolean start_enter(Attempt *attempt, const Wait *wait, GError **error)
{
    gint64 since = clock_mono_ns();

    if (!start_domain(attempt, wait, error))
        return FALSE;
    attempt_phase(attempt, "create", since);
    attempt->guard_fd = attempt->domain->pidfd;
    return attempt->hv->ops->facts(attempt->hv, attempt->domain, attempt->hypervisor_facts, error);
}

static void start_undo(Attempt *attempt)
{
    g_autoptr(GError) error = NULL;
    Wait wait = undo_wait("destroy");

    if (attempt->domain != NULL && attempt->domain->started &&
        !attempt->hv->ops->destroy(attempt->hv, attempt->domain, &wait, &error))
        note("destroy", &error);
}

static gboolean address_enter(Attempt *attempt, const Wait *wait, GError **error)
{
    return attempt->hv->ops->address(attempt->hv, attempt->domain, wait, &attempt->address, error);
}

/* ---- SSH ---- */

static gboolean ssh_enter(Attempt *attempt, const Wait *wait, GError **error)
{
    const InventoryGuest *guest = attempt->spec.guest;
    g_autofree char *console = attempt_console(attempt);
    SshTarget target = {.host = attempt->address.host,
                        .port = attempt->address.port,
                        .user = guest->user,
                        .key = guest->key,
                        .host_key = attempt->spec.host_key,
                        .guest = guest->name,
                        .console = console};
    g_auto(SshTimes) times = {0};
    gint64 since = clock_mono_ns();

    attempt->peer = ssh_peer_connect(&target, wait, &times, error);
    if (attempt->peer == NULL)
        return FALSE;
    attempt->host_key = g_strdup(times.host_key);
    AttemptPhase phases[] = {
        {"ssh-first-byte", clock_wall_ns() - (clock_mono_ns() - since),
         times.first_byte_ns - since},
        {"ssh-authenticated", clock_wall_ns() - (clock_mono_ns() - times.first_byte_ns),
         times.authenticated_ns - times.first_byte_ns},
    };
    g_array_append_vals(attempt->phases, phases, G_N_ELEMENTS(phases));
    return TRUE;
}

static void ssh_undo(Attempt *attempt)
{
    g_clear_pointer(&attempt->peer, ssh_peer_free);
}

static gboolean push_enter(Attempt *attempt, const Wait *wait, GError **error)
{
    attempt->channel = ssh_peer_start_agent(attempt->peer, wait, attempt->spec.guest->folder,
                                            attempt->spec.agent, &attempt->guest_folder, error);
    return attempt->channel != NULL;
}

static void push_undo(Attempt *attempt)
{
    g_clear_pointer(&attempt->channel, channel_free);
}

/* ---- agent ---- */

static gboolean link_up(Attempt *attempt, Channel *channel, const Wait *wait, GError **error)
{
    attempt->link = agent_link_new(channel);
    return agent_link_hello(attempt->link, wait, &attempt->guest_facts, error);
}

static gboolean agent_enter(Attempt *attempt, const Wait *wait, GError **error)
{
    return link_up(attempt, g_steal_pointer(&attempt->channel), wait, error);
}

static gboolean local_enter(Attempt *attempt, const Wait *wait, GError **error)
{
    const char *argv[] = {attempt->spec.agent_path, "session", NULL};
    int pidfd = -1;
    const Cgroup *cgroup = attempt->place->cgroup;
    Channel *channel = channel_local_joined(
        argv, attempt->cpus, cgroup != NULL ? cgroup_joins(cgroup) : NULL, &pidfd, error);

    if (channel == NULL)
        return FALSE;
    attempt->guard_fd = pidfd;
    attempt->local_pid = channel_local_pid(channel);
    place_confirm(attempt, attempt->local_pid);
    return link_up(attempt, channel, wait, error);
}

static void agent_undo(Attempt *attempt)
{
    if (attempt->spec.guest == NULL)
        attempt->guard_fd = -1; /* the channel owns it */
    g_clear_pointer(&attempt->link, agent_link_free);
}

/* ---- evidence ---- */

static gboolean evidence_enter(Attempt *attempt, const Wait *wait, GError **error)
{
    g_autofree char *allowed = host_cpus_allowed();
    const ReaderSubject subject = {
        .agent = attempt->spec.agent_path,
        .cpus = attempt->cpus != NULL ? attempt->cpus : allowed,
        .pid = attempt->domain != NULL ? attempt->domain->pid : attempt->local_pid,
        .cgroup = attempt->place->cgroup != NULL ? cgroup_path(attempt->place->cgroup) : NULL,
        .limits = &attempt->spec.plan->evidence};

    if (!subject.limits->read)
        return TRUE;
    attempt->reader = reader_new(&subject, wait, error);
    return attempt->reader != NULL;
}

static void evidence_undo(Attempt *attempt)
{
    g_clear_pointer(&attempt->reader, reader_free);
}

/* ---- the table ---- */

const struct step_ops step_table[] = {
    {.name = "gate", .goal = ATTEMPT_AT_SSH, .limit = gate_limit, .enter = gate_enter},
    {.name = "folder",
     .goal = ATTEMPT_AT_SSH,
     .limit = short_limit,
     .enter = folder_enter,
     .undo = folder_undo},
    {.name = "connect",
     .goal = ATTEMPT_AT_SSH,
     .limit = short_limit,
     .enter = connect_enter,
     .undo = connect_undo},
    {.name = "overlay",
     .scope = STEP_DOMAIN,
     .goal = ATTEMPT_AT_SSH,
     .limit = short_limit,
     .enter = overlay_enter,
     .undo = overlay_undo},
    {.name = "define",
     .scope = STEP_DOMAIN,
     .goal = ATTEMPT_AT_SSH,
     .limit = short_limit,
     .enter = define_enter,
     .undo = define_undo},
    {.name = "start",
     .scope = STEP_DOMAIN,
     .goal = ATTEMPT_AT_SSH,
     .limit = boot_limit,
     .enter = start_enter,
     .undo = start_undo},
    {.name = "address",
     .scope = STEP_DOMAIN,
     .goal = ATTEMPT_AT_SSH,
     .limit = boot_limit,
     .enter = address_enter},
    {.name = "ssh",
     .scope = STEP_DOMAIN,
     .goal = ATTEMPT_AT_SSH,
     .limit = boot_limit,
     .enter = ssh_enter,
     .undo = ssh_undo},
    {.name = "push",
     .scope = STEP_DOMAIN,
     .goal = ATTEMPT_AT_AGENT,
     .limit = short_limit,
     .enter = push_enter,
     .undo = push_undo},
    {.name = "agent",
     .scope = STEP_DOMAIN,
     .goal = ATTEMPT_AT_AGENT,
     .limit = short_limit,
     .enter = agent_enter,
     .undo = agent_undo},
    {.name = "cgroup",
     .scope = STEP_BARE,
     .goal = ATTEMPT_AT_AGENT,
     .limit = short_limit,
     .enter = place_enter,
     .undo = place_undo},
    {.name = "process",
     .scope = STEP_BARE,
     .goal = ATTEMPT_AT_AGENT,
     .limit = short_limit,
     .enter = local_enter,
     .undo = agent_undo},
    {.name = "evidence",
     .goal = ATTEMPT_AT_AGENT,
     .limit = short_limit,
     .enter = evidence_enter,
     .undo = evidence_undo},
};
const guint step_table_length = G_N_ELEMENTS(step_table);

/* ---- taking down ---- */

static gboolean say_bye(Attempt *attempt, GError **error)
{
    Wait wait = attempt_wait(attempt, "bye", 10 * CLOCK_NS_PER_S);

    if (attempt->link == NULL || agent_link_bye(attempt->link, &wait, error))
        return TRUE;
    attempt_explain(attempt, error);
    return FALSE;
}

static gboolean shut_down(Attempt *attempt, GError **error)
{
    Wait wait = {.deadline_ns = clock_mono_ns() + shutdown_limit_ns,
                 .cancel = attempt->spec.cancel,
                 .guard_fd = -1,
                 .step = "shutdown"};
    gboolean forced = FALSE;

    if (attempt->domain == NULL || !attempt->domain->started)
        return TRUE;
    if (!attempt->hv->ops->shutdown(attempt->hv, attempt->domain, &wait, &forced, error))
        return FALSE;
    if (forced)
        attempt_flag(attempt, "forced");
    return TRUE;
}

gboolean step_take_down(Attempt *attempt, GError **error)
{
    fault_point("bye", "before");
    if (!say_bye(attempt, error))
        return FALSE;
    fault_point("bye", "after");
    agent_undo(attempt);
    ssh_undo(attempt);
    fault_point("shutdown", "before");
    if (!shut_down(attempt, error))
        return FALSE;
    fault_point("shutdown", "after");
    return TRUE;
}
