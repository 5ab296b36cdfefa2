#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What does the observer cost while an invocation runs?
#
# The micro guest spins for SECONDS, watched in turn by
#   vmatrix   the daemon (by its own books: the view "observer"), and beside it the evidence's reader
#   script    a shell loop that asks by ssh each second whether the guest is well, through one ControlMaster
#             connection, which is the cheapest way
#   naive     the same with a new connection each time
# CPU time, wake-ups (context switches) and bytes written are printed a minute.
#
# usage: observer.sh [BUILD] [SECONDS]
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/lib.sh"
seconds=${2:-60}

printf '%s\n' 'version: 1' 'plan: observer' 'axes:' '  hypervisor: [qemu]' '  guest: [micro]' \
    '  vcpus: [1]' 'workloads: [test.spin1s]' \
    "repeat: {boots: 1, invocations: 1, samples: $seconds, warmup: 0}" \
    'idle: off' 'evidence: {verdict: flag}' >"$work/plan.yaml"

by_script() { # $1: master or naive
    ssh_options "$1"
    script_boot
    script_push
    # The work itself goes over a connection of its own: it is no part of the watching.
    ssh -n "${options[@]}" -o ControlPath=none root@127.0.0.1 \
        "/tmp/agent/vmatrix-agent run --samples $seconds test.spin1s" >"$work/script.out" &
    python3 "$here/observer.py" "$1" $! "${options[@]}" root@127.0.0.1 true >>"$work/scripts"
    wait $!
    script_destroy
}

begin
by_script master
by_script naive
sql "SELECT host_ns, daemon_cpu_ns, daemon_switches, ifnull(written_bytes, 0), ifnull(reader_cpu_ns, 0)
     FROM observer ORDER BY run DESC LIMIT 1" >"$work/daemon"
python3 - "$work/daemon" "$work/scripts" <<'END'
import sys

span, cpu, switches, written, reader = (int(word) for word in open(sys.argv[1]).read().strip().split(","))
minute = 60e9 / span
print(f"{'a minute':28} {'CPU ms':>9} {'wake-ups':>9} {'bytes written':>14}")
print(f"{'vmatrix':28} {cpu * minute / 1e6:9.2f} {switches * minute:9.1f} {written * minute:14.0f}")
print(f"{'  its reader, at both ends':28} {reader * minute / 1e6:9.2f}")
for line in open(sys.argv[2]):
    label, seconds, milliseconds, wakes, bytes_ = line.split()
    minute = 60 / float(seconds)
    own, both = (ns * 60e9 / span / 1e6 / (float(milliseconds) * minute) for ns in (cpu, cpu + reader))
    print(f"{'ssh each second, ' + label:28} {float(milliseconds) * minute:9.2f} {int(wakes) * minute:9.1f}"
          f" {int(bytes_) * minute:14.0f}")
    print(f"ratio vmatrix/{label} {own:.4f}, with the reader {both:.4f}   (wanted: at most {1 / 50})")
END
