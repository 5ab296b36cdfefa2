#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What does vmatrix cost beside a careful hand-written script?
#
# The same work: boot the micro guest, put the agent there, one invocation of test.noop, end it with
# destroy; on the same libvirtd, from the same domain XML; gate, settle and evidence off. In turn:
#   vmatrix   vmatrix run
#   script    virsh create, ssh polled every 0.1 s, one ControlMaster connection for upload and run, virsh destroy
#   naive     the same with a new connection for each step
#
# A script that polls a user-mode forward does so every 1.1 s in truth (such a forward accepts at once, and ssh then
# waits for a second), so its luck depends on when the guest is up: one that takes 3.2 s is found at once, one of
# 3.4 s a second later. So the guest of each pair boots slower by another part of 1.1 s, for all programs alike.
#
# The floor is what no program can save: the create call and the boot until the SSH server can be heard, the agent's own
# work and the destroy call. When the server was there is seen in each boot itself, on the guest's console (ready.py),
# since no two boots take equally long; how long its greeting takes, by a boot of its own. Own time is total less floor.
#
# usage: overhead.sh [BUILD] [PAIRS]
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/lib.sh"
pairs=${2:-7}

printf '%s\n' 'version: 1' 'plan: overhead' 'axes:' '  hypervisor: [qemu]' '  guest: [micro]' \
    '  vcpus: [1]' 'workloads: [test.noop]' 'repeat: {boots: 1, invocations: 1, samples: 1, warmup: 0}' \
    'idle: off' 'evidence: off' >"$work/plan.yaml"

by_script() { # $1: master or naive
    ssh_options "$1"
    script_boot
    script_push
    ssh "${options[@]}" root@127.0.0.1 '/tmp/agent/vmatrix-agent run --samples 1 test.noop' >"$work/script.out"
    script_destroy
}

# How long the server takes for its greeting: for the floor.
by_banner() {
    rm -f "$work/console.log"
    virsh -q -c "$uri" create "$work/domain.xml" >/dev/null
    python3 "$here/ready.py" "$work" "$port" | tail -n 1 >>"$work/greetings"
    virsh -q -c "$uri" destroy "$name" >/dev/null
}

timed() { # label command…
    local label=$1 since until watcher
    shift
    find "$work" -name console.log -delete
    python3 "$here/ready.py" "$work" >"$work/ready" &
    watcher=$!
    since=$(date +%s%N)
    "$@"
    until=$(date +%s%N)
    wait "$watcher"
    echo "$label $since $until $(cat "$work/ready")" >>"$work/times"
}

begin
by_script master
for pair in $(seq "$pairs"); do
    write_inventory "$(printf '%d.%03d' $((pair * 1100 / pairs / 1000)) $((pair * 1100 / pairs % 1000)))"
    timed vmatrix by_vmatrix
    write_domain
    timed script by_script master
    timed naive by_script naive
    by_banner
    echo "pair $pair of $pairs" >&2
done
sql "SELECT r.id, p.name, p.started_ns, p.duration_ns FROM phase p JOIN run r ON r.id = p.run_id WHERE r.id > 1" \
    >"$work/phases"
sql "SELECT run_id, prepare_ns, host_ns FROM invocation WHERE run_id > 1" >"$work/invocations"
python3 "$here/overhead.py" "$work/times" "$work/phases" "$work/invocations" "$work/greetings"
