#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# clang-format, shellcheck and codespell over the whole tree.
set -u
cd "$(dirname "$0")/../.." || exit 1

# Layout differs between releases: one of them is the measure.
readonly FORMAT_VERSION=14

count=0

# report WHAT OUTPUT: fails when there is output.
report() {
    count=$((count + 1))
    if [[ -z $2 ]]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
        head -n 60 <<<"$2" | sed 's/^/# /'
    fi
}

skip() {
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

list() {
    git ls-files 2>/dev/null | grep . ||
        find . \( -path './build*' -o -path ./.git \) -prune -o -type f -print | sed 's,^\./,,'
}

check_format() {
    local what="C is laid out by clang-format" format=clang-format-$FORMAT_VERSION
    command -v "$format" >/dev/null || format=clang-format
    if ! "$format" --version 2>/dev/null | grep -q "version $FORMAT_VERSION\."; then
        skip "$what" "needs clang-format $FORMAT_VERSION"
        return
    fi
    report "$what" "$(list | grep -E '\.[ch]$' | xargs -r "$format" --dry-run 2>&1 |
        grep -E 'warning:|error:')"
}

# Files that the shell runs, whatever their names.
scripts() {
    local file
    list | while IFS= read -r file; do
        case $file in
        *.sh) echo "$file" ;;
        *) [[ -f $file ]] && head -c 20 "$file" | tr -d '\0' | grep -qE '^#!.*[/ ](ba|da)?sh' && echo "$file" ;;
        esac
    done
}

check_scripts() {
    local what="scripts pass shellcheck"
    if ! command -v shellcheck >/dev/null; then
        skip "$what" "shellcheck is not installed"
        return
    fi
    report "$what" "$(scripts | xargs -r shellcheck -f gcc 2>&1)"
}

check_spelling() {
    local what="words are spelt as in the dictionary"
    if ! command -v codespell >/dev/null; then
        skip "$what" "codespell is not installed"
        return
    fi
    report "$what" "$(list | grep -vE '^(tests/data/|tests/fuzz/.*corpus|LICENSE)' |
        xargs -r codespell -I tests/lint/codespell.words 2>&1)"
}

check_format
check_scripts
check_spelling
echo "1..$count"
