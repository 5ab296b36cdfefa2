/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A database in a folder of its own, a small plan, and questions to the database. */
#pragma once
#include <glib.h>

#include "store/store.h"

typedef struct {
    char *folder;
    char *path; /* of the database, which does not exist until it is opened */
    Inventory *inventory;
    Plan *plan;
    Matrix *matrix;
    GPtrArray *workloads; /* "ops.add", "mem.copy", "net.tcp" */
    Store *store;         /* open for writing, or NULL */
    gint64 campaign;      /* 0: none */
} Fixture;

/* 2 hypervisors (bare, kvm) x vcpus 1 and 2, 3 blocks. boot_per: "cell" or "workload". */
void fixture_init(Fixture *fixture, const char *boot_per);
/* The same with a plan's whole text. */
void fixture_init_plan(Fixture *fixture, const char *plan);
void fixture_finish(Fixture *fixture);

void fixture_open(Fixture *fixture);
void fixture_add_campaign(Fixture *fixture);

/* Claims the next run; it must be there. */
gint64 fixture_claim(Fixture *fixture);
/* One whole invocation of the n-th workload, of one metric "latency" in ns. */
void fixture_invoke(Fixture *fixture, gint64 run, guint ordinal, const double *values, gsize n);

/* First column of the first row; the query must work and have a row. */
gint64 ask_int(Store *store, const char *sql);
double ask_real(Store *store, const char *sql);
char *ask_text(Store *store, const char *sql); /* transfer full */
/* All rows, "a|b|c" a row, joined by newlines; NULL is "-". Transfer full. */
char *ask_rows(Store *store, const char *sql);
