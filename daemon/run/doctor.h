/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What works on this machine, before anything is run: each check says what it found, and the way
 * out where something is missing. Nothing is changed. */
#pragma once
#include <glib.h>

#include "model/inventory.h"
#include "store/store.h"
#include "util/wait.h"

typedef enum {
    DOCTOR_OK,
    DOCTOR_WARNING, /* it works, but results suffer, or something optional is not there */
    DOCTOR_MISSING, /* what the inventory (or any run) needs does not work */
} DoctorLevel;

typedef struct {
    DoctorLevel level;
    char *check;   /* "libvirt", "image", … */
    char *message; /* what was found */
    char *way_out; /* NULL with DOCTOR_OK */
} DoctorFinding;

typedef struct {
    const Inventory *inventory; /* NULL: there is none; then less can be checked */
    Store *store;               /* NULL: no database yet */
    const char *db_path;        /* where the database is or would be */
    const char *work;           /* folder for runs, or NULL: "runs" beside the database */
    Cancel *cancel;
} DoctorSubject;

const char *doctor_level_name(DoctorLevel level); /* "ok", "warning", "missing" */

/* Do all checks in order. DoctorFinding*, transfer full. */
GPtrArray *doctor_examine(const DoctorSubject *subject);

/* One check: adds at least one finding where it has something to look at. For the table of checks
 * in doctor.c. */
typedef void (*DoctorCheck)(const DoctorSubject *subject, GPtrArray *findings);

void doctor_check_hypervisors(const DoctorSubject *subject, GPtrArray *findings);
void doctor_check_guests(const DoctorSubject *subject, GPtrArray *findings);
void doctor_check_keys(const DoctorSubject *subject, GPtrArray *findings);

/* Add one. message and way_out are taken over; way_out may be NULL. */
void doctor_add(GPtrArray *findings, DoctorLevel level, const char *check, char *message,
                char *way_out);

/* A wait for one question to a program or a daemon: 20 s. */
Wait doctor_wait(const DoctorSubject *subject, const char *step);
