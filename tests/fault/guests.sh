#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Guests and agents that misbehave: the run fails with the reason, the next ones go on.
source "$(dirname "$0")/../integration/lib.sh"
need_libvirt
need_guest

cmdline="console=ttyS0 quiet panic=-1"
{
    inventory_head
    inventory_guest micro
    inventory_guest hang "agent: $(make_agent hang)"
    inventory_guest garbage "agent: $(make_agent garbage)"
    inventory_guest nul "agent: $(make_agent nul)"
    inventory_guest long-line "agent: $(make_agent long-line)"
    inventory_guest exit "agent: $(make_agent exit)"
    inventory_guest silent "cmdline: $cmdline micro.fault=nossh"
    inventory_guest deaf "cmdline: $cmdline micro.fault=noacpi"
    # Any other key will do as the one that is expected.
    inventory_guest impostor "host-key: $(cut -d ' ' -f 1,2 "$guest_folder/id_ed25519.pub")" \
        "cmdline: $cmdline micro.log=ssh"
} >"$state/inventory.yaml"
cat >"$state/plan.yaml" <<'END'
version: 1
plan: faults
axes:
  hypervisor: [emulated]
  guest: [hang, garbage, nul, long-line, exit, silent, deaf, impostor, micro]
memory: 256MiB
workloads: [test.noop]
repeat: {boots: 1, samples: 3, sample-time: 1ms}
idle: off
evidence: off
limits: {boot: 40s, invocation: 15s, attempts: 1}
END

reason_of() {
    sql "SELECT r.verdict || ': ' || ifnull(r.reason, '') FROM run r JOIN cell c ON c.id = r.cell_id
         WHERE c.guest = '$1'"
}

vm run "$state/plan.yaml"
is "some cell failed" "$status" 1
note "$err"
is "every cell was tried" "$(sql "SELECT count(*) FROM run WHERE state = 'done'")" 9
is "a good guest among them is clean" "$(reason_of micro)" "clean: "
like "an agent that hangs" "$(reason_of hang)" "failed: .*test.noop.*(deadline|within)"
like "an agent that prints garbage" "$(reason_of garbage)" "failed: .*Segmentation fault"
like "an agent that sends NULs" "$(reason_of nul)" "failed: .*(NUL|x00)"
like "an agent that sends 100 MB in a line" "$(reason_of long-line)" "failed: .*(long|bytes|MiB)"
like "an agent that ends early" "$(reason_of exit)" "failed: .*(ended|exit|closed|EOF)"
like "a guest that never answers SSH" "$(reason_of silent)" "failed: .*no SSH server"
like "a guest that ignores the power button is forced" \
    "$(sql "SELECT r.verdict || ' ' || r.flags FROM run r JOIN cell c ON c.id = r.cell_id
            WHERE c.guest = 'deaf'")" "clean .*forced"

impostor=$(reason_of impostor)
fingerprint() {
    ssh-keygen -lf "$1" | awk '{ print $2 }'
}
like "a guest with another host key is refused" "$impostor" "failed: .*host key"
has "the message has the key that was expected" "$impostor" \
    "$(fingerprint "$guest_folder/id_ed25519.pub")"
has "the message has the key that was shown" "$impostor" \
    "$(fingerprint "$guest_folder/host_key.pub")"
like "the message says how to enroll" "$impostor" "vmatrix guest enroll impostor"
console=$(console_of impostor)
has "its SSH server saw a connection" "$console" "Child connection from"
# It names the user as soon as there was an authentication request.
is "and no authentication request" "$(grep -c root <<<"$console")" 0

is "no failed run left a sample" \
    "$(sql "SELECT count(*) FROM result WHERE guest NOT IN ('micro', 'deaf')")" 0
nothing_left
