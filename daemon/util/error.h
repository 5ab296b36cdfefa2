/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one error domain. Expected outcomes are enum values of the function that has them; a GError
 * of this domain is a failure that some person must read. Every message names the thing, the place
 * (file:line:column, cell, step) and the way out. */
#pragma once
#include <glib.h>

#define VM_ERROR (vm_error_quark())

typedef enum {
    VM_ERROR_FAILED,      /* a step or a cell failed */
    VM_ERROR_INVALID,     /* usage, or invalid input: plan, inventory, arguments */
    VM_ERROR_ENVIRONMENT, /* the machine lacks something: libvirt, KVM, disk space, permission */
    VM_ERROR_TIMEOUT,     /* a deadline passed */
    VM_ERROR_CANCELLED,   /* the cancel token was set (signal, or vmatrix cancel) */
    VM_ERROR_GUEST_DIED,  /* the guard descriptor fired: QEMU or the local agent ended */
    VM_ERROR_PROTOCOL,    /* the guest broke the agent protocol */
    VM_ERROR_HOST_KEY,    /* the guest showed another host key than the one pinned */
    VM_ERROR_AUTH,        /* the guest refused our key */
    VM_ERROR_UNSUPPORTED, /* this driver or guest cannot do that */
    VM_ERROR_BUSY,        /* someone else holds the lock; the message says who */
    VM_ERROR_LOST,        /* the connection to a guest or an agent was lost */
    VM_ERROR_HALT, /* what every run needs has gone (the database's disk, libvirt after it had
                    * answered): no run is to blame, and the queue stops */
} VmErrorCode;

/* Exit codes of both programs, as the man page lists them. */
enum {
    VM_EXIT_DONE = 0,
    VM_EXIT_CELL_FAILED = 1,
    VM_EXIT_INVALID = 2,
    VM_EXIT_ENVIRONMENT = 3,
    VM_EXIT_PARTIAL = 4, /* finished, but cut short, or a run stayed contaminated */
    VM_EXIT_INTERRUPTED = 130,
};

GQuark vm_error_quark(void);

/* The exit code that tells a shell what kind of failure this was. NULL gives VM_EXIT_DONE; an error
 * of a foreign domain counts as VM_EXIT_ENVIRONMENT (GLib reports files and processes that way). */
int vm_error_exit_code(const GError *error);

/* Whether error is of VM_ERROR with this code. NULL is allowed, and is FALSE. */
gboolean vm_error_is(const GError *error, VmErrorCode code);
