/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A store and a folder for campaigns of bare cells, whose agent is fake-agent.py. */
#pragma once
#include <glib.h>

#include "run/campaign.h"
#include "store/store.h"
#include "util/wait.h"

typedef struct {
    char *folder;
    char *db;
    char *plan, *inventory;
    Store *store;
    Cancel *cancel;
} Fixture;

void fixture_init(Fixture *fixture, gconstpointer data);
void fixture_finish(Fixture *fixture, gconstpointer data);

/* Submit a plan that must be right; returns the campaign. */
gint64 fixture_submit(Fixture *fixture, const char *plan_text);

/* The options of a run of it: the fake agent, the fixture's token. */
CampaignOptions fixture_options(Fixture *fixture);

/* First column of the first row, as text; NULL when there is no row. Transfer full. */
char *fixture_ask(Fixture *fixture, const char *sql);

#define assert_answer(fixture, sql, expected)                                                      \
    do {                                                                                           \
        g_autofree char *answer_ = fixture_ask(fixture, sql);                                      \
        g_assert_cmpstr(answer_, ==, expected);                                                    \
    } while (0)

void assert_nothing_left(Fixture *fixture);

/* Write a whole file. */
void write_file(const char *path, const char *text, guint mode);

/* What every main() of these begins with: a host lock of the test's own. */
void fixture_begin(int *argc, char ***argv);
