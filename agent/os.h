/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All that differs between operating systems. os-linux.c, os-freebsd.c and os-windows.c implement
 * it (each empty elsewhere); os-posix.c has what Linux and FreeBSD share; os-facts-*.c are
 * os_facts(). But for evidence-linux*.c no other file includes a header of an operating system.
 *
 * `reason` is always a buffer of OS_REASON_MAX bytes, filled when the function returns false or
 * NULL. */
#ifndef VMATRIX_AGENT_OS_H
#define VMATRIX_AGENT_OS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts.h"
#include "os-net.h"

#define OS_REASON_MAX 256
#define OS_PATH_MAX 1024
#define OS_COPIES_MAX 256
#define OS_CPUS_MAX 4096

extern const char *const os_name; /* "linux", "freebsd", "windows": as in struct bench's os */

/* --- clock: monotonic, not slewed by the time daemon where the OS has such a clock --- */
const char *os_clock_name(void);
int64_t os_clock_ns(void);

/* --- CPUs --- */
/* The online CPUs this process may use, ascending; returns how many there are (at least 1), of
 * which at most max are stored. */
int os_cpus(int *ret_cpus, int max);
bool os_pin(int cpu); /* this copy, and what it starts from now on */

/* --- memory --- */
/* Zeroed pages; shared: seen by workers started later. NULL: there is no room. */
void *os_pages_new(size_t size, bool shared);
void os_pages_free(void *pages, size_t size);
/* Bytes that can be had without swapping; 0: not known. */
uint64_t os_memory_available(void);

/* --- kernel work --- */
void os_null_syscall(void); /* the cheapest real entry into the kernel */
bool os_fork_exit(void);    /* make a process that ends at once, and reap it */

/* --- facts, and what may spoil an invocation --- */
void os_facts(struct facts *facts);

struct os_watch {         /* since boot; -1: this system does not count it */
    char clocksource[32]; /* "": not known */
    int64_t steal_ns;     /* of all CPUs: time the hypervisor took */
    int64_t busy_ns;      /* of all CPUs: time they were neither idle nor stolen */
    int64_t swapped_in_pages;
    int64_t switches; /* of contexts */
};
void os_watch_read(struct os_watch *ret_watch);

/* --- files --- */
/* A fresh private folder in parent (NULL: the OS's place for temporary files). */
bool os_scratch_new(const char *parent, int copies, char *ret_path, char *reason);
void os_scratch_copy(const char *path, int copy, char *ret_path); /* the sub-folder of one copy */
void os_scratch_remove(const char *path); /* with the copies' folders and the files in them */
bool os_file_create(const char *path, const void *data, size_t size); /* fails if it exists */
bool os_file_delete(const char *path);
/* Name of the file system that holds path, "" if not known. memory: it is kept in RAM only. */
void os_file_system(const char *path, char *ret_name, size_t size, bool *ret_memory);

/* --- helpers --- */
/* A process of a benchmark; it dies with the process that started it. cpu -1: where the starter
 * is pinned. near is closed in the helper, far in the starter. Where copies are threads, another
 * one may have held a lock when the helper was forked: main uses no malloc, and no stdio. */
struct os_helper;
typedef void os_helper_main(struct os_link *link);
struct os_helper *os_helper_start(os_helper_main *main, struct os_link *near_end,
                                  struct os_link *far_end, int cpu, char *reason);
void os_helper_stop(struct os_helper *helper);  /* ends and reaps it; NULL is fine */
bool os_helper_ended(struct os_helper *helper); /* by itself: then helper is gone */

/* --- workers: processes (threads where there is no fork) that run the copies --- */
/* They die with this process, whatever ends it. */
struct os_workers;
struct os_port; /* a worker's side */
typedef void os_worker_main(void *arg, int copy, struct os_port *port);
struct os_workers *os_workers_start(int copies, os_worker_main *main, void *arg, char *reason);
void os_port_tell(struct os_port *port, char word); /* not '\0' */
void os_port_wait_gate(struct os_port *port);
void os_workers_open_gate(struct os_workers *workers); /* all at once */
/* The next word a worker told. '\0': that worker has ended (told once a worker); reason then says
 * how. false: nothing now. */
bool os_workers_next(struct os_workers *workers, int *ret_copy, char *ret_word, char *reason);
/* Gives them grace_ns to end by themselves, then ends them and all they started. NULL is fine. */
void os_workers_free(struct os_workers *workers, int64_t grace_ns);

/* --- the one place that waits --- */
enum {
    OS_WAKE_INPUT = 1,      /* standard input can be read, or has ended */
    OS_WAKE_WORKER = 2,     /* os_workers_next has something */
    OS_WAKE_STOP = 4,       /* a signal asks this process to end */
    OS_WAKE_CONNECTION = 8, /* os_listen_wait: someone connects */
};
/* Wait until deadline (os_clock_ns; 0: for ever); returns what woke it, 0 for the deadline.
 * OS_INPUT_HANGUP: only the end of standard input counts as input. */
enum os_input { OS_INPUT_IGNORED, OS_INPUT_HANGUP, OS_INPUT_WANTED };
int os_wait(enum os_input input, struct os_workers *workers, int64_t deadline_ns);
/* Bytes read from standard input without waiting; 0: it has ended. -1: nothing now. */
ptrdiff_t os_input_read(void *buffer, size_t size);
/* Once, first of all: signals that ask to end are noticed by os_wait, broken pipes are errors,
 * standard streams carry bytes as they are. */
void os_begin(void);
bool os_on_terminal(void); /* standard output is a person's */

#endif
