#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# From a fresh Debian to a table: installs packages, builds vmatrix, makes the small guest, and
# compares it with the bare host. Some minutes the first time; a second time adds a campaign.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly build=build/main

say() {
    echo "quickstart: $*"
}

fail() {
    echo "quickstart: $*" >&2
    exit 3
}

state_folder() {
    if [[ $(id -u) == 0 && -z ${XDG_STATE_HOME:-} ]]; then
        echo /var/lib/vmatrix # the hypervisor's user cannot look into root's home
    else
        echo "${XDG_STATE_HOME:-${HOME:?HOME is not set}/.local/state}/vmatrix"
    fi
}

build() {
    mkdir -p build
    if [[ ! -f $build/build.ninja ]] && ! meson setup "$build" >"$state/build.log" 2>&1; then
        tail -n 20 "$state/build.log" >&2
        fail "meson setup failed, see $state/build.log"
    fi
    ninja -C "$build" daemon/cli/vmatrix agent/vmatrix-agent >"$state/build.log" 2>&1 ||
        fail "the build failed, see $state/build.log: $(grep -m 1 'error:' "$state/build.log" || true)"
}

# Whether KVM really boots the guest. On a machine that is itself emulated that takes 20 s.
kvm_boots() {
    local console=$state/kvm-try.log try
    rm -f "$console"
    timeout 40 qemu-system-x86_64 -accel kvm -m 256 -display none -nodefaults -no-reboot \
        -serial "file:$console" -kernel "$guest/vmlinuz" -initrd "$guest/initrd.img" \
        -append "console=ttyS0 quiet panic=-1 micro.fault=nossh" </dev/null >/dev/null 2>&1 &
    try=$!
    while kill -0 "$try" 2>/dev/null; do
        if grep -qs "micro: ready" "$console"; then
            kill "$try"
            wait "$try" 2>/dev/null || true
            return 0
        fi
        sleep 0.2
    done
    wait "$try" 2>/dev/null || true
    return 1
}

choose_accelerator() {
    local verdict why
    verdict=$("$build/daemon/cli/vmatrix" doctor 2>/dev/null | grep -m 1 -w accelerator) || true
    accelerator=tcg
    if [[ $verdict != ok* ]]; then
        why=$(fold -s -w 74 <<<"${verdict#*accelerator  }" | sed 's/^/  /; s/ *$//')
    elif kvm_boots; then
        accelerator=kvm
        return
    else
        why="  KVM is there, but the small guest does not boot with it."
    fi
    cat <<END

  **************************************************************************
  EMULATION:
$why
  The guest runs on QEMU's emulated CPU. What follows shows that vmatrix
  works; it says nothing about the speed of virtualisation on hardware.
  **************************************************************************

END
}

write_inventory() {
    cat <<END
# Written by contrib/quickstart.sh.
version: 1
hypervisors:
  qemu: {driver: qemu, uri: "$uri", accelerator: $accelerator}
guests:
$(sed 's/^/  /' "$guest/guest.yaml")
END
}

state=$(state_folder)
if [[ $(id -u) == 0 ]]; then uri=qemu:///system; else uri=qemu:///session; fi
mkdir -p "$state" || fail "$state cannot be made"
started=$SECONDS

say "packages"
contrib/packages.sh build guest
say "building in $build"
build
say "guest"
contrib/guests/micro.sh
guest=$(contrib/guests/micro.sh --path)
say "libvirt"
daemons=$(contrib/libvirt.sh)
if [[ -n $daemons ]]; then
    say "no libvirtd was running; started $(awk '{ print $2 }' <<<"$daemons" | paste -sd ' ')." \
        "To stop: kill $(awk '{ print $1 }' <<<"$daemons" | paste -sd ' ')"
fi
choose_accelerator
write_inventory >"$state/quickstart.yaml"

vmatrix=("$build/daemon/cli/vmatrix" --db "$state/vmatrix.db" --inventory "$state/quickstart.yaml")
say "running configs/plans/quickstart.yaml"
code=0
"${vmatrix[@]}" run configs/plans/quickstart.yaml 2> >(tee "$state/quickstart.log" >&2) || code=$?
say "done in $((SECONDS - started)) s (exit code $code)"
cat <<END
  database   $state/vmatrix.db
  inventory  $state/quickstart.yaml
  log        $state/quickstart.log
  more       ${vmatrix[*]} results
END
exit "$code"
