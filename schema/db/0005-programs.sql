-- SPDX-License-Identifier: GPL-3.0-or-later
-- Version 5: what programs of the host call themselves, so that an unchanged one is not started anew for each campaign.

CREATE TABLE program_version (
    path         TEXT PRIMARY KEY,
    size         INTEGER NOT NULL,
    mtime_ns     INTEGER NOT NULL,
    inode        INTEGER NOT NULL,
    version      TEXT NOT NULL,
    asked_ns     INTEGER NOT NULL,
    asked_utc    TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%S', asked_ns / 1000000000,
                     'unixepoch') || printf('.%03dZ', asked_ns % 1000000000 / 1000000)) VIRTUAL
) WITHOUT ROWID;
