#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A day of the daemon: who may measure, in which order, what people ask of it while it works, its signals, its
# settings and its hooks; and SIGTERM while a real guest boots.
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
source "$VMATRIX_SOURCE/tests/fault/daemon.sh"
need_fake_agent
mkdir "$state/hooks"
cat >"$state/hooks/tell" <<END
#!/bin/sh
{ printf '%s ' "\$1"; cat; } >>"$state/heard"
END
chmod +x "$state/hooks/tell"
printf '[daemon]\nhooks = %s/hooks\n' "$state" >"$state/vmatrixd.conf"

# Whether a file has a line with this.
tells() {
    grep -qs -- "$2" "$1"
}

runs_of() {
    sql "SELECT ifnull(verdict, state) FROM run WHERE campaign_id = $1 ORDER BY id"
}

measuring() {
    answers "SELECT count(*) FROM step s JOIN run r ON r.id = s.run_id WHERE r.state = 'running' AND s.name = 'measure'" 1
}

# ---- order: priority, then the number; a time to come waits ----

submit_bare later 1 3 --at "$(date -d '+1 hour' '+%F %T')"
later=$campaign
submit_bare low 1 3 --priority -1
low=$campaign
submit_bare usual 1 3
usual=$campaign
submit_bare high 1 3 --priority 5
high=$campaign
submit_bare soon 1 3 --priority 9 --at "$(date -d '+6 seconds' '+%F %T')"
soon=$campaign
daemon_start
eventually 60 "what is due is done" answers "SELECT count(*) FROM campaign WHERE state = 'done'" 4
is "by priority, then in the order of submission; what has its time when that has come" \
    "$(sql "SELECT group_concat(campaign_id) FROM (SELECT campaign_id FROM run WHERE state = 'done' ORDER BY started_ns)")" \
    "\"$high,$usual,$low,$soon\""
is "nothing begins before its time" "$(sql "SELECT count(*) FROM campaign c JOIN run r ON r.campaign_id = c.id
    WHERE r.started_ns < c.not_before_ns")" 0
is "what is for later waits" "$(runs_of "$later")" queued

# ---- signals and settings ----

printf '[daemon]\nhooks = %s/hooks\nlog = loud\n' "$state" >"$state/vmatrixd.conf"
kill -HUP "$daemon_pid"
eventually 20 "bad settings are refused" logged "settings not reread.*log: must be quiet"
printf '[daemon]\nhooks = %s/hooks\nlog = verbose\n' "$state" >"$state/vmatrixd.conf"
kill -HUP "$daemon_pid"
eventually 20 "SIGHUP rereads the settings" logged "settings reread from $state/vmatrixd.conf"
check "and the daemon lives on" kill -0 "$daemon_pid"

# ---- cancel is heard in the middle of an invocation ----

vm cancel "$later"
daemon_stop
is "SIGTERM with nothing to do: exit status 0" "$daemon_status" 0
rm -f "$state/sessions"
daemon_start FAKE_AGENT="hangs good"
submit_bare hanging 3 3
eventually 30 "an invocation hangs" measuring
vm cancel "$campaign"
is "cancel answers" "$status" 0
eventually 20 "a cancel ends the invocation at once" answers "SELECT state FROM campaign WHERE id = $campaign" cancelled
is "the run is interrupted, the others are not run" "$(runs_of "$campaign" | sort | uniq -c | tr -s ' \n' ' ')" \
    " 1 interrupted 3 skipped "

# ---- pause, resume, retry ----

daemon_stop
rm -f "$state/sessions"
daemon_start FAKE_AGENT="slow dies good"
submit_bare paused 4 3
eventually 30 "the first run measures" measuring
vm pause "$campaign"
eventually 30 "a pause comes after the run in flight" tells "$state/heard" '^paused '
is "that run is kept, nothing else begins" "$(runs_of "$campaign" | tr '\n' ' ')" "clean queued queued queued "
vm status --json
is "status says so" "$(jq -r ".[] | select(.campaign == $campaign) | .status" <<<"$out")" paused
vm resume "$campaign"
eventually 30 "after resume it goes on" answers "SELECT state FROM campaign WHERE id = $campaign" "done"
is "one run failed" "$(runs_of "$campaign" | tr '\n' ' ')" "clean failed clean clean "
eventually 10 "the hook for that" tells "$state/heard" '^run-failed '
vm retry "$campaign"
eventually 30 "retry runs" answers "SELECT count(*) FROM run WHERE campaign_id = $campaign AND verdict = 'clean'" 4
eventually 30 "and ends" answers "SELECT state FROM campaign WHERE id = $campaign" "done"
is "only what had failed" "$(runs_of "$campaign" | tr '\n' ' ')" "clean failed clean clean clean "

eventually 10 "the hook at the end" tells "$state/heard" "^campaign-finished .*\"name\":\"paused\""
like "hooks get the facts as JSON" "$(grep '^run-failed ' "$state/heard" | cut -d ' ' -f 2- | jq -r '[.event, .name, .cell, .reason, .total] | join("; ")')" \
    "^run-failed; paused; .*hypervisor=bare.*; .*process ended.*; "

# ---- one measurement at a time ----

daemon_stop
rm -f "$state/sessions" "$state/daemon.log"
daemon_start FAKE_AGENT="hangs good"
first=$daemon_pid
submit_bare held 2 3
eventually 30 "the first daemon measures" measuring
vm run "$state/usual.yaml"
is "vmatrix run beside it: exit status 3" "$status" 3
like "it names who measures" "$err" "measuring already: .*vmatrixd.*pid $first"
"$vmatrixd" --db "$state/vmatrix.db" >"$state/second.log" 2>&1 </dev/null &
second=$!
eventually 30 "a second daemon waits, and names the first" tells "$state/second.log" "waits: .*vmatrixd.*(pid $first)"
is "nothing is measured twice" "$(sql "SELECT count(*) FROM run WHERE state = 'running'")" 1
daemon_stop
is "the first ends on SIGTERM in the middle of an invocation" "$daemon_status" 0
eventually 60 "the second takes over" answers "SELECT state FROM campaign WHERE id = $campaign" "done"
is "what was interrupted was done again" "$(runs_of "$campaign" | sort | uniq -c | tr -s ' \n' ' ')" " 2 clean 1 interrupted "
kill "$second"
wait "$second"
is "the second ends" "$?" 0

# ---- SIGTERM while a guest boots ----

need_libvirt
need_guest
unset VMATRIX_AGENT
{ inventory_head; inventory_guest micro; } >"$state/inventory.yaml"
cat >"$state/guest.yaml" <<'END'
version: 1
plan: guest
axes:
  hypervisor: [emulated]
  guest: [micro]
workloads: [test.noop]
repeat: {boots: 1, samples: 3}
idle: off
evidence: {verdict: flag}
END
vm submit "$state/guest.yaml" --json
campaign=$(jq '.[0].campaign' <<<"$out")
rm -f "$state/trace"
daemon_start VMATRIX_FAULT_TRACE="$state/trace"
eventually 60 "the guest boots" tells "$state/trace" '^ssh-before$'
from=$SECONDS
kill -TERM "$daemon_pid"
daemon_wait 30
is "SIGTERM while a guest boots: exit status 0" "$daemon_status" 0
note "it took $((SECONDS - from)) s"
check "it does not wait for the guest" bash -c "! grep -qx ssh-after '$state/trace'"
is "the run is interrupted, and queued again" "$(runs_of "$campaign" | tr '\n' ' ')" "interrupted queued "
is "the campaign waits for the next start" "$(sql "SELECT state FROM campaign WHERE id = $campaign")" queued
nothing_left
daemon_start
eventually 120 "the next start completes it" answers "SELECT state FROM campaign WHERE id = $campaign" "done"
is "and nothing is there twice" "$(runs_of "$campaign" | tr '\n' ' ') $(sql "SELECT count(*) FROM sample WHERE invocation_id IN
    (SELECT i.id FROM invocation i JOIN run r ON r.id = i.run_id WHERE r.campaign_id = $campaign)")" "interrupted clean  3"
daemon_stop
nothing_left
