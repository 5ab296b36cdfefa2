#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The daemon is no burden: with an empty queue it sleeps and is small; while a guest measures it writes nothing and
# sends nothing but the word that starts it, and takes next to no CPU.
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
source "$VMATRIX_SOURCE/tests/fault/daemon.sh"
command -v strace >/dev/null || skip_all "strace is not installed"
need_libvirt
need_guest
{ inventory_head; inventory_guest micro; } >"$state/inventory.yaml"
cat >"$state/plan.yaml" <<'END'
version: 1
plan: silence
axes:
  hypervisor: [emulated]
  guest: [micro]
workloads: [test.spin1s]
repeat: {boots: 2, invocations: 1, samples: 12}
idle: off
evidence: {verdict: flag}
END

# How often the daemon has come by a point.
passed() {
    grep -cx "$1" "$state/trace"
}

measured() {
    (($(passed measure-before) > $1))
}

# "segs_out segs_in" of its connection to the guest.
segments() {
    ss -Htinp 2>/dev/null | grep -A 1 "pid=$daemon_pid," |
        grep -oE 'segs_(out|in):[0-9]+' | tr '\n' ' '
}

in_status() {
    awk -v key="$1:" '$1 == key { print $2 }' "/proc/$daemon_pid/status"
}

vm submit "$state/plan.yaml"
[[ $status == 0 ]] || bail "submit" "$err"
: >"$state/trace"
daemon_start VMATRIX_FAULT_TRACE="$state/trace"

# ---- the first run: the socket's counters ----

eventually 120 "the first invocation" measured 0
sleep 1
from=$(segments)
switches=$(in_status voluntary_ctxt_switches)
sleep 2.5
to=$(segments)
switches=$(($(in_status voluntary_ctxt_switches) - switches))
is "it measured all the while" "$(passed measure-after)" 0
if [[ -z $from ]]; then
    skip "no segment in the middle of an invocation" "ss shows no counters here"
else
    is "no segment in the middle of an invocation" "$to" "$from"
fi
is "and the daemon was not woken" "$switches" 0

# ---- the second run: its system calls ----

first_ended() {
    (($(passed finish-after) > 0))
}
eventually 120 "the first run ends" first_ended
writes=write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg,sendmmsg,fsync,fdatasync,msync,ftruncate,fallocate
strace -f -qq -s 200 -o "$state/strace" -e "trace=$writes" -p "$daemon_pid" 2>"$state/strace.err" &
eventually 120 "the second invocation" measured 1
queue_wait 120 || fail "the queue ends" "$(tail -20 "$state/daemon.log")"
between=$(awk '/measure-after/ { on = 0 } on; /measure-before/ { on = 1 }' "$state/strace")
if grep -q measure-after "$state/strace"; then
    note "between the marks: $between"
    is "from begin to end one write, the word that starts it" "$(grep -c . <<<"$between")" 1
    is "and no sync" "$(grep -c sync <<<"$between")" 0
    check "strace did see writes to the database" grep -qE 'pwrite64|fdatasync' "$state/strace"
else
    skip "from begin to end one write" "strace cannot attach here: $(head -1 "$state/strace.err")"
fi

# ---- CPU, as stored (of the run without strace) ----

cpu=$(sql "SELECT printf('%.3f', i.observer_cpu_ns * 60e9 / i.host_ns / 1e6) FROM invocation i
    JOIN run r ON r.id = i.run_id WHERE r.block = (SELECT min(block) FROM run)")
note "CPU a minute of an invocation: $cpu ms"
is "under 5 ms of CPU a minute" "$(awk -v cpu="$cpu" 'BEGIN { print (cpu > 0 && cpu < 5) }')" 1
is "both runs are clean" "$(clean_runs)" 2

# ---- an empty queue, after work and at first ----

idle() {
    local switches
    sleep 1
    switches=$(in_status voluntary_ctxt_switches)
    sleep 5
    switches=$(($(in_status voluntary_ctxt_switches) - switches))
    note "$1: $switches wake-ups in 5 s, RssAnon $(in_status RssAnon) kB, RSS $(in_status VmRSS) kB"
    is "$1: at most one wake-up a second" "$((switches <= 5))" 1
    is "$1: less than 10 MB of anonymous memory" "$(($(in_status RssAnon) < 10000))" 1
}
idle "after a campaign"
daemon_stop
daemon_start
idle "at first"
daemon_stop
nothing_left
