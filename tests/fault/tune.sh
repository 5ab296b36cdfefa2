#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The host is given back as it was: killed (SIGKILL) at both sides of every write of a setting and of the journal, with
# the power cut there, with a file that refuses, after an admin has changed something; by hand and by a campaign.
#
# The points are not listed here: a first run writes down how often it comes by each.
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
source "$VMATRIX_SOURCE/tests/fault/tune-tree.sh"

echo "version: 1" >"$state/inventory.yaml"
plan() {
    cat <<END
version: 1
plan: tuned
axes: {hypervisor: [bare]}
workloads: [test.noop]
repeat: {boots: 1, samples: 2}
idle: off
evidence: off
tune: $1
END
}
plan off >"$state/plain.yaml"
plan "{$(everything_yaml)}" >"$state/tuned.yaml"
sets=()
for word in $everything; do sets+=(--set "$word"); done

make_tree "$state/fresh"
tree=$state/tree
export VMATRIX_HOST_ROOT=$tree
unset DBUS_SYSTEM_BUS_ADDRESS

# A new tree and a new database.
anew() {
    rm -rf "$tree" "$state"/vmatrix.db*
    cp -a "$state/fresh" "$tree"
}
states() {
    sql "SELECT state || ' ' || count(*) FROM undo GROUP BY state ORDER BY state" | paste -sd' '
}

# ---- all goes well ----

anew
vm host tune "${sets[@]}"
is "every setting of the tree is changed" "$status $(states)" "0 absent 2 refused 1 set $changes"
is "the rest is told" "$(sql "SELECT knob, state FROM undo WHERE state IN ('absent', 'refused') ORDER BY 1" | paste -sd' ')" \
    "idle-latency,refused sleep,absent stop,absent"
settle "$tree"
if [[ -n $(differ "$state/fresh" "$tree") ]]; then pass "the tree has changed"; else fail "the tree has changed"; fi
vm host restore
settle "$tree"
is "and is as it was, byte for byte" "$status $(differ "$state/fresh" "$tree")" "0 "
vm host restore --json
is "nothing is left to be given back" "$status $(jq -c . <<<"$out")" "0 []"

anew
vm run "$state/tuned.yaml"
settle "$tree"
is "a campaign gives back what it has changed" "$status $(differ "$state/fresh" "$tree")" "0 "
is "all of its rows are closed" "$(states)" "absent 2 released 1 restored $changes"
is "what came of it is among the run's facts" \
    "$(sql "SELECT name || '=' || value FROM run_fact WHERE name IN ('tune.governor', 'tune.thp', 'tune.stop',
            'tune.idle-latency') ORDER BY 1" | paste -sd' ')" \
    "tune.governor=performance tune.idle-latency=3 tune.stop=absent tune.thp=never"
has "and in the campaign's log" "$(sql "SELECT message FROM event WHERE step = 'tune'")" \
    "$changes changed, 1 held, 0 as wanted, 0 refused, 2 not on this host"

# Without cpus, those of the plan's largest cell: two of the four, and never the first one.
sed 's/^axes:.*/axes: {hypervisor: [bare], vcpus: [1, 2]}/; s/^tune:.*/tune: {irq: away}/' "$state/plain.yaml" >"$state/irq.yaml"
anew
vm host tune "$state/irq.yaml"
is "the subject's CPUs are the plan's" "$status $(<"$tree/proc/irq/24/smp_affinity_list")" "0 0,3"
vm host restore
is "and its interrupts are given back" "$(differ "$state/fresh" "$tree")" ""

# ---- killed ----

# trace_points COMMAND…: "POINT:N" for each time it comes by a point of tuning.
trace_points() {
    rm -f "$state/trace"
    VMATRIX_FAULT_TRACE=$state/trace vm "$@"
    awk '/^(knob|undo)-/ {print $0 ":" ++n[$0]}' "$state/trace"
}

# killed_at WHAT POINT… -- COMMAND…: kills COMMAND at each point of a fresh tree (prepared by the function "before"),
# then "after" has to bring all of it back.
killed_at() {
    local what=$1 wrong='' point points=()
    shift
    while [[ $1 != -- ]]; do points+=("$1"); shift; done
    shift
    for point in "${points[@]}"; do
        anew
        before
        # The shell has something to say about each.
        { VMATRIX_FAULT=$point vm "$@"; } 2>/dev/null
        [[ $status == 137 ]] || wrong+="$point: exit status $status; "
        settle "$tree"
        after
        settle "$tree"
        wrong+=$(differ "$state/fresh" "$tree")
        [[ $(sql "SELECT count(*) FROM undo WHERE state IN ('journalled', 'set', 'held', 'stuck', 'left')") == 0 ]] ||
            wrong+="$point: $(states); "
    done
    is "$what: killed at ${#points[@]} points" "$wrong" ""
}
before() { :; }
after() { vm host restore; }

anew
mapfile -t points < <(trace_points host tune "${sets[@]}")
# Each change: the journal, the write, and what was read back, with two sides each; and the rows of what is not changed.
is "points of setting by hand" "${#points[@]}" $((changes * 6 + 3 * 2))
killed_at "set by hand" "${points[@]}" -- host tune "${sets[@]}"

anew
vm host tune "${sets[@]}"
settle "$tree"
mapfile -t points < <(trace_points host restore)
is "points of giving back by hand" "${#points[@]}" $((changes * 4))
before() { vm host tune "${sets[@]}"; settle "$tree"; }
killed_at "given back by hand" "${points[@]}" -- host restore

# A campaign that is killed is given back by the next start, whatever it starts.
before() { :; }
after() {
    vm run "$state/plain.yaml"
    [[ $status == 0 ]] || wrong+="the next start: $status: $err; "
}
anew
mapfile -t points < <(trace_points run "$state/tuned.yaml" | grep '^knob')
is "points of a campaign" "${#points[@]}" $((changes * 4))
killed_at "a campaign" "${points[@]}" -- run "$state/tuned.yaml"

# ---- the power is cut ----

# What is on the disk at that moment is a copy of the database; whether it is there before the file is written is
# looked at further down. The same start of the host, then a new one, on which everything is fresh.
cut_at() {
    local point=$1 wrong='' fresh
    anew
    { VMATRIX_FAULT=$point vm host tune "${sets[@]}"; } 2>/dev/null
    mkdir -p "$state/copy"
    cp -a "$tree" "$state/copy/tree"
    cp -a "$state"/vmatrix.db* "$state/copy/"
    settle "$state/copy/tree"
    VMATRIX_HOST_ROOT=$state/copy/tree "$vmatrix" --db "$state/copy/vmatrix.db" host restore >/dev/null 2>&1 ||
        wrong+="restore fails; "
    settle "$state/copy/tree"
    wrong+=$(differ "$state/fresh" "$state/copy/tree")
    is "the power is cut at $point: restored from a copy" "$wrong" ""
    rm -rf "$state/copy"

    # The new kernel has other values of its own, one of which is what had been wanted.
    rm -rf "$tree"
    cp -a "$state/fresh" "$tree"
    file "$tree" /proc/sys/kernel/random/boot_id 6f0c4a8e-second
    file "$tree" /sys/devices/system/cpu/smt/control off
    file "$tree" /proc/sys/vm/swappiness 30
    fresh=$(find "$tree" -type f -exec cksum {} + | sort -k 3)
    vm host restore
    is "the power is cut at $point: after the next boot nothing is written" \
        "$status $(find "$tree" -type f -exec cksum {} + | sort -k 3)" "0 $fresh"
    is "the power is cut at $point: and nothing stays to be done" \
        "$(sql "SELECT count(*) FROM undo WHERE state IN ('journalled', 'set', 'held', 'stuck')")" 0
}
cut_at knob-write-before:1
cut_at knob-write-after:1
cut_at knob-write-before:11
cut_at knob-write-after:11
cut_at undo-commit-after:2

# Between two files that are opened for writing, the journal is synced at least twice: what the first one became, and
# what the second one was.
if command -v strace >/dev/null; then
    anew
    strace -f -qq -o "$state/strace" -e trace=openat,open,fdatasync,fsync \
        "$vmatrix" --db "$state/vmatrix.db" host tune "${sets[@]}" >/dev/null 2>&1
    is "no file is written before the journal is on the disk" "$(awk -v tree="$tree/" '
        /fdatasync|fsync/ { synced++ }
        index($0, tree) && /O_WRONLY/ { files++; if (synced < (files == 1 ? 1 : 2)) print "too early: " $0; synced = 0 }
        END { print files }' "$state/strace")" "$changes"
else
    skip "no file is written before the journal is on the disk" "strace is not installed"
fi

# ---- somebody else's hand ----

anew
vm host tune "${sets[@]}"
settle "$tree"
echo 42 >"$tree/proc/sys/vm/swappiness"
echo "[always] madvise never" >"$tree/sys/kernel/mm/transparent_hugepage/enabled"
vm host restore
settle "$tree"
is "what an admin has set meanwhile is left alone" \
    "$status $(<"$tree/proc/sys/vm/swappiness") $(<"$tree/sys/kernel/mm/transparent_hugepage/enabled")" \
    "4 42 [always] madvise never"
has "and reported" "$err" "/proc/sys/vm/swappiness: somebody has set it to 42 meanwhile; before it was 60"
is "in the rows too" "$(sql "SELECT knob FROM undo WHERE state = 'left' ORDER BY id" | paste -sd' ')" "thp swappiness"
echo 60 >"$tree/proc/sys/vm/swappiness"
cp "$state/fresh/sys/kernel/mm/transparent_hugepage/enabled" "$tree/sys/kernel/mm/transparent_hugepage/enabled"
is "the rest is as it was" "$(differ "$state/fresh" "$tree")" ""

# ---- what cannot be given back stays, and is told at each start ----

anew
vm host tune --set swappiness=1
mv "$tree/proc/sys/vm/swappiness" "$state/aside"
vm host restore
is "a file that is gone is told" "$status $(states)" "4 stuck 1"
vm run "$state/plain.yaml"
is "the next start measures all the same" "$status" 0
has "and tells it again" "$err" "/proc/sys/vm/swappiness: it is not there any more"
mv "$state/aside" "$tree/proc/sys/vm/swappiness"
vm host restore
is "it is given back when that can be" "$status $(states) $(differ "$state/fresh" "$tree")" "0 restored 1 "

# What was set by hand is not a campaign's to give back.
anew
vm host tune --set swappiness=7
vm run "$state/tuned.yaml"
is "a campaign gives back what was set by hand before" "$status $(<"$tree/proc/sys/vm/swappiness")" "0 7"
has "and says that it stands" "$err" 'made by "vmatrix host tune" stands'
vm host restore
settle "$tree"
is "restore gives back both" "$(differ "$state/fresh" "$tree")" ""

# ---- a file system that refuses ----

anew
if unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016 # for the inner shell
    unshare -m sh -c 'mount --bind "$1/sys" "$1/sys" && mount -o remount,ro,bind "$1/sys" && shift && exec "$@"' - \
        "$tree" "$vmatrix" --db "$state/vmatrix.db" host tune --set boost=off --set swappiness=1 \
        >"$state/out" 2>"$state/err"
    is "a read-only /sys: told by the exit code" "$?" 4
    is "a read-only /sys: each file has its row with the reason" \
        "$(sql "SELECT knob, state, replace(reason, '$tree', '') FROM undo ORDER BY id")" \
        "boost,refused,/sys/devices/system/cpu/cpufreq/boost: open for writing: Read-only file system
boost-intel,refused,/sys/devices/system/cpu/intel_pstate/no_turbo: open for writing: Read-only file system
swappiness,set,"
else
    skip "a read-only /sys: told by the exit code" "no mount namespace here"
fi

# ---- a bad question ----

anew
vm host tune
is "nothing asked for" "$status" 2
vm host tune --set governr=performance
is "an unknown setting" "$status" 2
has "with a suggestion" "$err" 'did you mean "governor"?'
vm host tune --set swappiness=300
is "a value that cannot be" "$status" 2
has "with what can be" "$err" "0 to 200"
is "and nothing was touched" "$(differ "$state/fresh" "$tree")" ""
