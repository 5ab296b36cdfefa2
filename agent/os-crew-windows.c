/* SPDX-License-Identifier: GPL-3.0-or-later */
#if defined(_WIN32)
#include "os-crew.h"

#include <windows.h>

#include <stdio.h>
#include <stdlib.h>

#include "os.h"

const bool os_workers_are_threads = true;

struct seat {
    struct os_crew *crew;
    HANDLE thread;
    int member;
};

struct os_crew {
    int members;
    os_crew_main *main;
    void *arg;
    SRWLOCK lock; /* arrived, round */
    CONDITION_VARIABLE all_there;
    int arrived;
    unsigned round; /* of meetings */
    struct seat seats[];
};

void os_crew_meet(struct os_crew *crew)
{
    unsigned round;

    AcquireSRWLockExclusive(&crew->lock);
    round = crew->round;
    if (++crew->arrived == crew->members + 1) {
        crew->arrived = 0;
        crew->round++;
        WakeAllConditionVariable(&crew->all_there);
    }
    while (round == crew->round)
        SleepConditionVariableSRW(&crew->all_there, &crew->lock, INFINITE, 0);
    ReleaseSRWLockExclusive(&crew->lock);
}

static DWORD WINAPI seat_main(void *arg)
{
    struct seat *seat = arg;

    os_crew_meet(seat->crew); /* nobody begins before all are there */
    seat->crew->main(seat->crew, seat->crew->arg, seat->member);
    return 0;
}

struct os_crew *os_crew_start(int members, os_crew_main *main, void *arg, char *reason)
{
    struct os_crew *crew = calloc(1, sizeof(*crew) + (size_t)members * sizeof(struct seat));

    if (crew == NULL) {
        snprintf(reason, OS_REASON_MAX, "no memory for %d threads", members);
        return NULL;
    }
    crew->members = members;
    crew->main = main;
    crew->arg = arg;
    InitializeSRWLock(&crew->lock);
    InitializeConditionVariable(&crew->all_there);
    for (int i = 0; i < members; i++) {
        crew->seats[i].crew = crew;
        crew->seats[i].member = i;
        crew->seats[i].thread = CreateThread(NULL, 0, seat_main, &crew->seats[i], 0, NULL);
        if (crew->seats[i].thread == NULL) {
            snprintf(reason, OS_REASON_MAX, "cannot start thread %d of %d: Windows error %lu",
                     i + 1, members, GetLastError());
            return NULL; /* crew stays: those that were started wait in it */
        }
    }
    os_crew_meet(crew);
    return crew;
}

void os_crew_free(struct os_crew *crew)
{
    for (int i = 0; i < crew->members; i++) {
        WaitForSingleObject(crew->seats[i].thread, INFINITE);
        CloseHandle(crew->seats[i].thread);
    }
    free(crew);
}
#else
typedef int os_crew_windows_is_empty_here;
#endif
