/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies that are threads of one worker. Where workers are threads anyway, none is made:
 * os_workers_are_threads. */
#ifndef VMATRIX_AGENT_OS_CREW_H
#define VMATRIX_AGENT_OS_CREW_H
#include <stdbool.h>

extern const bool os_workers_are_threads;

struct os_crew;
typedef void os_crew_main(struct os_crew *crew, void *arg, int member);
/* Threads that run main, members 0 to members - 1. NULL, with a reason (OS_REASON_MAX bytes): not
 * all of them could be started, and those that were wait until this process ends. */
struct os_crew *os_crew_start(int members, os_crew_main *main, void *arg, char *reason);
/* Blocks until all members, and the one who started them, have come here. */
void os_crew_meet(struct os_crew *crew);
/* Waits for all members to end. */
void os_crew_free(struct os_crew *crew);

#endif
