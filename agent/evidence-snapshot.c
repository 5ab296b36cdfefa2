/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "evidence-snapshot.h"

#include <stdlib.h>
#include <string.h>

const char *const evidence_vm_names[EVIDENCE_VMS] = {"pgpgin", "pgpgout", "pswpin", "pswpout",
                                                     "pgmajfault"};

/* --- CPUs --- */

bool evidence_cpus_have(const struct evidence_cpus *cpus, int cpu)
{
    return (cpus->bits[cpu / 8] >> (cpu % 8) & 1) != 0;
}

void evidence_cpus_add(struct evidence_cpus *cpus, int cpu)
{
    cpus->bits[cpu / 8] |= (unsigned char)(1 << (cpu % 8));
}

bool evidence_cpus_empty(const struct evidence_cpus *cpus)
{
    static const struct evidence_cpus none;

    return memcmp(cpus, &none, sizeof(none)) == 0;
}

/* A CPU's number at *at, and what follows. */
static bool parse_cpu(const char **at, long *ret_cpu)
{
    char *end;

    if (**at < '0' || **at > '9')
        return false;
    *ret_cpu = strtol(*at, &end, 10);
    *at = end;
    return *ret_cpu < OS_CPUS_MAX;
}

bool evidence_cpus_parse(const char *list, struct evidence_cpus *ret_cpus)
{
    struct evidence_cpus cpus = {0};
    const char *at = list;

    while (*at != '\0') {
        long first, last;

        if (!parse_cpu(&at, &first))
            return false;
        last = first;
        if (*at == '-') {
            at++;
            if (!parse_cpu(&at, &last) || last < first)
                return false;
        }
        for (long cpu = first; cpu <= last; cpu++)
            evidence_cpus_add(&cpus, (int)cpu);
        if (*at != '\0' && (*at != ',' || *++at == '\0'))
            return false;
    }
    *ret_cpus = cpus;
    return true;
}

/* --- lists --- */

void *evidence_grow(void *items, size_t count, size_t *room, size_t size)
{
    void *grown = items;

    if (count == *room) {
        size_t wanted = *room == 0 ? 1024 : *room * 2;

        grown = realloc(items, wanted * size);
        if (grown != NULL)
            *room = wanted;
    }
    return grown;
}

void evidence_snapshot_finish(struct evidence_snapshot *snapshot)
{
    free(snapshot->processes);
    free(snapshot->threads);
    free(snapshot->ended);
    memset(snapshot, 0, sizeof(*snapshot));
}

static int by_pid(const void *key, const void *item)
{
    int64_t pid = *(const int64_t *)key, other = ((const struct evidence_process *)item)->pid;

    return (pid > other) - (pid < other);
}

const struct evidence_process *evidence_find(const struct evidence_snapshot *snapshot, int64_t pid)
{
    if (snapshot->n_processes == 0)
        return NULL;
    return bsearch(&pid, snapshot->processes, snapshot->n_processes, sizeof(snapshot->processes[0]),
                   by_pid);
}

const struct evidence_process *evidence_find_same(const struct evidence_snapshot *snapshot,
                                                  const struct evidence_process *process)
{
    const struct evidence_process *found = evidence_find(snapshot, process->pid);

    return found != NULL && found->start == process->start ? found : NULL;
}

/* --- roles --- */

static bool is_listed(const int64_t *pids, int64_t count, int64_t pid)
{
    for (int64_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

/* A kernel thread named after the process that it works for (vhost-1234, kvm-pit/1234,
 * kvm-nx-lpage-recovery-1234) is its child; every other process its parent's. */
static int64_t parent_of(const struct evidence_process *process)
{
    const char *name = process->name, *number = name + strlen(name);

    if (!process->kernel || (strncmp(name, "vhost-", 6) != 0 && strncmp(name, "kvm-", 4) != 0))
        return process->parent;
    while (number > name && number[-1] >= '0' && number[-1] <= '9')
        number--;
    return *number != '\0' && number > name && (number[-1] == '-' || number[-1] == '/')
               ? strtoll(number, NULL, 10)
               : process->parent;
}

/* What the process is for itself, whatever its parents are. */
static enum evidence_role own_role(const struct evidence_process *process,
                                   const struct evidence_request *request,
                                   const struct evidence_snapshot *before)
{
    const struct evidence_process *was =
        before == NULL ? NULL : evidence_find_same(before, process);
    bool known = before == NULL || was != NULL;

    if (known && is_listed(request->pids, request->n_pids, process->pid))
        return EVIDENCE_SUBJECT;
    if (known && is_listed(request->observers, request->n_observers, process->pid))
        return EVIDENCE_OBSERVER;
    if (process->in_cgroup)
        return EVIDENCE_SUBJECT;
    /* Its parent has ended meanwhile, and it has another one now. */
    return was == NULL ? EVIDENCE_FOREIGN : was->role;
}

void evidence_roles(struct evidence_snapshot *snapshot, const struct evidence_request *request,
                    const struct evidence_snapshot *before)
{
    for (size_t i = 0; i < snapshot->n_processes; i++) {
        const struct evidence_process *at = &snapshot->processes[i];
        enum evidence_role role = own_role(at, request, before);

        /* What was read one after the other may have a cycle in it. */
        for (int depth = 0; role == EVIDENCE_FOREIGN && depth < 64; depth++) {
            at = evidence_find(snapshot, parent_of(at));
            if (at == NULL)
                break;
            role = own_role(at, request, before);
        }
        snapshot->processes[i].role = role;
    }
}
