/* SPDX-License-Identifier: GPL-3.0-or-later */
#if !defined(_WIN32)
#include "os-crew.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os.h"

const bool os_workers_are_threads = false;

struct seat {
    struct os_crew *crew;
    pthread_t thread;
    int member;
};

struct os_crew {
    int members;
    os_crew_main *main;
    void *arg;
    pthread_barrier_t barrier;
    struct seat seats[]; /* a member each */
};

static void *seat_main(void *arg)
{
    struct seat *seat = arg;

    os_crew_meet(seat->crew); /* nobody begins before all are there */
    seat->crew->main(seat->crew, seat->crew->arg, seat->member);
    return NULL;
}

/* As much as a process gives its first one where it is little (musl: 128 KiB): what runs as a copy
 * of its own must run as a thread too. */
#define STACK_SIZE ((size_t)2 << 20)

static int start_seat(struct seat *seat)
{
    pthread_attr_t attributes;
    int problem = pthread_attr_init(&attributes);

    if (problem != 0)
        return problem;
    problem = pthread_attr_setstacksize(&attributes, STACK_SIZE);
    if (problem == 0)
        problem = pthread_create(&seat->thread, &attributes, seat_main, seat);
    pthread_attr_destroy(&attributes);
    return problem;
}

struct os_crew *os_crew_start(int members, os_crew_main *main, void *arg, char *reason)
{
    struct os_crew *crew = calloc(1, sizeof(*crew) + (size_t)members * sizeof(struct seat));
    int problem = 0;

    if (crew == NULL || pthread_barrier_init(&crew->barrier, NULL, (unsigned)members + 1) != 0) {
        snprintf(reason, OS_REASON_MAX, "no memory for %d threads", members);
        free(crew);
        return NULL;
    }
    crew->members = members;
    crew->main = main;
    crew->arg = arg;
    for (int i = 0; i < members && problem == 0; i++) {
        crew->seats[i].crew = crew;
        crew->seats[i].member = i;
        problem = start_seat(&crew->seats[i]);
        if (problem != 0)
            snprintf(reason, OS_REASON_MAX,
                     "cannot start thread %d of %d: %s: raise the limit of processes, or ask for "
                     "fewer",
                     i + 1, members, strerror(problem));
    }
    if (problem != 0)
        return NULL; /* crew stays: those that were started wait in it */
    os_crew_meet(crew);
    return crew;
}

void os_crew_meet(struct os_crew *crew)
{
    pthread_barrier_wait(&crew->barrier);
}

void os_crew_free(struct os_crew *crew)
{
    for (int i = 0; i < crew->members; i++)
        pthread_join(crew->seats[i].thread, NULL);
    pthread_barrier_destroy(&crew->barrier);
    free(crew);
}
#else
typedef int os_crew_posix_is_empty_here;
#endif
