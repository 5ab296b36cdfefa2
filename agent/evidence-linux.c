/* SPDX-License-Identifier: GPL-3.0-or-later */
#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "evidence-linux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct evidence_reader {
    char root[OS_PATH_MAX];
    struct evidence_tasks tasks;
    int log, ended; /* descriptors; -1: there is none */
    bool listening;
};

const char *evidence_unsupported(void)
{
    return NULL;
}

struct evidence_reader *evidence_reader_new(const char *root)
{
    struct evidence_reader *reader = calloc(1, sizeof(*reader));

    if (reader == NULL)
        return NULL;
    snprintf(reader->root, sizeof(reader->root), "%s", root);
    reader->tasks = (struct evidence_tasks){
        .root = reader->root,
        .proc = evidence_folder(root, "/proc"),
        .real = root[0] == '\0',
        .tick_ns = 1000000000 / sysconf(_SC_CLK_TCK),
    };
    reader->log = evidence_log_open(root);
    reader->ended = reader->tasks.real ? evidence_ended_open() : -1;
    return reader;
}

void evidence_reader_free(struct evidence_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->listening)
        evidence_ended_listen(reader->ended, false);
    for (int i = 0; i < 3; i++) {
        int fd = i == 0 ? reader->tasks.proc : i == 1 ? reader->log : reader->ended;

        if (fd >= 0)
            close(fd);
    }
    free(reader);
}

int64_t evidence_reader_self(const struct evidence_reader *reader)
{
    return reader->tasks.real ? getpid() : 0;
}

static int64_t own_cpu_ns(void)
{
    struct timespec time = {0};

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void read_cpus(struct evidence_reader *reader, struct evidence_snapshot *snapshot)
{
    snapshot->at_ns = os_clock_ns();
    snapshot->self = evidence_reader_self(reader);
    snapshot->self_ns = own_cpu_ns();
    evidence_host_cpus(reader->root, &snapshot->host);
}

/* Reports are asked for before the processes are read, and those that came until then are thrown
 * away: whoever ended before is in neither. */
static bool read_begin(struct evidence_reader *reader, const struct evidence_request *request,
                       struct evidence_snapshot *snapshot, char *reason)
{
    if (reader->ended >= 0 && !reader->listening && !request->no_reports)
        reader->listening = evidence_ended_listen(reader->ended, true);
    evidence_log_skip(reader->log);
    read_cpus(reader, snapshot);
    if (!evidence_tasks_read(&reader->tasks, request, NULL, snapshot, reason))
        return false;
    if (reader->listening)
        evidence_ended_drain(reader->ended, NULL);
    evidence_host_read(reader->root, &request->cpus, &snapshot->host);
    return true;
}

static bool read_end(struct evidence_reader *reader, const struct evidence_request *request,
                     const struct evidence_snapshot *before, struct evidence_snapshot *snapshot,
                     char *reason)
{
    bool room = true;

    memcpy(snapshot->host.cpus, before->host.cpus, sizeof(snapshot->host.cpus)); /* online then */
    evidence_host_read(reader->root, &request->cpus, &snapshot->host);
    if (!evidence_tasks_read(&reader->tasks, request, before, snapshot, reason))
        return false;
    read_cpus(reader, snapshot);
    if (reader->listening) {
        room = evidence_ended_drain(reader->ended, snapshot);
        evidence_ended_listen(reader->ended, false);
        reader->listening = false;
    }
    evidence_log_read(reader->log, snapshot);
    if (!room)
        snprintf(reason, OS_REASON_MAX, "no memory");
    return room;
}

bool evidence_read(struct evidence_reader *reader, const struct evidence_request *request,
                   const struct evidence_snapshot *before, struct evidence_snapshot *ret_snapshot,
                   char *reason)
{
    int64_t begin = os_clock_ns();

    ret_snapshot->sources = 0;
    ret_snapshot->tick_ns = reader->tasks.tick_ns;
    ret_snapshot->n_ended = 0;
    if (!(before == NULL ? read_begin(reader, request, ret_snapshot, reason)
                         : read_end(reader, request, before, ret_snapshot, reason)))
        return false;
    ret_snapshot->took_ns = os_clock_ns() - begin;
    ret_snapshot->reader_ns = own_cpu_ns();
    return true;
}
#else
typedef int evidence_linux_is_empty_here;
#endif
