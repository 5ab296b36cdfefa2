/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/eta.h"

void eta_init(Eta *eta, guint n_cells)
{
    *eta = (Eta){.n_cells = n_cells,
                 .spent_ns = g_new0(gint64, n_cells),
                 .measured = g_new0(guint, n_cells),
                 .left = g_new0(guint, n_cells)};
}

void eta_finish(Eta *eta)
{
    g_free(eta->spent_ns);
    g_free(eta->measured);
    g_free(eta->left);
    *eta = (Eta){0};
}

void eta_expect(Eta *eta, guint cell, guint runs)
{
    eta->left[cell] += runs;
}

void eta_note(Eta *eta, guint cell, gint64 duration_ns)
{
    eta->spent_ns[cell] += duration_ns;
    eta->measured[cell]++;
    if (eta->left[cell] > 0)
        eta->left[cell]--;
}

gint64 eta_left_ns(const Eta *eta)
{
    gint64 known = 0, longest = 0, unknown_runs = 0;
    guint unmeasured = 0, cells = 0;

    for (guint i = 0; i < eta->n_cells; i++) {
        gint64 mean = eta->measured[i] > 0 ? eta->spent_ns[i] / eta->measured[i] : 0;

        longest = MAX(longest, mean);
        if (eta->left[i] == 0)
            continue;
        cells++;
        known += mean * eta->left[i];
        if (eta->measured[i] == 0) {
            unmeasured++;
            unknown_runs += eta->left[i];
        }
    }
    if (2 * unmeasured > cells)
        return -1;
    return known + unknown_runs * longest;
}
