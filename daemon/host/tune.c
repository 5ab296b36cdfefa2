/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/tune.h"

#include <string.h>

#include "host/tree.h"
#include "util/fault.h"
#include "util/text.h"

static const char *const state_names[] = {
    [TUNE_JOURNALLED] = "journalled",
    [TUNE_SET] = "set",
    [TUNE_HELD] = "held",
    [TUNE_SAME] = "same",
    [TUNE_ABSENT] = "absent",
    [TUNE_REFUSED] = "refused",
    [TUNE_RESTORED] = "restored",
    [TUNE_RELEASED] = "released",
    [TUNE_LEFT] = "left",
    [TUNE_REBOOTED] = "rebooted",
    [TUNE_STUCK] = "stuck",
};

const char *tune_state_name(TuneState state)
{
    return state_names[state];
}

TuneState tune_state_of(const char *name)
{
    for (guint i = 0; i < G_N_ELEMENTS(state_names); i++)
        if (strcmp(state_names[i], name) == 0)
            return (TuneState)i;
    return TUNE_STUCK;
}

char *tune_boot_id(const char *root)
{
    char *id = tree_read(root, "/proc/sys/kernel/random/boot_id");

    return id != NULL ? id : g_strdup("");
}

/* ---- setting ---- */

typedef struct {
    const KnobHost *host;
    const TuneJournal *journal;
    char *boot_id;
} Apply;

/* A row of something that was not changed. */
static gboolean note_unchanged(const Apply *apply, const Knob *knob, const char *target,
                               const char *got, TuneState state, const char *reason, GError **error)
{
    const TuneChange change = {.boot_id = apply->boot_id,
                               .knob = knob->name,
                               .target = target,
                               .got = got,
                               .state = state,
                               .reason = reason};
    gint64 id;

    return apply->journal->add(apply->journal->data, &change, &id, error);
}

/* After the write: what is there now, and what that means. */
static gboolean note_outcome(const Apply *apply, const Knob *knob, const TuneChange *change,
                             const GError *refusal, GError **error)
{
    g_autoptr(GError) unread = NULL;
    g_autofree char *got = NULL;
    g_autofree char *differs = NULL;
    TuneState state = TUNE_SET;

    if (!knob->kind->read(apply->host, change->target, &got, &unread) || got == NULL)
        differs = g_strdup_printf("it cannot be read back: %s",
                                  unread != NULL ? unread->message : "it is gone");
    else if (refusal != NULL && knob_same(knob, got, change->old))
        state = TUNE_REFUSED;
    else if (refusal == NULL && !knob_same(knob, got, change->wanted)) {
        g_autofree char *shown = knob_canonical(knob, got);

        differs = g_strdup_printf("it became %s", shown);
    }
    return apply->journal->note(apply->journal->data, change->id, state, got,
                                refusal != NULL ? refusal->message : differs, error);
}

/* The order is the point: journal on the disk, write, read back, journal. */
static gboolean change_target(const Apply *apply, const Knob *knob, TuneChange *change,
                              GError **error)
{
    g_autoptr(GError) refusal = NULL;

    if (!apply->journal->add(apply->journal->data, change, &change->id, error))
        return FALSE;
    fault_point("knob-write", "before");
    knob->kind->write(apply->host, change->target, change->wanted, &refusal);
    fault_point("knob-write", "after");
    return note_outcome(apply, knob, change, refusal, error);
}

static gboolean hold_target(const Apply *apply, const Knob *knob, const char *target,
                            const char *wanted, GError **error)
{
    g_autoptr(GError) refusal = NULL;
    g_autofree char *got = NULL;

    if (!knob->kind->write(apply->host, target, wanted, &refusal))
        return note_unchanged(apply, knob, target, NULL, TUNE_REFUSED, refusal->message, error);
    knob->kind->read(apply->host, target, &got, NULL);
    return note_unchanged(apply, knob, target, got, TUNE_HELD, NULL, error);
}

/* What is there is known: is it to be changed? */
static gboolean apply_value(const Apply *apply, const Knob *knob, const char *target,
                            const char *value, const char *old, GError **error)
{
    g_autofree char *now = knob_canonical(knob, old);
    g_autofree char *wanted = knob->want(apply->host, value, now);
    TuneChange change = {.boot_id = apply->boot_id,
                         .knob = knob->name,
                         .target = target,
                         .old = old,
                         .wanted = wanted,
                         .state = TUNE_JOURNALLED};

    if (wanted == NULL)
        return TRUE;
    if (knob->kind->held)
        return hold_target(apply, knob, target, wanted, error);
    if (knob_same(knob, old, wanted))
        return note_unchanged(apply, knob, target, old, TUNE_SAME, NULL, error);
    return change_target(apply, knob, &change, error);
}

/* "notsupported" in "notsupported notimplemented" */
static gboolean says_none(const Knob *knob, const char *text)
{
    g_auto(GStrv) words = knob->none != NULL ? g_strsplit(knob->none, " ", -1) : NULL;
    g_autofree char *word = knob_canonical(knob, text);

    return words != NULL && g_strv_contains((const char *const *)words, word);
}

/* NULL: it may be set. Transfer full. */
static char *forbidden_why(const KnobHost *host, const Knob *knob, const char *target)
{
    if (knob->kind->held && host->held == NULL)
        return g_strdup("it can be held only while a campaign runs");
    return knob->kind->forbids != NULL ? knob->kind->forbids(host, target) : NULL;
}

/* *found is set when the machine has this. */
static gboolean apply_target(const Apply *apply, const Knob *knob, const char *target,
                             const char *value, gboolean *found, GError **error)
{
    g_autoptr(GError) unread = NULL;
    g_autofree char *old = NULL;
    g_autofree char *forbidden = forbidden_why(apply->host, knob, target);

    if (forbidden != NULL) {
        *found = TRUE;
        return note_unchanged(apply, knob, target, NULL, TUNE_REFUSED, forbidden, error);
    }
    if (!knob->kind->read(apply->host, target, &old, &unread)) {
        *found = TRUE;
        return note_unchanged(apply, knob, target, NULL, TUNE_REFUSED, unread->message, error);
    }
    if (old == NULL)
        return TRUE;
    *found = TRUE;
    if (says_none(knob, old))
        return note_unchanged(apply, knob, target, old, TUNE_ABSENT,
                              "the kernel says that this machine has none", error);
    return apply_value(apply, knob, target, value, old, error);
}

/* irq and isolate have no meaning without them. */
static const char *lacks_cpus(const KnobHost *host, TuneKey key)
{
    if (key != TUNE_IRQ && key != TUNE_ISOLATE)
        return NULL;
    if (host->cpus == NULL)
        return "the CPUs that are to be kept free are not known: say cpus";
    return host->housekeeping == NULL ? "no CPU would be left for everything else" : NULL;
}

static gboolean apply_row(const Apply *apply, const Knob *knob, const char *value, gboolean *found,
                          GError **error)
{
    g_autoptr(GPtrArray) targets = g_ptr_array_new_with_free_func(g_free);

    knob->kind->find(apply->host, knob, value, targets);
    for (guint i = 0; i < targets->len; i++)
        if (!apply_target(apply, knob, g_ptr_array_index(targets, i), value, found, error))
            return FALSE;
    return TRUE;
}

static gboolean needs_systemd(const Knob *knob)
{
    return knob->kind == &knob_unit || knob->kind == &knob_sleep;
}

/* The rows of one key: it is absent only when none of them finds anything. */
static gboolean apply_key(const Apply *apply, TuneKey key, const char *value, GError **error)
{
    const char *lacks = lacks_cpus(apply->host, key);
    const Knob *last = NULL;
    gboolean found = FALSE;
    gsize n;
    const Knob *table = knob_table(&n);

    for (gsize i = 0; i < n; i++) {
        if (table[i].key != key)
            continue;
        last = &table[i];
        if (lacks == NULL && !apply_row(apply, last, value, &found, error))
            return FALSE;
    }
    if (found || last == NULL)
        return TRUE;
    if (lacks != NULL)
        return note_unchanged(apply, last, tune_key_name(key), NULL, TUNE_REFUSED, lacks, error);
    return note_unchanged(
        apply, last, last->path != NULL ? last->path : tune_key_name(key), NULL, TUNE_ABSENT,
        needs_systemd(last) && apply->host->systemd == NULL ? apply->host->no_systemd
                                                            : last->kind->lacks,
        error);
}

gboolean tune_apply(const KnobHost *host, const TuneWants *wants, const TuneJournal *journal,
                    GError **error)
{
    g_autofree char *boot_id = tune_boot_id(host->root);
    const Apply apply = {.host = host, .journal = journal, .boot_id = boot_id};
    gboolean seen[TUNE_KEYS] = {FALSE};
    gsize n;
    const Knob *table = knob_table(&n);

    for (gsize i = 0; i < n; i++) {
        TuneKey key = table[i].key;

        if (seen[key] || wants->values[key] == NULL)
            continue;
        seen[key] = TRUE;
        if (!apply_key(&apply, key, wants->values[key], error))
            return FALSE;
    }
    return TRUE;
}

/* ---- giving back ---- */

static char *describe(const Knob *knob, const char *text)
{
    g_autofree char *word = knob_canonical(knob, text);

    return text_escape(*word != '\0' ? word : "empty", -1, 80);
}

/* Whether what is there now is what was written. Killed in between, nothing was read back: then
 * what was wanted counts. */
static gboolean is_ours(const Knob *knob, const TuneChange *change, const char *now)
{
    const char *ours = change->got != NULL ? change->got : change->wanted;

    return knob->kind->owned || (ours != NULL && knob_same(knob, now, ours));
}

static TuneState write_back(const KnobHost *host, const Knob *knob, const TuneChange *change,
                            char **ret_reason)
{
    g_autofree char *text = knob_rewrite(knob, change->old);
    g_autoptr(GError) refusal = NULL;
    g_autofree char *now = NULL;

    fault_point("knob-restore", "before");
    knob->kind->write(host, change->target, text, &refusal);
    fault_point("knob-restore", "after");
    if (knob->kind->read(host, change->target, &now, NULL) && now != NULL &&
        knob_same(knob, now, change->old))
        return TUNE_RESTORED;
    *ret_reason =
        refusal != NULL ? g_strdup(refusal->message) : g_strdup("it did not take its former value");
    return TUNE_STUCK;
}

static TuneState restore_value(const KnobHost *host, const Knob *knob, const TuneChange *change,
                               char **ret_reason)
{
    g_autoptr(GError) unread = NULL;
    g_autofree char *now = NULL;

    if (!knob->kind->read(host, change->target, &now, &unread) || now == NULL) {
        *ret_reason = g_strdup(unread != NULL ? unread->message : "it is not there any more");
        return TUNE_STUCK;
    }
    if (knob_same(knob, now, change->old))
        return TUNE_RESTORED;
    if (is_ours(knob, change, now))
        return write_back(host, knob, change, ret_reason);
    g_autofree char *is = describe(knob, now);
    g_autofree char *was = describe(knob, change->old);

    *ret_reason = g_strdup_printf("somebody has set it to %s meanwhile; before it was %s", is, was);
    return TUNE_LEFT;
}

static TuneState restore_change(const KnobHost *host, const TuneChange *change, char **ret_reason)
{
    const Knob *knob = knob_find(change->knob);
    g_autofree char *boot_id = tune_boot_id(host->root);

    if (strcmp(boot_id, change->boot_id) != 0)
        return TUNE_REBOOTED;
    if (change->state == TUNE_HELD)
        return TUNE_RELEASED;
    if (knob != NULL && change->old != NULL)
        return restore_value(host, knob, change, ret_reason);
    *ret_reason = g_strdup("this vmatrix does not know the setting");
    return TUNE_STUCK;
}

gboolean tune_restore(const KnobHost *host, const TuneChange *change, const TuneJournal *journal,
                      TuneState *ret_state, char **ret_reason, GError **error)
{
    g_autofree char *reason = NULL;
    TuneState state = restore_change(host, change, &reason);

    if (!journal->note(journal->data, change->id, state, NULL, reason, error))
        return FALSE;
    *ret_state = state;
    *ret_reason = g_steal_pointer(&reason);
    return TRUE;
}
