#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tuning through systemd and logind, which a program of this test's own stands for on a private bus: timers and services
# are stopped and started again, slices leave the subject's CPUs, sleep is inhibited as long as a campaign lasts.
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
source "$VMATRIX_SOURCE/tests/fault/tune-tree.sh"
command -v dbus-daemon >/dev/null || skip_all "dbus-daemon is not installed"

echo "version: 1" >"$state/inventory.yaml"
make_tree "$state/tree"
file "$state/tree" /sys/fs/cgroup/cgroup.controllers "cpuset cpu io memory pids"
file "$state/tree" /proc/self/cgroup 0::/vmatrix.slice/vmatrixd.service
export VMATRIX_HOST_ROOT=$state/tree

# ---- the bus, and who is on it ----

cat >"$state/bus.conf" <<END
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=$state/bus</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
END
dbus-daemon --config-file="$state/bus.conf" --nofork --nopidfile >/dev/null 2>"$state/bus.err" &
for _ in {1..100}; do
    [[ ! -S $state/bus ]] || break
    sleep 0.1
done
[[ -S $state/bus ]] || bail "the private bus runs" "$(<"$state/bus.err")"
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$state/bus

stand_in() {
    mkfifo "$state/ready"
    "$VMATRIX_BUILD/tests/fault/systemd-stand-in" "$units" >"$state/ready" 2>"$state/stand-in.err" &
    stand_in_pid=$!
    read -r -t 20 _ <"$state/ready" || bail "the stand-in is on the bus" "$(<"$state/stand-in.err")"
    rm "$state/ready"
}
stand_in_ends() {
    { kill "$stand_in_pid"; wait "$stand_in_pid"; } 2>/dev/null
    return 0
}

units=$state/units
# New units and a new database.
anew() {
    rm -rf "$units" "$state"/vmatrix.db*
    mkdir "$units"
    for unit in apt-daily.timer logrotate.timer irqbalance.service stubborn.service; do echo active >"$units/$unit"; done
    echo inactive >"$units/man-db.timer"
    for unit in system.slice user.slice init.scope; do echo active >"$units/$unit"; done
    echo 0f >"$units/user.slice.cpus"
}
# What they are: "UNIT=STATE …".
shown() {
    local path
    for path in "$units"/*; do
        [[ $path == */log ]] || echo "${path##*/}=$(<"$path")"
    done | paste -sd' '
}
log() { [[ ! -e $units/log ]] || paste -sd, "$units/log"; }

vm host tune --set stop=default --set isolate=on --set cpus=2-3 --set sleep=inhibit
is "a bus without systemd: absent" "$(sql "SELECT knob, state, reason FROM undo ORDER BY id")" \
    "stop,absent,no systemd on the system bus
sleep,absent,no systemd on the system bus
isolate-cpuset,absent,there is no cpuset controller"

# ---- by hand ----

anew
stand_in
before=$(shown)
vm host tune --set stop=default --set isolate=on --set cpus=2-3
is "what ran is stopped, slices leave the CPUs" "$status $(shown)" \
    "0 apt-daily.timer=inactive init.scope=active init.scope.cpus=03 irqbalance.service=inactive logrotate.timer=inactive\
 man-db.timer=inactive stubborn.service=active system.slice=active system.slice.cpus=03 user.slice=active user.slice.cpus=03"
is "what did not run, or is not there, is not touched" "$(log)" \
    "stop apt-daily.timer,stop logrotate.timer,stop irqbalance.service,cpus system.slice,cpus user.slice,cpus init.scope"
is "old, wanted and read back are stored" \
    "$(sql "SELECT target, CAST(old AS TEXT), wanted, CAST(got AS TEXT), state FROM undo ORDER BY id")" \
    'apt-daily.timer,active,inactive,inactive,set
logrotate.timer,active,inactive,inactive,set
irqbalance.service,active,inactive,inactive,set
system.slice,,"0,1","0,1",set
user.slice,"0,1,2,3","0,1","0,1",set
init.scope,,"0,1","0,1",set'
: >"$units/log"
vm host restore
# AllowedCPUs that was not set is the empty one again.
is "all is as it was" "$status $(shown | sed 's/ [a-z]*\.[a-z]*\.cpus=\( \|$\)/\1/g')" "0 $before"
is "in reverse" "$(log)" \
    "cpus init.scope,cpus user.slice,cpus system.slice,start irqbalance.service,start logrotate.timer,start apt-daily.timer"

# ---- what somebody else does ----

anew
vm host tune --set "stop=apt-daily.timer,stubborn.service,nobody.service" --set isolate=on --set cpus=2-3
is "one that is not to be stopped is told by the exit code" "$status" 4
is "with the reason" "$(sql "SELECT reason FROM undo WHERE target = 'stubborn.service'")" \
    "stubborn.service: stop: it is not stopped for anybody"
echo active >"$units/apt-daily.timer"
echo 01 >"$units/user.slice.cpus"
: >"$units/log"
vm host restore
is "a unit that was started meanwhile is left as it is, and so are a slice's CPUs" "$status $(log)" \
    "4 cpus init.scope,cpus system.slice"
is "the slice is told" "$(sql "SELECT target, state FROM undo WHERE state = 'left'")" "user.slice,left"

anew
file "$state/tree" /proc/self/cgroup 0::/system.slice/vmatrix-by-hand.service
vm host tune --set isolate=on --set cpus=2-3
is "the slice that vmatrix itself is in is not narrowed" \
    "$status $(sql "SELECT target || '=' || state FROM undo ORDER BY id" | paste -sd' ')" \
    "4 system.slice=refused user.slice=set init.scope=set"
vm host restore
file "$state/tree" /proc/self/cgroup 0::/vmatrix.slice/vmatrixd.service

# ---- systemd does not answer when it is to be given back ----

anew
vm host tune --set stop=apt-daily.timer
stand_in_ends
vm host restore
is "without systemd it is stuck" "$status $(sql "SELECT state FROM undo")" "4 stuck"
stand_in
vm host restore
is "with it, given back" "$status $(sql "SELECT state FROM undo") $(<"$units/apt-daily.timer")" "0 restored active"

# ---- a campaign ----

cat >"$state/plan.yaml" <<'END'
version: 1
plan: tuned
axes: {hypervisor: [bare]}
workloads: [test.spin1s]
repeat: {boots: 1, samples: 3}
idle: off
evidence: off
tune: {stop: [apt-daily.timer, logrotate.timer], sleep: inhibit, isolate: on, cpus: 2-3}
END
sed 's/^tune:.*//; s/spin1s/noop/' "$state/plan.yaml" >"$state/plain.yaml"

anew
before=$(shown)
vm run "$state/plan.yaml"
is "the campaign" "$status" 0
is "sleep is inhibited as long as it lasts" "$(log)" \
    "stop apt-daily.timer,stop logrotate.timer,inhibit sleep:idle vmatrix block,cpus system.slice,cpus user.slice,cpus\
 init.scope,released sleep,cpus init.scope,cpus user.slice,cpus system.slice,start logrotate.timer,start apt-daily.timer"
is "all is as it was" "$(shown | sed 's/ [a-z]*\.[a-z]*\.cpus=\( \|$\)/\1/g')" "$before"

# A signal in the middle. Until then the threads that D-Bus brings sleep.
switches() {
    awk '/ctxt_switches/ {print FILENAME, $0}' "/proc/$campaign"/task/*/status
}
anew
VMATRIX_FAULT_TRACE=$state/trace "$vmatrix" --db "$state/vmatrix.db" --inventory "$state/inventory.yaml" run "$state/plan.yaml" >"$state/out" 2>"$state/err" &
campaign=$!
for _ in {1..300}; do
    ! grep -qs measure-before "$state/trace" || break
    sleep 0.1
done
sleep 0.3
from=$(switches)
sleep 1
to=$(switches)
if grep -q measure-after "$state/trace"; then
    skip "nothing of it wakes up while a subject is measured" "the invocation ended too early"
else
    is "nothing of it wakes up while a subject is measured" "$to" "$from"
fi
kill -TERM "$campaign"
wait "$campaign"
is "ended by a signal, it gives everything back" "$? $(shown | sed 's/ [a-z]*\.[a-z]*\.cpus=\( \|$\)/\1/g')" "130 $before"
is "and holds nothing" "$(sql "SELECT count(*) FROM undo WHERE state IN ('journalled', 'set', 'held', 'stuck')")" 0

# Killed at each write; the next start gives back.
sed -i 's/spin1s/noop/' "$state/plan.yaml"
wrong=''
points=0
for side in before after; do
    for number in 1 2 3 4 5; do
        anew
        { VMATRIX_FAULT=knob-write-$side:$number vm run "$state/plan.yaml"; } 2>/dev/null
        [[ $status == 137 ]] || wrong+="$side:$number: exit status $status; "
        vm run "$state/plain.yaml"
        [[ $status == 0 ]] || wrong+="$side:$number: the next start: $err; "
        now=$(shown | sed 's/ [a-z]*\.[a-z]*\.cpus=\( \|$\)/\1/g')
        [[ $now == "$before" ]] || wrong+="$side:$number: $now; "
        points=$((points + 1))
    done
done
is "killed at $points writes, the next start gives back" "$wrong" ""
stand_in_ends
