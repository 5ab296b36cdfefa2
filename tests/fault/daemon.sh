# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154
#
# For tests that run vmatrixd: source after tests/integration/lib.sh.

vmatrixd=$VMATRIX_BUILD/daemon/vmatrixd
daemon_pid=

# Start the daemon on this test's database: daemon_start [NAME=VALUE…]
daemon_start() {
    env "$@" "$vmatrixd" --db "$state/vmatrix.db" >>"$state/daemon.log" 2>&1 </dev/null &
    daemon_pid=$!
}

# Wait until it has ended by itself, at most SECONDS; sets daemon_status.
# shellcheck disable=SC2034 # for those who source this
daemon_wait() {
    local _
    for _ in $(seq $(($1 * 10))); do
        if ! kill -0 "$daemon_pid" 2>/dev/null; then
            wait "$daemon_pid" 2>/dev/null
            daemon_status=$?
            return 0
        fi
        sleep 0.1
    done
    return 1
}

daemon_stop() {
    kill -TERM "$daemon_pid" 2>/dev/null
    daemon_wait 60
}

# Wait until every campaign has ended, at most SECONDS.
queue_wait() {
    local _
    for _ in $(seq $(($1 * 4))); do
        [[ $(sql "SELECT count(*) FROM campaign WHERE state IN ('queued', 'running')") != 0 ]] || return 0
        sleep 0.25
    done
    return 1
}

# What must hold at any moment, also right after a kill.
invariants() {
    local wrong=
    [[ $(python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("PRAGMA integrity_check").fetchone()[0])' "$state/vmatrix.db") == ok ]] ||
        wrong+="integrity_check; "
    # An invocation of a run is there once, and a finished one has all its samples.
    [[ $(sql "SELECT count(*) FROM (SELECT 1 FROM invocation GROUP BY run_id, workload, ordinal HAVING count(*) > 1)") == 0 ]] ||
        wrong+="an invocation is there twice; "
    [[ $(sql "SELECT count(*) FROM invocation i WHERE state = 'done' AND (SELECT count(*) FROM sample s WHERE s.invocation_id = i.id) <> $samples") == 0 ]] ||
        wrong+="a finished invocation lacks samples; "
    # One clean run a cell and block, whatever was interrupted.
    [[ $(sql "SELECT count(*) FROM (SELECT 1 FROM run WHERE verdict = 'clean' GROUP BY cell_id, block HAVING count(*) > 1)") == 0 ]] ||
        wrong+="a cell was done twice in a block; "
    [[ $(sql "SELECT count(*) FROM run WHERE state = 'running'") -le 1 ]] || wrong+="two runs are running; "
    [[ $(own_guests | wc -l) -le 1 ]] || wrong+="two guests: $(own_guests | tr '\n' ' '); "
    echo "$wrong"
}

clean_runs() {
    sql "SELECT count(*) FROM run WHERE verdict = 'clean'"
}
