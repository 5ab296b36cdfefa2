/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When will it end? From the measured durations of the runs of this campaign, cell by cell. Pure.
 */
#pragma once
#include <glib.h>

typedef struct {
    guint n_cells;
    gint64 *spent_ns; /* a cell */
    guint *measured;
    guint *left;
} Eta;

void eta_init(Eta *eta, guint n_cells);
void eta_finish(Eta *eta);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Eta, eta_finish)

void eta_expect(Eta *eta, guint cell, guint runs);
/* A run of this cell has ended, after duration_ns. */
void eta_note(Eta *eta, guint cell, gint64 duration_ns);

/* Nanoseconds for all that is left: each cell at its own mean; one that was never measured at the
 * longest mean of the others. -1 until half of the cells that have anything left were measured: a
 * guess would mislead more than none. */
gint64 eta_left_ns(const Eta *eta);
