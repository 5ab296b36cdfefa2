#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# How long do the agent's sets "all" and "quick" take on one CPU? At most 5 min and 30 s are wanted.
#
# usage: quicktime.sh [BUILD [CPU]]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${1:-$here/../../build}")
cpu=${2:-0}
ninja -C "$build" agent/vmatrix-agent >/dev/null
status=0

measure() { # $1: group, $2: most seconds
    local began took
    began=$(date +%s%N)
    taskset -c "$cpu" "$build/agent/vmatrix-agent" run --cpu "$cpu" "$1" >/dev/null || status=1
    took=$((($(date +%s%N) - began) / 1000000))
    printf '%-6s %4d.%03d s of %d s\n' "$1" $((took / 1000)) $((took % 1000)) "$2"
    [ "$took" -le $(($2 * 1000)) ] || status=1
}

measure quick 30
measure all 300
exit "$status"
