#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# How fast do samples come through the agent protocol into SQLite, beside a bare loop of prepared
# inserts into the same table? Prints both speeds and their ratio at 100 values a line and at 1, and
# fails when the ratio at 100 is below 0.6. The databases lie in FOLDER (default: the build folder),
# which should be a real disk.
#
# usage: ingest.sh [BUILD [PAIRS [SAMPLES [FOLDER]]]]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${1:-$here/../../build}")
ninja -C "$build" tests/bench/ingest >/dev/null
exec "$build/tests/bench/ingest" "${2:-5}" "${3:-1000000}" "${4:-$build}"
