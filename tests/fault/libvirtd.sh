#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# libvirtd is ended (SIGTERM) and killed (SIGKILL) while a guest starts, boots, measures and shuts down, and between
# two runs: the run goes on, there is never a second guest, and nothing is left.
#
# It has a libvirtd of its own: in a mount namespace in which /run and libvirt's folders are empty. A distribution
# that splits libvirt up has virtqemud in its place.
#
# libvirtd.sh [full]: without it, one case of each kind.
if [[ ${1:-} != inside ]]; then
    if [[ $(id -u) != 0 ]] || ! unshare --mount true 2>/dev/null; then
        echo "1..0 # SKIP needs root and a mount namespace, for a libvirtd of its own"
        exit 0
    fi
    exec unshare --mount --propagation private \
        "$VMATRIX_SOURCE/tests/reaper.py" "$BASH" "${BASH_SOURCE[0]}" inside "${1:-short}"
fi
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
source "$VMATRIX_SOURCE/tests/fault/daemon.sh"
PATH=$PATH:/usr/sbin:/sbin
need_guest
for folder in /run /var/lib/libvirt /var/cache/libvirt /var/log/libvirt; do
    [[ ! -d $folder ]] || mount -t tmpfs -o mode=755 tmpfs "$folder"
done

libvirtd=$(command -v virtqemud || command -v libvirtd) || skip_all "neither virtqemud nor libvirtd is installed"
note "the daemon is $libvirtd"

libvirtd_pid() {
    cat "/run/${libvirtd##*/}.pid"
}

libvirtd_start() {
    local _
    "$libvirtd" -d >>"$state/libvirtd.log" 2>&1 </dev/null
    started_daemons=("$virtlogd_pid" "$(libvirtd_pid)")
    for _ in {1..100}; do
        ! virsh -q -c "$uri" version >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    bail "libvirtd starts" "$(cat "$state/libvirtd.log")"
}

# End it by a signal, and wait until it has gone.
libvirtd_end() {
    local pid _
    pid=$(libvirtd_pid)
    kill "-$1" "$pid"
    for _ in {1..300}; do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.1
    done
    fail "libvirtd ends by SIG$1"
}

virtlogd -d >>"$state/libvirtd.log" 2>&1 </dev/null
virtlogd_pid=$(cat /run/virtlogd.pid)
libvirtd_start

{
    inventory_head
    inventory_guest micro
    inventory_guest deaf "cmdline: console=ttyS0 quiet panic=-1 micro.fault=noacpi"
} >"$state/inventory.yaml"

# plan GUEST BOOTS
plan() {
    cat >"$state/plan.yaml" <<END
version: 1
plan: libvirtd
axes:
  hypervisor: [emulated]
  guest: [$1]
workloads: [test.spin1s]
repeat: {boots: $2, samples: 3, warmup: 0}
idle: off
evidence: off
END
}

# What the guests of the one campaign are called.
guests_name() {
    sql "SELECT 'guest=vmatrix-' || substr(uuid, 1, 8) FROM campaign"
}

# The most guests that were there at once, sampled until the file "$state/watching" is gone.
watch_guests() {
    local name most=0 now
    name=$(guests_name)
    while [[ -e $state/watching ]]; do
        now=$(pgrep -fc "qemu-system.*$name")
        ((now <= most)) || most=$now
        sleep 0.2
    done
    echo "$most"
}

# Wait until the daemon has come by a point.
reached() {
    local _
    for _ in {1..1200}; do
        ! grep -qsx "$1" "$state/trace" || return 0
        sleep 0.05
    done
    fail "$1 is reached" "$(tail -5 "$state/daemon.log")"
}

# restart_at WHAT SIGNAL GUEST BOOTS POINT AFTER GONE: GONE seconds without libvirtd, from AFTER seconds after POINT.
restart_at() {
    local what="$1, SIG$2" runs watcher
    rm -f "$state"/vmatrix.db* "$state/trace"
    plan "$3" "$4"
    vm submit "$state/plan.yaml"
    [[ $status == 0 ]] || bail "submit" "$err"
    touch "$state/watching"
    watch_guests >"$state/most" &
    watcher=$!
    daemon_start VMATRIX_FAULT_TRACE="$state/trace"
    reached "$5"
    sleep "$6"
    libvirtd_end "$2"
    sleep "$7"
    libvirtd_start
    queue_wait 120 || fail "$what: the queue ends" "$(tail -20 "$state/daemon.log")"
    daemon_stop
    rm "$state/watching"
    wait "$watcher"
    runs=$(sql "SELECT verdict, reason FROM run")
    is "$what: every run is clean" "$runs" "$(for _ in $(seq "$4"); do echo "clean,"; done)"
    is "$what: every sample is there once" "$(sql "SELECT count(*) FROM sample")" $((3 * $4))
    is "$what: never a second guest" "$(<"$state/most")" 1
    nothing_left
}

restart_at "while the guest is started" KILL micro 1 start-before 0.1 0.5
restart_at "while the guest boots" TERM micro 1 ssh-before 1 0.5
restart_at "during an invocation" KILL micro 1 measure-before 0.5 0.5
# This guest does not hear the power button: its end takes 30 s.
restart_at "during the shutdown" TERM deaf 1 shutdown-before 1 0.5
is "the guest that had to be forced says so" "$(sql "SELECT flags FROM run")" forced
restart_at "between two runs" KILL micro 2 finish-after 0 4
if [[ ${libvirtd##*/} == virtqemud ]]; then
    pass "the modular daemon was tested"
else
    skip "the modular daemons" "no virtqemud is installed (Debian 12 has none); it was libvirtd that was tested"
fi
[[ ${2:-} == full ]] || exit 0

restart_at "while the guest boots" KILL micro 1 ssh-before 1 0.5
restart_at "during an invocation" TERM micro 1 measure-before 0.5 0.5
# Gone before the shutdown, and there again after it has begun.
restart_at "before the shutdown" KILL micro 1 measure-before 1 5

# Gone for good: the guest is ended without it, the run is kept, the queue stops, and goes on when libvirt is there.
rm -f "$state"/vmatrix.db* "$state/trace"
plan micro 2
vm submit "$state/plan.yaml"
printf '[daemon]\nretry = 1s\n' >"$state/vmatrixd.conf"
VMATRIX_FAULT_TRACE=$state/trace "$vmatrixd" --config "$state/vmatrixd.conf" --db "$state/vmatrix.db" \
    >"$state/daemon.log" 2>&1 </dev/null &
daemon_pid=$!
reached measure-before
libvirtd_end KILL
for _ in {1..1800}; do
    ! grep -qs "is stopped, the next try is in" "$state/daemon.log" || break
    sleep 0.1
done
like "without libvirt the queue stops, and says why" "$(<"$state/daemon.log")" \
    "campaign 1 is stopped, the next try is in 1.0 s: .*libvirt does not open"
is "the run that was measured is kept" "$(sql "SELECT verdict FROM run WHERE block = 0")" clean
is "none has failed" "$(sql "SELECT count(*) FROM run WHERE verdict = 'failed'")" 0
is "the guest has been ended" "$(pgrep -fc "qemu-system.*$(guests_name)")" 0
libvirtd_start
queue_wait 120 || fail "the queue ends" "$(tail -20 "$state/daemon.log")"
daemon_stop
is "with libvirt the queue goes on to its end" "$(clean_runs) $(sql "SELECT state FROM campaign")" "2 done"
nothing_left
