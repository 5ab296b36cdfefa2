#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The gate waits for a program that takes the CPUs, for one that writes to the disk, and for another guest; it names
# each, and when that has ended it opens within the time it must be quiet and 2 s. Limits are wide, so that what else
# runs on this machine is not in the way; times are those that the gate itself has recorded.
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
need_libvirt
need_guest
{ inventory_head; inventory_guest micro; } >"$state/inventory.yaml"
readonly settle_s=2
guest=gate-guest-$$
hogs=()

# plan_of NAME KEY: VALUE…: a bare cell behind a gate that minds nothing but these.
plan_of() {
    local name=$1 key
    local -A idle=([cpu-busy]=100% [run-queue]=100000 [cpu-pressure]=100% [io-pressure]=100% [memory-pressure]=100%
        [disk-busy]=100% [disk-rate]=1TB [network-rate]=1TB [temperature]=1000K [guests]=ignore [chores]=ignore
        [settle]=${settle_s}s [wait]=120s [on-timeout]=fail)
    shift
    for key; do idle[${key%%:*}]=${key#*: }; done
    cat <<END
version: 1
plan: $name
axes:
  hypervisor: [bare]
workloads: [test.noop]
repeat: {boots: 1, samples: 3, sample-time: 1ms}
evidence: off
idle:
END
    for key in "${!idle[@]}"; do echo "  $key: ${idle[$key]}"; done
}

# One value of the case's campaign: ask NAME SQL, where the SQL has %s for the campaign.
ask() {
    # shellcheck disable=SC2059
    sql "$(printf "$2" "(SELECT id FROM campaign WHERE name = '$1')")"
}

waits_for() {
    [[ $(ask "$1" "SELECT group_concat(message, ' | ') FROM event WHERE step = 'gate' AND campaign_id = %s") == *"$2"* ]]
}

# patiently SECONDS COMMAND…
patiently() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < until)) || return 1
        sleep 0.25
    done
}

end_hogs() {
    ((${#hogs[@]} == 0)) || kill "${hogs[@]}" 2>/dev/null
    ((${#hogs[@]} == 0)) || wait "${hogs[@]}" 2>/dev/null
    hogs=()
}

end_guest() {
    virsh -q -c "$uri" destroy "$guest" >/dev/null 2>&1
}
trap 'end_hogs; end_guest; finish' EXIT

# The gate of this plan opens by itself: else nothing can be told here.
is_open() {
    vm host gate "$state/$1.yaml"
    [[ $status == 0 ]]
}

# Of the last "host gate": what was over, and who.
loud() {
    grep -E ' over$|^  ' <<<"$out" | tr -s ' \n' ' '
}

# behind NAME WHO END: run the plan while WHO is there, see the gate name it, END it, and see the gate open.
behind() {
    local name=$1 who=$2 end=$3 runner ended
    "$vmatrix" --db "$state/vmatrix.db" --inventory "$state/inventory.yaml" run "$state/$name.yaml" \
        >"$state/run.out" 2>"$state/run.err" </dev/null &
    runner=$!
    check "$name: the gate waits, and names $who" patiently 60 waits_for "$name" "$who"
    is "$name: it is still shut" "$(ask "$name" "SELECT step.name FROM step JOIN run ON run.id = step.run_id
        WHERE run.campaign_id = %s")" gate
    $end
    ended=$(date +%s%N)
    wait "$runner"
    has "$name: the progress says it too" "$(grep ' waits: ' "$state/run.err")" "$who"
    note "$name: $(ask "$name" "SELECT message FROM event WHERE step = 'gate' AND campaign_id = %s")"
    if [[ $(ask "$name" "SELECT reason FROM run WHERE campaign_id = %s") == *"did not become idle"* ]]; then
        skip "$name: it opens" "others took their turn: $(tail -n 3 "$state/run.err")"
        return
    fi
    is "$name: then the run is done" "$(ask "$name" "SELECT state || ' ' || verdict FROM run WHERE campaign_id = %s")" \
        "done clean" || note "$(<"$state/run.err")"
    is "$name: the gate opened after the end" \
        "$(ask "$name" "SELECT p.started_ns + p.duration_ns > $ended FROM phase p JOIN run r ON r.id = p.run_id
            WHERE p.name = 'gate' AND r.campaign_id = %s")" 1
    is "$name: it opened within its time and 2 s after the last look that saw it" \
        "$(ask "$name" "SELECT p.duration_ns <= ($settle_s + 2) * 1e9 FROM phase p
            JOIN run r ON r.id = p.run_id WHERE p.name = 'gate-settle' AND r.campaign_id = %s")" 1
    note "$name: open $(ask "$name" "SELECT (p.started_ns + p.duration_ns - $ended) / 1e9 FROM phase p
        JOIN run r ON r.id = p.run_id WHERE p.name = 'gate' AND r.campaign_id = %s") s after the end"
}

# ---- the CPUs ----

# The name that the kernel has for a process is that of its file.
cp "$(command -v yes)" "$state/test-cpu-hog"
# Whatever else runs here is to get less.
if [[ $(id -u) == 0 ]]; then first=(nice -n -15); else first=(); fi
plan_of cpu "cpu-busy: 70%" >"$state/cpu.yaml"
if patiently 30 is_open cpu; then
    for ((i = 0; i < $(nproc); i++)); do
        "${first[@]}" "$state/test-cpu-hog" >/dev/null &
        hogs+=($!)
    done
    vm host gate "$state/cpu.yaml" --json
    is "host gate: exit code 4 while it would wait" "$status" 4
    check "host gate: names who" jq -e \
        '.[] | select(.signal == "cpu-busy") | .verdict == "over" and (.who | contains("test-cpu-hog"))' "$state/out"
    behind cpu test-cpu-hog end_hogs
else
    skip "the CPUs" "this machine is too busy: $(loud)"
fi

# ---- the disk ----

cat >"$state/test-disk-hog" <<END
#!$(python3 -c 'import sys; print(sys.executable)')
END
cat >>"$state/test-disk-hog" <<'END'
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
while True:
    for block in range(16):
        os.pwrite(fd, os.urandom(1 << 20), block << 20)
    os.fsync(fd)
END
chmod 755 "$state/test-disk-hog"
plan_of disk "disk-rate: 4MiB" >"$state/disk.yaml"
if [[ $(stat -f -c %T "$state") == tmpfs || $(id -u) != 0 ]]; then
    skip "the disk" "needs a folder on a disk, and root, to see who writes"
elif patiently 30 is_open disk; then
    "$state/test-disk-hog" "$state/hog" &
    hogs+=($!)
    behind disk test-disk-hog end_hogs
else
    skip "the disk" "this machine's disk is too busy: $(loud)"
fi

# ---- another guest ----

start_guest() {
    cat >"$state/guest.xml" <<END
<domain type='qemu'>
  <name>$guest</name>
  <memory unit='MiB'>256</memory>
  <vcpu>1</vcpu>
  <os><type>hvm</type><kernel>$guest_folder/vmlinuz</kernel><initrd>$guest_folder/initrd.img</initrd>
    <cmdline>console=ttyS0 quiet panic=-1 micro.fault=nossh</cmdline></os>
  <features><acpi/></features>
  <devices><serial type='file'><source path='$state/guest.log'/></serial></devices>
</domain>
END
    virsh -q -c "$uri" create "$state/guest.xml"
}

plan_of guest "guests: wait" >"$state/guest.yaml"
if patiently 20 is_open guest; then
    check "another guest starts" start_guest
    behind guest "$guest (hypervisor emulated)" end_guest
else
    # Then it does not open; but it names this one too.
    skip "the gate opens when the other guest has ended" "there are more on this machine: $(loud)"
    check "another guest starts" start_guest
    vm host gate "$state/guest.yaml" --json
    is "host gate: exit code 4 beside another guest" "$status" 4
    has "host gate: names the guest" "$out" "guest $guest (hypervisor emulated)"
fi
