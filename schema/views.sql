-- SPDX-License-Identifier: GPL-3.0-or-later
-- The views: made anew whenever this file differs from the one the database was made with. They
-- use nothing but SQLite's own functions, so that any SQLite shell can read them.

-- A row a sample. campaign, cell, run and invocation are row ids.
CREATE VIEW result AS
SELECT r.campaign_id      AS campaign,
       c.name             AS campaign_name,
       c.uuid             AS campaign_uuid,
       cell.id            AS cell,
       cell.key           AS cell_key,
       cell.host          AS host,
       cell.hypervisor    AS hypervisor,
       cell.driver        AS driver,
       cell.accelerator   AS accelerator,
       cell.guest         AS guest,
       cell.vcpus         AS vcpus,
       cell.memory        AS memory,
       ifnull(cell.kernel, r.kernel) AS kernel,
       cell.instances     AS instances,
       cell.axes          AS axes,
       r.block            AS block,
       r.position         AS position,
       r.id               AS run,
       r.attempt          AS attempt,
       r.interruptions    AS interruptions,
       r.replicate        AS replicate,
       r.boot_id          AS boot_id,
       r.state            AS state,
       r.verdict          AS verdict,
       r.reason           AS reason,
       r.flags            AS flags,
       strftime('%Y-%m-%dT%H:%M:%S', r.started_ns / 1000000000, 'unixepoch')
           || printf('.%03dZ', r.started_ns % 1000000000 / 1000000) AS run_started_utc,
       m.workload         AS workload,
       i.position         AS workload_position,
       i.id               AS invocation,
       i.ordinal          AS invocation_ordinal,
       i.state            AS invocation_state,
       i.flags            AS invocation_flags,
       i.started_utc      AS started_utc,
       i.host_ns          AS host_ns,
       i.guest_ns         AS guest_ns,
       i.drift_ppm        AS drift_ppm,
       i.drift_bound_ppm  AS drift_bound_ppm,
       i.drift_flagged    AS drift_flagged,
       m.name             AS metric,
       m.unit             AS unit,
       m.direction        AS direction,
       m.revision         AS revision,
       s.seq              AS sample,
       s.value            AS value,
       s.iterations       AS iterations
  FROM run r
  JOIN campaign c   ON c.id = r.campaign_id
  JOIN cell         ON cell.id = r.cell_id
  JOIN invocation i ON i.run_id = r.id
  JOIN sample s     ON s.invocation_id = i.id
  JOIN metric m     ON m.id = s.metric_id;

-- A row a run and metric: written when the run ends.
CREATE VIEW run_summary AS
SELECT r.campaign_id    AS campaign,
       cell.id          AS cell,
       cell.number      AS cell_number,
       cell.key         AS cell_key,
       cell.host        AS host,
       cell.hypervisor  AS hypervisor,
       cell.driver      AS driver,
       cell.accelerator AS accelerator,
       cell.guest       AS guest,
       cell.vcpus       AS vcpus,
       cell.memory      AS memory,
       ifnull(cell.kernel, r.kernel) AS kernel,
       cell.instances   AS instances,
       cell.axes        AS axes,
       r.block          AS block,
       r.position       AS position,
       r.id             AS run,
       r.attempt        AS attempt,
       r.interruptions  AS interruptions,
       r.replicate      AS replicate,
       r.boot_id        AS boot_id,
       r.verdict        AS verdict,
       r.reason         AS reason,
       r.flags          AS flags,
       strftime('%Y-%m-%dT%H:%M:%S', r.started_ns / 1000000000, 'unixepoch')
           || printf('.%03dZ', r.started_ns % 1000000000 / 1000000) AS started_utc,
       strftime('%Y-%m-%dT%H:%M:%S', r.ended_ns / 1000000000, 'unixepoch')
           || printf('.%03dZ', r.ended_ns % 1000000000 / 1000000) AS ended_utc,
       m.id             AS metric_id,
       m.workload       AS workload,
       m.name           AS metric,
       m.unit           AS unit,
       m.direction      AS direction,
       m.revision       AS revision,
       rm.n_invocations AS n_invocations,
       rm.n_samples     AS n_samples,
       rm.median        AS median,
       rm.mean          AS mean,
       rm.stddev        AS stddev,
       rm.min           AS min,
       rm.max           AS max
  FROM run r
  JOIN cell          ON cell.id = r.cell_id
  JOIN run_metric rm ON rm.run_id = r.id
  JOIN metric m      ON m.id = rm.metric_id;

-- A row a run, whatever became of it.
CREATE VIEW run_list AS
SELECT r.campaign_id    AS campaign,
       r.id             AS run,
       r.block          AS block,
       r.position       AS position,
       cell.id          AS cell,
       cell.number      AS cell_number,
       cell.key         AS cell_key,
       cell.host        AS host,
       cell.hypervisor  AS hypervisor,
       cell.driver      AS driver,
       cell.accelerator AS accelerator,
       cell.guest       AS guest,
       cell.vcpus       AS vcpus,
       cell.memory      AS memory,
       ifnull(cell.kernel, r.kernel) AS kernel,
       cell.instances   AS instances,
       cell.axes        AS axes,
       r.workload       AS workload,
       r.attempt        AS attempt,
       r.interruptions  AS interruptions,
       r.replicate      AS replicate,
       r.boot_id        AS boot_id,
       r.state          AS state,
       r.verdict        AS verdict,
       r.reason         AS reason,
       r.flags          AS flags,
       strftime('%Y-%m-%dT%H:%M:%S', r.started_ns / 1000000000, 'unixepoch')
           || printf('.%03dZ', r.started_ns % 1000000000 / 1000000) AS started_utc,
       strftime('%Y-%m-%dT%H:%M:%S', r.ended_ns / 1000000000, 'unixepoch')
           || printf('.%03dZ', r.ended_ns % 1000000000 / 1000000) AS ended_utc,
       r.duration_ns / 1e9 AS duration_s
  FROM run r
  JOIN cell ON cell.id = r.cell_id;

-- How every cell's tries ended. A row a cell, also for cells that never ran.
CREATE VIEW contamination AS
SELECT cell.campaign_id AS campaign,
       cell.id          AS cell,
       cell.key         AS cell_key,
       cell.host        AS host,
       cell.hypervisor  AS hypervisor,
       cell.accelerator AS accelerator,
       cell.guest       AS guest,
       cell.vcpus       AS vcpus,
       cell.axes        AS axes,
       count(r.verdict)                                   AS attempts,
       count(*) FILTER (WHERE r.verdict = 'clean')        AS clean,
       count(*) FILTER (WHERE r.verdict = 'contaminated') AS rejected,
       count(*) FILTER (WHERE r.verdict = 'failed')       AS failed,
       count(*) FILTER (WHERE r.verdict = 'interrupted')  AS interrupted,
       count(*) FILTER (WHERE r.state = 'skipped')        AS skipped,
       count(*) FILTER (WHERE r.state IN ('queued', 'running')) AS waiting,
       CAST(count(*) FILTER (WHERE r.verdict = 'contaminated') AS REAL)
           / nullif(count(*) FILTER (WHERE r.verdict IN ('clean', 'contaminated')), 0)
                                                          AS rejection_rate,
       (SELECT l.reason FROM run l
         WHERE l.cell_id = cell.id AND l.reason IS NOT NULL
         ORDER BY l.started_ns DESC, l.id DESC LIMIT 1)   AS last_reason
  FROM cell
  LEFT JOIN run r ON r.cell_id = cell.id
 GROUP BY cell.campaign_id, cell.id;

-- A row a cell and metric, across the clean runs (n of them): median, mean, stddev, min and max are
-- of the runs' medians. A cell without any value has one row, with no metric.
CREATE VIEW cell_summary AS
SELECT v.campaign_id    AS campaign,
       cell.id          AS cell,
       cell.number      AS cell_number,
       cell.key         AS cell_key,
       cell.host        AS host,
       cell.hypervisor  AS hypervisor,
       cell.driver      AS driver,
       cell.accelerator AS accelerator,
       cell.guest       AS guest,
       cell.vcpus       AS vcpus,
       cell.memory      AS memory,
       cell.kernel      AS kernel,
       cell.instances   AS instances,
       cell.axes        AS axes,
       m.workload       AS workload,
       m.name           AS metric,
       m.unit           AS unit,
       m.direction      AS direction,
       m.revision       AS revision,
       v.n              AS n,
       v.replicate      AS replicate,
       v.n_host_boots   AS n_host_boots,
       v.n_samples      AS n_samples,
       (SELECT avg(x) FROM (
            SELECT rm.median AS x, row_number() OVER (ORDER BY rm.median) AS k,
                   count(*) OVER () AS n
              FROM run r JOIN run_metric rm ON rm.run_id = r.id
             WHERE r.cell_id = cell.id AND rm.metric_id = m.id AND r.verdict = 'clean')
         WHERE k IN ((n + 1) / 2, (n + 2) / 2)) AS median,
       v.mean           AS mean,
       (SELECT sqrt(sum((x - mean) * (x - mean)) / nullif(n - 1, 0)) FROM (
            SELECT rm.median AS x, avg(rm.median) OVER () AS mean, count(*) OVER () AS n
              FROM run r JOIN run_metric rm ON rm.run_id = r.id
             WHERE r.cell_id = cell.id AND rm.metric_id = m.id AND r.verdict = 'clean')) AS stddev,
       v.min            AS min,
       v.max            AS max,
       (SELECT count(*) FROM run r WHERE r.cell_id = cell.id AND r.verdict IS NOT NULL
           AND (r.workload IS NULL OR m.workload IS NULL OR r.workload = m.workload)) AS attempts,
       (SELECT count(*) FROM run r WHERE r.cell_id = cell.id AND r.verdict = 'clean'
           AND (r.workload IS NULL OR m.workload IS NULL OR r.workload = m.workload)) AS clean,
       (SELECT count(*) FROM run r WHERE r.cell_id = cell.id AND r.verdict = 'contaminated'
           AND (r.workload IS NULL OR m.workload IS NULL OR r.workload = m.workload)) AS rejected,
       (SELECT count(*) FROM run r WHERE r.cell_id = cell.id AND r.verdict = 'failed'
           AND (r.workload IS NULL OR m.workload IS NULL OR r.workload = m.workload)) AS failed,
       (SELECT count(*) FROM run r WHERE r.cell_id = cell.id AND r.verdict = 'interrupted'
           AND (r.workload IS NULL OR m.workload IS NULL OR r.workload = m.workload)) AS interrupted,
       (SELECT count(*) FROM run r WHERE r.cell_id = cell.id AND r.state = 'skipped'
           AND (r.workload IS NULL OR m.workload IS NULL OR r.workload = m.workload)) AS skipped,
       (SELECT l.reason FROM run l WHERE l.cell_id = cell.id AND l.reason IS NOT NULL
           AND (l.workload IS NULL OR m.workload IS NULL OR l.workload = m.workload)
         ORDER BY l.started_ns DESC, l.id DESC LIMIT 1) AS last_reason
  FROM (
       SELECT r.campaign_id AS campaign_id, r.cell_id AS cell_id, rm.metric_id AS metric_id,
              count(*) FILTER (WHERE r.verdict = 'clean') AS n,
              max(r.replicate) AS replicate,
              count(DISTINCT r.boot_id) FILTER (WHERE r.verdict = 'clean') AS n_host_boots,
              sum(rm.n_samples) FILTER (WHERE r.verdict = 'clean') AS n_samples,
              avg(rm.median) FILTER (WHERE r.verdict = 'clean') AS mean,
              min(rm.median) FILTER (WHERE r.verdict = 'clean') AS min,
              max(rm.median) FILTER (WHERE r.verdict = 'clean') AS max
         FROM run r JOIN run_metric rm ON rm.run_id = r.id
        GROUP BY r.campaign_id, r.cell_id, rm.metric_id
       UNION ALL
       SELECT e.campaign_id, e.id, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL
         FROM cell e
        WHERE NOT EXISTS (SELECT 1 FROM run r JOIN run_metric rm ON rm.run_id = r.id
                           WHERE r.cell_id = e.id)
       ) v
  JOIN cell ON cell.id = v.cell_id
  LEFT JOIN metric m ON m.id = v.metric_id;

-- Where the time went: a row a cell and phase.
CREATE VIEW phase_time AS
SELECT cell.campaign_id AS campaign,
       cell.id          AS cell,
       cell.key         AS cell_key,
       cell.host        AS host,
       cell.hypervisor  AS hypervisor,
       cell.guest       AS guest,
       p.name           AS phase,
       min(p.seq)       AS seq,
       count(*)         AS n,
       sum(p.duration_ns) / 1e9 AS total_s,
       avg(p.duration_ns) / 1e9 AS mean_s,
       min(p.duration_ns) / 1e9 AS min_s,
       max(p.duration_ns) / 1e9 AS max_s
  FROM cell
  JOIN run r   ON r.cell_id = cell.id
  JOIN phase p ON p.run_id = r.id
 GROUP BY cell.campaign_id, cell.id, p.name;

-- A row a run and fact.
CREATE VIEW run_fact AS
SELECT r.campaign_id AS campaign,
       r.cell_id     AS cell,
       f.run_id      AS run,
       n.scope       AS scope,
       n.name        AS name,
       v.value       AS value
  FROM fact f
  JOIN run r        ON r.id = f.run_id
  JOIN fact_name n  ON n.id = f.name_id
  JOIN fact_value v ON v.id = f.value_id;

-- The queue and what came of it: a row a campaign. done counts what was decided: clean,
-- contaminated and failed; left is what is queued or in flight. The last columns are of the run in
-- flight, where there is one.
CREATE VIEW campaign_status AS
SELECT c.id             AS campaign,
       c.uuid           AS uuid,
       c.name           AS name,
       c.state          AS state,
       c.paused         AS paused,
       c.cancel         AS cancel,
       c.priority       AS priority,
       c.created_utc    AS created_utc,
       c.not_before_utc AS not_before_utc,
       c.started_utc    AS started_utc,
       c.ended_utc      AS ended_utc,
       c.stop_at_utc    AS stop_at_utc,
       (SELECT count(*) FROM run r WHERE r.campaign_id = c.id AND r.state = 'done'
           AND r.verdict <> 'interrupted')                       AS done,
       (SELECT count(*) FROM run r WHERE r.campaign_id = c.id
           AND r.state IN ('queued', 'running'))                 AS "left",
       (SELECT count(*) FROM run r WHERE r.campaign_id = c.id AND r.state = 'done'
           AND r.verdict = 'clean')                              AS clean,
       (SELECT count(*) FROM run r WHERE r.campaign_id = c.id AND r.state = 'done'
           AND r.verdict = 'contaminated')                       AS contaminated,
       (SELECT count(*) FROM run r WHERE r.campaign_id = c.id AND r.state = 'done'
           AND r.verdict = 'failed')                             AS failed,
       (SELECT count(*) FROM run r WHERE r.campaign_id = c.id AND r.state = 'done'
           AND r.verdict = 'interrupted')                        AS interrupted,
       (SELECT count(*) FROM run r WHERE r.campaign_id = c.id
           AND r.state = 'skipped')                              AS skipped,
       (SELECT avg(r.duration_ns) / 1e9 FROM run r WHERE r.campaign_id = c.id AND r.state = 'done'
           AND r.verdict IN ('clean', 'contaminated'))           AS mean_run_s,
       f.id             AS run,
       cell.key         AS cell_key,
       f.block          AS block,
       f.attempt        AS attempt,
       f.workload       AS workload,
       step.name        AS step,
       step.entered_utc AS step_entered_utc
  FROM campaign c
  LEFT JOIN run f ON f.campaign_id = c.id AND f.state = 'running'
  LEFT JOIN cell  ON cell.id = f.cell_id
  LEFT JOIN step  ON step.run_id = f.id;

-- What happened, in order, with names instead of row ids.
CREATE VIEW event_list AS
SELECT e.id          AS event,
       e.campaign_id AS campaign,
       e.at_utc      AS at_utc,
       e.at_ns       AS at_ns,
       e.level       AS level,
       e.run_id      AS run,
       r.block       AS block,
       r.attempt     AS attempt,
       cell.key      AS cell_key,
       e.step        AS step,
       e.message     AS message
  FROM event e
  LEFT JOIN run r ON r.id = e.run_id
  LEFT JOIN cell  ON cell.id = r.cell_id;

-- What was seen while an invocation ran, with names instead of row ids. A row an invocation that
-- has evidence.
CREATE VIEW invocation_evidence AS
SELECT r.campaign_id AS campaign,
       cell.id       AS cell,
       cell.key      AS cell_key,
       r.block       AS block,
       r.id          AS run,
       r.attempt     AS attempt,
       i.id          AS invocation,
       i.workload    AS workload,
       i.ordinal     AS invocation_ordinal,
       e.verdict     AS verdict,
       e.reason      AS reason,
       e.flags       AS flags,
       e.cpus        AS cpus,
       e.span_ns / 1e9        AS span_s,
       e.foreign_cpu_ns / 1e9 AS foreign_cpu_s,
       CAST(e.foreign_cpu_ns AS REAL) / nullif(e.span_ns * e.n_cpus, 0)       AS foreign_share,
       CAST(e.cpu_steal_ns AS REAL) / nullif(e.span_ns * e.n_cpus, 0)         AS steal_share,
       CAST(e.subject_run_delay_ns AS REAL) / nullif(e.span_ns * e.n_cpus, 0) AS run_delay_share,
       CAST(e.psi_cpu_some_ns AS REAL) / nullif(e.span_ns, 0)    AS cpu_pressure,
       CAST(e.psi_io_some_ns AS REAL) / nullif(e.span_ns, 0)     AS io_pressure,
       CAST(e.psi_memory_some_ns AS REAL) / nullif(e.span_ns, 0) AS memory_pressure,
       CAST(e.guest_steal_ns AS REAL) / nullif(e.guest_span_ns * e.guest_cpus, 0)
                     AS guest_steal_share
  FROM evidence e
  JOIN invocation i ON i.id = e.invocation_id
  JOIN run r        ON r.id = i.run_id
  JOIN cell         ON cell.id = r.cell_id;

-- Who took CPU time of the subject's CPUs: a row an invocation and culprit.
CREATE VIEW culprit AS
SELECT r.campaign_id AS campaign,
       cell.key      AS cell_key,
       r.id          AS run,
       r.attempt     AS attempt,
       r.verdict     AS verdict,
       i.id          AS invocation,
       i.workload    AS workload,
       json_extract(n.value, '$.name')      AS name,
       json_extract(n.value, '$.unit')      AS unit,
       json_extract(n.value, '$.pid')       AS pid,
       json_extract(n.value, '$.processes') AS processes,
       json_extract(n.value, '$.ended')     AS ended,
       json_extract(n.value, '$.cpu_ns') / 1e9 AS cpu_s,
       CAST(json_extract(n.value, '$.cpu_ns') AS REAL) / nullif(e.span_ns * e.n_cpus, 0) AS share
  FROM evidence e
  JOIN json_each(e.named) n
  JOIN invocation i ON i.id = e.invocation_id
  JOIN run r        ON r.id = i.run_id
  JOIN cell         ON cell.id = r.cell_id;

-- What vmatrix itself cost while an invocation ran. A row an invocation that came to its marks.
CREATE VIEW observer AS
SELECT r.campaign_id AS campaign,
       cell.key      AS cell_key,
       r.id          AS run,
       i.id          AS invocation,
       i.workload    AS workload,
       i.host_ns     AS host_ns,
       i.observer_cpu_ns      AS daemon_cpu_ns,
       i.observer_switches    AS daemon_switches,
       e.observer_cpu_ns      AS cpu_ns,
       e.observer_switches    AS switches,
       e.observer_written_bytes AS written_bytes,
       e.reader_cpu_ns        AS reader_cpu_ns,
       i.observer_cpu_ns * 60e3 / nullif(i.host_ns, 0) AS daemon_cpu_ms_a_minute
  FROM invocation i
  JOIN run r      ON r.id = i.run_id
  JOIN cell       ON cell.id = r.cell_id
  LEFT JOIN evidence e ON e.invocation_id = i.id
 WHERE i.host_ns IS NOT NULL;
