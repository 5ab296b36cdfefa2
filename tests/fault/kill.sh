#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# QEMU is killed in the middle of an invocation; later vmatrix is interrupted in the middle of one.
source "$(dirname "$0")/../integration/lib.sh"
need_libvirt
need_guest

{
    inventory_head
    inventory_guest micro
    inventory_guest victim "agent: $(make_agent hang)"
} >"$state/inventory.yaml"
write_plan() {
    cat >"$state/$1.yaml" <<END
version: 1
plan: $1
axes:
  hypervisor: [emulated]
  guest: [$2]
memory: 256MiB
workloads: [test.noop]
repeat: {boots: $3, samples: 3, sample-time: 1ms}
idle: off
evidence: {verdict: flag}
limits: {boot: 60s, invocation: 120s, attempts: 1}
END
}
write_plan kill "victim, micro" 2
write_plan interrupt victim 1

# Wait until an invocation has begun in some guest; prints the name of its run's folder.
wait_begun() {
    local console
    for _ in {1..600}; do
        for console in "$state"/runs/*/console.log; do
            ! grep -qs "faulty agent: begun" "$console" || {
                basename "${console%/console.log}"
                return 0
            }
        done
        sleep 0.1
    done
    return 1
}

wait_gone() {
    for _ in {1..300}; do
        [[ -e $state/runs/$1 ]] || return 0
        sleep 0.1
    done
    return 1
}

# Kill the QEMU of each guest in which an invocation has begun.
executioner() {
    local name
    while name=$(wait_begun); do
        pgrep -f "guest=$name,.*" >"$state/victim.pid"
        xargs -r kill -KILL <"$state/victim.pid"
        wait_gone "$name" || return
    done
}

executioner &
executioner_pid=$!
vm run "$state/kill.yaml"
kill "$executioner_pid" 2>/dev/null
is "some cell failed" "$status" 1
is "both runs of the killed guest failed, both of the other are clean" \
    "$(sql "SELECT c.guest, r.verdict, count(*) FROM run r JOIN cell c ON c.id = r.cell_id
            GROUP BY 1, 2 ORDER BY 1")" "micro,clean,2
victim,failed,2"
like "the reason is told" \
    "$(sql "SELECT r.reason FROM run r WHERE r.verdict = 'failed' LIMIT 1")" \
    "test.noop.*(ended|died|gone|killed)"
is "the failed invocations are stored, with no sample" \
    "$(sql "SELECT i.state, count(*), count(s.value) FROM invocation i JOIN run r ON r.id = i.run_id
            LEFT JOIN sample s ON s.invocation_id = i.id
            WHERE r.verdict = 'failed' GROUP BY 1")" "failed,2,0"
nothing_left

"$vmatrix" --db "$state/vmatrix.db" --inventory "$state/inventory.yaml" \
    run "$state/interrupt.yaml" >"$state/out" 2>"$state/err" </dev/null &
pid=$!
check "an invocation begins" wait_begun
kill -INT "$pid"
wait "$pid"
is "an interrupted run exits with 130" "$?" 130
like "its run is interrupted" \
    "$(sql "SELECT r.verdict FROM run r JOIN campaign c ON c.id = r.campaign_id
            WHERE c.name = 'interrupt' AND r.state = 'done'")" "interrupted"
nothing_left
