#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Makes libvirt answer: starts virtlogd and libvirtd if none does, and prints a line "PID NAME" on
# standard output for each daemon that it had to start. "kill PID" ends it again.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

fail() {
    echo "libvirt.sh: $*" >&2
    exit 3
}

# Ordinary users have a libvirt of their own, which starts by itself.
uri=qemu:///session
[[ $(id -u) != 0 ]] || uri=qemu:///system

answers() {
    virsh -q -c "$uri" version >/dev/null 2>&1
}

wait_answer() {
    local _
    for _ in {1..100}; do
        ! answers || return 0
        sleep 0.1
    done
    return 1
}

start() {
    local log
    log=$(mktemp)
    "$1" -d >"$log" 2>&1 </dev/null || fail "$1 does not start: $(cat "$log")"
    rm -f "$log"
    echo "$(cat "/run/$1.pid") $1"
}

# libvirtd sees a KVM that its guests' user cannot open, and asks QEMU anew at each start.
warn_kvm_group() {
    local mode group
    [[ -e /dev/kvm ]] && id libvirt-qemu >/dev/null 2>&1 || return 0
    read -r mode group < <(stat -c '%a %g' /dev/kvm)
    [[ $mode != *[67] && " $(id -G libvirt-qemu) " != *" $group "* ]] || return 0
    echo "libvirt.sh: /dev/kvm belongs to group $group, and libvirt-qemu is not in it: each start of" \
        "a guest takes some 12 s longer. The way out: chgrp kvm /dev/kvm" >&2
}

command -v virsh >/dev/null || fail "virsh is missing: contrib/packages.sh guest"
[[ $uri != qemu:///system ]] || warn_kvm_group
! answers || exit 0
[[ $uri == qemu:///system ]] || fail "virsh -c $uri version: $(virsh -c "$uri" version 2>&1 | tail -n 1)"
if [[ -d /run/systemd/system ]]; then
    systemctl start libvirtd || fail "systemctl start libvirtd failed: systemctl status libvirtd"
else
    # QEMU's console goes through virtlogd, which must be there first.
    kill -0 "$(cat /run/virtlogd.pid 2>/dev/null)" 2>/dev/null || start virtlogd
    start libvirtd
fi
wait_answer || fail "libvirtd runs, but $uri does not answer: $(virsh -c "$uri" version 2>&1 | tail -n 1)"
