#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tuning of this host itself, for some seconds: each setting that it has gets another value, and its own back, also when
# vmatrix is killed at any write. Without root; and with a cpuset of this test's own where no systemd isolates.
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
source "$VMATRIX_SOURCE/tests/fault/tune-tree.sh"
unset VMATRIX_HOST_ROOT
# A systemd that may run here is not this test's to command.
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$state/no-bus
echo "version: 1" >"$state/inventory.yaml"
sed 's/^ *//' >"$state/plan.yaml" <<'END'
    version: 1
    plan: tuned
    axes: {hypervisor: [bare]}
    workloads: [test.noop]
    repeat: {boots: 1, samples: 2}
    idle: off
    evidence: off
    tune: measure
END

# ---- without root ----

if [[ $(id -u) != 0 ]]; then
    other=(env)
elif setpriv --reuid 65534 --regid 65534 --clear-groups "$vmatrix" --version >/dev/null 2>&1; then
    other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    mkdir -m 777 "$state/other"
else
    other=()
fi
# by_other COMMAND…: vmatrix as somebody who is not root.
by_other() {
    "${other[@]}" "$vmatrix" --db "$state/other/vmatrix.db" --inventory "$state/inventory.yaml" "$@" >"$state/out" \
        2>"$state/err" </dev/null
    status=$?
    out=$(<"$state/out")
    err=$(<"$state/err")
}
if ((${#other[@]} > 0)); then
    mkdir -p "$state/other"
    by_other host tune --set preset=measure
    is "without root: refused by the exit code" "$status $out" "3 "
    like "without root: says who may, and that measuring works" "$err" "root alone.*measuring works without"
    is "without root: no database is made for it" "$(ls "$state/other")" ""
    by_other run "$state/plan.yaml"
    is "without root: a campaign is measured all the same" "$status" 0
    has "without root: with a warning" "$err" "nothing is tuned"
    by_other sql "SELECT (SELECT count(*) FROM undo), (SELECT value FROM run_fact WHERE name = 'tune'),
                  (SELECT count(*) FROM event WHERE step = 'tune' AND level = 'warning'),
                  (SELECT verdict FROM run)" --format csv
    is "without root: in the facts and the log too" "$(tail -n +2 <<<"$out" | tr -d '\r')" \
        "0,refused: not root,1,clean"
    by_other host restore
    is "without root: nothing to give back is no error" "$status" 0
else
    skip "without root: refused by the exit code" "the build folder is not for everybody"
fi
[[ $(id -u) == 0 ]] || exit 0

# ---- what this host has ----

cpu=/sys/devices/system/cpu
thp=/sys/kernel/mm/transparent_hugepage
settings() {
    ls -d $cpu/cpufreq/policy*/{scaling_governor,energy_performance_preference} $cpu/cpufreq/boost \
        $cpu/intel_pstate/no_turbo $thp/{enabled,defrag} /sys/kernel/mm/ksm/run /proc/sys/vm/swappiness \
        /proc/sys/kernel/{numa_balancing,perf_event_paranoid,perf_cpu_time_max_percent,randomize_va_space} \
        /proc/sys/kernel/{nmi_watchdog,soft_watchdog,watchdog} \
        /proc/irq/{default_smp_affinity,*/smp_affinity_list} 2>/dev/null
}
snapshot() {
    local path
    for path in $(settings); do echo "$path: $(<"$path")"; done
}
sets=()
# other_than KEY FILE PATTERN VALUE ELSE: asks for VALUE, unless the file has it already.
other_than() {
    local value=$4
    [[ -e $2 ]] || return 0
    ! grep -qE -- "$3" "$2" || value=$5
    sets+=(--set "$1=$value")
}
other_than numa-balancing /proc/sys/kernel/numa_balancing '^0' off on
other_than thp $thp/enabled '\[never\]' never madvise
other_than thp-defrag $thp/defrag '\[never\]' never madvise
other_than ksm /sys/kernel/mm/ksm/run '^0' off on
other_than swappiness /proc/sys/vm/swappiness '^1$' 1 2
other_than perf-paranoid /proc/sys/kernel/perf_event_paranoid '^1$' 1 2
other_than perf-cpu /proc/sys/kernel/perf_cpu_time_max_percent '^20$' 20 30
other_than aslr /proc/sys/kernel/randomize_va_space '^1$' 1 2
other_than governor $cpu/cpufreq/policy0/scaling_governor performance performance powersave
last=$(($(nproc --all) - 1))
sets+=(--set watchdog=off --set boost=off)
((last == 0)) || sets+=(--set irq=away --set "cpus=$last")

before=$(snapshot)
# Whatever happens to this test, the host gets its own back.
trap 'vm host restore; finish' EXIT

vm host tune "${sets[@]}" --json
changed=$(jq 'map(select(.state == "set")) | length' <<<"$out")
note "$changed settings of this host changed: $(jq -r 'map(.knob) | unique | join(" ")' <<<"$out")"
if ((changed > 0)); then
    wanted=$(sql "SELECT count(*) FROM undo WHERE state = 'set' AND reason IS NULL")
    is "each was read back as it was wanted" "$wanted" "$changed"
    if [[ $(snapshot) != "$before" ]]; then pass "the host has changed"; else fail "the host has changed"; fi
else
    skip "each was read back as it was wanted" "nothing can be changed here"
fi
vm host restore
is "each has its own value back" "$status $(diff <(echo "$before") <(snapshot))" "0 "

if [[ ! -e $cpu/cpufreq/policy0 ]]; then
    vm host tune --set governor=performance
    is "no cpufreq: recorded as absent, no error" \
        "$status $(sql "SELECT state FROM undo WHERE knob = 'governor'")" "0 absent"
fi

# points COMMAND…: "POINT:N" for each write.
points() {
    rm -f "$state/trace"
    VMATRIX_FAULT_TRACE=$state/trace vm "$@"
    awk '/^knob-/ {print $0 ":" ++n[$0]}' "$state/trace"
}
mapfile -t setting < <(points host tune "${sets[@]}")
mapfile -t giving < <(points host restore)
wrong=''
for point in "${setting[@]}"; do
    { VMATRIX_FAULT=$point vm host tune "${sets[@]}"; } 2>/dev/null
    [[ $status == 137 ]] || wrong+="$point: exit status $status; "
    vm host restore
    wrong+=$(diff <(echo "$before") <(snapshot))
done
is "killed at ${#setting[@]} writes: each has its own value back" "$wrong" ""
wrong=''
for point in "${giving[@]}"; do
    vm host tune "${sets[@]}"
    { VMATRIX_FAULT=$point vm host restore; } 2>/dev/null
    [[ $status == 137 ]] || wrong+="$point: exit status $status; "
    vm host restore
    wrong+=$(diff <(echo "$before") <(snapshot))
done
is "killed at ${#giving[@]} writes while giving back: the same" "$wrong" ""
vm run "$state/plan.yaml"
is "a campaign that is tuned gives all of it back" "$status $(diff <(echo "$before") <(snapshot))" "0 "

# ---- isolation without systemd: a cpuset hierarchy below one of this test's own ----

base=/sys/fs/cgroup/cpuset
group=$base/vmatrix-test-$$
if ((last == 0)) || [[ ! -e $base/cpuset.cpus ]] || ! mkdir "$group" 2>/dev/null; then
    skip "a cpuset takes everything else" "no second CPU, or no cpuset hierarchy of version 1"
    exit 0
fi
cat "$base/cpuset.cpus" >"$group/cpuset.cpus"
cat "$base/cpuset.mems" >"$group/cpuset.mems"
tree=$state/tree
file "$tree" /proc/self/mountinfo "36 35 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset"
file "$tree" /proc/sys/kernel/random/boot_id 6f0c4a8e-first
file "$tree" $cpu/online "0-$last"
mkdir -p "$tree/sys/fs/cgroup"
ln -s "$group" "$tree/sys/fs/cgroup/cpuset"
export VMATRIX_HOST_ROOT=$tree
unset DBUS_SYSTEM_BUS_ADDRESS

sleepers=()
for _ in 1 2 3; do
    sleep 600 &
    sleepers+=("$!")
    echo "$!" >"$group/cgroup.procs"
done
end_cpuset() {
    { kill "${sleepers[@]}"; wait "${sleepers[@]}"; } 2>/dev/null
    for _ in {1..50}; do
        ! rmdir "$group" 2>/dev/null || return 0
        sleep 0.1
    done
}
trap 'vm host restore; end_cpuset; finish' EXIT
# Where they are, and on which CPUs they may run; and what groups there are.
placed() {
    local pid
    for pid in "${sleepers[@]}"; do
        echo "$(<"/proc/$pid/cpuset") $(awk '/^Cpus_allowed_list/ {print $2}' "/proc/$pid/status")"
    done | sort -u
    find "$group" -mindepth 1 -type d
}
before=$(placed)
rm -f "$state"/vmatrix.db*
vm host tune --set isolate=on --set "cpus=$last"
is "a cpuset takes everything else" "$status $(placed)" \
    "0 /${group##*/}/vmatrix-housekeeping $(seq -s, 0 $((last - 1)) | sed -E 's/^0,.*,([0-9]+)$/0-\1/; s/^0,1$/0-1/')
$group/vmatrix-housekeeping"
vm host restore
is "and gives it back" "$status $(placed)" "0 $before"
wrong=''
for point in undo-commit-after:1 knob-write-before:1 knob-write-after:1 undo-commit-before:2 undo-commit-after:2; do
    { VMATRIX_FAULT=$point vm host tune --set isolate=on --set "cpus=$last"; } 2>/dev/null
    [[ $status == 137 ]] || wrong+="$point: exit status $status; "
    # In the middle of it: made, and still empty.
    [[ $point != knob-write-before:1 ]] || mkdir "$group/vmatrix-housekeeping"
    vm host restore
    [[ "$status $(placed)" == "0 $before" ]] || wrong+="$point: $status $(placed); "
done
is "killed around it: given back" "$wrong" ""
