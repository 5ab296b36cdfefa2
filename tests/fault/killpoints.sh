#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The daemon is killed (SIGKILL) at both sides of every step, with a real guest, and started again. Nothing that
# was finished is lost, nothing is there twice, nothing is left.
#
# The points are not listed here: a first run writes down every one that it comes by.
. "$VMATRIX_SOURCE/tests/integration/lib.sh"
. "$VMATRIX_SOURCE/tests/fault/daemon.sh"

samples=3
need_libvirt
need_guest
{ inventory_head; inventory_guest micro; } >"$state/inventory.yaml"
cat >"$state/plan.yaml" <<END
version: 1
plan: killed
axes:
  hypervisor: [emulated]
  guest: [micro]
  vcpus: [1]
workloads: [test.noop]
repeat: {boots: 1, samples: $samples}
idle: off
evidence: {verdict: flag}
END

# Finish what there is, and put in a new campaign, so that there is always something to be killed in.
more_work() {
    if [[ -n $daemon_pid ]]; then
        daemon_start
        queue_wait 180 || fail "the queue ends" "$(tail -20 "$state/daemon.log")"
        daemon_stop
    fi
    vm submit "$state/plan.yaml"
    [[ $status == 0 ]] || bail "submit" "$err"
}

more_work
daemon_start VMATRIX_FAULT_TRACE="$state/trace"
queue_wait 180 || bail "the first campaign ends" "$(tail -20 "$state/daemon.log")"
daemon_stop
is "vmatrixd ends with 0 on SIGTERM" "$daemon_status" 0
mapfile -t points < <(awk '!seen[$0]++' "$state/trace")
note "${#points[@]} kill points: ${points[*]}"
if ((${#points[@]} >= 40)); then pass "at least 40 kill points"; else fail "at least 40 kill points" "${#points[@]}"; fi

number=0
for point in "${points[@]}"; do
    # A run that was interrupted 20 times is given up: spread the kills over campaigns.
    ((number++ % 12)) || more_work
    before=$(clean_runs)
    daemon_start VMATRIX_FAULT="$point"
    if ! daemon_wait 120; then
        fail "killed at $point" "the point was not reached: $(tail -5 "$state/daemon.log")"
        daemon_stop
        continue
    fi
    wrong=$(invariants)
    [[ $daemon_status == 137 ]] || wrong+="exit status $daemon_status; "
    (($(clean_runs) >= before)) || wrong+="a finished run is gone; "
    is "killed at $point" "$wrong" ""
done

daemon_start
queue_wait 300 || fail "the queue ends" "$(tail -20 "$state/daemon.log")"
daemon_stop
is "every cell of every block is done once" \
    "$(clean_runs)" "$(sql "SELECT sum(blocks * cells) FROM campaign")"
is "no run failed" "$(sql "SELECT group_concat(reason) FROM run WHERE verdict = 'failed'")" ""
is "every campaign is done" "$(sql "SELECT count(*) FROM campaign WHERE state <> 'done'")" 0
is "all invariants hold" "$(invariants)" ""
nothing_left
