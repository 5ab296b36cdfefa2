/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a line of the agent: refused with a reason that is fit to print, or a message that
 * keeps what the header promises. */
#include <glib.h>
#include <math.h>
#include <stdint.h>

#include "guest/agent-link.h"
#include "util/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_reason(const GError *error)
{
    g_assert_true(vm_error_is(error, VM_ERROR_PROTOCOL));
    g_assert_true(g_utf8_validate(error->message, -1, NULL));
    for (const char *at = error->message; *at != '\0'; at++)
        g_assert_false(g_ascii_iscntrl(*at));
}

static void require_clean(const char *text)
{
    g_assert_nonnull(text);
    g_assert_true(g_utf8_validate(text, -1, NULL));
    for (; *text != '\0'; text++)
        g_assert_false(g_ascii_iscntrl(*text));
}

static void require_facts(GHashTable *facts)
{
    GHashTableIter iter;
    gpointer key, value;

    g_assert_nonnull(facts);
    g_hash_table_iter_init(&iter, facts);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        require_clean(key);
        require_clean(value);
    }
}

static void require_sample(const AgentMessage *message)
{
    require_clean(message->metric.name);
    require_clean(message->metric.unit);
    g_assert_cmpuint(message->metric.revision, >=, 1);
    g_assert_true(isfinite(message->iterations) && message->iterations >= 0);
    g_assert_cmpuint(message->values->len, >=, 1);
    for (guint i = 0; i < message->values->len; i++)
        g_assert_true(isfinite(g_array_index(message->values, double, i)));
}

static void require_evidence(const EvidenceRecord *record)
{
    for (guint i = 0; i < evidence_numbers_length; i++)
        g_assert_cmpint(evidence_number_get(record, &evidence_numbers[i]), >=, EVIDENCE_ABSENT);
    for (guint i = 0; i < record->named->len; i++)
        require_clean(((EvidenceCulprit *)g_ptr_array_index(record->named, i))->name);
    for (guint i = 0; i < record->dmesg->len; i++)
        require_clean(g_ptr_array_index(record->dmesg, i));
}

/* Whatever it says can be judged. */
static void require_judged(const EvidenceRecord *record)
{
    g_auto(EvidenceVerdict) verdict = {0};
    EvidenceLimits limits;

    evidence_limits_init(&limits);
    evidence_judge(&limits, record, &verdict);
    if (verdict.reason != NULL)
        require_clean(verdict.reason);
}

static void require_message(const AgentMessage *message)
{
    g_assert_cmpint(message->id, >=, 0);
    g_assert_cmpint(message->count, >=, 0);
    g_assert_cmpint(message->guest_ns, >=, 0);
    if (message->type == AGENT_SAMPLE)
        require_sample(message);
    if (message->type == AGENT_HELLO || message->type == AGENT_FACTS)
        require_facts(message->facts);
    if (message->type == AGENT_UNSUPPORTED || message->type == AGENT_FAILED)
        require_clean(message->reason);
    if (message->evidence != NULL) {
        require_evidence(message->evidence);
        require_judged(message->evidence);
    }
    if (message->type == AGENT_RAW) {
        require_clean(message->stream);
        g_assert_nonnull(message->raw);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_auto(AgentMessage) message = {0};
    g_autoptr(GError) error = NULL;

    if (agent_message_decode((const char *)data, size, &message, &error))
        require_message(&message);
    else
        require_reason(error);
    return 0;
}
