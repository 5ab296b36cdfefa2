#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test-fidelity.py TOP: tests/bench/fidelity.py reads what lmbench, sysbench, fio and the agent print,
in TAP. The outputs in tests/data/fidelity are from real runs."""
import os
import sys
import time

from client import equal, run_tests, true

TOP = sys.argv[1]
sys.path.insert(0, os.path.join(TOP, "tests/bench"))
import fidelity  # noqa: E402

PAIRS = {pair.bench: pair for pair in fidelity.read_table("pairs.txt", fidelity.Pair)}


def sample(name):
    with open(os.path.join(TOP, "tests/data/fidelity", name), encoding="utf-8") as file:
        return file.read()


def value(bench, name):
    return fidelity.parse_reference(PAIRS[bench], sample(name))


def test_the_references():
    for bench, name, factor, printed in (
            ("ops.int32-add", "lat_ops.txt", 1, "integer add: "),
            ("ops.double-div", "lat_ops.txt", 1, "double div: "),
            ("syscalls.open-close", "lat_syscall-open.txt", 1000, "open/close: "),
            ("process.context-switch", "lat_ctx.txt", 1000, "\n2 "),
            ("memory.latency-256k", "lat_mem_rd.txt", 1, "0.25000 "),
            ("memory.read", "bw_mem-rd.txt", 1e6, "33.55 "),
            ("disk.iops-q1", "fio-randread.txt", 1, '"iops" : ')):
        text = sample(name).split(printed, 1)[1].split()[0].rstrip(",")
        equal(value(bench, name), float(text) * factor, bench)
    equal(value("cpu.prime", "sysbench-cpu.txt"), 1e9 / 1740.04, "a rate becomes a time")


def test_what_is_no_value():
    for text in ("", "lat_ops: killed\n", "integer add: x nanoseconds", "integer add: 0.00"):
        equal(fidelity.parse_reference(PAIRS["ops.int32-add"], text), None, text)


def test_the_agent():
    equal(fidelity.parse_agent(sample("agent.txt")), ({("syscalls.null", "latency"): 177.672}, {}))
    equal(fidelity.parse_agent("BENCHMARK\na.b   unsupported: no disk\n"),
          ({}, {"a.b": "unsupported: no disk"}))


def test_spread_and_verdict():
    equal(fidelity.spread([1.0]), 0.0)
    equal(fidelity.spread([1.0, 2.0, 3.0, 4.0, 5.0]), 2 / 3)
    tally, pair = fidelity.Tally([]), PAIRS["ops.int32-add"]
    equal([tally.judge(pair, ratio) for ratio in (0.96, 1.04, 1.06, 0.94)],
          ["ok", "ok", "OFF", "OFF"])
    excused = fidelity.Tally([fidelity.Exempt(pair.bench, pair.metric, "x.sh", "why")])
    equal(excused.judge(pair, 2), "exempt")


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return ") Z" not in file.read()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_tool_and_what_it_left_behind():
    text, took = fidelity.run(["sh", "-c", "sleep 60 & echo $!"], dict(os.environ))
    true(took < 30, "the child holds nobody up")
    # The kernel ends who was killed in its own time.
    deadline = time.monotonic() + 30
    while is_alive(int(text)) and time.monotonic() < deadline:
        time.sleep(0.01)
    true(not is_alive(int(text)), "the child was killed")


if __name__ == "__main__":
    sys.exit(run_tests([f for name, f in list(globals().items()) if name.startswith("test_")]))
