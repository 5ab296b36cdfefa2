#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The queue from outside: submit, status, log, pause, resume, cancel, retry, summary, and vmatrixd
# on bare cells. No guest is booted.
# Usage: test-queue.sh VMATRIX VMATRIXD
vmatrixd=$(realpath "$2")
source "$(dirname "$0")/lib.sh" "$1"
daemon=
trap '[[ -z $daemon ]] || kill -KILL $daemon 2> /dev/null; rm -rf "$folder"' EXIT

cat > plan.yaml <<'END'
version: 1
plan: tiny
axes:
  hypervisor: [bare]
  vcpus: [1]
workloads: [ops.int32-add]
repeat: {boots: 2, samples: 3, sample-time: 1ms}
idle: off
evidence: {verdict: flag}
limits: {stop-by: "07:00"}
END
sed 's/tiny/fifty/; s/boots: 2/boots: 50/; /limits/d' plan.yaml > fifty.yaml
printf 'version: 1\nhypervisors: {}\n' > site.yaml
export VMATRIX_INVENTORY=$folder/site.yaml

# change SQL: as another program would
change() { python3 - "$1" <<'END'
import os, sqlite3, sys
database = sqlite3.connect(os.environ["VMATRIX_DB"], timeout=60)
database.create_function("zlib", 1, lambda text: __import__("zlib").compress(text.encode()))
database.executescript(sys.argv[1])
database.close()
END
}
ask() { "$vmatrix" sql --format csv "$1" | tail -n +2 | tr -d '\r'; }
# wait_until SQL EXPECTED: up to 60 s
wait_until()
{
    for _ in $(seq 600); do
        [[ $(ask "$1") == "$2" ]] && return
        sleep 0.1
    done
    echo "# $1: $(ask "$1"), not $2"
    return 1
}

# ---- what is refused ----
for command in status watch 'log 1' 'pause 1' pause resume 'cancel 1' 'retry 1' summary; do
    # shellcheck disable=SC2086
    gives 2 'no such database' $command
done
holds 'steering makes no database' test ! -e test.db
gives 2 'an argument is missing' cancel
gives 2 'an argument is missing' retry
gives 2 'an argument is missing' log
gives 2 '"noon" is no time: write "22:00"' submit plan.yaml --at noon
gives 2 'is over: leave the time out' submit plan.yaml --at 2020-01-01T00:00
gives 2 '"high": must be a whole number' submit plan.yaml --priority high
gives 2 '"1001": must be' submit plan.yaml --priority 1001
gives 3 'nothere.yaml' submit nothere.yaml

# ---- submit, status ----
gives 0 '^campaign 1 \([0-9a-f-]{36}\): 1 cell, not before ' submit plan.yaml --at 2100-01-01T00:00
gives 0 '"campaign": 2,' submit plan.yaml --priority=-5 --json
gives 0 '^campaign 3 ' submit plan.yaml --priority 7
gives 0 '^ *id campaign' status
holds 'status has the order of the queue: priority, then number' \
    test "$(sed -n '2,4s/^ *\([0-9]\) .*/\1/p' out | tr '\n' ' ')" = '3 1 2 '
holds 'a campaign whose time has not come waits' grep -qE '^ *1 tiny +waiting ' out
holds 'status says by when it must end, and that nobody works' \
    grep -qE '07:00|Nothing is measured now' out
gives 0 '"state": "queued",' status 2 --json
holds 'status of one campaign' test "$(grep -c '"uuid"' out)" = 1
gives 2 'no campaign' status 99
gives 0 '^campaign,uuid,name,status,state' status --format csv

# ---- steering ----
gives 0 '^campaign 2 \(tiny\): paused' pause 2
gives 0 '^2 campaigns paused' pause
gives 0 '"count": 0' pause --json
gives 0 '^campaign 3 \(tiny\): resumed' resume 3
gives 0 '^2 campaigns resumed' resume
gives 0 '^campaign 2 \(tiny\): cancelled' cancel 2
gives 2 'has ended: it cannot be cancelled' cancel 2
gives 2 'has ended: it cannot be paused' pause 2
gives 0 '0 runs are queued again' retry 2
gives 2 'no campaign' cancel 99
gives 0 '^skipped,2' sql --format csv "SELECT state, count(*) FROM run WHERE campaign_id = 2 GROUP BY 1"
gives 0 'cancelled \(user ' log 2
gives 0 '"step": "queue"' log 2 --json
gives 2 'no campaign' log nothing
gives 2 'no run "99"' log run:99

# ---- vmatrixd ----
"$vmatrixd" --db test.db > daemon.log 2>&1 &
daemon=$!
holds 'vmatrixd runs what is due' \
    wait_until "SELECT state FROM campaign WHERE id = 3" "done"
holds '… and leaves what is not' \
    test "$(ask "SELECT state FROM campaign WHERE id = 1")" = queued
gives 0 'run [0-9]+ hypervisor=bare vcpus=1 \[end\] clean in ' log 3
run=$(ask "SELECT min(id) FROM run WHERE campaign_id = 3")
gives 0 '\[begin\] block 1, attempt 1' log "run:$run"
holds 'a begin and an end of one run' test "$(wc -l < out)" = 2
gives 0 '^campaign 4 ' submit plan.yaml
holds 'vmatrixd hears of a new campaign while it sleeps' \
    wait_until "SELECT state FROM campaign WHERE id = 4" "done"
change "UPDATE campaign SET not_before_ns = 0 WHERE id = 1"
holds '… and of what another program writes' \
    wait_until "SELECT state FROM campaign WHERE id = 1" "done"
holds 'its end was set when it began' \
    test "$(ask "SELECT stop_at_ns > started_ns FROM campaign WHERE id = 1")" = 1
change "UPDATE run SET verdict = 'failed', reason = 'no answer' WHERE id = $run"
gives 0 '^campaign 3 \(tiny\): 1 run is queued again' retry 3
holds 'vmatrixd runs it again' \
    wait_until "SELECT group_concat(verdict, '/') FROM run WHERE campaign_id = 3 AND block = 0" failed/clean
wait_until "SELECT state FROM campaign WHERE id = 3" "done"

# ---- many readers while it runs ----
gives 0 '^campaign 5 ' submit fifty.yaml
wait_until "SELECT state FROM campaign WHERE id = 5" running
readers=()
for reader in $(seq 200); do
    if ((reader % 2)); then
        "$vmatrix" status > /dev/null 2>> readers &
    else
        "$vmatrix" sql 'SELECT count(*) FROM result' > /dev/null 2>> readers &
    fi
    readers+=($!)
done
lost=0
for reader in "${readers[@]}"; do
    wait "$reader" || lost=$((lost + 1))
done
cp readers err
holds "200 readers at once: $lost failed" test $lost = 0 -a ! -s readers
wait_until "SELECT state FROM campaign WHERE id = 5" "done"
written=$(ask "SELECT count(*) || '/' || (SELECT count(*) FROM result
    WHERE campaign = 5) AS written FROM run WHERE campaign_id = 5 AND verdict = 'clean'")
holds "and no write was lost: $written runs and samples" test "$written" = 50/150

kill -TERM $daemon
wait $daemon
code=$? daemon=
holds "vmatrixd ends on SIGTERM" test $code = 0

# ---- the morning page ----
gives 0 '^campaign 6 ' submit fifty.yaml
change "
UPDATE campaign SET state = 'done', started_ns = 1700000000000000000,
       ended_ns = 1700030000000000000 WHERE id = 6;
UPDATE run SET state = 'done', verdict = 'clean', started_ns = 1700000000000000000,
       ended_ns = 1700000001000000000, duration_ns = 1000000000 WHERE campaign_id = 6;
UPDATE run SET verdict = 'failed', reason = 'ssh: no banner within 60 s' WHERE campaign_id = 6 AND block = 6;
UPDATE run SET verdict = 'failed', reason = 'QEMU ended in the middle of an invocation' WHERE campaign_id = 6 AND block IN (17, 40);
UPDATE run SET verdict = 'contaminated', reason = 'cron took 12 % of its CPU' WHERE campaign_id = 6 AND block = 3;
INSERT INTO phase SELECT id, 0, 'ssh', started_ns, 900000000 FROM run WHERE campaign_id = 6;
INSERT INTO phase SELECT id, 1, 'gate', started_ns, 100000000 FROM run WHERE campaign_id = 6;
INSERT INTO raw_output (run_id, stream, length, content)
SELECT min(id), 'console', 15, zlib('login:' || char(27) || '[2Jevil' || char(13, 10)) FROM run WHERE campaign_id = 6;
"
gives 0 '^failed   2 x QEMU ended in the middle of an invocation' summary
cp out page
holds 'the other reason' grep -qx ' *1 x ssh: no banner within 60 s' page
holds 'the failed cells and their blocks' \
    test "$(grep -cE 'hypervisor=bare vcpus=1 \((blocks 18, 41|block 7|block 4)\)' page)" = 3
holds 'counts' grep -q '50 runs: 46 clean, 1 contaminated, 3 failed$' page
holds 'how long it took' grep -q '(8h 20m)' page
holds 'how long each phase took' grep -q 'ssh 90 % (45.0 s, mean 0.90 s), gate 10 %' page
holds 'what to look at first' grep -q '^look at  1. ' page
holds 'on one screen' test "$(wc -l < page)" -le 24 -a "$(wc -L < page)" -le 80
gives 0 '"failed_and_done_again": 0' summary 6 --json
holds 'the same in JSON' python3 -c 'import json
page = json.load(open("out"))
assert [(g["runs"], [(c["cell"], c["blocks"]) for c in g["cells"]]) for g in page["failed"]] == [
    (2, [("hypervisor=bare vcpus=1", "18, 41")]), (1, [("hypervisor=bare vcpus=1", "7")])], page
assert page["phases"][0]["phase"] == "ssh" and page["runs"]["clean"] == 46'
gives 2 'no campaign' summary 99

# ---- what guests print ----
run=$(ask "SELECT min(id) FROM run WHERE campaign_id = 6")
"$vmatrix" log "run:$run" --console > out 2> err
holds 'into a pipe a console goes as it was' grep -q $'login:\033\[2Jevil\r' out
python3 - "$vmatrix" "$run" > out 2> err <<'END'
import pty, sys
pty.spawn([sys.argv[1], "log", "run:" + sys.argv[2], "--console"])
END
holds 'on a terminal its control characters are shown, not obeyed' grep -q 'login:\\x1b\[2Jevil' out
holds '… and none is left' eval "! grep -q $'\033' out"
gives 0 'nothing was printed there' log "run:$run" --raw
gives 0 '"stream": "console"' log 6 --console --json

finish
