#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The file system with the database fills up in the middle of a run: the queue stops and says why, the database stays
# whole, and all goes on when there is room. A reader that holds a transaction blocks nothing.
source "$VMATRIX_SOURCE/tests/integration/lib.sh"
source "$VMATRIX_SOURCE/tests/fault/daemon.sh"
need_fake_agent
disk=$state/disk
mkdir "$disk"
mount -t tmpfs -o size=100m,mode=711 tmpfs "$disk" 2>/dev/null || skip_all "needs root, to mount a small file system"
trap 'umount -l "$disk"; finish' EXIT

integrity() {
    python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("PRAGMA integrity_check").fetchone()[0])' "$1"
}

# The database lies on the small disk; all else of the test does not.
ln -s "$disk/vmatrix.db" "$state/vmatrix.db"
printf '[daemon]\nretry = 1s\n' >"$state/vmatrixd.conf"
submit_bare full 3 20000
daemon_start FAKE_AGENT="good slow good" VMATRIX_FAULT_TRACE="$state/trace"

# The second run measures for 3 s: then there is no room for what it has measured.
measures_again() {
    [[ $(grep -cx measure-before "$state/trace" 2>/dev/null) == 2 ]]
}
eventually 30 "the second run measures" measures_again
dd if=/dev/zero of="$disk/filler" bs=64k >/dev/null 2>&1
eventually 30 "the queue stops" logged "is stopped, the next try is in 1.0 s"
like "it says why, and what to do" "$(grep -m 1 "is stopped" "$state/daemon.log")" "database or disk is full.*free space"
check "the daemon is still there" kill -0 "$daemon_pid"
is "the database is whole" "$(integrity "$disk/vmatrix.db")" ok
is "the first run is kept" "$(clean_runs) $(sql "SELECT count(*) FROM sample")" "1 20000"
is "none has failed" "$(sql "SELECT count(*) FROM run WHERE verdict = 'failed'")" 0
vm status
is "status can be read" "$status" 0
vm submit "$state/full.yaml"
is "what cannot be stored is refused" "$status" 3
like "with the reason" "$err" "full.*free space"

truncate -s 60M "$disk/filler"
eventually 30 "a little room is not enough to start, and it says how much is" logged "64 MiB are needed to start a run"
rm "$disk/filler"
queue_wait 60 || fail "it goes on when there is room" "$(tail -20 "$state/daemon.log")"
is "every run is there once" "$(clean_runs) $(sql "SELECT count(*) FROM sample") $(sql "SELECT state FROM campaign")" \
    "3 60000 done"
is "the one in flight was interrupted" "$(sql "SELECT count(*) FROM run WHERE verdict = 'interrupted'")" 1
is "the database is whole at the end" "$(integrity "$disk/vmatrix.db")" ok

# ---- a reader that takes its time ----

python3 - "$disk/vmatrix.db" "$state" <<'END' &
import os, sqlite3, sys, time

db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN")
before = db.execute("SELECT count(*) FROM sample").fetchone()
open(sys.argv[2] + "/reads", "w").close()
while not os.path.exists(sys.argv[2] + "/read-enough"):
    time.sleep(0.1)
same = before == db.execute("SELECT count(*) FROM sample").fetchone()
open(sys.argv[2] + ("/same" if same else "/different"), "w").close()
END
reader=$!
eventually 20 "the reader reads" test -e "$state/reads"
submit_bare read 5 1000
queue_wait 60 || fail "a campaign ends while a reader holds its transaction" "$(tail -20 "$state/daemon.log")"
is "every run of it is clean" "$(sql "SELECT count(*) FROM run WHERE verdict = 'clean' AND campaign_id = $campaign")" 5
check "the reader still reads" kill -0 "$reader"
touch "$state/read-enough"
wait "$reader"
check "and sees what it saw at first" test -e "$state/same"
daemon_stop
is "the daemon ends with 0" "$daemon_status" 0
