#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The systemd unit: right by systemd's own judgement, as hardened as the manual says, and with no filter that the
# subject of a bare cell would inherit.
#
# test-unit.sh UNIT PROGRAM: the configured unit file, the built vmatrixd.
set -u
export LC_ALL=C
source_root=$(cd "$(dirname "$0")/../../.." && pwd)
count=0

# report WHAT TROUBLE: passes when there is no trouble.
report() {
    count=$((count + 1))
    if [[ -z $2 ]]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
        while IFS= read -r line; do echo "# $line"; done <<<"$2"
    fi
}

command -v systemd-analyze >/dev/null || {
    echo "1..0 # SKIP systemd-analyze is not installed"
    exit 0
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
program=$(realpath "$2")
unit=$folder/vmatrixd.service
sed "s,^ExecStart=.*,ExecStart=$program," "$1" >"$unit"

# It knows nothing of manual pages that are not installed yet.
report "systemd-analyze verify has nothing to say" \
    "$(systemd-analyze verify --man=no --recursive-errors=no "$unit" 2>&1)"
assessment=$(systemd-analyze security --offline=yes "$unit" 2>&1)
score=$(grep -oE 'Overall exposure level for vmatrixd.service: [0-9.]+' <<<"$assessment" | grep -oE '[0-9.]+$')
echo "# exposure: ${score:-unknown}"
report "systemd-analyze security gives a score" "$([[ -n $score ]] || echo "$assessment")"
told=$(grep -oE 'exposure level of [0-9.]+' "$source_root/daemon/cli/vmatrixd.8.scd" | grep -oE '[0-9.]+$')
report "the manual gives that score (of systemd 252)" \
    "$(systemd-analyze --version | grep -q '^systemd 252 ' && [[ $score != "$told" ]] && echo "score $score, manual: $told")"
report "the exposure is below 7.5" "$(awk -v score="${score:-10}" 'BEGIN { if (score >= 7.5) print score }')"

filters='^(SystemCall[A-Z][a-z]*|RestrictAddressFamilies|RestrictNamespaces|RestrictRealtime|RestrictSUIDSGID|LockPersonality'
filters+='|MemoryDenyWriteExecute|ProtectClock|ProtectHostname|ProtectKernel[A-Za-z]*|PrivateDevices|IPAddress[A-Za-z]*)='
report "nothing filters the system calls or the packets of a bare cell's subject" "$(grep -E "$filters" "$unit")"
echo "1..$count"
