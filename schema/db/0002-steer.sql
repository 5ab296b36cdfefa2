-- SPDX-License-Identifier: GPL-3.0-or-later
-- Version 2: the queue is steered. When a campaign may start and must have stopped, which goes
-- first, what is paused, where each run is, and how long runs took by the monotonic clock.

ALTER TABLE campaign ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE campaign ADD COLUMN paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1));
ALTER TABLE campaign ADD COLUMN not_before_ns INTEGER NOT NULL DEFAULT 0 CHECK (not_before_ns >= 0);
ALTER TABLE campaign ADD COLUMN stop_by_minute INTEGER CHECK (stop_by_minute BETWEEN 0 AND 1439);
ALTER TABLE campaign ADD COLUMN stop_at_ns INTEGER CHECK (stop_at_ns >= 0);
ALTER TABLE campaign ADD COLUMN not_before_utc TEXT GENERATED ALWAYS AS (CASE WHEN not_before_ns > 0
    THEN strftime('%Y-%m-%dT%H:%M:%S', not_before_ns / 1000000000, 'unixepoch')
         || printf('.%03dZ', not_before_ns % 1000000000 / 1000000) END) VIRTUAL;
ALTER TABLE campaign ADD COLUMN stop_at_utc TEXT GENERATED ALWAYS AS (CASE WHEN stop_at_ns > 0
    THEN strftime('%Y-%m-%dT%H:%M:%S', stop_at_ns / 1000000000, 'unixepoch')
         || printf('.%03dZ', stop_at_ns % 1000000000 / 1000000) END) VIRTUAL;

-- Small, whatever the number of campaigns that have ended, and in the order of the queue.
CREATE INDEX campaign_open ON campaign (priority DESC, id) WHERE state IN ('queued', 'running');

-- Of runs that ended before there was this column only the wall clock is known.
ALTER TABLE run ADD COLUMN duration_ns INTEGER CHECK (duration_ns >= 0);
UPDATE run SET duration_ns = ended_ns - started_ns
 WHERE verdict IN ('clean', 'contaminated', 'failed') AND ended_ns >= started_ns;

-- A campaign that was cancelled runs no more: each of its runs says so.
UPDATE run SET state = 'skipped', reason = 'the campaign was cancelled before this run began'
 WHERE state = 'queued' AND campaign_id IN (SELECT id FROM campaign WHERE state = 'cancelled');

-- How many runs a campaign has of each kind and how long they took: counted without a look at the
-- table.
CREATE INDEX run_by_state ON run (campaign_id, state, verdict, duration_ns);
-- Earlier campaigns with the same cell.
CREATE INDEX cell_by_key ON cell (key);

CREATE TABLE step (
    run_id      INTEGER PRIMARY KEY REFERENCES run (id),
    name        TEXT NOT NULL,
    entered_ns  INTEGER NOT NULL,
    entered_utc TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%S', entered_ns / 1000000000,
                    'unixepoch') || printf('.%03dZ', entered_ns % 1000000000 / 1000000)) VIRTUAL
);
