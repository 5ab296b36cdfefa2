#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The two-clock check: a guest clock made 1 % fast is flagged, delays of up to 50 ms on every
# message in both directions are not.
source "$(dirname "$0")/../integration/lib.sh"
need_libvirt
need_guest

{
    inventory_head
    inventory_guest fast "agent: $VMATRIX_BUILD/tests/fault/agent-fast"
    inventory_guest jitter "agent: $VMATRIX_BUILD/tests/fault/agent-jitter"
} >"$state/inventory.yaml"
# The allowed drift is well above the error of an emulated guest's own clock calibration.
cat >"$state/plan.yaml" <<'END'
version: 1
plan: clocks
axes:
  hypervisor: [emulated]
  guest: [fast, jitter]
memory: 256MiB
workloads: [test.spin1s]
repeat: {boots: 1, samples: 3, warmup: 0}
idle: off
evidence: off
limits: {boot: 60s, invocation: 60s, drift: 3000ppm}
END

vm run "$state/plan.yaml"
is "run ends well" "$status" 0
((status == 0)) || note "$err"
for guest in $(sql "SELECT c.guest FROM run r JOIN cell c ON c.id = r.cell_id WHERE r.flags LIKE '%forced%'"); do
    note "$guest did not end when its power button was pressed; the end of its console:" "$(console_of "$guest" | tail -n 3)"
done
column() {
    sql "SELECT $2 FROM invocation i JOIN run r ON r.id = i.run_id JOIN cell c ON c.id = r.cell_id
         WHERE c.guest = '$1'"
}
# Of an invocation or a run: one flag, whatever else a busy machine has it flagged with.
flagged() {
    echo "',' || ifnull($1.flags, '') || ',' LIKE '%,$2,%'"
}
is "the fast clock is flagged" "$(column fast "drift_flagged, $(flagged i drift), $(flagged r drift)")" "1,1,1"
is "its drift is 1 %, within the bound and the allowance" \
    "$(column fast "abs(drift_ppm - 10000) < drift_bound_ppm + 3000")" 1
is "the delayed guest is not flagged" "$(column jitter "drift_flagged, $(flagged i drift)")" "0,0"
is "its bound is as wide as the delays make it" \
    "$(column jitter "drift_bound_ppm > 100 AND abs(drift_ppm) < drift_bound_ppm + 3000")" 1
is "a failing clock is no reason to reject a run" "$(sql "SELECT DISTINCT verdict FROM run")" clean
