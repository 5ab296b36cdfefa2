# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154
#
# For tests that run vmatrixd: source after tests/integration/lib.sh.

vmatrixd=$VMATRIX_BUILD/daemon/vmatrixd
daemon_pid=
[[ -x $vmatrixd ]] || bail "vmatrixd" "$vmatrixd is not built"

# Start the daemon on this test's database, with $state/vmatrixd.conf if it is there: daemon_start [NAME=VALUE…]
# shellcheck disable=SC2120
daemon_start() {
    local options=(--db "$state/vmatrix.db")
    [[ ! -e $state/vmatrixd.conf ]] || options+=(--config "$state/vmatrixd.conf")
    env "$@" "$vmatrixd" "${options[@]}" >>"$state/daemon.log" 2>&1 </dev/null &
    daemon_pid=$!
}

# For what needs no guest: bare cells, and the fake agent of the unit tests, each of whose sessions behaves as the
# next word of FAKE_AGENT says.
need_fake_agent() {
    export VMATRIX_AGENT=$VMATRIX_SOURCE/tests/unit/run/fake-agent.py
    export FAKE_AGENT_COUNT=$state/sessions FAKE_AGENT=good
    echo "version: 1" >"$state/inventory.yaml"
}

# Submit bare cells: submit_bare NAME BOOTS SAMPLES [OPTION OF SUBMIT…]; sets campaign.
# shellcheck disable=SC2034 # for those who source this
submit_bare() {
    local name=$1
    cat >"$state/$name.yaml" <<END
version: 1
plan: $name
axes:
  hypervisor: [bare]
workloads: [fake.one]
repeat: {boots: $2, invocations: 1, samples: $3}
idle: off
evidence: {verdict: flag}
limits: {invocation: 10m, boot: 60s}
END
    shift 3
    vm submit "$state/$name.yaml" --json "$@"
    [[ $status == 0 ]] || bail "submit $name" "$err"
    campaign=$(jq ".[0].campaign" <<<"$out")
}

# Wait until a command succeeds, at most SECONDS: eventually SECONDS WHAT COMMAND…
eventually() {
    local what=$2 seconds=$1 _
    shift 2
    for _ in $(seq $((seconds * 10))); do
        ! "$@" || return 0
        sleep 0.1
    done
    fail "$what, within $seconds s" "$(tail -20 "$state/daemon.log")"
}

# Whether a query's answer is this: answers QUERY TEXT
answers() {
    [[ $(sql "$1") == "$2" ]]
}

# Whether the daemon has logged a line with this.
logged() {
    grep -qs -- "$1" "$state/daemon.log"
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
