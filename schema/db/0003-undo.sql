-- SPDX-License-Identifier: GPL-3.0-or-later
-- Version 3: the settings of the host that were changed, each written here before it was changed,
-- so that the next start can give back what a killed process could not.

CREATE TABLE undo (
    id          INTEGER PRIMARY KEY,
    campaign_id INTEGER REFERENCES campaign (id),
    boot_id     TEXT NOT NULL,
    knob        TEXT NOT NULL,
    target      TEXT NOT NULL,
    old         BLOB,
    wanted      TEXT,
    got         BLOB,
    state       TEXT NOT NULL CHECK (state IN ('journalled', 'set', 'held', 'same', 'absent',
                    'refused', 'restored', 'released', 'left', 'rebooted', 'stuck')),
    reason      TEXT,
    created_ns  INTEGER NOT NULL,
    ended_ns    INTEGER,
    created_utc TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%S', created_ns / 1000000000,
                    'unixepoch') || printf('.%03dZ', created_ns % 1000000000 / 1000000)) VIRTUAL,
    ended_utc   TEXT GENERATED ALWAYS AS (CASE WHEN ended_ns > 0
                    THEN strftime('%Y-%m-%dT%H:%M:%S', ended_ns / 1000000000, 'unixepoch')
                         || printf('.%03dZ', ended_ns % 1000000000 / 1000000) END) VIRTUAL,
    CHECK (state NOT IN ('journalled', 'set', 'stuck', 'restored') OR old IS NOT NULL)
);
-- Small, however many settings were ever given back.
CREATE INDEX undo_open ON undo (id) WHERE state IN ('journalled', 'set', 'held', 'stuck');
CREATE INDEX undo_of ON undo (campaign_id);
