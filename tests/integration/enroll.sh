#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A guest whose host key is not in the inventory: refused until it was enrolled, then pinned.
source "$(dirname "$0")/lib.sh"
need_libvirt
need_guest

key=$(cut -d ' ' -f 1,2 "$guest_folder/host_key.pub")
{ inventory_head && inventory_guest micro "host-key: enrolled"; } >"$state/inventory.yaml"
cat >"$state/plan.yaml" <<'END'
version: 1
plan: enroll
axes:
  hypervisor: [emulated]
  guest: [micro]
memory: 256MiB
workloads: [test.noop]
repeat: {boots: 1, samples: 3, sample-time: 1ms}
idle: off
evidence: {verdict: flag}
limits: {boot: 60s, attempts: 1}
END

vm run "$state/plan.yaml"
is "a guest that was never enrolled is not trusted" "$status" 1
like "and the message says how to enroll" \
    "$(sql "SELECT reason FROM run WHERE verdict = 'failed'")" "vmatrix guest enroll micro"

vm guest enroll micro
is "enroll works" "$status" 0 || note "$err"
is "and pins the key that the guest was built with" "$(sql "SELECT guest, key FROM host_key")" \
    "micro,$key"
vm guest enroll micro --json
like "once more changes nothing" "$out" "unchanged"
nothing_left

vm run "$state/plan.yaml"
is "then it is trusted" "$status" 0 || note "$err"
nothing_left
