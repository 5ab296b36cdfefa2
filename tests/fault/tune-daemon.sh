#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The daemon's campaigns and the host's settings: changed when one begins, given back when it is paused, cancelled, has
# finished, when the daemon ends, and by the next start after it was killed.
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
source "$VMATRIX_SOURCE/tests/fault/daemon.sh"
source "$VMATRIX_SOURCE/tests/fault/tune-tree.sh"

echo "version: 1" >"$state/inventory.yaml"
make_tree "$state/fresh"
cp -a "$state/fresh" "$state/tree"
export VMATRIX_HOST_ROOT=$state/tree
unset DBUS_SYSTEM_BUS_ADDRESS
cat >"$state/plan.yaml" <<END
version: 1
plan: tuned
axes: {hypervisor: [bare]}
workloads: [test.spin1s]
repeat: {boots: 30, samples: 1, warmup: 0}
idle: off
evidence: off
tune: {$(everything_yaml)}
END

# submit: sets campaign.
submit() {
    vm submit "$state/plan.yaml" --json
    [[ $status == 0 ]] || bail "submit" "$err"
    campaign=$(jq ".[0].campaign" <<<"$out")
}
swappiness() { [[ $(<"$state/tree/proc/sys/vm/swappiness") == "$1" ]]; }
measures() { answers "SELECT count(*) FROM run WHERE state = 'running'" 1; }
open_rows() { sql "SELECT count(*) FROM undo WHERE state IN ('journalled', 'set', 'held', 'stuck')"; }
# given_back WHAT: the last file to be given back is the first that was changed.
given_back() {
    eventually 60 "$1" closed
    settle "$state/tree"
    is "$1: the host is as it was" "$(differ "$state/fresh" "$state/tree") $(open_rows)" " 0"
}
closed() { [[ $(open_rows) == 0 ]]; }

submit
daemon_start
eventually 60 "the campaign is measured" measures
is "the host is tuned" "$(<"$state/tree/proc/sys/vm/swappiness") $(open_rows)" "1 $((changes + 1))"
vm host restore
is "while a campaign is measured nobody else gives back" "$status $(<"$state/tree/proc/sys/vm/swappiness")" "3 1"
has "and is told who measures" "$err" "vmatrixd"
vm host tune --set swappiness=5
is "or tunes" "$status" 3
settle "$state/tree"

vm pause
given_back "paused"
vm resume
eventually 60 "it goes on" swappiness 1
eventually 60 "and is measured" measures
settle "$state/tree"
is "resumed, the host is tuned again" "$(open_rows)" $((changes + 1))

kill -KILL "$daemon_pid"
daemon_wait 10 2>/dev/null
settle "$state/tree"
is "killed, it is left tuned" "$(<"$state/tree/proc/sys/vm/swappiness")" 1
vm pause
daemon_start
given_back "killed, and started again with nothing to do"
vm resume
eventually 60 "it goes on" measures
settle "$state/tree"

daemon_stop
is "SIGTERM ends it" "$daemon_status" 0
given_back "ended by SIGTERM"
daemon_start
eventually 60 "it goes on" measures
settle "$state/tree"

vm cancel "$campaign"
given_back "cancelled"
is "what was measured was measured tuned" \
    "$(sql "SELECT DISTINCT f.value FROM run_fact f JOIN run r ON r.id = f.run WHERE f.name = 'tune.swappiness'
            AND r.verdict = 'clean'")" 1

# The daemon lets nothing stand of a campaign that fails as a whole: its agent is gone.
daemon_stop
submit
daemon_start VMATRIX_AGENT="$state/no-agent"
eventually 60 "the campaign fails" logged "no-agent"
given_back "failed before it began"
daemon_stop
