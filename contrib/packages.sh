#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Installs the Debian packages of the groups given (build, guest, test, full) that are missing.
# With nothing missing it neither needs root nor the network.
set -euo pipefail

list=$(dirname "${BASH_SOURCE[0]}")/packages.txt

fail() {
    echo "packages.sh: $*" >&2
    exit 3
}

wanted() {
    local group
    for group; do
        awk -v group="$group" '$1 == group { print $2 }' "$list"
    done | sort -u
}

missing() {
    local package
    for package; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
            echo "$package"
    done
}

install() {
    local get=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
    if [[ $(id -u) != 0 ]]; then
        command -v sudo >/dev/null ||
            fail "must be root to install: $* (there is no sudo; run it as root, then start again)"
        get=(sudo "${get[@]}")
    fi
    # The lists may be there, absent, or name versions that the mirror no longer has.
    try_install "$@" >"$log" 2>&1 && return 0
    { "${get[@]}" update && try_install "$@"; } </dev/null >"$log" 2>&1 && return 0
    tail -n 20 "$log" >&2
    fail "apt-get could not install: $*"
}

try_install() {
    "${get[@]}" -y --no-install-recommends install "$@" </dev/null
}

(($# > 0)) || fail "usage: packages.sh GROUP… (build, guest, test, full)"
mapfile -t packages < <(wanted "$@")
((${#packages[@]} > 0)) || fail "no packages in: $* (groups: build, guest, test, full)"
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "packages.sh: not a Debian; make sure that these are there: ${packages[*]}" >&2
    exit 0
fi
mapfile -t packages < <(missing "${packages[@]}")
((${#packages[@]} > 0)) || exit 0
echo "packages.sh: installing ${packages[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install "${packages[@]}"
