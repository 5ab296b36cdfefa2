#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test-bench.py AGENT BENCHES-DEF: every benchmark, in TAP."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

from client import PATIENCE, Agent, equal, run_tests, true

AGENT, DEFINITIONS = sys.argv[1:3]
CATALOGUE = {
    bench["name"]: bench
    for bench in json.loads(subprocess.run([AGENT, "list", "--json"], stdout=-1, check=True).stdout)
}
UNITS = (("ns", "lower"), ("bytes/s", "higher"), ("1/s", "higher"), ("ratio", "higher"))
# What a machine may lack: benchmarks, and what the reason then speaks of.
MAY_LACK = {
    r"process\.pipe-latency-cross": "two CPUs",
    r"(memory|disk)\..*": "MiB of free memory",
    r"disk\..*": "no disk",
    r"(disk|file)\..*": "MiB of free space",
    r"disk\.(direct|iops)-.*": "direct I/O",
    r"peer\..*": "no peer was named",
}


def defined_names():
    """The names that the lines of benches.def stand for: the first _ is the dot."""
    with open(DEFINITIONS, encoding="utf-8") as text:
        ids = re.findall(r"^BENCH\((\w+)\)$", text.read(), re.MULTILINE)
    return [id_.replace("_", ".", 1).replace("_", "-") for id_ in ids]


def test_every_line_of_the_definitions_is_in_the_catalogue():
    true(len(CATALOGUE) >= 25, "a first set")
    equal(list(CATALOGUE), defined_names())


def test_the_catalogue_is_well_formed():
    for name, bench in CATALOGUE.items():
        true(re.fullmatch(r"[a-z0-9-]+\.[a-z0-9-]+", name), name)
        true(re.fullmatch(r"([a-z0-9-]+( [a-z0-9-]+)*)?", bench["groups"]), bench["groups"])
        true((bench["unit"], bench["direction"]) in UNITS, bench)
        true(set(bench["os"].split()) <= {"linux", "freebsd", "windows"}, bench["os"])
        true("linux" in bench["os"] and len(bench["summary"]) > 10 and bench["metric"], bench)


def test_groups():
    def members(group):
        return {name for name, bench in CATALOGUE.items() if group in bench["groups"].split()}

    own = {name for name in CATALOGUE if name.startswith("test.")}
    equal(members("all"), set(CATALOGUE) - own)
    true(8 <= len(members("quick")) <= 10, members("quick"))
    true(members("quick") < members("all"), "quick is a part of all")
    families = {name.split(".")[0] for name in members("quick")}
    equal(families, {"ops", "syscalls", "process", "memory", "file", "net"})


def lacks(name, reason):
    return any(re.fullmatch(key, name) and word in reason for key, word in MAY_LACK.items())


def one(name, folder):
    bench = CATALOGUE[name]
    with Agent([AGENT, "session"]) as agent:
        agent.ask(name, 8, samples=3, warmup=1, sample_ns=1000, folder=folder)
        message = agent.read("ready", "unsupported")
        if message["type"] == "unsupported":
            true(lacks(name, message["reason"]), message["reason"])
            return
        agent.send("go", invocation=8)
        agent.read("begin")
        agent.read("end")
        samples, done = agent.collect(8)
        metrics = [{key: bench[key] for key in ("metric", "unit", "direction")}]
        if "metrics" in bench:  # one that a machine does not have is left out, in all samples
            metrics = [{"metric": m["name"], "unit": m["unit"], "direction": m["direction"]} for m in bench["metrics"]]
        got = [{key: sample[key] for key in ("metric", "unit", "direction")} for sample in samples]
        equal([metric for metric in metrics if metric in got], got, "metrics, in their order")
        true(got and ("metrics" in bench or got == metrics), "metrics")
        equal(done["samples"], 3 * len(got))
        for sample in samples:
            equal(len(sample["values"]), 3)
            for value in sample["values"]:
                true(math.isfinite(value) and value > 0, f"{name}: {value}")
            true(sample["iterations"] >= 1, "iterations")
        equal(agent.bye()["samples"], done["samples"])
        equal(os.listdir(folder), [], "files left")


def test_of(name):
    def test():
        with tempfile.TemporaryDirectory() as folder:
            one(name, folder)

    test.__name__ = f"test_{name}"
    return test


def least(names):
    """The least of a few samples of each; noise only adds."""
    out = subprocess.run([AGENT, "run", "--samples", "3", *names], stdout=-1, check=True, text=True).stdout
    rows = [line.split() for line in out.splitlines()[1:]]
    return {row[0]: float(row[4]) for row in rows if row[1] == "latency"}


def test_more_work_takes_longer():
    """Of each pair the second does at least ten times what the first does, so that no noise of a busy
    machine turns them round: a value of the wrong scale, or work that was optimised away, does."""
    pairs = [
        ("ops.int32-bit", "syscalls.open-close"),
        ("ops.int64-div", "process.pipe-latency"),
        ("syscalls.null", "process.fork-exit"),
        ("syscalls.fstat", "process.fork-exec"),
        ("signal.install", "process.shell"),
        ("process.thread", "process.shell"),
        ("syscalls.open-close", "cpu.prime"),
    ]
    found = least(sorted({name for pair in pairs for name in pair}))
    for less, more in pairs:
        true(found[less] < found[more], f"{less} {found[less]} ns, {more} {found[more]} ns")


def test_scaling_has_rows_for_the_cpus_there_are():
    cpus = len(os.sched_getaffinity(0))
    for count in sorted({1, min(2, cpus), cpus}):
        allowed = sorted(os.sched_getaffinity(0))[:count]
        rates = [f"rate-{1 << i}" for i in range(8) if 1 << i <= count]
        with Agent([AGENT, "session"], preexec_fn=lambda cpus=allowed: os.sched_setaffinity(0, cpus)) as agent:
            for number, bench in enumerate(("scaling.threads", "scaling.copies"), 1):
                samples, _ = agent.invoke(bench, number)
                got = {sample["metric"]: sample["values"] for sample in samples}
                equal(list(got), [*rates, "rate-all", "efficiency"], bench)
                # By its definition, whatever the machine does meanwhile.
                for one, every, efficiency in zip(got["rate-1"], got["rate-all"], got["efficiency"]):
                    true(abs(every / (one * count) / efficiency - 1) < 1e-6, got)
                agent.ask(bench, number + 4, copies=2)
                true("ask for one copy" in agent.read("unsupported")["reason"], "the reason")
            equal(agent.bye()["invocations"], 4)


def test_the_groups_by_hand():
    """`run` takes groups and families, and prints a row each."""
    for group in ("mem-bandwidth", "syscalls"):
        wanted = [
            name
            for name, bench in CATALOGUE.items()
            if group in bench["groups"].split() or name.startswith(group + ".")
        ]
        out = subprocess.run(
            [AGENT, "run", "--samples", "1", group], stdout=-1, check=True, text=True
        ).stdout
        equal([line.split()[0] for line in out.splitlines()[1:]], wanted)


def test_threads_with_helpers():
    """A helper that one thread starts holds nothing of what another has open or locked."""
    names = [name for name in CATALOGUE if name.startswith(("net.", "process.pipe-"))]
    out = subprocess.run(
        [AGENT, "run", "--plain", "--threads", "4", "--samples", "1", "--sample-time", "2ms", *names],
        stdout=-1, check=True, text=True, timeout=PATIENCE,
    ).stdout  # fmt: skip
    equal(sorted({line.split()[0] for line in out.splitlines()[1:]}), sorted(names))


if __name__ == "__main__":
    fixed = [f for name, f in list(globals().items()) if name.startswith("test_") and name != "test_of"]
    sys.exit(run_tests(fixed + [test_of(name) for name in CATALOGUE]))
