/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/ssh-internal.h"

#include <string.h>

#include "util/error.h"
#include "util/text.h"

#define AGENT_NAME "vmatrix-agent"

/* The folders that are tried, as words of the script, in this order. */
#define CANDIDATES "\"$XDG_RUNTIME_DIR\" /run /tmp /var/tmp /dev/shm \"$HOME\""

enum { SHOWN_MAX = 200 };

/* The script that takes the agent on standard input, all in one, since each round trip costs. It
 * gets $n: name of the new folder, $w: SHA-256, $i: how many folders to leave out, and the folders
 * as arguments. On standard output it tells, a line each: "try FOLDER: WHY" for a folder that did
 * not do, "full NUMBER FOLDER" when the data did not fit there (they are lost then, and have to be
 * sent again), "digest SIZE SHA-256" when other bytes have come, "ok FOLDER" at the end. What
 * programs of the guest say goes to standard error. There is no newline, "!" or backslash in it:
 * shell_command() would have to encode it. */
static const char upload_script[] =
    "umask 077; t=; k=; "
    /* Leave nothing behind but on success, also when the connection goes away. */
    "trap 'test -n \"$k\" || test -z \"$t\" || rm -rf \"$t\"' 0; trap 'exit 9' 1 2 13 15; "
    "bad() { echo \"digest `wc -c <\"$f\"` $h\"; exit 1; }; "
    "shift $i; "
    "for b; do i=$((i+1)); "
    "test -n \"$b\" && test -d \"$b\" || { echo \"try $b: no such folder\"; continue; }; "
    "d=${b%/}/$n; f=$d/" AGENT_NAME "; "
    "mkdir \"$d\" 2>/dev/null || { echo \"try $b: not writable\"; continue; }; "
    "if test -z \"$t\"; then t=$d; "
    "cat >\"$f\" || { echo \"full $i $b\"; exit 1; }; "
    /* Whichever tool there is; a busybox without the applet is none. */
    "for c in sha256sum 'busybox sha256sum' 'openssl dgst -sha256 -r' 'sha256 -q'; do "
    "h=`$c <\"$f\" 2>/dev/null` && h=${h%% *} && test ${#h} = 64 && break; h=; done; "
    "test \"${h:-$w}\" = $w || bad; "
    "else mv \"$t/" AGENT_NAME "\" \"$f\" || "
    "{ rm -rf \"$d\"; echo \"try $b: no room\"; continue; }; rm -rf \"$t\"; t=$d; fi; "
    "chmod 700 \"$f\"; \"$f\" version >/dev/null </dev/null; r=$?; "
    "test $r = 0 || { echo \"try $b: $r\"; continue; }; "
    "test -n \"$h\" || { h=`\"$f\" digest \"$f\"`; h=${h%% *}; test \"$h\" = $w || bad; }; "
    "k=1; echo \"ok $d\"; exit 0; "
    "done; exit 1";

/* What an exit status of "vmatrix-agent version" means; a text stays as it is. */
static char *why_text(const char *why)
{
    guint64 code;

    if (!text_parse_uint(why, &code))
        return text_escape(why, -1, SHOWN_MAX);
    if (code == 126)
        return g_strdup("cannot be executed there (126: a noexec mount?)");
    if (code == 127)
        return g_strdup("not found when started (127: its loader is missing, or it is for another "
                        "kind of CPU)");
    if (code == 139)
        return g_strdup("crashed when started (139)");
    return g_strdup_printf("\"" AGENT_NAME " version\" ended with status %" G_GUINT64_FORMAT, code);
}

/* "FOLDER: WHY" */
static void note_try(GString *tried, const char *report)
{
    const char *colon = strrchr(report, ':');
    g_autofree char *why = why_text(colon != NULL && colon[1] == ' ' ? colon + 2 : "?");
    g_autofree char *folder =
        text_escape(report, colon != NULL ? (gssize)(colon - report) : -1, SHOWN_MAX);

    if (*folder == '\0')
        return; /* a variable that is not set in the guest */
    g_string_append_printf(tried, "%s%s: %s", tried->len > 0 ? "; " : "", folder, why);
}

/* The last line that the guest's programs wrote, for the end of a message. */
static char *said(const SshResult *result)
{
    g_autofree char *text = g_strchomp(g_strdup(result->errors->str));
    const char *line = strrchr(text, '\n');
    g_autofree char *shown = text_escape(line != NULL ? line + 1 : text, -1, SHOWN_MAX);

    return *shown != '\0' ? g_strdup_printf("; the guest says: %s", shown) : g_strdup("");
}

static gboolean fail_digest(const SshPeer *peer, const Wait *wait, const char *got, gsize length,
                            const char *digest, GError **error)
{
    g_autofree char *shown = text_escape(got, -1, SHOWN_MAX);

    g_set_error(error, VM_ERROR, VM_ERROR_FAILED,
                "%s: %s: the agent arrived damaged: %" G_GSIZE_FORMAT
                " bytes with SHA-256 %s were sent, the guest has %s",
                wait->step, peer->where, length, digest, shown);
    return FALSE;
}

/* The script of one try. *ret_folder stays NULL, and *ret_skip grows, when the data did not fit and
 * are to be sent again behind that folder. */
static gboolean push_once(SshPeer *peer, const Wait *wait, const char *words, const char *name,
                          const char *digest, const void *data, gsize length, GString *tried,
                          guint64 *ret_skip, char **ret_folder, GError **error)
{
    g_autofree char *script = g_strdup_printf("n=%s; w=%s; i=%" G_GUINT64_FORMAT "; set -- %s; %s",
                                              name, digest, *ret_skip, words, upload_script);
    g_auto(SshResult) result = {0};
    g_auto(GStrv) lines = NULL;
    guint64 skip = *ret_skip;

    if (!ssh_peer_run(peer, wait, script, data, length, &result, error))
        return FALSE;
    lines = g_strsplit(result.output->str, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        g_auto(GStrv) words_of = g_strsplit(*line, " ", 3);

        if (g_str_has_prefix(*line, "try "))
            note_try(tried, *line + strlen("try "));
        if (g_str_has_prefix(*line, "digest "))
            return fail_digest(peer, wait, *line + strlen("digest "), length, digest, error);
        if (g_str_has_prefix(*line, "ok /") && g_str_has_suffix(*line, name)) {
            *ret_folder = g_strdup(*line + strlen("ok "));
            return TRUE;
        }
        if (g_str_equal(words_of[0] != NULL ? words_of[0] : "", "full") && words_of[1] != NULL &&
            words_of[2] != NULL && text_parse_uint(words_of[1], &skip) && skip > *ret_skip) {
            g_autofree char *report = g_strdup_printf("%s: no room", words_of[2]);

            note_try(tried, report);
            *ret_skip = skip;
            return TRUE;
        }
    }
    g_autofree char *last = said(&result);

    g_set_error(
        error, VM_ERROR, VM_ERROR_FAILED,
        "%s: %s: no folder of the guest can hold and run the agent: %s (script status %d)%s. "
        "Name one that can as the guest's \"folder\" in the inventory",
        wait->step, peer->where, tried->len > 0 ? tried->str : "none was tried", result.status,
        last);
    return FALSE;
}

gboolean ssh_peer_push_agent(SshPeer *peer, const Wait *wait, const char *folder, const void *data,
                             gsize length, char **ret_folder, GError **error)
{
    g_autofree char *digest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, data, length);
    g_autofree char *random = g_uuid_string_random();
    g_autofree char *name = g_strconcat("vmatrix-", random, NULL);
    g_autofree char *words = folder != NULL ? g_shell_quote(folder) : g_strdup(CANDIDATES);
    g_autoptr(GString) tried = g_string_new(NULL);
    char *found = NULL;
    guint64 skip = 0;

    while (found == NULL)
        if (!push_once(peer, wait, words, name, digest, data, length, tried, &skip, &found, error))
            return FALSE;
    *ret_folder = found;
    return TRUE;
}
