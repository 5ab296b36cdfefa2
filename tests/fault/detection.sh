#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# How well the judge tells with the default limits: 40 runs each beside a hog of 0, 5 and 20 % of the subject's CPU; of
# those with a hog at least 38 must be contaminated, of those without at most 2. The three take turns, so that the runs
# without a hog say how busy the machine itself was; where that is too much for a statement, the test is skipped with
# the figures. detection.sh [ROUNDS [RUNS A ROUND]]
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
rounds=${1:-8}
runs=${2:-5}
total=$((rounds * runs))
# What the machine itself may do meanwhile, as shares of the time: taken by the hypervisor below it, and some task
# waiting for a CPU while no hog is there (PSI).
steal_limit=0.005
pressure_limit=0.01
hog=
trap '[[ -z $hog ]] || kill "$hog"; finish' EXIT
echo "version: 1" >"$state/inventory.yaml"

# plan NAME RUNS SECONDS
plan() {
    cat >"$state/$1.yaml" <<END
version: 1
plan: $1
axes:
  hypervisor: [bare]
  vcpus: [1]
workloads: [test.spin1s]
repeat: {boots: $2, invocations: 1, samples: $3, warmup: 0}
idle: off
limits: {attempts: 1}
END
}

# with_hog PERCENT: one round beside it.
with_hog() {
    if (($1 > 0)); then
        python3 "$VMATRIX_SOURCE/tests/fault/hog.py" "$cpu" "$1" &
        hog=$!
        sleep 0.5
    fi
    vm run "$state/hog-$1.yaml"
    [[ $status == 0 || $status == 4 ]] || bail "a round beside a hog of $1 %" "$err"
    if [[ -n $hog ]]; then
        kill "$hog"
        wait "$hog" 2>/dev/null
        hog=
    fi
}

# Of the runs beside a hog: of_hog PERCENT EXPRESSION
of_hog() {
    sql "SELECT $2 AS answer FROM invocation_evidence e JOIN campaign c ON c.id = e.campaign WHERE c.name = 'hog-$1'"
}

plan place 1 1
vm run "$state/place.yaml"
cpu=$(sql "SELECT cpus FROM evidence")
[[ $cpu =~ ^[0-9]+$ ]] || bail "the subject's CPU is known" "$cpu $err"
for percent in 0 5 20; do plan "hog-$percent" "$runs" 3; done
for ((round = 0; round < rounds; round++)); do
    for percent in 0 5 20; do with_hog "$percent"; done
done

steal=$(sql "SELECT printf('%.4f', ifnull(avg(steal_share), 0)) FROM invocation_evidence")
pressure=$(of_hog 0 "printf('%.4f', ifnull(avg(cpu_pressure), 0))")
for percent in 0 5 20; do
    is "$total runs beside a hog of $percent % have evidence" "$(of_hog "$percent" "count(verdict)")" "$total"
    note "hog of $percent %: $(of_hog "$percent" "sum(verdict = 'contaminated')") of $total contaminated;" \
        "foreign share $(of_hog "$percent" "printf('%.4f to %.4f, mean %.4f', min(foreign_share), max(foreign_share),
            avg(foreign_share))")"
done
figures="steal $steal (at most $steal_limit), CPU pressure without a hog $pressure (at most $pressure_limit)"
note "the machine itself: $figures"
quiet=$(awk -v s="$steal" -v sl="$steal_limit" -v p="$pressure" -v pl="$pressure_limit" \
    'BEGIN { print (s <= sl && p <= pl) }')
most_false=$((total / 20))
least_caught=$((total - total / 20))
judged() {
    if [[ $quiet == 1 ]]; then is "$1" "$2" 1; else skip "$1" "the machine was busy itself: $figures"; fi
}
judged "without a hog at most $most_false of $total are contaminated" \
    "$(of_hog 0 "sum(verdict = 'contaminated') <= $most_false")"
for percent in 5 20; do
    judged "of a hog of $percent % at least $least_caught of $total are caught" \
        "$(of_hog "$percent" "sum(verdict = 'contaminated') >= $least_caught")"
    # Not always first: of a process that may run on any CPU it is not known which one it took.
    judged "and the hog is named in each of them" \
        "$(of_hog "$percent" "sum(ifnull(reason, '') LIKE '%test-hog (%') = sum(verdict = 'contaminated')")"
done
