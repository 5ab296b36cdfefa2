-- SPDX-License-Identifier: GPL-3.0-or-later
-- A database of version 1, with a campaign that ended, one that was cancelled, and one that waits.
PRAGMA application_id = 1986884728;
PRAGMA user_version = 1;
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
CREATE UNIQUE INDEX run_by_cell
    ON run (cell_id, block, ifnull(workload, ''), attempt, interruptions);
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
INSERT INTO campaign (id, uuid, name, state, cancel, plan_path, plan_text, plan_digest, inventory_path, inventory_text, inventory_digest, workloads, seed, blocks, cells, boot_per, baseline, program, created_ns, started_ns, ended_ns) VALUES (1, '1f1fc2c9-c70c-47ca-8bc9-f1d7c7c53c57', 'before', 'done', 0, 'plan.yaml', replace('version: 1\nplan: before\naxes:\n  hypervisor: [bare]\n  vcpus: [1, 2]\nworkloads: [ops.int32-add]\nrepeat: {boots: 2, samples: 3, sample-time: 1ms}\nidle: off\n','\n',char(10)), '72d405e93301cb0173ed0655e168ef5c534409d6232d6214e1e3c46c2be250c1', 'site.yaml', replace('version: 1\nhypervisors: {}\n','\n',char(10)), 'cfd4adb779aa570a0ad01afdf53531b3081de5e6f5a80246707c300455584d0b', '["ops.int32-add"]', '1', 2, 2, 'cell', NULL, 'vmatrix 0.1.0', 1796077259221739986, 1796077259232684616, 1796077259596497281);
INSERT INTO axis (id, campaign_id, position, name) VALUES (1, 1, 0, 'hypervisor');
INSERT INTO axis (id, campaign_id, position, name) VALUES (2, 1, 1, 'vcpus');
INSERT INTO level (axis_id, position, name, cmdline, edits) VALUES (1, 0, 'bare', NULL, '[]');
INSERT INTO level (axis_id, position, name, cmdline, edits) VALUES (2, 0, '1', NULL, '[]');
INSERT INTO level (axis_id, position, name, cmdline, edits) VALUES (2, 1, '2', NULL, '[]');
INSERT INTO cell (id, campaign_id, number, key, axes, host, hypervisor, driver, accelerator, guest, vcpus, memory, kernel, instances, skip_reason) VALUES (1, 1, 0, 'hypervisor=bare vcpus=1', '{"hypervisor":"bare","vcpus":"1"}', 'vm', 'bare', 'bare', 'none', NULL, 1, NULL, NULL, 1, NULL);
INSERT INTO cell (id, campaign_id, number, key, axes, host, hypervisor, driver, accelerator, guest, vcpus, memory, kernel, instances, skip_reason) VALUES (2, 1, 1, 'hypervisor=bare vcpus=2', '{"hypervisor":"bare","vcpus":"2"}', 'vm', 'bare', 'bare', 'none', NULL, 2, NULL, NULL, 1, NULL);
INSERT INTO run (id, campaign_id, cell_id, block, position, attempt, interruptions, workload, state, verdict, reason, flags, boot_id, replicate, kernel, started_ns, ended_ns) VALUES (1, 1, 1, 0, 0, 1, 0, NULL, 'done', 'clean', NULL, NULL, '83867b3b-f4e8-49f4-a430-67b57cefec19', 'process', '6.18.44-fc-v669', 1796077259235637786, 1796077259305200318);
INSERT INTO run (id, campaign_id, cell_id, block, position, attempt, interruptions, workload, state, verdict, reason, flags, boot_id, replicate, kernel, started_ns, ended_ns) VALUES (2, 1, 2, 0, 1, 1, 0, NULL, 'done', 'clean', NULL, NULL, '83867b3b-f4e8-49f4-a430-67b57cefec19', 'process', '6.18.44-fc-v669', 1796077259307615376, 1796077259387551637);
INSERT INTO run (id, campaign_id, cell_id, block, position, attempt, interruptions, workload, state, verdict, reason, flags, boot_id, replicate, kernel, started_ns, ended_ns) VALUES (3, 1, 1, 1, 0, 1, 0, NULL, 'done', 'clean', NULL, NULL, '83867b3b-f4e8-49f4-a430-67b57cefec19', 'process', '6.18.44-fc-v669', 1796077259395680811, 1796077259496221621);
INSERT INTO run (id, campaign_id, cell_id, block, position, attempt, interruptions, workload, state, verdict, reason, flags, boot_id, replicate, kernel, started_ns, ended_ns) VALUES (4, 1, 2, 1, 1, 1, 0, NULL, 'done', 'clean', NULL, NULL, '83867b3b-f4e8-49f4-a430-67b57cefec19', 'process', '6.18.44-fc-v669', 1796077259499864648, 1796077259591919696);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (1, 0, 'gate', 1796077259239765347, 10276);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (1, 1, 'folder', 1796077259239776049, 88219);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (1, 2, 'connect', 1796077259239864620, 1062);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (1, 3, 'process', 1796077259239866376, 2859671);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (1, 4, 'shutdown', 1796077259283508319, 286389);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (2, 0, 'gate', 1796077259311534216, 7632);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (2, 1, 'folder', 1796077259311542626, 115759);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (2, 2, 'connect', 1796077259311659179, 1653);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (2, 3, 'process', 1796077259311662768, 3956571);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (2, 4, 'shutdown', 1796077259359501226, 259316);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (3, 0, 'gate', 1796077259403553028, 7920);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (3, 1, 'folder', 1796077259403561595, 112095);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (3, 2, 'connect', 1796077259403674871, 2448);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (3, 3, 'process', 1796077259403678708, 7056616);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (3, 4, 'shutdown', 1796077259458478233, 287344);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (4, 0, 'gate', 1796077259503535771, 7529);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (4, 1, 'folder', 1796077259503544162, 103498);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (4, 2, 'connect', 1796077259503648945, 1695);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (4, 3, 'process', 1796077259503651951, 3716545);
INSERT INTO phase (run_id, seq, name, started_ns, duration_ns) VALUES (4, 4, 'shutdown', 1796077259559705377, 187150);
INSERT INTO invocation (id, run_id, position, ordinal, workload, state, reason, flags, started_ns, host_ns, guest_ns, drift_ppm, drift_bound_ppm, drift_flagged, prepare_ns, observer_cpu_ns, observer_switches) VALUES (1, 1, 0, 1, 'ops.int32-add', 'done', NULL, NULL, 1796077259251498232, 3116729, 3116401, -105.32162813057425, 5809.162029784159, 0, 22130311, 74256, 2);
INSERT INTO invocation (id, run_id, position, ordinal, workload, state, reason, flags, started_ns, host_ns, guest_ns, drift_ppm, drift_bound_ppm, drift_flagged, prepare_ns, observer_cpu_ns, observer_switches) VALUES (2, 2, 0, 1, 'ops.int32-add', 'done', NULL, NULL, 1796077259323499700, 7262193, 7263409, 167.51139549109996, 2536.950901432265, 0, 23624044, 70777, 2);
INSERT INTO invocation (id, run_id, position, ordinal, workload, state, reason, flags, started_ns, host_ns, guest_ns, drift_ppm, drift_bound_ppm, drift_flagged, prepare_ns, observer_cpu_ns, observer_switches) VALUES (3, 3, 0, 1, 'ops.int32-add', 'done', NULL, NULL, 1796077259423520239, 3208511, 3208331, -56.00620256483305, 6303.098895325758, 0, 23637503, 62208, 2);
INSERT INTO invocation (id, run_id, position, ordinal, workload, state, reason, flags, started_ns, host_ns, guest_ns, drift_ppm, drift_bound_ppm, drift_flagged, prepare_ns, observer_cpu_ns, observer_switches) VALUES (4, 4, 0, 1, 'ops.int32-add', 'done', NULL, NULL, 1796077259517264323, 3357933, 3359085, 343.0661057258501, 4739.335530466116, 0, 34649273, 54743, 2);
INSERT INTO metric (id, workload, name, unit, direction, revision) VALUES (1, 'ops.int32-add', 'latency', 'ns', 'lower', 1);
INSERT INTO sample (invocation_id, metric_id, seq, value, iterations) VALUES (1, 1, 1, 0.4096005885073344, 2456384.0);
INSERT INTO sample (invocation_id, metric_id, seq, value, iterations) VALUES (1, 1, 2, 0.4196063530783461, 2456384.0);
INSERT INTO sample (invocation_id, metric_id, seq, value, iterations) VALUES (1, 1, 3, 0.40962257204085356, 2456384.0);
INSERT INTO sample (invocation_id, metric_id, seq, value, iterations) VALUES (2, 1, 1, 0.4143553768727197, 2473408.0);
INSERT INTO sample (invocation_id, metric_id, seq, value, iterations) VALUES (2, 1, 2, 0.4229641466349264, 2473408.0);
INSERT INTO sample (invocation_id, metric_id, seq, value, iterations) VALUES (2, 1, 3, 0.42237063355499777, 2473408.0);
INSERT INTO sample (invocation_id, metric_id, seq, value, iterations) VALUES (3, 1, 1, 0.42581674202231923, 2448832.0);
INSERT INTO sample (invocation_id, metric_id, seq, value, iterations) VALUES (3, 1, 2, 0.42657424600789273, 2448832.0);
INSERT INTO sample (invocation_id, metric_id, seq, value, iterations) VALUES (3, 1, 3, 0.4262700193398322, 2448832.0);
INSERT INTO sample (invocation_id, metric_id, seq, value, iterations) VALUES (4, 1, 1, 0.389003486618482, 2570112.0);
INSERT INTO sample (invocation_id, metric_id, seq, value, iterations) VALUES (4, 1, 2, 0.38869532884170027, 2570112.0);
INSERT INTO sample (invocation_id, metric_id, seq, value, iterations) VALUES (4, 1, 3, 0.3895641625734598, 2570112.0);
INSERT INTO run_metric (run_id, metric_id, n_invocations, n_samples, median, mean, stddev, min, max) VALUES (1, 1, 1, 3, 0.40962257204085356, 0.41294317120884466, 0.005770495237713642, 0.4096005885073344, 0.4196063530783461);
INSERT INTO run_metric (run_id, metric_id, n_invocations, n_samples, median, mean, stddev, min, max) VALUES (2, 1, 1, 3, 0.42237063355499777, 0.41989671902088127, 0.0048081097165368035, 0.4143553768727197, 0.4229641466349264);
INSERT INTO run_metric (run_id, metric_id, n_invocations, n_samples, median, mean, stddev, min, max) VALUES (3, 1, 1, 3, 0.4262700193398322, 0.4262203357900147, 0.0003811881600755543, 0.42581674202231923, 0.42657424600789273);
INSERT INTO run_metric (run_id, metric_id, n_invocations, n_samples, median, mean, stddev, min, max) VALUES (4, 1, 1, 3, 0.389003486618482, 0.38908765934454737, 0.0004404904076376298, 0.38869532884170027, 0.3895641625734598);
INSERT INTO fact_name (id, scope, name) VALUES (1, 'host', 'cpu.mitigations.spectre_v2');
INSERT INTO fact_name (id, scope, name) VALUES (2, 'host', 'cpu.count');
INSERT INTO fact_name (id, scope, name) VALUES (3, 'host', 'cpu.mitigations.tsa');
INSERT INTO fact_name (id, scope, name) VALUES (4, 'host', 'kernel.cmdline');
INSERT INTO fact_name (id, scope, name) VALUES (5, 'host', 'clocksource');
INSERT INTO fact_name (id, scope, name) VALUES (6, 'host', 'cpu.flags');
INSERT INTO fact_name (id, scope, name) VALUES (7, 'host', 'cpu.online');
INSERT INTO fact_name (id, scope, name) VALUES (8, 'host', 'cpu.mitigations.spec_store_bypass');
INSERT INTO fact_name (id, scope, name) VALUES (9, 'host', 'cpu.microcode');
INSERT INTO fact_name (id, scope, name) VALUES (10, 'host', 'os.name');
INSERT INTO fact_name (id, scope, name) VALUES (11, 'host', 'host.machine-id');
INSERT INTO fact_name (id, scope, name) VALUES (12, 'host', 'cpu.mitigations.vmscape');
INSERT INTO fact_name (id, scope, name) VALUES (13, 'host', 'cpu.smt');
INSERT INTO fact_name (id, scope, name) VALUES (14, 'host', 'cpu.mitigations.meltdown');
INSERT INTO fact_name (id, scope, name) VALUES (15, 'host', 'cpu.mitigations.mds');
INSERT INTO fact_name (id, scope, name) VALUES (16, 'host', 'host.boot-id');
INSERT INTO fact_name (id, scope, name) VALUES (17, 'host', 'numa.nodes');
INSERT INTO fact_name (id, scope, name) VALUES (18, 'host', 'cpu.mitigations.mmio_stale_data');
INSERT INTO fact_name (id, scope, name) VALUES (19, 'host', 'cpu.mitigations.ghostwrite');
INSERT INTO fact_name (id, scope, name) VALUES (20, 'host', 'cpu.mitigations.reg_file_data_sampling');
INSERT INTO fact_name (id, scope, name) VALUES (21, 'host', 'cpu.mitigations.tsx_async_abort');
INSERT INTO fact_name (id, scope, name) VALUES (22, 'host', 'cpu.mitigations.retbleed');
INSERT INTO fact_name (id, scope, name) VALUES (23, 'host', 'virtualisation');
INSERT INTO fact_name (id, scope, name) VALUES (24, 'host', 'cpu.model');
INSERT INTO fact_name (id, scope, name) VALUES (25, 'host', 'memory.total');
INSERT INTO fact_name (id, scope, name) VALUES (26, 'host', 'kernel.release');
INSERT INTO fact_name (id, scope, name) VALUES (27, 'host', 'memory.thp');
INSERT INTO fact_name (id, scope, name) VALUES (28, 'host', 'os.version');
INSERT INTO fact_name (id, scope, name) VALUES (29, 'host', 'cpu.mitigations.indirect_target_selection');
INSERT INTO fact_name (id, scope, name) VALUES (30, 'host', 'cpu.mitigations.spectre_v1');
INSERT INTO fact_name (id, scope, name) VALUES (31, 'host', 'cpu.mitigations.spec_rstack_overflow');
INSERT INTO fact_name (id, scope, name) VALUES (32, 'host', 'cpu.mitigations.old_microcode');
INSERT INTO fact_name (id, scope, name) VALUES (33, 'host', 'cpu.mitigations.gather_data_sampling');
INSERT INTO fact_name (id, scope, name) VALUES (34, 'host', 'host.name');
INSERT INTO fact_name (id, scope, name) VALUES (35, 'host', 'cpu.mitigations.srbds');
INSERT INTO fact_name (id, scope, name) VALUES (36, 'host', 'cpu.mitigations.l1tf');
INSERT INTO fact_name (id, scope, name) VALUES (37, 'host', 'cpu.mitigations.itlb_multihit');
INSERT INTO fact_name (id, scope, name) VALUES (38, 'hypervisor', 'subject.cpus');
INSERT INTO fact_name (id, scope, name) VALUES (39, 'guest', 'clock.source');
INSERT INTO fact_name (id, scope, name) VALUES (40, 'guest', 'os.machine-id');
INSERT INTO fact_name (id, scope, name) VALUES (41, 'guest', 'cpu.vulnerability.vmscape');
INSERT INTO fact_name (id, scope, name) VALUES (42, 'guest', 'agent.folder-fs');
INSERT INTO fact_name (id, scope, name) VALUES (43, 'guest', 'cpu.vulnerability.indirect_target_selection');
INSERT INTO fact_name (id, scope, name) VALUES (44, 'guest', 'cpu.cache.l2');
INSERT INTO fact_name (id, scope, name) VALUES (45, 'guest', 'os.boot-id');
INSERT INTO fact_name (id, scope, name) VALUES (46, 'guest', 'os.machine');
INSERT INTO fact_name (id, scope, name) VALUES (47, 'guest', 'cpu.vulnerability.tsx_async_abort');
INSERT INTO fact_name (id, scope, name) VALUES (48, 'guest', 'cpu.cache.l3');
INSERT INTO fact_name (id, scope, name) VALUES (49, 'guest', 'os.arch');
INSERT INTO fact_name (id, scope, name) VALUES (50, 'guest', 'cpu.vulnerability.gather_data_sampling');
INSERT INTO fact_name (id, scope, name) VALUES (51, 'guest', 'cpu.smt');
INSERT INTO fact_name (id, scope, name) VALUES (52, 'guest', 'cpu.vulnerability.mmio_stale_data');
INSERT INTO fact_name (id, scope, name) VALUES (53, 'guest', 'agent.arch');
INSERT INTO fact_name (id, scope, name) VALUES (54, 'guest', 'cpu.vendor');
INSERT INTO fact_name (id, scope, name) VALUES (55, 'guest', 'cpu.vulnerability.srbds');
INSERT INTO fact_name (id, scope, name) VALUES (56, 'guest', 'cpu.vulnerability.reg_file_data_sampling');
INSERT INTO fact_name (id, scope, name) VALUES (57, 'guest', 'cpu.flags');
INSERT INTO fact_name (id, scope, name) VALUES (58, 'guest', 'cpu.cores');
INSERT INTO fact_name (id, scope, name) VALUES (59, 'guest', 'cpu.cache.l1i');
INSERT INTO fact_name (id, scope, name) VALUES (60, 'guest', 'agent.version');
INSERT INTO fact_name (id, scope, name) VALUES (61, 'guest', 'agent.cpus');
INSERT INTO fact_name (id, scope, name) VALUES (62, 'guest', 'cpu.vulnerability.l1tf');
INSERT INTO fact_name (id, scope, name) VALUES (63, 'guest', 'agent.os');
INSERT INTO fact_name (id, scope, name) VALUES (64, 'guest', 'cpu.threads-per-core');
INSERT INTO fact_name (id, scope, name) VALUES (65, 'guest', 'cpu.vulnerability.tsa');
INSERT INTO fact_name (id, scope, name) VALUES (66, 'guest', 'agent.compiler');
INSERT INTO fact_name (id, scope, name) VALUES (67, 'guest', 'cpu.microcode');
INSERT INTO fact_name (id, scope, name) VALUES (68, 'guest', 'clock.available');
INSERT INTO fact_name (id, scope, name) VALUES (69, 'guest', 'agent.folder');
INSERT INTO fact_name (id, scope, name) VALUES (70, 'guest', 'os.distribution');
INSERT INTO fact_name (id, scope, name) VALUES (71, 'guest', 'os.name');
INSERT INTO fact_name (id, scope, name) VALUES (72, 'guest', 'cpu.mhz');
INSERT INTO fact_name (id, scope, name) VALUES (73, 'guest', 'os.kernel-build');
INSERT INTO fact_name (id, scope, name) VALUES (74, 'guest', 'cpu.vulnerability.spectre_v1');
INSERT INTO fact_name (id, scope, name) VALUES (75, 'guest', 'os.kernel');
INSERT INTO fact_name (id, scope, name) VALUES (76, 'guest', 'cpu.vulnerability.retbleed');
INSERT INTO fact_name (id, scope, name) VALUES (77, 'guest', 'agent.resolution_ns');
INSERT INTO fact_name (id, scope, name) VALUES (78, 'guest', 'cpu.vulnerability.spectre_v2');
INSERT INTO fact_name (id, scope, name) VALUES (79, 'guest', 'memory.available');
INSERT INTO fact_name (id, scope, name) VALUES (80, 'guest', 'cpu.vulnerability.meltdown');
INSERT INTO fact_name (id, scope, name) VALUES (81, 'guest', 'agent.clock_cost_ns');
INSERT INTO fact_name (id, scope, name) VALUES (82, 'guest', 'os.uptime');
INSERT INTO fact_name (id, scope, name) VALUES (83, 'guest', 'cpu.vulnerability.itlb_multihit');
INSERT INTO fact_name (id, scope, name) VALUES (84, 'guest', 'cpu.hypervisor');
INSERT INTO fact_name (id, scope, name) VALUES (85, 'guest', 'cpu.vulnerability.spec_rstack_overflow');
INSERT INTO fact_name (id, scope, name) VALUES (86, 'guest', 'cpu.allowed');
INSERT INTO fact_name (id, scope, name) VALUES (87, 'guest', 'cpu.vulnerability.old_microcode');
INSERT INTO fact_name (id, scope, name) VALUES (88, 'guest', 'memory.transparent-huge-pages');
INSERT INTO fact_name (id, scope, name) VALUES (89, 'guest', 'cpu.vulnerability.mds');
INSERT INTO fact_name (id, scope, name) VALUES (90, 'guest', 'cpu.vulnerability.spec_store_bypass');
INSERT INTO fact_name (id, scope, name) VALUES (91, 'guest', 'cpu.vulnerability.ghostwrite');
INSERT INTO fact_name (id, scope, name) VALUES (92, 'guest', 'cpu.model');
INSERT INTO fact_name (id, scope, name) VALUES (93, 'guest', 'cpu.online');
INSERT INTO fact_name (id, scope, name) VALUES (94, 'guest', 'agent.clock');
INSERT INTO fact_name (id, scope, name) VALUES (95, 'guest', 'cpu.cache.l1d');
INSERT INTO fact_name (id, scope, name) VALUES (96, 'guest', 'memory.total');
INSERT INTO fact_name (id, scope, name) VALUES (97, 'guest', 'cpu.sockets');
INSERT INTO fact_name (id, scope, name) VALUES (98, 'guest', 'cpu.hypervisor-vendor');
INSERT INTO fact_name (id, scope, name) VALUES (99, 'guest', 'memory.swap');
INSERT INTO fact_name (id, scope, name) VALUES (100, 'guest', 'os.cmdline');
INSERT INTO fact_value (id, digest, value) VALUES (1, x'd1344b263a38f2d13bbb4a1f981d4fa1bcec8d07740c5c56d283c195a5d01e2e', 'Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; PBRSB-eIBRS: SW sequence; BHI: Vulnerable');
INSERT INTO fact_value (id, digest, value) VALUES (2, x'd4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35', '2');
INSERT INTO fact_value (id, digest, value) VALUES (3, x'8e886d5327c284659e4bd250fd2311d47007eabbf1a8936f4930ea7c11138422', 'Not affected');
INSERT INTO fact_value (id, digest, value) VALUES (4, x'68c6a3f127308d343a7df99a073845a9bc43fe488691a22c097c6f5b64df4c7f', 'mitigations=auto,no_guest_host,no_guest_guest console=ttyS0 quiet reboot=k panic=1 nomodule random.trust_cpu=1 swiotlb=noforce psi=1 nvproxy.enable=1 page_reporting.page_reporting_order=11 deferred_init=lazy nested_pvm=1 rcupdate.rcu_cpu_stall_cputime=1 rdinit=/process_api -- --firecracker-init --addr 0.0.0.0:2024 --max-ws-buffer-size 32768 --block-local-connections --log-vsock-port 5002 --control-vsock-port 5001 --listen-vsock-port 2024 --tcp-readiness-only --auth-required');
INSERT INTO fact_value (id, digest, value) VALUES (5, x'5efcd711594e059d5f738c9068172914c1ad1b85c127a64d476bc81620401192', 'tsc');
INSERT INTO fact_value (id, digest, value) VALUES (6, x'597739b0b7aedd11938dd245c95acb0b6753293ffcbfb1289476c13b1fce3ec6', 'fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ss ht syscall nx pdpe1gb rdtscp lm constant_tsc rep_good nopl xtopology nonstop_tsc cpuid tsc_known_freq pni pclmulqdq ssse3 fma cx16 pcid sse4_1 sse4_2 x2apic movbe popcnt tsc_deadline_timer aes xsave avx f16c rdrand hypervisor lahf_lm abm 3dnowprefetch cpuid_fault ssbd ibrs ibpb stibp ibrs_enhanced fsgsbase tsc_adjust bmi1 avx2 smep bmi2 erms invpcid avx512f avx512dq rdseed adx smap avx512ifma clflushopt clwb avx512cd sha_ni avx512bw avx512vl xsaveopt xsavec xgetbv1 xsaves avx_vnni avx512_bf16 wbnoinvd arat avx512vbmi umip pku ospke avx512_vbmi2 gfni vaes vpclmulqdq avx512_vnni avx512_bitalg avx512_vpopcntdq rdpid bus_lock_detect cldemote movdiri movdir64b fsrm md_clear serialize tsxldtrk ibt amx_bf16 avx512_fp16 amx_tile amx_int8 flush_l1d arch_capabilities');
INSERT INTO fact (run_id, name_id, value_id) VALUES (1, 1, 1);
INSERT INTO fact (run_id, name_id, value_id) VALUES (1, 2, 2);
INSERT INTO fact (run_id, name_id, value_id) VALUES (1, 3, 3);
INSERT INTO fact (run_id, name_id, value_id) VALUES (1, 4, 4);
INSERT INTO fact (run_id, name_id, value_id) VALUES (1, 5, 5);
INSERT INTO fact (run_id, name_id, value_id) VALUES (1, 6, 6);
UPDATE run SET verdict = 'failed', reason = 'no answer' WHERE id = 4;
INSERT INTO campaign (id, uuid, name, state, plan_text, plan_digest, inventory_text, inventory_digest, workloads, seed, blocks, cells, boot_per, program, created_ns, started_ns, ended_ns)
SELECT 2, '00000000-0000-4000-8000-000000000002', name, 'cancelled', plan_text, plan_digest, inventory_text, inventory_digest, workloads, seed, blocks, 1, boot_per, program, created_ns, started_ns, ended_ns FROM campaign WHERE id = 1;
INSERT INTO campaign (id, uuid, name, state, plan_text, plan_digest, inventory_text, inventory_digest, workloads, seed, blocks, cells, boot_per, program, created_ns)
SELECT 3, '00000000-0000-4000-8000-000000000003', name, 'queued', plan_text, plan_digest, inventory_text, inventory_digest, workloads, seed, blocks, 1, boot_per, program, created_ns FROM campaign WHERE id = 1;
INSERT INTO cell (id, campaign_id, number, key, axes, host, hypervisor, driver, vcpus) SELECT 3, 2, 0, key, axes, host, hypervisor, driver, vcpus FROM cell WHERE id = 1;
INSERT INTO cell (id, campaign_id, number, key, axes, host, hypervisor, driver, vcpus) SELECT 4, 3, 0, key, axes, host, hypervisor, driver, vcpus FROM cell WHERE id = 1;
INSERT INTO run (campaign_id, cell_id, block, position, state) VALUES (2, 3, 0, 0, 'queued');
INSERT INTO run (campaign_id, cell_id, block, position, state) VALUES (2, 3, 1, 0, 'queued');
INSERT INTO run (campaign_id, cell_id, block, position, state) VALUES (3, 4, 0, 0, 'queued');
INSERT INTO run (campaign_id, cell_id, block, position, state) VALUES (3, 4, 1, 0, 'queued');
