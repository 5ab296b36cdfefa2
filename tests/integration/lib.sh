# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# For the tests of tests/integration and tests/fault: TAP, a state folder, libvirtd, the small
# guest, and vmatrix with this test's own database and inventory. Source it first.
#
# From the environment (meson sets them): VMATRIX_SOURCE and VMATRIX_BUILD, the two roots.
set -u
export LC_ALL=C NO_COLOR=1

: "${VMATRIX_SOURCE:?run this by meson test}" "${VMATRIX_BUILD:?run this by meson test}"
vmatrix=$VMATRIX_BUILD/daemon/cli/vmatrix
if [[ $(id -u) == 0 ]]; then uri=qemu:///system; else uri=qemu:///session; fi

# Two suites on one machine do not wait for each other.
export VMATRIX_HOST_LOCK=vmatrix-test-$$

# The hypervisor's user must get through to the runs below.
state=$(mktemp -d "${TMPDIR:-/tmp}/vmatrix-test.XXXXXX")
chmod 711 "$state"
started_daemons=()

# ---- TAP ----

tap_count=0

pass() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1"
}

# fail WHAT [DETAIL]
fail() {
    tap_count=$((tap_count + 1))
    echo "not ok $tap_count - $1"
    [[ -z ${2:-} ]] || note "$2"
    return 1
}

note() {
    printf '%s\n' "$*" | head -c 4000 | sed 's/^/# /'
}

# skip WHAT REASON
skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# Cannot go on: what follows would only repeat the same failure.
bail() {
    fail "$1" "${2:-}"
    exit 0
}

# check WHAT COMMAND…: passes when the command does.
check() {
    local what=$1 output
    shift
    if output=$("$@" 2>&1); then pass "$what"; else fail "$what" "$* failed: $output"; fi
}

# is WHAT GOT WANTED
is() {
    if [[ $2 == "$3" ]]; then pass "$1"; else fail "$1" "got:    $2
wanted: $3"; fi
}

# like WHAT TEXT PATTERN (an extended regular expression)
like() {
    if [[ $2 =~ $3 ]]; then pass "$1"; else fail "$1" "got:     $2
pattern: $3"; fi
}

# has WHAT TEXT PART
has() {
    if [[ $2 == *"$3"* ]]; then pass "$1"; else fail "$1" "got:    $2
wanted: $3"; fi
}

# ---- the end, whatever happens ----

finish() {
    local pid
    for pid in $(jobs -p); do kill "$pid" 2>/dev/null; done
    end_guests
    for pid in "${started_daemons[@]}"; do kill "$pid" 2>/dev/null; done
    rm -rf "$state"
    echo "1..$tap_count"
}
trap finish EXIT

# Domains of this test: those that log below its state folder.
own_guests() {
    local name
    for name in $(virsh -q -c "$uri" list --all --name 2>/dev/null); do
        ! virsh -q -c "$uri" dumpxml "$name" 2>/dev/null | grep -qF "$state/" || echo "$name"
    done
}

end_guests() {
    local name
    ((${#started_daemons[@]} > 0)) || [[ -d $state/runs ]] || return 0
    for name in $(own_guests); do virsh -q -c "$uri" destroy "$name" >/dev/null 2>&1; done
}

# ---- what a test needs ----

# Start libvirt's daemons if none runs; what was started is ended by finish.
need_libvirt() {
    local pid _
    "$VMATRIX_SOURCE/contrib/libvirt.sh" >"$state/daemons" 2>"$state/err" ||
        bail "libvirt answers" "$(cat "$state/err")"
    while read -r pid _; do started_daemons+=("$pid"); done <"$state/daemons"
}

# Build the small guest once; guest_folder is where it is.
need_guest() {
    local output
    guest_folder=$("$VMATRIX_SOURCE/contrib/guests/micro.sh" --path)
    output=$("$VMATRIX_SOURCE/contrib/guests/micro.sh" 2>&1) ||
        bail "the small guest can be built" "$output"
}

# One entry of the inventory: inventory_guest NAME [KEY: VALUE]…; an extra word such as
# "agent: /path" adds or replaces a line.
inventory_guest() {
    local name=$1 line key
    local -A extra=()
    shift
    for line; do extra[${line%%:*}]=${line#*: }; done
    echo "  $name:"
    while IFS= read -r line; do
        key=${line%%:*}
        [[ -z ${extra[$key]:-} ]] || { line="$key: ${extra[$key]}"; unset "extra[$key]"; }
        echo "    $line"
    done < <(sed -n 's/^  //p' "$guest_folder/guest.yaml")
    for key in "${!extra[@]}"; do echo "    $key: ${extra[$key]}"; done
}

# The start of an inventory with one emulated hypervisor, "emulated". Entries of guests follow.
inventory_head() {
    cat <<END
version: 1
hypervisors:
  emulated: {driver: qemu, uri: "$uri", accelerator: tcg}
guests:
END
}

# ---- vmatrix ----

# Run it with this test's database and inventory: sets status, out and err.
# shellcheck disable=SC2034 # for those who source this
vm() {
    "$vmatrix" --db "$state/vmatrix.db" --inventory "$state/inventory.yaml" "$@" \
        >"$state/out" 2>"$state/err" </dev/null
    status=$?
    out=$(<"$state/out")
    err=$(<"$state/err")
}

# One query's rows as CSV (whose lines end with CR LF), without the heading.
sql() {
    "$vmatrix" --db "$state/vmatrix.db" sql "$1" --format csv 2>"$state/err" | tail -n +2 | tr -d '\r'
}

# The console that was kept of the runs of a guest: console_of GUEST.
console_of() {
    python3 - "$state/vmatrix.db" "$1" <<'END'
import sqlite3, sys, zlib

rows = sqlite3.connect(sys.argv[1]).execute(
    "SELECT o.content FROM raw_output o JOIN run r ON r.id = o.run_id"
    " JOIN cell c ON c.id = r.cell_id WHERE o.stream = 'console' AND c.guest = ?", sys.argv[2:])
for (content,) in rows:
    print(zlib.decompress(content).decode(errors="replace"))
END
}

nothing_left() {
    is "no guest is left behind" "$(own_guests)" ""
    is "the folder of the runs is empty" "$(ls -A "$state/runs")" ""
}

# An agent that breaks down as fault says: make_agent FAULT prints its path.
make_agent() {
    local path=$state/agent-$1
    {
        echo '#!/bin/sh'
        echo "fault=$1"
        cat "$VMATRIX_SOURCE/tests/fault/agents/faulty.sh"
    } >"$path"
    chmod 755 "$path"
    echo "$path"
}
