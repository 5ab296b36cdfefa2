/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One attempt at one run: boots a subject, talks to its agent, and takes everything down again. A
 * table of steps is walked forward, each with a deadline; whatever happens, the steps that were
 * entered are unwound backward. */
#pragma once
#include <glib.h>

#include "guest/agent-link.h"
#include "guest/hypervisor.h"
#include "guest/overlay.h"
#include "guest/ssh.h"
#include "model/plan.h"
#include "run/gate.h"
#include "run/reader.h"
#include "store/store.h"
#include "util/wait.h"

/* What is to be booted. Strings and objects are borrowed and outlive the attempt. */
typedef struct {
    const InventoryHypervisor *hypervisor;
    const InventoryGuest *guest; /* NULL for bare */
    const Plan *plan;            /* limits, idle, repeat, cache */
    const GPtrArray *edits;      /* DomainEdit*, or NULL */
    const char *cmdline;         /* added to the guest's kernel command line, or NULL */
    guint vcpus;
    EmulatorPlace emulator;
    guint64 memory;         /* bytes; 0: the guest's default */
    const char *name;       /* "vmatrix-17": domain and folder name */
    const char *owner;      /* for the domain's metadata */
    const char *work;       /* folder that holds the run folders */
    const char *host_key;   /* pinned, or NULL to accept what comes */
    GBytes *agent;          /* bytes of the agent for the guest */
    const char *agent_path; /* the agent on this host, for bare and for evidence */
    Cancel *cancel;
    const GateSpec *gate; /* NULL: none, whatever the plan says */
} AttemptSpec;

typedef struct {
    const char *name; /* static */
    gint64 start_wall_ns;
    gint64 duration_ns;
} AttemptPhase;

typedef struct Attempt Attempt;
struct Attempt {
    AttemptSpec spec;
    char *uuid;
    const char *cpus;    /* host CPUs of the subject, borrowed of place; NULL: not pinned */
    struct Place *place; /* run/place.h */
    char *folder;
    char *overlay;     /* NULL: no disk */
    OverlayBase *base; /* what the overlay stands on; NULL: no disk */
    Hypervisor *hv;
    HvDomain *domain; /* NULL until defined; bare has none */
    HvAddress address;
    SshPeer *peer;
    char *host_key; /* what the guest showed */
    char *guest_folder;
    Channel *channel; /* to the started agent, until the link has it */
    AgentLink *link;
    Reader *reader;   /* NULL: evidence is off */
    gint64 local_pid; /* bare: of the agent */
    int guard_fd;     /* borrowed: pidfd of the subject, -1 */
    GHashTable *guest_facts, *hypervisor_facts;
    GArray *phases; /* AttemptPhase, in order */
    GString *flags; /* comma-separated */
    guint entered;  /* steps entered, for the unwinding */
    /* Told of each step, and how long it may take, before it acts; FALSE with error stops the
     * attempt there. May be NULL. */
    gboolean (*on_step)(void *data, const char *step, gint64 limit_ns, GError **error);
    void *on_step_data;
};

Attempt *attempt_new(const AttemptSpec *spec);
/* Unwinds whatever is still up, then frees. Accepts NULL. */
void attempt_free(Attempt *attempt);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Attempt, attempt_free)

typedef enum {
    ATTEMPT_AT_SSH,  /* up to an authenticated connection (enroll) */
    ATTEMPT_AT_AGENT /* up to a running agent */
} AttemptGoal;

/* Walk the steps up to the goal. The error is prefixed with the step's name and, where the
 * subject's process ended, says so and quotes the console's last line. */
gboolean attempt_start(Attempt *attempt, AttemptGoal goal, GError **error);

/* End the subject in good order (agent's bye, shutdown as the guest asks for) and unwind. The
 * attempt can only be freed afterwards. *ret_console (may be NULL): the guest's console, or NULL.
 */
gboolean attempt_end(Attempt *attempt, GBytes **ret_console, GError **error);

/* A wait for a step of this attempt: deadline from now, cancel token, guard. */
Wait attempt_wait(const Attempt *attempt, const char *step, gint64 limit_ns);

/* Add a flag once. */
void attempt_flag(Attempt *attempt, const char *flag);

/* Note a phase that began at mono_ns and ends now. */
void attempt_phase(Attempt *attempt, const char *name, gint64 since_mono_ns);

/* Make an error say that the subject's process ended, where it did, with the console's last line.
 */
void attempt_explain(Attempt *attempt, GError **error);

/* After a failure: read the console, then unwind everything at once. */
void attempt_end_broken(Attempt *attempt, GBytes **ret_console);
