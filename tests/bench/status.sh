#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# status.sh BUILD-FOLDER: "vmatrix status" with 10 000 runs against sqlite3 counting the same rows.
#
# At most 3 times its time. Both are started 31 times in turn, each time anew; the medians of wall
# time count. sqlite3 counts in the two ways in which a person would.
set -euo pipefail

build=${1:?usage: status.sh BUILD-FOLDER}
command -v sqlite3 >/dev/null || { echo "status.sh: sqlite3 is not there: apt-get install sqlite3" >&2; exit 3; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 - "$build/daemon/cli/vmatrix" "$(dirname "$0")/../data/db/version-1.sql" "$work/test.db" <<'END'
import sqlite3
import statistics
import subprocess
import sys
import time

vmatrix, dump, path = sys.argv[1:]
RUNS, TURNS, LIMIT = 10_000, 31, 3.0


def fill():
    database = sqlite3.connect(path)
    with open(dump) as file:
        database.executescript(file.read())
    # Any command that writes brings it to the version of today.
    subprocess.run([vmatrix, "--db", path, "pause"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([vmatrix, "--db", path, "resume"], check=True, stdout=subprocess.DEVNULL)
    cells = range(1000, 2000)
    database.executemany("INSERT INTO cell (id, campaign_id, number, key, axes, vcpus)"
                         " VALUES (?, 3, ?, ?, '{}', 1)",
                         [(i, i, f"guest=micro hypervisor=qemu vcpus={i}") for i in cells])
    states = [("done", "clean"), ("done", "failed"), ("queued", None)]
    rows = [(cells[i % 1000], 10 + i // 1000, i % 1000, *states[min(i // 4500, 2)])
            for i in range(RUNS)]
    database.executemany(
        "INSERT INTO run (campaign_id, cell_id, block, position, state, verdict, boot_id, kernel,"
        " replicate, started_ns, ended_ns, duration_ns) VALUES (3, ?, ?, ?, ?, ?, '83867b3b-f4e8',"
        " '6.1.0-18-amd64', 'boot', 1700000000000000000, 1700000010000000000, 10000000000)", rows)
    database.commit()
    database.close()


def once(*command):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main():
    fill()
    commands = {
        "vmatrix status": [vmatrix, "--db", path, "status"],
        "sqlite3, all": ["sqlite3", path, "SELECT count(*) FROM run"],
        "sqlite3, by state": ["sqlite3", path,
                              "SELECT state, verdict, count(*) FROM run GROUP BY 1, 2"],
    }
    times = {name: [] for name in commands}
    for _ in range(TURNS):
        for name, command in commands.items():
            times[name].append(once(*command))
    median = {name: statistics.median(of) for name, of in times.items()}
    status = median.pop("vmatrix status")
    print(f"vmatrix status, {RUNS} runs: {status * 1e3:.2f} ms")
    for name, value in median.items():
        print(f"{name}: {value * 1e3:.2f} ms; status takes {status / value:.2f} x (limit {LIMIT})")
    sys.exit(max(status / value for value in median.values()) > LIMIT)


main()
END
