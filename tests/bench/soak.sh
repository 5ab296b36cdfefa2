#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The daemon is killed (SIGKILL) at random times, again and again, with a real guest: after each kill all invariants
# hold, and at the end nothing is lost and nothing is left.
#
#   KILLS=100  how many
#   SEED=1     of the times; printed, so that a failure can be had again (as far as the machine lets it)
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
source "$VMATRIX_SOURCE/tests/fault/daemon.sh"
kills=${KILLS:-100}
RANDOM=${SEED:-1}
samples=3
need_libvirt
need_guest
{ inventory_head; inventory_guest micro; } >"$state/inventory.yaml"
# Bare cells too: they are short, and a kill may fall between two runs of different kinds.
cat >"$state/plan.yaml" <<END
version: 1
plan: soak
axes:
  hypervisor: [emulated, bare]
  guest: [micro]
workloads: [test.noop]
repeat: {boots: 3, invocations: 2, samples: $samples}
idle: off
evidence: {verdict: flag}
END

more_work() {
    (($(sql "SELECT count(*) FROM campaign WHERE state IN ('queued', 'running')") > 0)) || {
        vm submit "$state/plan.yaml"
        [[ $status == 0 ]] || bail "submit" "$err"
    }
}

# A run that is killed 20 times is given up, as it must be: that is told from a loss.
given_up() {
    sql "SELECT count(*) FROM run WHERE verdict = 'failed' AND reason LIKE 'interrupted 20 times%'"
}

broken=0
vm submit "$state/plan.yaml"
for number in $(seq "$kills"); do
    more_work
    before=$(clean_runs)
    invocations=$(sql "SELECT count(*) FROM invocation WHERE state = 'done'")
    # Most runs take 6 to 10 s: the kills fall into all of it, and now and then a run ends.
    pause=$((RANDOM % 20000))
    daemon_start
    sleep "$(printf '%d.%03d' $((pause / 1000)) $((pause % 1000)))"
    kill -KILL "$daemon_pid"
    wait "$daemon_pid" 2>/dev/null
    wrong=$(invariants)
    (($(clean_runs) >= before)) || wrong+="a finished run is gone; "
    (($(sql "SELECT count(*) FROM invocation WHERE state = 'done'") >= invocations)) ||
        wrong+="a finished invocation is gone; "
    [[ -z $wrong ]] || {
        broken=$((broken + 1))
        note "kill $number, after $pause ms: $wrong"
    }
done
is "$kills kills, after each of which all invariants hold" "$broken" 0

daemon_start
queue_wait 300 || fail "the queue ends" "$(tail -20 "$state/daemon.log")"
daemon_stop
note "given up after 20 interruptions: $(given_up)"
note "$(sql "SELECT count(*), verdict FROM run WHERE state = 'done' GROUP BY 2" | tr '\n' ' ')"
is "every cell of every block is done once" \
    "$(($(clean_runs) + $(given_up)))" "$(sql "SELECT sum(blocks * cells) FROM campaign")"
is "no run failed" "$(sql "SELECT group_concat(reason) FROM run WHERE verdict = 'failed'
    AND reason NOT LIKE 'interrupted 20 times%'")" ""
is "every campaign is done" "$(sql "SELECT count(*) FROM campaign WHERE state <> 'done'")" 0
is "all samples of clean runs are there" "$(sql "SELECT count(*) FROM run r WHERE verdict = 'clean' AND
    (SELECT count(*) FROM invocation i JOIN sample s ON s.invocation_id = i.id WHERE i.run_id = r.id) <> 2 * $samples")" 0
is "all invariants hold" "$(invariants)" ""
nothing_left
