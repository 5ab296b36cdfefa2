#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# 200 readers at once, "vmatrix status" and "vmatrix sql", during a campaign: none fails, nothing is lost.
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
source "$VMATRIX_SOURCE/tests/fault/daemon.sh"
need_fake_agent
readers=200

submit_bare read 40 2000
daemon_start
eventually 30 "the campaign runs" answers "SELECT count(*) > 0 FROM run WHERE verdict IS NOT NULL" 1

# Each says what it has read, or how it failed.
for number in $(seq $readers); do
    {
        if ((number % 2)); then
            "$vmatrix" --db "$state/vmatrix.db" status --json
        else
            "$vmatrix" --db "$state/vmatrix.db" sql "SELECT count(*) AS samples, count(DISTINCT run) FROM result" --json
        fi >"$state/reader-$number" 2>&1 </dev/null || echo "$number: exit status $?" >>"$state/broken"
    } &
    pids[number]=$!
done
running=$(sql "SELECT count(*) FROM campaign WHERE state = 'running'")
wait "${pids[@]}"
is "they read while it ran" "$running" 1
is "no reader failed" "$(cat "$state/broken" "$state"/reader-* 2>/dev/null | grep -v '^[][{} ]' | head -5)" ""
is "each had its answer" "$(cat "$state"/reader-* | jq -s length)" $readers
# A run's samples come as one: no reader sees a part of them.
is "no reader saw half a run" "$(cat "$state"/reader-* | jq -s '[.[][] | select(has("samples")) | .samples % 2000] | add')" 0

queue_wait 120 || fail "the campaign ends" "$(tail -20 "$state/daemon.log")"
is "no write is lost" "$(clean_runs) $(sql "SELECT count(*) FROM sample")" "40 80000"
is "the daemon has nothing to complain of" "$(grep -c warning "$state/daemon.log")" 0
samples=2000
is "all invariants hold" "$(invariants)" ""
daemon_stop
