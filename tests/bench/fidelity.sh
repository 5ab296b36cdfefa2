#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Does the agent measure what lmbench, sysbench and fio measure? Runs the agent and the reference in
# turn, pinned, and prints for every metric of fidelity/pairs.txt the median of agent/reference and
# the spread (IQR/median) of either. Exits 1 when one is out of its tolerance and not excused in
# fidelity/exceptions.txt, or when the agent's spread is the larger one in more than a fifth of them.
# The tools are Debian's, fetched once into a cache folder (fidelity/tools.sh).
#
# usage: fidelity.sh [BUILD [--only PATTERN] [--rounds N]]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${1:-$here/../../build}")
[ $# -eq 0 ] || shift
ninja -C "$build" agent/vmatrix-agent >/dev/null
tools=$("$here/fidelity/tools.sh")
exec "$here/fidelity.py" "$build/agent/vmatrix-agent" "$tools" "$@"
