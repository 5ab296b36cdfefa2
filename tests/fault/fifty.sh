#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A campaign of 50 runs of which 3 are made to fail: the morning page names the three, with reasons, on one screen.
# fifty.sh [guests]: bare cells, or 50 guests.
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
source "$VMATRIX_SOURCE/tests/fault/daemon.sh"

bare_campaign() {
    local modes=()
    need_fake_agent
    for _ in {1..50}; do modes+=(good); done
    modes[6]=dies
    modes[23]=garbage
    modes[41]=refuses-all
    export FAKE_AGENT="${modes[*]}"
    cat >"$state/plan.yaml" <<END
version: 1
plan: fifty
axes:
  hypervisor: [bare]
  variant:
$(for number in {01..10}; do echo "    v$number: {cmdline: \"\"}"; done)
workloads: [fake.one]
repeat: {boots: 5, invocations: 1, samples: 5}
idle: off
evidence: {verdict: flag}
END
    reasons=("exit status 139" "malformed line" "file system is full")
}

guest_campaign() {
    local names=() number
    need_libvirt
    need_guest
    inventory_head >"$state/inventory.yaml"
    for number in {01..47}; do
        names+=("good-$number")
        inventory_guest "good-$number" >>"$state/inventory.yaml"
    done
    for number in exit garbage nul; do
        names+=("$number")
        inventory_guest "$number" "agent: $(make_agent "$number")" >>"$state/inventory.yaml"
    done
    cat >"$state/plan.yaml" <<END
version: 1
plan: fifty
axes:
  hypervisor: [emulated]
  guest: [$(IFS=,; echo "${names[*]}")]
workloads: [test.noop]
repeat: {boots: 1, samples: 3}
idle: off
evidence: {verdict: flag}
END
    reasons=(guest=exit guest=garbage guest=nul)
}

if [[ ${1:-} == guests ]]; then guest_campaign; else bare_campaign; fi
vm submit "$state/plan.yaml"
[[ $status == 0 ]] || bail "submit" "$err"
daemon_start
queue_wait 1200 || fail "the campaign ends" "$(tail -20 "$state/daemon.log")"
daemon_stop
is "50 runs, 3 of which failed" \
    "$(sql "SELECT verdict, count(*) FROM run GROUP BY 1 ORDER BY 1")" "clean,47
failed,3"

COLUMNS=80 vm summary
is "summary can be had" "$status" 0
note "$out"
is "it fits one screen of 24 lines" "$(($(wc -l <<<"$out") <= 24))" 1
# Columns, not bytes: what was cut ends in an ellipsis.
is "of 80 columns" "$(python3 -c 'import sys
print("".join(line for line in sys.stdin.buffer.read().decode().splitlines(True) if len(line) > 81), end="")' <<<"$out")" ""
# What is told in several lines is one text.
text=$(tr -s ' \n' ' ' <<<"$out")
like "it counts" "$text" "47 clean, 3 failed"
for reason in "${reasons[@]}"; do has "it tells of $reason" "$text" "$reason"; done
while IFS= read -r cell; do
    has "it names the cell $cell" "$text" "$cell"
done < <(sql "SELECT DISTINCT c.key FROM run r JOIN cell c ON c.id = r.cell_id WHERE r.verdict = 'failed'")
vm summary --json
is "as JSON too" "$(jq '[.failed[].runs] | add' <<<"$out")" 3
[[ ! -d $state/runs ]] || is "nothing is left of the runs" "$(ls -A "$state/runs")" ""
