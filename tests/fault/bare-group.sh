#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A bare cell's control group outlives a kill at any point of the run, and is gone after the next start.
. "$VMATRIX_SOURCE/tests/integration/lib.sh"

echo 'version: 1' >"$state/inventory.yaml"
cat >"$state/plan.yaml" <<'END'
version: 1
plan: group
axes: {hypervisor: [bare]}
memory: 128MiB
workloads: [test.noop]
repeat: {boots: 1, samples: 2}
idle: off
evidence: {verdict: flag}
END

# Groups of this database's campaigns, a folder a line.
groups() {
    local uuid
    for uuid in $(sql "SELECT substr(uuid, 1, 8) FROM campaign"); do
        find /sys/fs/cgroup -type d -name "vmatrix-$uuid-*" 2>/dev/null
    done
}

vm run "$state/plan.yaml"
is "a run ends well" "$status" 0 || note "$err"
if [[ $(sql "SELECT count(*) FROM run WHERE flags LIKE '%no-cgroup%'") != 0 ]]; then
    skip "kills" "no control groups here: $(sql "SELECT value FROM run_fact WHERE name = 'subject.cgroup.lacks'")"
    exit 0
fi
is "its group is gone" "$(groups)" ""

for point in cgroup-before cgroup-after process-after measure-after undo-cgroup-before undo-cgroup-after; do
    VMATRIX_FAULT=$point vm run "$state/plan.yaml"
    is "killed at $point" "$status" 137
    case $point in
    cgroup-after | process-after | measure-after | undo-cgroup-before)
        like "its group is still there" "$(groups)" '/vmatrix-[0-9a-f]{8}-[0-9]+' ;;
    esac
    [[ $point != measure-after ]] || { vm run "$state/plan.yaml" && is "the next start removes it" "$(groups)" ""; }
done
vm run "$state/plan.yaml"
is "the last start leaves no group" "$(groups)" ""
is "and ends well" "$status" 0 || note "$err"
nothing_left
