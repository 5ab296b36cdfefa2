/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix-agent: measures in a guest, or on the host itself. C11 and libc only. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "bench.h"
#include "byhand.h"
#include "emit.h"
#include "evidence.h"
#include "facts.h"
#include "os.h"
#include "serve.h"
#include "session.h"
#include "sha256.h"

static const char usage[] =
    "usage: vmatrix-agent session              speak the agent protocol (JSON Lines)\n"
    "       vmatrix-agent list [--json]        the benchmarks\n"
    "       vmatrix-agent facts [--json]       what this machine is\n"
    "       vmatrix-agent run [OPTION]… [NAME]…\n"
    "                                          run benchmarks or groups by hand; without a name: "
    "all\n"
    "         --quick                          the group quick, with 5 samples\n"
    "         --samples N, --warmup N          samples measured (11), and thrown away before (1)\n"
    "         --sample-time TIME               what a sample is to take (20ms)\n"
    "         --limit TIME                     give a benchmark up after that\n"
    "         --copies LIST, --threads LIST    so many at once, one after the other: 2, 1,2,4 or "
    "all\n"
    "         --cpu N                          the first copy's CPU\n"
    "         --folder DIR                     where files may be made\n"
    "         --human, --plain                 for people (on a terminal), or one line a row\n"
    "         --peer HOST:PORT --token-file FILE\n"
    "                                          a serve that peer.* measure against, its token\n"
    "       vmatrix-agent serve [--address ADDRESS] [--port N] [--token-file FILE] [--limit TIME]\n"
    "                                          the far side of peer.*; prints its port and token\n"
    "       vmatrix-agent host-evidence        speak of what happens on this host (JSON Lines)\n"
    "       vmatrix-agent host-evidence --for SECONDS [--pid N]… [--cpus LIST] [--cgroup /PATH]\n"
    "                                          the same once, by hand: who took CPU time from "
    "whom\n"
    "       vmatrix-agent digest FILE          hex SHA-256 of a file\n"
    "       vmatrix-agent version\n";

enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

static int refuse_usage(const char *what, const char *argument)
{
    fputs("vmatrix-agent: ", stderr);
    emit_text(stderr, what);
    if (argument != NULL)
        emit_string(stderr, argument);
    fprintf(stderr, "\n%s", usage);
    return STATUS_USAGE;
}

/* "--json", or nothing. */
static bool json_option(int argc, char **argv, bool *ret_json)
{
    *ret_json = argc == 1 && strcmp(argv[0], "--json") == 0;
    return argc == 0 || *ret_json;
}

static int command_list(int argc, char **argv)
{
    bool json;

    if (!json_option(argc, argv, &json))
        return refuse_usage("list takes only --json, not ", argv[argc - 1]);
    if (json) {
        emit_catalogue(stdout);
        return STATUS_DONE;
    }
    for (size_t i = 0; i < bench_count; i++)
        printf("%-28s %-8s %s%s\n", bench_table[i]->name, bench_metric(bench_table[i], 0).unit,
               bench_table[i]->summary,
               bench_is_for_os(bench_table[i], os_name) ? "" : " (not on this system)");
    return STATUS_DONE;
}

static int command_facts(int argc, char **argv, const char *self)
{
    struct facts facts;
    bool json;

    if (!json_option(argc, argv, &json))
        return refuse_usage("facts takes only --json, not ", argv[argc - 1]);
    facts_collect(&facts, self);
    if (json) {
        emit_facts_object(stdout, &facts);
        putchar('\n');
    }
    for (size_t i = 0; !json && i < facts.count; i++)
        printf("%s: %s\n", facts.items[i].key, facts.items[i].value);
    facts_free(&facts);
    return STATUS_DONE;
}

static int refuse_file(const char *path)
{
    const char *why = strerror(errno);

    fputs("vmatrix-agent: cannot read ", stderr);
    emit_text(stderr, path);
    fprintf(stderr, ": %s\n", why);
    return STATUS_FAILED;
}

static int command_digest(int argc, char **argv)
{
    static unsigned char buffer[65536];
    char hex[SHA256_HEX_SIZE];
    struct sha256 sha;
    size_t got;
    FILE *file;
    bool broken;

    if (argc != 1)
        return refuse_usage("digest takes one file", NULL);
    file = fopen(argv[0], "rb");
    if (file == NULL)
        return refuse_file(argv[0]);
    sha256_init(&sha);
    while ((got = fread(buffer, 1, sizeof(buffer), file)) > 0)
        sha256_add(&sha, buffer, got);
    broken = ferror(file) != 0;
    if (broken)
        refuse_file(argv[0]);
    fclose(file);
    if (broken)
        return STATUS_FAILED;
    sha256_finish(&sha, hex);
    puts(hex);
    return STATUS_DONE;
}

static int command_host_evidence(int argc, char **argv)
{
    struct evidence_options options;
    char reason[EVIDENCE_REASON_MAX];

    if (argc == 1 && strcmp(argv[0], "--help") == 0) {
        fputs(usage, stdout);
        return STATUS_DONE;
    }
    if (!evidence_parse(argc, argv, &options, reason))
        return refuse_usage(reason, NULL);
    return evidence_run(&options);
}

static int command_serve(int argc, char **argv)
{
    struct serve_options options;
    char reason[SERVE_REASON_MAX];

    if (!serve_parse(argc, argv, &options, reason))
        return refuse_usage(reason, NULL);
    return serve_run(&options);
}

static int command(int argc, char **argv, const char *self)
{
    const char *name = argv[0];

    argc--;
    argv++;
    if (strcmp(name, "run") == 0) {
        struct byhand_options options;
        char reason[BYHAND_REASON_MAX];

        if (!byhand_parse(argc, argv, &options, reason))
            return refuse_usage(reason, NULL);
        return byhand_run(&options);
    }
    if (strcmp(name, "serve") == 0)
        return command_serve(argc, argv);
    if (strcmp(name, "host-evidence") == 0)
        return command_host_evidence(argc, argv);
    if (strcmp(name, "list") == 0)
        return command_list(argc, argv);
    if (strcmp(name, "facts") == 0)
        return command_facts(argc, argv, self);
    if (strcmp(name, "digest") == 0)
        return command_digest(argc, argv);
    if (strcmp(name, "session") == 0)
        return argc == 0 ? session_run(self) : refuse_usage("session takes nothing", NULL);
    if (strcmp(name, "version") == 0 || strcmp(name, "--version") == 0) {
        printf("vmatrix-agent %s, protocol %d\n", VMATRIX_AGENT_VERSION, AGENT_PROTOCOL);
        return STATUS_DONE;
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0) {
        fputs(usage, stdout);
        return STATUS_DONE;
    }
    return refuse_usage("unknown command ", name);
}

int main(int argc, char **argv)
{
    int status;

    if (argc < 2)
        return refuse_usage("no command", NULL);
    os_begin();
    status = command(argc - 1, argv + 1, argv[0]);
    if (fflush(stdout) != 0 || ferror(stdout))
        return status == STATUS_DONE ? STATUS_FAILED : status;
    return status;
}
