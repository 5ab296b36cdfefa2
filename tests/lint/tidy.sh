#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# clang-tidy over the daemon and the agent, as .clang-tidy says.
set -u
cd "${VMATRIX_SOURCE:?run this by meson test}" || exit 1

command -v clang-tidy >/dev/null || {
    echo "1..0 # SKIP clang-tidy is not installed"
    exit 0
}
# The build knows its sources; a static tool has nothing to say about other systems' files.
output=$(jq -r '.[] | select(.output | test("^(daemon|agent)/")) | .directory + "/" + .file' \
    "${VMATRIX_BUILD:?}/compile_commands.json" | sort -u | xargs realpath |
    xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p "$VMATRIX_BUILD" 2>/dev/null |
    grep -E 'warning:|error:' | sort -u)
if [[ -z $output ]]; then
    echo "ok 1 - clang-tidy finds nothing"
else
    echo "not ok 1 - clang-tidy finds nothing"
    head -n 100 <<<"$output" | sed 's/^/# /'
fi
echo "1..1"
