/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel is asked for by the syscalls, signal, process and vm benchmarks.
 * os-kernel-posix.c and os-kernel-windows.c implement it. Each returns false when the system
 * refused. */
#ifndef VMATRIX_AGENT_OS_KERNEL_H
#define VMATRIX_AGENT_OS_KERNEL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- files, by path and by handle --- */
#define OS_NO_HANDLE ((intptr_t)-1)
intptr_t os_open(const char *path, bool writing); /* an existing file; OS_NO_HANDLE: refused */
void os_close(intptr_t handle);                   /* OS_NO_HANDLE is fine */
const char *os_zero_device(void);                 /* NULL: there is none */
const char *os_null_device(void);
bool os_read_byte(intptr_t handle);
bool os_write_byte(intptr_t handle);
bool os_stat(const char *path);
bool os_fstat(intptr_t handle);

/* --- signals --- */
bool os_signal_install(void); /* a handler that does nothing */
bool os_signal_send(void);    /* the signal of that handler to this process; back after it ran */
bool os_signal_probe(void);   /* whether one could be sent: as much work, but for the signal */
void os_signal_restore(void);

/* --- processes and threads --- */
bool os_run(const char *const *argv); /* start a program, wait for its end; true: its status is 0 */
bool os_thread_start_join(void);      /* a thread that ends at once */
bool os_program_path(char *ret_path, size_t size); /* of this program */

/* --- memory --- */
struct os_map {
    void *at;
    size_t size;
};
/* The whole file, readable, nothing of it mapped in beforehand. */
bool os_map_file(const char *path, struct os_map *ret_map);
void os_unmap(struct os_map *map);

#endif
