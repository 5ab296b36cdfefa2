/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The daemon's side of the agent protocol (schema/agent-protocol.md): JSON Lines over a Channel.
 * The guest is treated as hostile: line length, total size, nesting and time are bounded; a
 * malformed line fails the invocation with VM_ERROR_PROTOCOL and a clear reason (the line escaped
 * and cut). */
#pragma once
#include <glib.h>

#include "guest/channel.h"
#include "model/evidence.h"
#include "model/metric.h"
#include "model/twoclock.h"

#define AGENT_PROTOCOL 1
#define AGENT_LINE_MAX 1048576    /* bytes in one line */
#define AGENT_TOTAL_MAX 268435456 /* bytes in one session */

typedef enum {
    AGENT_HELLO,
    AGENT_PONG,
    AGENT_FACTS,
    AGENT_READY,
    AGENT_UNSUPPORTED,
    AGENT_FAILED,
    AGENT_BEGIN,
    AGENT_END,
    AGENT_SAMPLE,
    AGENT_RAW,
    AGENT_DONE,
    AGENT_BEGUN,
    AGENT_EVIDENCE,
    AGENT_BYE,
} AgentMessageType;

/* One decoded line. Strings are owned by the message. */
typedef struct {
    AgentMessageType type;
    gint64 id;         /* of a ping or of evidence, or invocation number; hello: protocol; bye:
                          invocations */
    gint64 guest_ns;   /* pong, begin, end */
    Metric metric;     /* sample; its workload is left NULL: the caller knows it */
    GArray *values;    /* double; sample: at least one, all finite */
    double iterations; /* sample: iterations behind each value, 0: not told */
    char *reason;      /* unsupported, failed */
    char *stream;      /* raw: "stdout", "stderr", "file:NAME" */
    GBytes *raw;       /* raw: decoded bytes */
    GHashTable *facts; /* char* -> char*: facts (keys dotted: "os.kernel"), and hello, whose members
                          become "agent.version", "agent.clock" …; else NULL */
    gint64 count;      /* done, bye: samples sent */
    char *flags;       /* done: comma-separated, may be empty */
    EvidenceRecord *evidence; /* evidence: the host's; done: the guest's own, or NULL */
} AgentMessage;

void agent_message_clear(AgentMessage *message);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AgentMessage, agent_message_clear)

/* Decode one line (without its newline). Pure; the fuzz target. ret_message must be zeroed; it may
 * be reused after agent_message_clear(). */
gboolean agent_message_decode(const char *line, gsize length, AgentMessage *ret_message,
                              GError **error);

/* The protocol's word for a type: "sample". */
const char *agent_message_type_name(AgentMessageType type);

typedef struct AgentLink AgentLink;

/* Takes ownership of channel. Once a function of the link has failed, the session cannot go on:
 * free the link. */
AgentLink *agent_link_new(Channel *channel);
void agent_link_free(AgentLink *link);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AgentLink, agent_link_free)

/* Read one message; messages of types the protocol does not know are an error. */
gboolean agent_link_read(AgentLink *link, const Wait *wait, AgentMessage *ret_message,
                         GError **error);

/* Wait for hello, check the protocol version, ask for facts. ret_facts: char* -> char*, hello's and
 * facts' together; transfer full. */
gboolean agent_link_hello(AgentLink *link, const Wait *wait, GHashTable **ret_facts,
                          GError **error);

/* n pings; ret_probes has room for n. */
gboolean agent_link_ping(AgentLink *link, const Wait *wait, guint n, ClockProbe *ret_probes,
                         GError **error);

typedef struct {
    gint64 number; /* invocation number, unique within the session */
    const char *bench;
    guint samples, warmup;
    guint copies, threads; /* at most one of them above 1 */
    gint64 sample_ns;      /* 0: the agent's default */
    gint64 limit_ns;       /* the agent gives up after this; the host's own deadline is in Wait */
    gint64 warmup_min_ns;  /* floor of the warm-up by accelerator; 0 for none */
    const char *folder;    /* work folder in the guest, or NULL */
} AgentRequest;

typedef enum { AGENT_PREPARED, AGENT_NOT_SUPPORTED, AGENT_REFUSED } AgentPrepare;

/* Send "run", wait until the agent has set up, calibrated and warmed up ("ready"). With the other
 * two outcomes *ret_reason (transfer full) says why. */
gboolean agent_link_prepare(AgentLink *link, const Wait *wait, const AgentRequest *request,
                            AgentPrepare *ret_prepare, char **ret_reason, GError **error);

/* As twoclock_judge() wants them: sent is the host's go in both. */
typedef struct {
    ClockProbe begin, end;
} AgentMarks;

/* Send "go", wait for begin, then in silence for end. Nothing is sent in between. *ret_reason is
 * set (transfer full) and the outcome AGENT_REFUSED when the agent says "failed" instead of "end".
 */
gboolean agent_link_measure(AgentLink *link, const Wait *wait, gint64 number, AgentMarks *ret_marks,
                            AgentPrepare *ret_outcome, char **ret_reason, GError **error);

/* Send "collect" and read the sample and raw lines up to "done"; each is given to the caller by
 * agent_link_read-like steps: returns TRUE with ret_message of type SAMPLE, RAW or DONE. Call until
 * DONE; DONE's count is checked against what was read. */
gboolean agent_link_collect(AgentLink *link, const Wait *wait, gint64 number, GError **error);
gboolean agent_link_next(AgentLink *link, const Wait *wait, gint64 number,
                         AgentMessage *ret_message, GError **error);

/* ---- the reader of the host's evidence ("vmatrix-agent host-evidence") ---- */

/* Wait for hello and check the protocol version; the reader has no facts. */
gboolean agent_link_greet(AgentLink *link, const Wait *wait, GError **error);

/* Whom to watch. Lists are of gint64 (process ids); observer and cgroup may be NULL. */
typedef struct {
    const char *cpus; /* of the subject: "0-1,4" */
    const GArray *pids, *observer;
    const char *cgroup;
} AgentWatch;

/* Have the first reading taken. With the outcomes other than AGENT_PREPARED *ret_reason (transfer
 * full) says why; another begin may follow. */
gboolean agent_link_watch_begin(AgentLink *link, const Wait *wait, gint64 id,
                                const AgentWatch *watch, AgentPrepare *ret_outcome,
                                char **ret_reason, GError **error);

/* Have the second reading taken. *ret_record: what lies between; its n_cpus is left at 1, and what
 * was asked is not in it. Transfer full. */
gboolean agent_link_watch_end(AgentLink *link, const Wait *wait, gint64 id,
                              EvidenceRecord **ret_record, GError **error);

/* ---- the end ---- */

/* Send "bye", read its answer, read to EOF, check exit status 0. */
gboolean agent_link_bye(AgentLink *link, const Wait *wait, GError **error);

/* What the agent wrote to standard error so far; owned by the link. */
const char *agent_link_errors(const AgentLink *link);
