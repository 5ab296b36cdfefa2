-- SPDX-License-Identifier: GPL-3.0-or-later
-- Version 1: the first schema. Documented column by column in schema/README.md.
-- Times are integer nanoseconds of UTC since 1970; each has a generated text column ..._utc,
-- but those of run, which views give: SQLite computes such columns at every insert, and a campaign
-- may have a million runs.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE campaign (
    id               INTEGER PRIMARY KEY,
    uuid             TEXT NOT NULL UNIQUE,
    name             TEXT NOT NULL,
    state            TEXT NOT NULL DEFAULT 'queued'
                     CHECK (state IN ('queued', 'running', 'done', 'cancelled')),
    cancel           INTEGER NOT NULL DEFAULT 0 CHECK (cancel IN (0, 1)),
    plan_path        TEXT,
    plan_text        TEXT NOT NULL,
    plan_digest      TEXT NOT NULL,
    inventory_path   TEXT,
    inventory_text   TEXT NOT NULL,
    inventory_digest TEXT NOT NULL,
    workloads        TEXT NOT NULL CHECK (json_valid(workloads)),
    seed             TEXT NOT NULL,
    blocks           INTEGER NOT NULL,
    cells            INTEGER NOT NULL,
    boot_per         TEXT NOT NULL CHECK (boot_per IN ('cell', 'workload')),
    baseline         TEXT CHECK (baseline IS NULL OR json_valid(baseline)),
    program          TEXT NOT NULL,
    created_ns       INTEGER NOT NULL,
    started_ns       INTEGER,
    ended_ns         INTEGER,
    created_utc      TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%S', created_ns / 1000000000,
                         'unixepoch') || printf('.%03dZ', created_ns % 1000000000 / 1000000)) VIRTUAL,
    started_utc      TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%S', started_ns / 1000000000,
                         'unixepoch') || printf('.%03dZ', started_ns % 1000000000 / 1000000)) VIRTUAL,
    ended_utc        TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%S', ended_ns / 1000000000,
                         'unixepoch') || printf('.%03dZ', ended_ns % 1000000000 / 1000000)) VIRTUAL
);

CREATE TABLE axis (
    id          INTEGER PRIMARY KEY,
    campaign_id INTEGER NOT NULL REFERENCES campaign (id),
    position    INTEGER NOT NULL,
    name        TEXT NOT NULL,
    UNIQUE (campaign_id, name)
);

CREATE TABLE level (
    axis_id  INTEGER NOT NULL REFERENCES axis (id),
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    cmdline  TEXT,
    edits    TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(edits)),
    PRIMARY KEY (axis_id, position)
) WITHOUT ROWID;

CREATE TABLE cell (
    id          INTEGER PRIMARY KEY,
    campaign_id INTEGER NOT NULL REFERENCES campaign (id),
    number      INTEGER NOT NULL,
    key         TEXT NOT NULL,
    axes        TEXT NOT NULL,
    host        TEXT,
    hypervisor  TEXT,
    driver      TEXT,
    accelerator TEXT,
    guest       TEXT,
    vcpus       INTEGER NOT NULL,
    memory      INTEGER,
    kernel      TEXT,
    instances   INTEGER NOT NULL DEFAULT 1,
    skip_reason TEXT
);
CREATE UNIQUE INDEX cell_by_number ON cell (campaign_id, number);

CREATE TABLE run (
    id            INTEGER PRIMARY KEY,
    campaign_id   INTEGER NOT NULL REFERENCES campaign (id),
    cell_id       INTEGER NOT NULL REFERENCES cell (id),
    block         INTEGER NOT NULL,
    position      INTEGER NOT NULL,
    attempt       INTEGER NOT NULL DEFAULT 1 CHECK (attempt >= 1),
    interruptions INTEGER NOT NULL DEFAULT 0 CHECK (interruptions >= 0),
    workload      TEXT,
    state         TEXT NOT NULL DEFAULT 'queued'
                  CHECK (state IN ('queued', 'running', 'done', 'skipped')),
    verdict       TEXT CHECK (verdict IN ('clean', 'contaminated', 'failed', 'interrupted')),
    reason        TEXT,
    flags         TEXT,
    boot_id       TEXT,
    replicate     TEXT CHECK (replicate IN ('boot', 'process')),
    kernel        TEXT,
    started_ns    INTEGER,
    ended_ns      INTEGER,
    CHECK ((state = 'done') = (verdict IS NOT NULL))
);
CREATE UNIQUE INDEX run_by_position ON run (campaign_id, block, position);
-- One try has one row: a rerun cannot be queued twice.
CREATE UNIQUE INDEX run_by_cell
    ON run (cell_id, block, ifnull(workload, ''), attempt, interruptions);
-- Small, whatever the number of finished runs: what claiming and recovering look at.
CREATE INDEX run_queued ON run (campaign_id, block, position) WHERE state = 'queued';
CREATE INDEX run_running ON run (campaign_id) WHERE state = 'running';

CREATE TABLE phase (
    run_id      INTEGER NOT NULL REFERENCES run (id),
    seq         INTEGER NOT NULL,
    name        TEXT NOT NULL,
    started_ns  INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    started_utc TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%S', started_ns / 1000000000,
                    'unixepoch') || printf('.%03dZ', started_ns % 1000000000 / 1000000)) VIRTUAL,
    PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;

CREATE TABLE invocation (
    id                INTEGER PRIMARY KEY,
    run_id            INTEGER NOT NULL REFERENCES run (id),
    position          INTEGER NOT NULL,
    ordinal           INTEGER NOT NULL,
    workload          TEXT NOT NULL,
    state             TEXT NOT NULL CHECK (state IN ('done', 'failed', 'unsupported')),
    reason            TEXT,
    flags             TEXT,
    started_ns        INTEGER NOT NULL,
    host_ns           INTEGER,
    guest_ns          INTEGER,
    drift_ppm         REAL,
    drift_bound_ppm   REAL,
    drift_flagged     INTEGER NOT NULL DEFAULT 0 CHECK (drift_flagged IN (0, 1)),
    prepare_ns        INTEGER,
    observer_cpu_ns   INTEGER,
    observer_switches INTEGER,
    started_utc       TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%S', started_ns / 1000000000,
                          'unixepoch') || printf('.%03dZ', started_ns % 1000000000 / 1000000)) VIRTUAL
);
CREATE UNIQUE INDEX invocation_by_run ON invocation (run_id, position, ordinal);

CREATE TABLE metric (
    id        INTEGER PRIMARY KEY,
    workload  TEXT NOT NULL,
    name      TEXT NOT NULL,
    unit      TEXT NOT NULL,
    direction TEXT NOT NULL CHECK (direction IN ('lower', 'higher')),
    revision  INTEGER NOT NULL,
    UNIQUE (workload, name, unit, direction, revision)
);

-- One b-tree and no second index: the key is the order in which samples come, so that inserts
-- append, and a run's samples lie together.
CREATE TABLE sample (
    invocation_id INTEGER NOT NULL REFERENCES invocation (id),
    metric_id     INTEGER NOT NULL REFERENCES metric (id),
    seq           INTEGER NOT NULL,
    value         REAL NOT NULL,
    iterations    REAL,
    PRIMARY KEY (invocation_id, metric_id, seq)
) WITHOUT ROWID;

CREATE TABLE run_metric (
    run_id        INTEGER NOT NULL REFERENCES run (id),
    metric_id     INTEGER NOT NULL REFERENCES metric (id),
    n_invocations INTEGER NOT NULL,
    n_samples     INTEGER NOT NULL,
    median        REAL NOT NULL,
    mean          REAL NOT NULL,
    stddev        REAL,
    min           REAL NOT NULL,
    max           REAL NOT NULL,
    PRIMARY KEY (run_id, metric_id)
) WITHOUT ROWID;

CREATE TABLE raw_output (
    id            INTEGER PRIMARY KEY,
    run_id        INTEGER NOT NULL REFERENCES run (id),
    invocation_id INTEGER REFERENCES invocation (id),
    stream        TEXT NOT NULL,
    length        INTEGER NOT NULL,
    encoding      TEXT NOT NULL DEFAULT 'zlib' CHECK (encoding IN ('zlib')),
    content       BLOB NOT NULL
);
CREATE INDEX raw_output_by_run ON raw_output (run_id);
CREATE INDEX raw_output_by_invocation ON raw_output (invocation_id)
    WHERE invocation_id IS NOT NULL;

CREATE TABLE fact_name (
    id    INTEGER PRIMARY KEY,
    scope TEXT NOT NULL CHECK (scope IN ('host', 'guest', 'hypervisor')),
    name  TEXT NOT NULL,
    UNIQUE (scope, name)
);

CREATE TABLE fact_value (
    id     INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    value  TEXT NOT NULL
);

CREATE TABLE fact (
    run_id   INTEGER NOT NULL REFERENCES run (id),
    name_id  INTEGER NOT NULL REFERENCES fact_name (id),
    value_id INTEGER NOT NULL REFERENCES fact_value (id),
    PRIMARY KEY (run_id, name_id)
) WITHOUT ROWID;

CREATE TABLE event (
    id          INTEGER PRIMARY KEY,
    campaign_id INTEGER NOT NULL REFERENCES campaign (id),
    run_id      INTEGER REFERENCES run (id),
    at_ns       INTEGER NOT NULL,
    level       TEXT NOT NULL CHECK (level IN ('info', 'warning', 'error')),
    step        TEXT,
    message     TEXT NOT NULL,
    at_utc      TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%S', at_ns / 1000000000,
                    'unixepoch') || printf('.%03dZ', at_ns % 1000000000 / 1000000)) VIRTUAL
);
CREATE INDEX event_by_campaign ON event (campaign_id, at_ns);
CREATE INDEX event_by_run ON event (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE host_key (
    guest        TEXT PRIMARY KEY,
    key          TEXT NOT NULL,
    enrolled_ns  INTEGER NOT NULL,
    enrolled_utc TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%S', enrolled_ns / 1000000000,
                     'unixepoch') || printf('.%03dZ', enrolled_ns % 1000000000 / 1000000)) VIRTUAL
) WITHOUT ROWID;

CREATE TABLE image_digest (
    path         TEXT PRIMARY KEY,
    size         INTEGER NOT NULL,
    mtime_ns     INTEGER NOT NULL,
    inode        INTEGER NOT NULL,
    digest       TEXT NOT NULL,
    computed_ns  INTEGER NOT NULL,
    computed_utc TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%S', computed_ns / 1000000000,
                     'unixepoch') || printf('.%03dZ', computed_ns % 1000000000 / 1000000)) VIRTUAL
) WITHOUT ROWID;
