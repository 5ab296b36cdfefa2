# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# What the shell tests of the command line have in common: sourced with VMATRIX as the first
# argument. They work in a folder of their own, with a database and a host lock of their own.
set -u
vmatrix=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset VMATRIX_DB VMATRIX_INVENTORY VMATRIX_AGENT NO_COLOR COLUMNS
export HOME=$folder XDG_CONFIG_HOME=$folder/config XDG_STATE_HOME=$folder/state VMATRIX_DB=$folder/test.db
export VMATRIX_HOST_LOCK=vmatrix-test-cli-$$
n=0 failed=0

report()
{
    n=$((n + 1))
    if [[ $1 == yes ]]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        sed 's/^/# out: /' out; sed 's/^/# err: /' err
        failed=1
    fi
}

# holds 'NAME' COMMAND...: the command succeeds
holds()
{
    local name=$1
    shift
    if "$@"; then report yes "$name"; else report no "$name"; fi
}

# gives CODE 'TEXT' ARGUMENTS...: exit code, and a text (a grep -E pattern) on stdout or stderr
gives()
{
    local code=$1 pattern=$2 got
    shift 2
    "$vmatrix" "$@" > out 2> err < "${input:-/dev/null}"
    got=$?
    if [[ $got == "$code" ]] && cat out err | grep -qE -- "$pattern"; then
        report yes "$code: vmatrix $*"
    else
        report no "vmatrix $*: exit code $got, expected $code and \"$pattern\""
    fi
}

finish()
{
    echo "1..$n"
    exit $failed
}
