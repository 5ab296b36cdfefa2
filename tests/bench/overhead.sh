#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What does vmatrix cost beside a careful hand-written script?
#
# The same work: boot the micro guest, put the agent there, one invocation of test.noop, end it with
# destroy; on the same libvirtd, from the same domain XML; gate and settle off. In turn:
#   vmatrix   vmatrix run
#   script    virsh create, ssh polled every 0.1 s, one ControlMaster connection for upload and run, virsh destroy
#   naive     the same with a new connection for each step
#
# The floor is what no program can save: the create call, create to the banner (seen by banner.py, which asks every
# 50 ms), the agent's own work and the destroy call. Own time is total less floor.
#
# usage: overhead.sh [BUILD] [PAIRS]
#
# Where no libvirtd runs, one is started below a process that reaps at once: a PID 1 that reaps late makes every
# destroy a second longer, for all three alike.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
[ -n "${VMATRIX_REAPER:-}" ] || VMATRIX_REAPER=1 exec "$top/tests/reaper.py" "$0" "$@"
build=$(realpath "${1:-$top/build}")
pairs=${2:-7}
vmatrix=$build/daemon/cli/vmatrix
agent=$build/agent/vmatrix-agent
micro=$("$top/contrib/guests/micro.sh" --path)
work=$(mktemp -d /var/tmp/vmatrix-overhead-XXXXXX)
chmod 711 "$work"
uri=qemu:///system
[ "$(id -u)" -eq 0 ] || uri=qemu:///session
export VMATRIX_HOST_LOCK="vmatrix-overhead-$$"
name="vmatrix-overhead-script"

daemons=$("$top/contrib/libvirt.sh" | cut -d ' ' -f 1)
"$top/contrib/guests/micro.sh" >&2

cleanup() {
    virsh -q -c "$uri" destroy "$name" >/dev/null 2>&1 || true
    rm -rf "$work"
    # shellcheck disable=SC2086 # a list of pids
    [ -z "$daemons" ] || kill $daemons
}
trap cleanup EXIT

now() { date +%s%N; }

write_inputs() {
    {
        printf 'version: 1\nhypervisors:\n  qemu: {driver: qemu, uri: "%s", accelerator: tcg}\n' "$uri"
        printf 'guests:\n  micro:\n    kernel: %s/vmlinuz\n    initrd: %s/initrd.img\n' "$micro" "$micro"
        printf '    cmdline: "console=ttyS0 quiet panic=-1"\n    address: forward\n    user: root\n'
        printf '    key: %s/id_ed25519\n    shutdown: destroy\n    host-key: "%s"\n' "$micro" \
            "$(cut -d' ' -f1,2 "$micro/host_key.pub")"
    } >"$work/inventory.yaml"
    printf '%s\n' 'version: 1' 'plan: overhead' 'axes:' '  hypervisor: [qemu]' '  guest: [micro]' \
        '  vcpus: [1]' 'workloads: [test.noop]' 'repeat: {boots: 1, invocations: 1, samples: 1, warmup: 0}' \
        'idle: off' 'evidence: {verdict: flag}' >"$work/plan.yaml"
}

by_vmatrix() {
    "$vmatrix" -q --db "$work/overhead.db" --inventory "$work/inventory.yaml" run "$work/plan.yaml" \
        >"$work/vmatrix.log" 2>&1 </dev/null || { cat "$work/vmatrix.log"; exit 1; }
}

sql() {
    "$vmatrix" --db "$work/overhead.db" sql --format csv "$1" | tail -n +2
}

# The domain that vmatrix booted, for virsh: another name, another port, another console.
write_domain() {
    sql "SELECT value FROM run_fact WHERE name = 'domain.xml' ORDER BY run DESC LIMIT 1" |
        python3 -c 'import csv, sys; print(next(csv.reader(sys.stdin))[0])' |
        sed -E -e '/<uuid>/d' -e "s#<name>[^<]*</name>#<name>$name</name>#" \
            -e "s#hostfwd=tcp:127.0.0.1:[0-9]+-#hostfwd=tcp:127.0.0.1:$1-#" \
            -e "s#(<(source|target|log)[^>]*(path|file)=')[^']*console.log'#\\1$work/console.log'#" \
            -e '/<metadata>/,/<\/metadata>/d' >"$work/domain.xml"
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

ssh_options() {
    printf '%s\n' -F none -o BatchMode=yes -o IdentitiesOnly=yes -i "$micro/id_ed25519" \
        -o UserKnownHostsFile="$work/known_hosts" -o GlobalKnownHostsFile=/dev/null \
        -o StrictHostKeyChecking=yes -o HostKeyAlias=micro -o LogLevel=ERROR -o ConnectTimeout=1 \
        -p "$port"
}

by_script() { # $1: master or naive
    local -a options
    mapfile -t options < <(ssh_options)
    [ "$1" = naive ] || options+=(-o ControlPath="$work/master" -o ControlMaster=auto -o ControlPersist=60)
    virsh -q -c "$uri" create "$work/domain.xml" >/dev/null
    until ssh "${options[@]}" root@127.0.0.1 true 2>/dev/null; do sleep 0.1; done
    ssh "${options[@]}" root@127.0.0.1 'umask 077; mkdir -p /tmp/agent && cat >/tmp/agent/vmatrix-agent && chmod 700 /tmp/agent/vmatrix-agent' <"$agent"
    ssh "${options[@]}" root@127.0.0.1 '/tmp/agent/vmatrix-agent run --samples 1 test.noop' >"$work/script.out"
    [ "$1" = naive ] || ssh "${options[@]}" -O exit root@127.0.0.1 2>/dev/null
    virsh -q -c "$uri" destroy "$name" >/dev/null
}

# When the guest really answers: for the floor.
by_banner() {
    python3 "$here/banner.py" "$port" virsh -q -c "$uri" create "$work/domain.xml" >>"$work/banner"
    virsh -q -c "$uri" destroy "$name" >/dev/null
}

timed() { # label command…
    local label=$1 since until
    shift
    since=$(now)
    "$@"
    until=$(now)
    echo "$label $(((until - since) / 1000))" >>"$work/times"
}

write_inputs
by_vmatrix # warms everything, and gives the domain's XML
port=$(free_port)
write_domain "$port"
echo "micro $(cut -d' ' -f1,2 "$micro/host_key.pub")" >"$work/known_hosts"
by_script master
for pair in $(seq "$pairs"); do
    timed vmatrix by_vmatrix
    timed script by_script master
    timed naive by_script naive
    by_banner
    echo "pair $pair of $pairs" >&2
done
sql "SELECT r.id, p.name, p.duration_ns FROM phase p JOIN run r ON r.id = p.run_id WHERE r.id > 1" >"$work/phases"
sql "SELECT run_id, prepare_ns, host_ns FROM invocation WHERE run_id > 1" >"$work/invocations"
python3 "$here/overhead.py" "$work/times" "$work/phases" "$work/invocations" "$work/banner"
