#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A plan gives the same cells in the same order every time; another seed changes the order alone.
source "$(dirname "$0")/lib.sh"
guest_folder=$state

for name in vmlinuz initrd.img id_ed25519; do : >"$state/$name"; done
cat >"$state/inventory.yaml" <<END
version: 1
hypervisors:
  emulated: {driver: qemu, uri: "$uri", accelerator: tcg}
guests:
  one: {kernel: vmlinuz, initrd: initrd.img, key: id_ed25519}
  two: {kernel: vmlinuz, initrd: initrd.img, key: id_ed25519}
END

write_plan() {
    cat >"$state/plan-$1.yaml" <<END
version: 1
plan: order
axes:
  hypervisor: [bare, emulated]
  guest: [one, two]
  vcpus: [1, 2, 4, 8]
workloads: [ops.int32-add, syscalls.null, process.fork-exit]
repeat: {boots: 5}
order: {seed: $1}
END
}

# What a plan prints, with everything that is an order sorted away.
without_order() {
    jq -S 'walk(if type == "array" then sort else . end)
        | walk(if type == "object" then del(.seed, .position, .digest, .path) else . end)' "$1" |
        sed 's/plan-[0-9]*//g'
}

write_plan 7
write_plan 8
vm plan "$state/plan-7.yaml" --json --no-estimate
is "plan works" "$status" 0
((status == 0)) || bail "nothing to compare" "$err"
cp "$state/out" "$state/first"
vm plan "$state/plan-7.yaml" --json --no-estimate
check "twice the same bytes" cmp "$state/first" "$state/out"
vm run --dry-run "$state/plan-7.yaml" --json --no-estimate
check "run --dry-run prints the same" cmp "$state/first" "$state/out"
is "nothing was stored" "$(ls "$state"/*.db 2>/dev/null)" ""
check "it is JSON" jq -e . "$state/first"

vm plan "$state/plan-8.yaml" --json --no-estimate
cp "$state/out" "$state/other"
if cmp -s <(jq 'del(.. | .seed?)' "$state/first") <(jq 'del(.. | .seed?)' "$state/other"); then
    fail "another seed gives another order"
else
    pass "another seed gives another order"
fi
is "and changes the order alone" "$(without_order "$state/other")" "$(without_order "$state/first")"
