# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# For benches that have the micro guest booted by vmatrix and by a hand-written script, from the same domain XML on
# the same libvirtd. Source with the bench's own arguments, BUILD first.
#
# Where no libvirtd runs, one is started below a process that reaps at once: a PID 1 that reaps late makes every
# destroy a second longer, for all alike.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
[ -n "${VMATRIX_REAPER:-}" ] || VMATRIX_REAPER=1 exec "$top/tests/reaper.py" "$0" "$@"
build=$(realpath "${1:-$top/build}")
vmatrix=$build/daemon/cli/vmatrix
# shellcheck disable=SC2034 # for those who source this
agent=$build/agent/vmatrix-agent
micro=$("$top/contrib/guests/micro.sh" --path)
name=vmatrix-bench-$$
export VMATRIX_HOST_LOCK=$name
work=$(mktemp -d /var/tmp/vmatrix-bench-XXXXXX)
chmod 711 "$work"
uri=qemu:///system
[ "$(id -u)" -eq 0 ] || uri=qemu:///session

daemons=$("$top/contrib/libvirt.sh" | cut -d ' ' -f 1)
"$top/contrib/guests/micro.sh" >&2

cleanup() {
    virsh -q -c "$uri" destroy "$name" >/dev/null 2>&1 || true
    rm -rf "$work"
    # shellcheck disable=SC2086 # a list of pids
    [ -z "$daemons" ] || kill $daemons
}
trap cleanup EXIT

write_inventory() { # $1: seconds that the guest boots slower
    {
        printf 'version: 1\nhypervisors:\n  qemu: {driver: qemu, uri: "%s", accelerator: tcg}\n' "$uri"
        printf 'guests:\n  micro:\n    kernel: %s/vmlinuz\n    initrd: %s/initrd.img\n' "$micro" "$micro"
        printf '    cmdline: "console=ttyS0 quiet panic=-1 micro.delay=%s"\n' "$1"
        printf '    address: forward\n    user: root\n'
        printf '    key: %s/id_ed25519\n    shutdown: destroy\n    host-key: "%s"\n' "$micro" \
            "$(cut -d' ' -f1,2 "$micro/host_key.pub")"
    } >"$work/inventory.yaml"
}

# One run of the plan's only cell.
by_vmatrix() {
    "$vmatrix" -q --db "$work/bench.db" --inventory "$work/inventory.yaml" run "$work/plan.yaml" \
        >"$work/vmatrix.log" 2>&1 </dev/null || { cat "$work/vmatrix.log"; exit 1; }
}

sql() {
    "$vmatrix" --db "$work/bench.db" sql --format csv "$1" | tail -n +2
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# The domain that vmatrix booted last, for virsh: another name, another port, another console.
write_domain() {
    sql "SELECT value FROM run_fact WHERE name = 'domain.xml' ORDER BY run DESC LIMIT 1" |
        python3 -c 'import csv, sys; print(next(csv.reader(sys.stdin))[0])' |
        sed -E -e '/<uuid>/d' -e "s#<name>[^<]*</name>#<name>$name</name>#" \
            -e "s#hostfwd=tcp:127.0.0.1:[0-9]+-#hostfwd=tcp:127.0.0.1:$port-#" \
            -e "s#(<(source|target|log)[^>]*(path|file)=')[^']*console.log'#\\1$work/console.log'#" \
            -e '/<metadata>/,/<\/metadata>/d' >"$work/domain.xml"
}

# Sets options: a connection of its own for each ssh, or (master) one for all.
ssh_options() {
    options=(-F none -o BatchMode=yes -o IdentitiesOnly=yes -i "$micro/id_ed25519"
        -o UserKnownHostsFile="$work/known_hosts" -o GlobalKnownHostsFile=/dev/null
        -o StrictHostKeyChecking=yes -o HostKeyAlias=micro -o LogLevel=ERROR -o ConnectTimeout=1
        -p "$port")
    [ "$1" != master ] ||
        options+=(-o ControlPath="$work/master" -o ControlMaster=auto -o ControlPersist=60)
}

script_boot() {
    virsh -q -c "$uri" create "$work/domain.xml" >/dev/null
    until ssh "${options[@]}" root@127.0.0.1 true 2>/dev/null; do sleep 0.1; done
}

script_push() {
    ssh "${options[@]}" root@127.0.0.1 'umask 077; mkdir -p /tmp/agent && cat >/tmp/agent/vmatrix-agent && chmod 700 /tmp/agent/vmatrix-agent' <"$agent"
}

script_destroy() {
    [ ! -S "$work/master" ] || ssh "${options[@]}" -O exit root@127.0.0.1 2>/dev/null
    virsh -q -c "$uri" destroy "$name" >/dev/null
}

# A first run by vmatrix: warms everything, and gives the domain's XML.
begin() {
    write_inventory 0
    by_vmatrix
    port=$(free_port)
    write_domain
    echo "micro $(cut -d' ' -f1,2 "$micro/host_key.pub")" >"$work/known_hosts"
}
