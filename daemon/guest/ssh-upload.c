/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/ssh-internal.h"

#include <string.h>

#include "util/error.h"
#include "util/text.h"

#define AGENT_NAME "vmatrix-agent"

/* The folders that are tried, as words of the script, in this order. */
#define CANDIDATES "\"$XDG_RUNTIME_DIR\" /run /tmp /var/tmp /dev/shm \"$HOME\""

enum { SHOWN_MAX = 200 };

/* The script that takes the agent on standard input and starts it on the rest of that, all in one,
 * since each round trip and each program costs. It gets $n: name of the new folder, $w: SHA-256,
 * $i: how many folders to leave out, $z: size of the agent, and the folders as arguments. On
 * standard output it tells, a line each: "try FOLDER: WHY" for a folder that did not do, "full
 * NUMBER FOLDER" when the data did not fit there (they are lost then, and have to be sent again),
 * "digest SIZE SHA-256" when other bytes have come, "ok FOLDER" at the end. What programs of the
 * guest say goes to standard error. There is no newline, "!" or backslash in it: shell_command()
 * would have to encode it. (Packed by gzip it would take longer: a slow guest receives 10 MB/s, and
 * unpacks 8.) */
static const char upload_script[] =
    "umask 077; t=; k=; "
    /* Leave nothing behind but on success, also when the connection goes away. */
    "trap 'test -n \"$k\" || test -z \"$t\" || rm -rf \"$t\"' 0; trap 'exit 9' 1 2 13 15; "
    "bad() { echo \"digest `wc -c <\"$f\"` $h\"; exit 1; }; "
    /* Whichever tool there is; a busybox without the applet is none. */
    "look() { for c in sha256sum 'busybox sha256sum' 'openssl dgst -sha256 -r' 'sha256 -q'; do "
    "h=`$c <\"$f\" 2>/dev/null` && h=${h%% *} && test ${#h} = 64 && return; h=; done; }; "
    /* A busybox's head takes one byte at a time, twice as long as its dd; but not every dd knows
     * how to wait for a whole block. Such a one has not made the file, nor taken a byte. */
    "take() { dd bs=$z count=1 iflag=fullblock status=none of=\"$f\" 2>/dev/null && return; "
    "test -e \"$f\" && return 1; head -c $z >\"$f\"; }; "
    "shift $i; "
    "for b; do i=$((i+1)); "
    "test -n \"$b\" && test -d \"$b\" || { echo \"try $b: no such folder\"; continue; }; "
    "d=${b%/}/$n; f=$d/" AGENT_NAME "; "
    "mkdir \"$d\" 2>/dev/null || { echo \"try $b: not writable\"; continue; }; "
    "if test -z \"$t\"; then t=$d; "
    "take || { echo \"full $i $b\"; exit 1; }; "
    "else mv \"$t/" AGENT_NAME "\" \"$f\" || "
    "{ rm -rf \"$d\"; echo \"try $b: no room\"; continue; }; rm -rf \"$t\"; t=$d; fi; "
    /* One that tells its own digest rightly can be executed here, and is whole. */
    "chmod 700 \"$f\"; h=`\"$f\" digest \"$f\" </dev/null`; r=$?; h=${h%% *}; "
    "if test $r = 0; then test \"$h\" = $w || bad; "
    "else look; test \"${h:-$w}\" = $w || bad; echo \"try $b: $r\"; continue; fi; "
    "k=1; echo \"ok $d\"; exec \"$f\" session; "
    "done; exit 1";

/* What an exit status of "vmatrix-agent digest" means; a text stays as it is. */
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
    return g_strdup_printf("\"" AGENT_NAME " digest\" ended with status %" G_GUINT64_FORMAT, code);
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
    GBytes *agent;  /* borrowed */
    GString *tried; /* "FOLDER: WHY; …" */
    guint64 skip;   /* folders to leave out: the data were lost there */
    char *folder;   /* the one that did */
} Push;

static void push_init(Push *push, SshPeer *peer, const Wait *wait, const char *folder,
                      GBytes *agent)
{
    g_autofree char *random = g_uuid_string_random();

    *push = (Push){.peer = peer, .wait = wait, .agent = agent};
    push->digest = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, agent);
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

/* Transfer full. */
static char *push_script(const Push *push)
{
    return g_strdup_printf(
        "n=%s; w=%s; i=%" G_GUINT64_FORMAT "; z=%" G_GSIZE_FORMAT "; set -- %s; %s", push->name,
        push->digest, push->skip, g_bytes_get_size(push->agent), push->words, upload_script);
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
        fail_digest(push->peer, push->wait, line + strlen("digest "), g_bytes_get_size(push->agent),
                    push->digest, error);
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

/* Until it has removed what it made. */
static void push_drain(const Push *push, Channel *channel)
{
    g_autofree char *line = NULL;

    while (ssh_script_line(channel, push->wait, &line, NULL) && line != NULL)
        g_clear_pointer(&line, g_free);
}

/* What the script makes of it: TRUE when the agent has been started. FALSE without error when the
 * data are to be sent again, or the script has ended. */
static gboolean push_watch(Push *push, Channel *channel, gboolean *ret_again, GError **error)
{
    for (;;) {
        g_autofree char *line = NULL;

        if (!ssh_script_line(channel, push->wait, &line, error) || line == NULL)
            return FALSE;
        Report report = push_report(push, line, error);

        if (report == REPORT_MORE)
            continue;
        if (report == REPORT_OK)
            return TRUE;
        *ret_again = report == REPORT_AGAIN;
        push_drain(push, channel);
        return FALSE;
    }
}

/* One try; NULL without an error when the data are to be sent again. */
static Channel *start_once(Push *push, GError **error)
{
    g_autofree char *script = push_script(push);
    g_autoptr(Channel) channel = ssh_script_open(push->peer, push->wait, script, error);
    g_autoptr(GError) local = NULL;
    gboolean again = FALSE;
    int status;

    if (channel == NULL)
        return NULL;
    if (ssh_script_feed(channel, push->wait, g_bytes_get_data(push->agent, NULL),
                        g_bytes_get_size(push->agent), &local) &&
        push_watch(push, channel, &again, &local))
        return g_steal_pointer(&channel);
    if (local != NULL) {
        g_propagate_error(error, g_steal_pointer(&local));
    } else if (!again && channel->ops->exit_status(channel, push->wait, &status, error)) {
        g_autofree char *last = said(channel->errors);

        push_failed(push, status, last, error);
    }
    return NULL;
}

Channel *ssh_peer_start_agent(SshPeer *peer, const Wait *wait, const char *folder, GBytes *agent,
                              char **ret_folder, GError **error)
{
    g_auto(Push) push = {0};
    Channel *channel = NULL;
    guint64 skipped;

    push_init(&push, peer, wait, folder, agent);
    do {
        skipped = push.skip;
        channel = start_once(&push, error);
    } while (channel == NULL && push.skip > skipped);
    if (channel != NULL)
        *ret_folder = g_steal_pointer(&push.folder);
    return channel;
}
