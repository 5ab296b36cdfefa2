#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Where subjects run: bare and a guest on the same CPUs, the emulator's threads as an axis, a control group for bare; page
# caches cold, then warm, in host and guest; and the facts of the host with every run.
source "$(dirname "$0")/lib.sh"
need_libvirt
need_guest

fact() { sql "SELECT DISTINCT f.value FROM run_fact f JOIN cell c ON c.id = f.cell
              WHERE f.name = '$1' AND $2"; }

# plan CACHE
plan() {
    cat >"$state/plan.yaml" <<END
version: 1
plan: subject-$1
axes:
  hypervisor: [bare, emulated]
  guest: [micro]
  emulator: [subject, housekeeping]
exclude:
  - {hypervisor: bare, emulator: housekeeping}
memory: 256MiB
workloads: [file.create-delete-10k]
repeat: {boots: 1, samples: 3, sample-time: 5ms}
cache: {host: $1, guest: $1}
idle: off
evidence: {verdict: flag}
limits: {boot: 90s, invocation: 60s}
END
}

{ inventory_head && inventory_guest micro; } >"$state/inventory.yaml"
(($(nproc) >= 2)) || skip_all "two CPUs are needed"
cold=leave
[[ ! -w /proc/sys/vm/drop_caches ]] || cold=cold

plan "$cold"
vm run "$state/plan.yaml"
is "a plan with caches cold ends well" "$status" 0 || note "$err"
cpu=$(fact subject.cpus "c.hypervisor = 'bare'")
like "bare has one CPU" "$cpu" '^[0-9]+$'
is "the guest has the same" "$(fact subject.cpus "c.hypervisor = 'emulated'")" "$cpu"
housekeeping=$(fact subject.housekeeping "c.hypervisor = 'bare'")
is "emulator threads are with the subject" \
    "$(fact subject.emulator.cpus "json_extract(c.axes, '$.emulator') = 'subject' AND c.hypervisor = 'emulated'")" "$cpu"
is "or on housekeeping CPUs, as the axis says" \
    "$(fact subject.emulator.cpus "json_extract(c.axes, '$.emulator') = 'housekeeping'")" "$housekeeping"
like "the domain says so too" "$(fact domain.xml "json_extract(c.axes, '$.emulator') = 'housekeeping'")" \
    "vcpupin vcpu='0' cpuset='$cpu'.*emulatorpin cpuset='"
group=$(fact subject.cgroup "c.hypervisor = 'bare'")
if [[ $group == none ]]; then
    is "without a control group the run has a flag" "$(sql "SELECT count(*) FROM run WHERE flags LIKE '%no-cgroup%'")" 1
else
    like "bare ran in a group of its own" "$group" '/vmatrix-[0-9a-f]{8}-[0-9]+$'
fi
is "which is gone" "$(find /sys/fs/cgroup -type d -name "${group##*/}" 2>/dev/null)" ""
is "bare's memory is the cell's" "$(fact subject.memory "c.hypervisor = 'bare'")" 268435456

plan warm
vm run "$state/plan.yaml"
is "a plan with caches warm ends well" "$status" 0 || note "$err"
is "every run is done and clean" "$(sql "SELECT count(*), sum(verdict = 'clean') FROM run")" "6,6"

# A bare cell has the memory that a guest would have: a workload that needs more says so, and is not killed.
cat >"$state/plan.yaml" <<'END'
version: 1
plan: little
axes: {hypervisor: [bare]}
memory: 64MiB
workloads: [memory.copy]
repeat: {boots: 1, samples: 2}
idle: off
evidence: {verdict: flag}
END
if [[ $group == none ]]; then
    skip "a bare cell with little memory" "no control groups"
else
    vm run "$state/plan.yaml"
    like "a bare cell with little memory says so" \
        "$(sql "SELECT reason FROM invocation WHERE workload = 'memory.copy' AND state <> 'done'")" \
        "needs [0-9]+ MiB of free memory, and [0-6]?[0-9] MiB are there"
fi

facts=$("$vmatrix" --db "$state/vmatrix.db" --inventory "$state/inventory.yaml" host show --json |
    python3 -c 'import json, sys; print("\n".join(sorted(f["name"] for f in json.load(sys.stdin))))')
# The run's folder and this campaign's start are known to a campaign alone.
stored=$(sql "SELECT DISTINCT name FROM run_fact WHERE scope = 'host' AND name NOT LIKE 'filesystem.work.%'
              AND name NOT LIKE 'temperature.%' AND name NOT LIKE 'tune.%' ORDER BY 1" | LC_ALL=C sort)
is "each run has all facts that host show has" "$stored" "$facts"
has "the hypervisor's version among them" "$facts" hypervisor.emulated.version
is "no fact of any run is a machine id" "$(sql "SELECT count(*) FROM run_fact WHERE name LIKE '%machine-id%'
    OR value = '$(cat /etc/machine-id 2>/dev/null || echo none)'")" 0
nothing_left
