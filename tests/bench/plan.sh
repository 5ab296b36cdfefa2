#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# plan.sh BUILD-FOLDER: how long a large plan takes to be checked and expanded.
#
# 100 000 cells x 10 blocks must take under 2 s and 300 MB, and at most 11 times the CPU time of
# 10 000 cells. Each size is run 7 times in turn; the least of each counts: the work is always the
# same, and whatever else the machine does can only add to it.
set -euo pipefail

build=${1:?usage: plan.sh BUILD-FOLDER}
expand=$build/tests/bench/plan-expand
[[ -x $expand ]] || { echo "plan.sh: $expand is not there: ninja -C $build tests/bench/plan-expand" >&2; exit 3; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/site.yaml" <<'END'
version: 1
hypervisors:
  kvm: {driver: qemu, uri: "qemu:///system", accelerator: kvm}
guests:
  g0: {disk: d, key: k}
  g1: {disk: d, key: k}
  g2: {disk: d, key: k}
  g3: {disk: d, key: k}
  g4: {disk: d, key: k}
END

# A plan of 1000 x $1 cells: 2 hypervisors, 5 guests, 10 vcpus, 10 memory sizes, $1 levels of tuning.
write_plan() {
    cat <<END
version: 1
plan: large
axes:
  hypervisor: [bare, kvm]
  guest: [g0, g1, g2, g3, g4]
  vcpus: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  memory: [1GiB, 2GiB, 3GiB, 4GiB, 5GiB, 6GiB, 7GiB, 8GiB, 9GiB, 10GiB]
  tuning:
END
    for ((i = 0; i < $1; i++)); do
        echo "    t$i: {cmdline: \"\"}"
    done
    cat <<END
baseline: {hypervisor: bare}
workloads: [ops]
repeat: {boots: 10}
exclude:
  - {hypervisor: bare, guest: g4, vcpus: 10, memory: 10GiB, tuning: t0}
include:
  - {hypervisor: bare, guest: g4, vcpus: 10, tuning: t0}
END
}

least() { sort -g | head -n 1; }

write_plan 10 >"$work/small.yaml"
write_plan 100 >"$work/large.yaml"
for _ in 1 2 3 4 5 6 7; do
    "$expand" "$work/small.yaml" "$work/site.yaml" >>"$work/small"
    "$expand" "$work/large.yaml" "$work/site.yaml" >>"$work/large"
done
read -r cells blocks _ <"$work/large"
wall=$(cut -d ' ' -f 3 "$work/large" | least)
small=$(cut -d ' ' -f 4 "$work/small" | least)
large=$(cut -d ' ' -f 4 "$work/large" | least)
peak=$(cut -d ' ' -f 5 "$work/large" | sort -n | tail -n 1)

LC_ALL=C awk -v cells="$cells" -v blocks="$blocks" -v wall="$wall" -v small="$small" \
    -v large="$large" -v peak="$peak" '
BEGIN {
    growth = large / small
    printf "%d cells x %d blocks: %.3f s (limit 2), peak %.1f MB (limit 300)\n", \
        cells, blocks, wall, peak * 1024 / 1e6
    printf "CPU time %.4f s, of a tenth of the cells %.4f s: growth %.1f x (limit 11)\n", \
        large, small, growth
    exit !(wall < 2 && peak * 1024 < 300e6 && growth <= 11)
}'
