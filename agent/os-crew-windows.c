/* SPDX-License-Identifier: GPL-3.0-or-later */
#if defined(_WIN32)
#include "os-crew.h"

#include <stdio.h>

#include "os.h"

const bool os_workers_are_threads = true;

struct os_crew *os_crew_start(int members, os_crew_main *main, void *arg, char *reason)
{
    (void)members, (void)main, (void)arg;
    snprintf(reason, OS_REASON_MAX, "workers are threads on Windows, and have no threads below");
    return NULL;
}

void os_crew_meet(struct os_crew *crew)
{
    (void)crew;
}

void os_crew_free(struct os_crew *crew)
{
    (void)crew;
}
#else
typedef int os_crew_windows_is_empty_here;
#endif
