#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The main job: bare and an emulated guest, measured, stored, compared; then once more.
source "$(dirname "$0")/lib.sh"
need_libvirt
need_guest

{ inventory_head && inventory_guest micro; } >"$state/inventory.yaml"
cat >"$state/plan.yaml" <<'END'
version: 1
plan: main-job
axes:
  hypervisor: [bare, emulated]
  guest: [micro]
  vcpus: [1]
memory: 256MiB
baseline: {hypervisor: bare}
workloads: [ops.int32-add, syscalls.null]
repeat: {boots: 2, invocations: 2, samples: 3, warmup: 1, sample-time: 5ms}
idle: off
evidence: {verdict: flag}
limits: {boot: 90s, invocation: 60s}
END

vm check "$state/plan.yaml"
is "check finds nothing wrong" "$status" 0 || note "$err"
vm run "$state/plan.yaml"
is "run ends well" "$status" 0
((status == 0)) || bail "nothing to look at" "$err"
like "run prints the comparison" "$out" "int32-add"

is "every run is done and clean" \
    "$(sql "SELECT count(*), sum(verdict = 'clean') FROM run WHERE state = 'done'")" "4,4"
is "a bare run is a process, a guest's run a boot" \
    "$(sql "SELECT DISTINCT c.hypervisor, r.replicate FROM run r JOIN cell c ON c.id = r.cell_id
            ORDER BY 1")" "bare,process
emulated,boot"
is "every invocation is there" \
    "$(sql "SELECT count(*), sum(state = 'done') FROM invocation")" "16,16"
is "every sample is there" "$(sql "SELECT count(*), min(value) > 0 FROM result")" "48,1"
is "every invocation has both durations, a drift and its bound" \
    "$(sql "SELECT count(*) FROM invocation WHERE host_ns > 0 AND guest_ns > 0
            AND drift_ppm IS NOT NULL AND drift_bound_ppm >= 0")" 16
is "every invocation has the observer's own cost" \
    "$(sql "SELECT count(*) FROM invocation WHERE observer_cpu_ns >= 0
            AND observer_switches IS NOT NULL")" 16
is "emulation is recorded as such" \
    "$(sql "SELECT DISTINCT accelerator FROM cell WHERE hypervisor = 'emulated'")" tcg
like "the phases of a boot are stored" \
    "$(sql "SELECT group_concat(name, ' ') FROM phase WHERE run_id =
            (SELECT min(r.id) FROM run r JOIN cell c ON c.id = r.cell_id
             WHERE c.hypervisor = 'emulated')")" \
    "start.*ssh-first-byte.*ssh-authenticated.*agent"
is "the digest of the kernel is stored" \
    "$(sql "SELECT count(DISTINCT value) FROM run_fact WHERE name = 'image.kernel.sha256'
            AND value = '$(sha256sum <"$guest_folder/vmlinuz" | cut -d ' ' -f 1)'")" 1
is "a fact of the guest's kernel is stored" \
    "$(sql "SELECT count(DISTINCT value) FROM run_fact WHERE scope = 'guest'
            AND name = 'os.kernel' AND value LIKE '%-cloud-amd64'")" 1
nothing_left

vm sql "DELETE FROM sample"
is "sql refuses to write" "$status" 2
is "and nothing was deleted" "$(sql "SELECT count(*) FROM sample")" 48

for format in table csv json markdown; do
    vm results --format "$format"
    is "results as $format" "$status" 0
    like "results as $format name both cells" "$out" "bare.*emulated|emulated.*bare"
done
vm results --json
check "results as JSON can be parsed" jq -e 'length > 0' "$state/out"
vm results --format csv --where hypervisor=bare --metric 'syscalls.*'
is "results can be narrowed" "$(tail -n +2 <<<"$out" | grep -c .)" 1
vm results --format csv -o "$state/results.csv"
like "results can be written to a file" "$(head -n 1 "$state/results.csv")" ","

vm run "$state/plan.yaml"
is "a second run ends well" "$status" 0
is "and adds a campaign" "$(sql "SELECT count(*), count(DISTINCT uuid) FROM campaign")" "2,2"
is "with samples of its own" \
    "$(sql "SELECT campaign, count(*) FROM result GROUP BY campaign ORDER BY campaign")" "1,48
2,48"
