/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/reader.h"

#include <string.h>
#include <unistd.h>

#include "guest/agent-link.h"
#include "host/tree.h"
#include "util/clock.h"
#include "util/cpulist.h"
#include "util/error.h"

/* A reading of a host with thousands of threads takes less than a second. */
static const gint64 answer_limit_ns = 10 * CLOCK_NS_PER_S;

struct Reader {
    AgentLink *link; /* NULL: lost */
    char *missing;   /* why this invocation has no evidence; with link NULL: no later one either */
    const EvidenceLimits *limits;
    char *cpus, *cgroup;
    GArray *pids, *observer; /* gint64 */
    gint64 id;
};

/* The cgroup that libvirt made for this guest, with its helpers in it, out of a line of
 * /proc/PID/cgroup ("0::/machine.slice/machine-qemu\x2d1\x2dg.scope/libvirt/emulator" of version 2,
 * "4:cpuset:/machine/qemu-1-g.libvirt-qemu/emulator"); NULL: none of its own. Transfer full. */
static char *machine_of(const char *line)
{
    g_auto(GStrv) fields = g_strsplit(line, ":", 3);
    g_auto(GStrv) parts =
        g_strv_length(fields) == 3 ? g_strsplit(fields[2], "/", -1) : g_new0(char *, 1);

    for (guint i = 1; parts[0] != NULL && parts[i] != NULL; i++) {
        if (!g_str_has_prefix(parts[i], "machine-") && !g_str_has_suffix(parts[i], ".libvirt-qemu"))
            continue;
        g_clear_pointer(&parts[i + 1], g_free);
        return g_strjoinv("/", parts);
    }
    return NULL;
}

static char *find_cgroup(gint64 pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%" G_GINT64_FORMAT "/cgroup", pid);
    g_autofree char *text = tree_read("", path);
    g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);
    char *found = NULL;

    for (char **line = lines; *line != NULL && found == NULL; line++)
        found = machine_of(*line);
    return found;
}

/* Its answer is waited for whatever becomes of the subject, and is no part of the invocation's
 * time; a signal ends the wait. */
static Wait answer_wait(const Wait *wait)
{
    return (Wait){.deadline_ns = clock_mono_ns() + answer_limit_ns,
                  .cancel = wait->cancel,
                  .guard_fd = -1,
                  .step = "evidence"};
}

/* No evidence, and why: borne where the plan says so. Takes reason over. */
static gboolean go_without(Reader *reader, char *reason, GError **error)
{
    g_free(reader->missing);
    reader->missing = reason;
    if (reader->limits->missing == EVIDENCE_MISSING_FLAG)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_FAILED,
                "no evidence of the host: %s; write evidence: {missing: flag} in the plan to go on "
                "without",
                reason);
    return FALSE;
}

/* The link has failed: the session is over. Takes why over. */
static gboolean lose(Reader *reader, GError *why, GError **error)
{
    g_autofree char *message = NULL;

    g_clear_pointer(&reader->link, agent_link_free);
    if (vm_error_is(why, VM_ERROR_CANCELLED)) {
        g_propagate_error(error, why);
        return FALSE;
    }
    message = g_strdup(why->message);
    g_error_free(why);
    return go_without(reader, g_steal_pointer(&message), error);
}

static gboolean start(Reader *reader, const char *agent, const Wait *wait, GError **error)
{
    const char *argv[] = {agent, "host-evidence", NULL};
    Wait answer = answer_wait(wait);
    GError *why = NULL;
    Channel *channel = channel_local_new(argv, NULL, NULL, &why);

    if (channel != NULL)
        reader->link = agent_link_new(channel);
    return (channel != NULL && agent_link_greet(reader->link, &answer, &why)) ||
           lose(reader, why, error);
}

Reader *reader_new(const ReaderSubject *subject, const Wait *wait, GError **error)
{
    g_autoptr(Reader) reader = g_new0(Reader, 1);
    gint64 own = getpid();

    reader->limits = subject->limits;
    reader->cpus = g_strdup(subject->cpus);
    reader->cgroup =
        subject->cgroup != NULL ? g_strdup(subject->cgroup) : find_cgroup(subject->pid);
    reader->pids = g_array_new(FALSE, FALSE, sizeof(gint64));
    reader->observer = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_array_append_val(reader->pids, subject->pid);
    g_array_append_val(reader->observer, own);
    return start(reader, subject->agent, wait, error) ? g_steal_pointer(&reader) : NULL;
}

void reader_free(Reader *reader)
{
    if (reader == NULL)
        return;
    agent_link_free(reader->link);
    g_free(reader->missing);
    g_free(reader->cpus);
    g_free(reader->cgroup);
    g_array_unref(reader->pids);
    g_array_unref(reader->observer);
    g_free(reader);
}

gboolean reader_begin(Reader *reader, const Wait *wait, GError **error)
{
    const AgentWatch watch = {.cpus = reader->cpus,
                              .pids = reader->pids,
                              .observer = reader->observer,
                              .cgroup = reader->cgroup};
    AgentPrepare outcome = AGENT_PREPARED;
    Wait answer = answer_wait(wait);
    g_autofree char *reason = NULL;
    GError *why = NULL;

    if (reader->link == NULL)
        return TRUE;
    g_clear_pointer(&reader->missing, g_free);
    if (!agent_link_watch_begin(reader->link, &answer, ++reader->id, &watch, &outcome, &reason,
                                &why))
        return lose(reader, why, error);
    return outcome == AGENT_PREPARED || go_without(reader, g_steal_pointer(&reason), error);
}

/* What was asked belongs to the record. */
static void complete(const Reader *reader, EvidenceRecord *record)
{
    g_autoptr(GArray) cpus = NULL;
    GString *pids = g_string_new(NULL);

    if (record->cpus == NULL || *record->cpus == '\0') {
        g_free(record->cpus);
        record->cpus = g_strdup(reader->cpus);
    }
    cpus = cpulist_parse(record->cpus);
    if (cpus != NULL && cpus->len > 0)
        record->n_cpus = cpus->len;
    for (guint i = 0; i < reader->pids->len; i++)
        g_string_append_printf(pids, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "",
                               g_array_index(reader->pids, gint64, i));
    record->pids = g_string_free(pids, FALSE);
    record->cgroup = g_strdup(reader->cgroup);
}

gboolean reader_end(Reader *reader, const Wait *wait, EvidenceRecord **ret_record,
                    char **ret_missing, GError **error)
{
    g_autoptr(EvidenceRecord) record = NULL;
    Wait answer = answer_wait(wait);
    GError *why = NULL;

    if (reader->link != NULL && reader->missing == NULL &&
        !agent_link_watch_end(reader->link, &answer, reader->id, &record, &why) &&
        !lose(reader, why, error))
        return FALSE;
    if (record == NULL)
        record = evidence_record_new();
    complete(reader, record);
    *ret_record = g_steal_pointer(&record);
    *ret_missing = g_strdup(reader->missing);
    return TRUE;
}

char *reader_refusal(const InventoryHypervisor *hypervisor, const Plan *plan)
{
    g_autoptr(GUri) uri = NULL;

    if (!plan->evidence.read || hypervisor->uri == NULL)
        return NULL;
    uri = g_uri_parse(hypervisor->uri, G_URI_FLAGS_NON_DNS, NULL);
    if (uri == NULL || g_uri_get_host(uri) == NULL || *g_uri_get_host(uri) == '\0')
        return NULL;
    return g_strdup_printf("hypervisor %s: its guests run on %s, where no reader of evidence is "
                           "(%s); run vmatrix there, or write evidence: off in the plan, which "
                           "leaves unproved that the host was idle",
                           hypervisor->name, g_uri_get_host(uri), hypervisor->uri);
}
