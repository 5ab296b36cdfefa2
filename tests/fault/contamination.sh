#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Something takes the guest's CPU in the middle of an invocation: the run is contaminated and says who did it and how
# much it took; it is kept, done again, and clean then.
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
need_libvirt
need_guest
{ inventory_head; inventory_guest micro; } >"$state/inventory.yaml"
# Four hogs leave the guest a fifth of its CPU; what else runs on this machine should take less than the limit.
cat >"$state/plan.yaml" <<'END'
version: 1
plan: contamination
axes:
  hypervisor: [emulated]
  guest: [micro]
  vcpus: [1]
workloads: [test.spin1s]
repeat: {boots: 1, invocations: 1, samples: 7}
idle: off
evidence: {cpu: 30%}
limits: {attempts: 4}
END
hogs=()

# How often it has come by a point.
passed() {
    grep -cxs "$1" "$state/trace"
}

wait_for() {
    local _
    for _ in {1..1200}; do
        (($(passed "$1") == 0)) || return 0
        sleep 0.1
    done
    bail "$1 within 120 s" "$(cat "$state/err")"
}

end_hogs() {
    ((${#hogs[@]} == 0)) || kill "${hogs[@]}" 2>/dev/null
    hogs=()
}
trap 'end_hogs; finish' EXIT

: >"$state/trace"
# The name that the kernel has for a process is that of its file.
cp "$(command -v yes)" "$state/test-hog"
VMATRIX_FAULT_TRACE=$state/trace "$vmatrix" --db "$state/vmatrix.db" --inventory "$state/inventory.yaml" \
    run "$state/plan.yaml" >"$state/out" 2>"$state/err" </dev/null &
runner=$!
wait_for measure-before
domain=$(virsh -q -c "$uri" dumpxml "$(own_guests | head -1)")
cpu=$(grep -oE "vcpupin vcpu='0' cpuset='[0-9]+'" <<<"$domain" | grep -oE "[0-9]+'$" | tr -d "'")
[[ -n $cpu ]] || bail "the guest's CPU is known" "$domain"
sleep 1.5
for _ in 1 2 3 4; do
    taskset -c "$cpu" "$state/test-hog" >/dev/null &
    hogs+=($!)
done
is "the hogs begin in the middle of the invocation" "$(passed measure-after)" 0
wait_for measure-after
end_hogs
wait "$runner"
status=$?
note "$(cat "$state/err")"

reason=$(sql "SELECT reason FROM run ORDER BY id LIMIT 1")
is "the run is contaminated" "$(sql "SELECT verdict, attempt FROM run ORDER BY id LIMIT 1")" "contaminated,1"
like "it says how much was taken of what" "$reason" \
    "^\"?test\.spin1s: .+ took [0-9.]+ CPU-seconds of CPU $cpu in [0-9.]+ s \([0-9.]+ %\)"
# Not always first: of a process that may run on any CPU it is not known which one it took.
like "and who did it" "$reason" "test-hog \(pid [0-9]+\) (took )?[0-9.]+"
is "the hogs took more than the limit" \
    "$(sql "SELECT count(*) FROM culprit WHERE name = 'test-hog' AND share > 0.3 AND share < 1 AND processes = 4")" 1
is "the subject is not among the culprits" \
    "$(sql "SELECT count(*) FROM culprit c JOIN evidence e ON e.invocation_id = c.invocation WHERE c.pid = e.pids")" 0
last=$(sql "SELECT verdict FROM run ORDER BY id DESC LIMIT 1")
if [[ $last == contaminated ]]; then
    skip "the rerun is clean" "others take this machine's CPUs: $(sql "SELECT reason FROM run ORDER BY id DESC LIMIT 1")"
else
    is "the rerun is clean" "$last" clean
    is "nothing is lacking" "$status" 0
fi
is "the rerun is a further attempt of the same cell and block" \
    "$(sql "SELECT count(DISTINCT cell_id), count(DISTINCT block), min(attempt), max(attempt) = count(*), count(*) > 1
        FROM run")" "1,1,1,1,1"
is "what each measured is in the database" \
    "$(sql "SELECT count(*) FROM (SELECT run FROM result GROUP BY run HAVING count(*) = 7)")" \
    "$(sql "SELECT count(*) FROM run")"
vm results
has "the rejection rate is told" "$out" "Rejected: guest=micro hypervisor=emulated vcpus=1"
is "the view contamination has it too" \
    "$(sql "SELECT rejected >= 1 AND rejection_rate > 0 AND rejection_rate <= 1 FROM contamination")" 1
nothing_left
