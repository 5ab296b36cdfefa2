# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# A tree of plain files that stands for /proc, /sys and /dev of a host with every setting, for the tests of tuning.
# Source it after lib.sh.

# file TREE PATH CONTENT
file() {
    mkdir -p "$1${2%/*}"
    printf '%s\n' "$3" >"$1$2"
}

# make_tree TREE: four CPUs, of which two have a cpufreq policy each.
make_tree() {
    local tree=$1 cpu=/sys/devices/system/cpu kernel=/proc/sys/kernel policy irq
    file "$tree" $cpu/online 0-3
    file "$tree" $cpu/smt/control on
    for policy in 0 2; do
        file "$tree" $cpu/cpufreq/policy$policy/scaling_governor schedutil
        file "$tree" $cpu/cpufreq/policy$policy/energy_performance_preference balance_performance
    done
    file "$tree" $cpu/cpufreq/boost 1
    file "$tree" $cpu/intel_pstate/no_turbo 0
    file "$tree" $kernel/numa_balancing 1
    file "$tree" /sys/kernel/mm/transparent_hugepage/enabled "always [madvise] never"
    file "$tree" /sys/kernel/mm/transparent_hugepage/defrag "always defer defer+madvise [madvise] never"
    file "$tree" /sys/kernel/mm/ksm/run 1
    file "$tree" /proc/sys/vm/swappiness 60
    file "$tree" $kernel/perf_event_paranoid 3
    file "$tree" $kernel/perf_cpu_time_max_percent 25
    file "$tree" $kernel/randomize_va_space 2
    for policy in nmi_watchdog soft_watchdog watchdog; do file "$tree" $kernel/$policy 1; done
    file "$tree" $kernel/random/boot_id 6f0c4a8e-first
    file "$tree" /proc/irq/default_smp_affinity f
    for irq in 24 25 26; do file "$tree" /proc/irq/$irq/smp_affinity_list 0-3; done
    mkdir -p "$tree/dev"
    : >"$tree/dev/cpu_dma_latency"
}

# What all of it is to be: keys of "tune", one a line; and how many files that changes.
everything="preset=measure smt=off thp=never thp-defrag=never perf-paranoid=-1 perf-cpu=0 aslr=0 cpus=2-3"
# shellcheck disable=SC2034 # for those who source this
changes=22

# The same as a flow mapping of a plan.
everything_yaml() {
    sed 's/ /, /g; s/=/: /g' <<<"$everything"
}

# The part of the kernel: a file of choices shows all of them, the one that was written last in brackets.
# settle TREE
settle() {
    local path choices word
    while read -r path choices; do
        word=$(<"$1$path")
        [[ $word == *'['* || -z $word ]] || echo "${choices/"<$word>"/"[$word]"}" | tr -d '<>' >"$1$path"
    done <<'END'
/sys/kernel/mm/transparent_hugepage/enabled <always> <madvise> <never>
/sys/kernel/mm/transparent_hugepage/defrag <always> <defer> <defer+madvise> <madvise> <never>
END
    # Not a setting that stays: the kernel forgets it when the file is closed.
    : >"$1/dev/cpu_dma_latency"
}

# How two trees differ, in some words; nothing when they are the same byte for byte.
differ() {
    diff -r "$1" "$2" 2>&1 | head -20
}
