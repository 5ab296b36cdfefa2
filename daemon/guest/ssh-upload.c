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
 * gets $n: name of the new folder, $w: SHA-256, $i: how many folders to leave out, $z: empty, or
 * the size of the agent, which is then started as a session on the rest of the input, and the
 * folders as arguments. On standard output it tells, a line each: "try FOLDER: WHY" for a folder
 * that did not do, "full NUMBER FOLDER" when the data did not fit there (they are lost then, and
 * have to be sent again), "digest SIZE SHA-256" when other bytes have come, "ok FOLDER" at the end.
 * What programs of the guest say goes to standard error. There is no newline, "!" or backslash in
 * it: shell_command() would have to encode it. */
static const char upload_script[] =
    "umask 077; t=; k=; "
    /* Leave nothing behind but on success, also when the connection goes away. */
    "trap 'test -n \"$k\" || test -z \"$t\" || rm -rf \"$t\"' 0; trap 'exit 9' 1 2 13 15; "
    "take() { if test -n \"$z\"; then head -c $z; else cat; fi; }; "
    "bad() { echo \"digest `wc -c <\"$f\"` $h\"; exit 1; }; "
    "shift $i; "
    "for b; do i=$((i+1)); "
    "test -n \"$b\" && test -d \"$b\" || { echo \"try $b: no such folder\"; continue; }; "
    "d=${b%/}/$n; f=$d/" AGENT_NAME "; "
    "mkdir \"$d\" 2>/dev/null || { echo \"try $b: not writable\"; continue; }; "
    "if test -z \"$t\"; then t=$d; "
    "take >\"$f\" || { echo \"full $i $b\"; exit 1; }; "
    /* Whichever tool there is; a busybox without the applet is none. */
    "for c in sha256sum 'busybox sha256sum' 'openssl dgst -sha256 -r' 'sha256 -q'; do "
    "h=`$c <\"$f\" 2>/dev/null` && h=${h%% *} && test ${#h} = 64 && break; h=; done; "
    "test \"${h:-$w}\" = $w || bad; "
    "else mv \"$t/" AGENT_NAME "\" \"$f\" || "
    "{ rm -rf \"$d\"; echo \"try $b: no room\"; continue; }; rm -rf \"$t\"; t=$d; fi; "
    "chmod 700 \"$f\"; \"$f\" version >/dev/null </dev/null; r=$?; "
    "test $r = 0 || { echo \"try $b: $r\"; continue; }; "
    "test -n \"$h\" || { h=`\"$f\" digest \"$f\"`; h=${h%% *}; test \"$h\" = $w || bad; }; "
    "k=1; echo \"ok $d\"; test -z \"$z\" || exec \"$f\" session; exit 0; "
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
static char *said(const GString *errors)
{
    g_autofree char *text = g_strchomp(g_strdup(errors->str));
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

/* One push over all its tries. */
typedef struct {
    SshPeer *peer;
    const Wait *wait;
    char *words; /* the folders to try, quoted for the shell */
    char *name;  /* of the new folder */
    char *digest;
    const void *data;
    gsize length;
    GString *tried; /* "FOLDER: WHY; …" */
    guint64 skip;   /* folders to leave out: the data were lost there */
    char *folder;   /* the one that did */
} Push;

static void push_init(Push *push, SshPeer *peer, const Wait *wait, const char *folder,
                      const void *data, gsize length)
{
    g_autofree char *random = g_uuid_string_random();

    *push = (Push){.peer = peer, .wait = wait, .data = data, .length = length};
    push->digest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, data, length);
    push->name = g_strconcat("vmatrix-", random, NULL);
    push->words = folder != NULL ? g_shell_quote(folder) : g_strdup(CANDIDATES);
    push->tried = g_string_new(NULL);
}

static void push_finish(Push *push)
{
    g_free(push->digest);
    g_free(push->name);
    g_free(push->words);
    g_free(push->folder);
    if (push->tried != NULL)
        g_string_free(push->tried, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Push, push_finish)

/* size: "" to put the agent there alone. Transfer full. */
static char *push_script(const Push *push, const char *size)
{
    return g_strdup_printf("n=%s; w=%s; i=%" G_GUINT64_FORMAT "; z=%s; set -- %s; %s", push->name,
                           push->digest, push->skip, size, push->words, upload_script);
}

typedef enum {
    REPORT_MORE,  /* nothing is decided yet */
    REPORT_OK,    /* push->folder is set */
    REPORT_AGAIN, /* the data were lost: push->skip has grown */
    REPORT_FAILED,
} Report;

/* One line of the script's output. */
static Report push_report(Push *push, const char *line, GError **error)
{
    g_auto(GStrv) words = g_strsplit(line, " ", 3);
    guint64 skip;

    if (g_str_has_prefix(line, "try "))
        note_try(push->tried, line + strlen("try "));
    if (g_str_has_prefix(line, "digest ")) {
        fail_digest(push->peer, push->wait, line + strlen("digest "), push->length, push->digest,
                    error);
        return REPORT_FAILED;
    }
    if (g_str_has_prefix(line, "ok /") && g_str_has_suffix(line, push->name)) {
        push->folder = g_strdup(line + strlen("ok "));
        return REPORT_OK;
    }
    if (g_strv_length(words) == 3 && g_str_equal(words[0], "full") &&
        text_parse_uint(words[1], &skip) && skip > push->skip) {
        g_autofree char *report = g_strdup_printf("%s: no room", words[2]);

        note_try(push->tried, report);
        push->skip = skip;
        return REPORT_AGAIN;
    }
    return REPORT_MORE;
}

/* The script has ended without a folder. last: what the guest said, or "". Always FALSE. */
static gboolean push_failed(const Push *push, int status, const char *last, GError **error)
{
    g_set_error(
        error, VM_ERROR, VM_ERROR_FAILED,
        "%s: %s: no folder of the guest can hold and run the agent: %s (script status %d)%s. "
        "Name one that can as the guest's \"folder\" in the inventory",
        push->wait->step, push->peer->where,
        push->tried->len > 0 ? push->tried->str : "none was tried", status, last);
    return FALSE;
}

/* One try. push->folder stays NULL when the data are to be sent again. */
static gboolean push_once(Push *push, GError **error)
{
    g_autofree char *script = push_script(push, "");
    g_auto(SshResult) result = {0};
    g_auto(GStrv) lines = NULL;

    if (!ssh_peer_run(push->peer, push->wait, script, push->data, push->length, &result, error))
        return FALSE;
    lines = g_strsplit(result.output->str, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        Report report = push_report(push, *line, error);

        if (report != REPORT_MORE)
            return report != REPORT_FAILED;
    }
    g_autofree char *last = said(result.errors);

    return push_failed(push, result.status, last, error);
}

gboolean ssh_peer_push_agent(SshPeer *peer, const Wait *wait, const char *folder, const void *data,
                             gsize length, char **ret_folder, GError **error)
{
    g_auto(Push) push = {0};

    push_init(&push, peer, wait, folder, data, length);
    while (push.folder == NULL)
        if (!push_once(&push, error))
            return FALSE;
    *ret_folder = g_steal_pointer(&push.folder);
    return TRUE;
}

/* One try; NULL without an error when the data are to be sent again. */
static Channel *start_once(Push *push, GError **error)
{
    g_autofree char *size = g_strdup_printf("%" G_GSIZE_FORMAT, push->length);
    g_autofree char *script = push_script(push, size);
    g_autoptr(Channel) channel = ssh_script_open(push->peer, push->wait, script, error);
    int status;

    if (channel == NULL || !ssh_script_feed(channel, push->wait, push->data, push->length, error))
        return NULL;
    for (;;) {
        g_autofree char *line = NULL;

        if (!ssh_script_line(channel, push->wait, &line, error))
            return NULL;
        if (line == NULL)
            break;
        Report report = push_report(push, line, error);

        if (report == REPORT_OK)
            return g_steal_pointer(&channel);
        if (report != REPORT_MORE)
            return NULL;
    }
    if (channel->ops->exit_status(channel, push->wait, &status, error)) {
        g_autofree char *last = said(channel->errors);

        push_failed(push, status, last, error);
    }
    return NULL;
}

Channel *ssh_peer_start_agent(SshPeer *peer, const Wait *wait, const char *folder, const void *data,
                              gsize length, char **ret_folder, GError **error)
{
    g_auto(Push) push = {0};
    Channel *channel = NULL;
    guint64 skipped;

    push_init(&push, peer, wait, folder, data, length);
    do {
        skipped = push.skip;
        channel = start_once(&push, error);
    } while (channel == NULL && push.skip > skipped);
    if (channel != NULL)
        *ret_folder = g_steal_pointer(&push.folder);
    return channel;
}
