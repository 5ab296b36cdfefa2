#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An agent that follows the protocol, or breaks it in the way that FAKE_AGENT names.

FAKE_AGENT is a list of modes separated by spaces, one for each session in turn (the last one stays); the session
number is kept in the file FAKE_AGENT_COUNT, so that a test can have the second run fail and the third succeed.
The file FAKE_AGENT_REQUESTS, where it is named, gets each request to run.

As "host-evidence" it is the reader of evidence: FAKE_READER is a list of modes too, one for each invocation in turn,
counted in FAKE_AGENT_COUNT.reader. FAKE_VALUES=random: the values are.
"""
import json
import os
import random
import sys
import time

CATALOGUE = [
    {"name": "fake." + name, "groups": "fake all", "metric": "latency", "unit": "ns",
     "direction": "lower", "summary": "does " + name, "os": "linux"}
    for name in ("one", "two", "refuses", "lacks")
]


def send(**message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


BASE = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
RATE = 1.0  # of this agent's clock; "fast" makes it 1 % fast


def now():
    elapsed = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - BASE
    return BASE + int(elapsed * RATE)


def next_mode(variable, default, path):
    modes = os.environ.get(variable, default).split()
    count = int(open(path).read()) if os.path.exists(path) else 0
    with open(path, "w") as f:
        f.write(str(count + 1))
    return modes[min(count, len(modes) - 1)]


def value(i):
    return random.uniform(1, 1e6) if os.environ.get("FAKE_VALUES") == "random" else float(i + 1)


def hello():
    send(type="hello", protocol=1, version="fake", clock="CLOCK_MONOTONIC_RAW", resolution_ns=1,
         clock_cost_ns=20.0, os="linux", arch="x86_64", cpus=1)


# What happened in 10 s of one CPU, by mode: the rest of the record.
SECOND = 10**9
EVIDENCE = {
    "quiet": {"foreign": {"cpu_ns": SECOND // 100, "named": [
        {"name": "kworker/0:1", "pid": 17, "cpu_ns": SECOND // 100, "ended": False, "processes": 1}]}},
    "hog": {"foreign": {"cpu_ns": 2 * SECOND, "named": [
        {"name": "hog", "pid": 4711, "cpu_ns": 2 * SECOND, "ended": False, "processes": 1}]}},
    "swaps": {"foreign": {"cpu_ns": 0, "named": []}, "vm": {"pswpin": 3}},
}


def reader():
    hello()
    mode = None
    for line in sys.stdin:
        request = json.loads(line)
        number = request["id"]
        if request["type"] == "begin":
            mode = next_mode("FAKE_READER", "quiet", os.environ["FAKE_AGENT_COUNT"] + ".reader")
            if mode == "ends":
                sys.exit(3)
            elif mode == "hangs":
                time.sleep(3600)
            elif mode == "refuses":
                send(type="failed", id=number, reason="no process of pids is there")
            else:
                assert os.path.exists("/proc/%d" % request["pids"][0])
                assert request["observer"] == [os.getppid()]
                send(type="begun", id=number)
        elif mode == "garbage":
            sys.stdout.write("what?\n")
            sys.stdout.flush()
        else:
            send(type="evidence", id=number, span_ns=10 * SECOND, cpus="0", sources=["schedstat"],
                 subject={"processes": 1, "cpu_ns": 9 * SECOND, "threads": []},
                 observer={"cpu_ns": 5000, "switches": 2, "written_bytes": 0}, **EVIDENCE[mode])


def measure(mode, number):
    if mode == "garbage":
        sys.stdout.write("Segmentation fault\n")
    elif mode == "dies":
        os._exit(139)
    elif mode == "hangs":
        time.sleep(3600)
    send(type="begin", invocation=number, t=now())
    time.sleep({"fast": 1.2, "slow": 3}.get(mode, 0.01))
    send(type="end", invocation=number, t=now())


def run(mode, request):
    number, bench = request["invocation"], request["bench"]
    if "FAKE_AGENT_REQUESTS" in os.environ:
        with open(os.environ["FAKE_AGENT_REQUESTS"], "a") as f:
            f.write(json.dumps(request) + "\n")
    if bench == "fake.lacks":
        send(type="unsupported", invocation=number, reason="this machine has no such thing")
    elif bench == "fake.refuses" or mode == "refuses-all":
        send(type="failed", invocation=number, reason="the file system is full")
    else:
        send(type="ready", invocation=number)


def session():
    global RATE
    mode, values, sent = next_mode("FAKE_AGENT", "good", os.environ["FAKE_AGENT_COUNT"]), 0, 0
    RATE = 1.01 if mode == "fast" else 1.0
    if mode == "silent":
        time.sleep(3600)
    hello()
    for line in sys.stdin:
        request = json.loads(line)
        kind = request["type"]
        if kind == "ping":
            send(type="pong", id=request["id"], t=now())
        elif kind == "facts":
            send(type="facts", facts={
                "os.kernel": "fake",
                "test.cpus": ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0))),
                "test.cgroups": open("/proc/self/cgroup").read().strip()})
        elif kind == "run":
            values = request["samples"]
            run(mode, request)
        elif kind == "go":
            measure(mode, request["invocation"])
        elif kind == "collect":
            number = request["invocation"]
            for first in range(0, values, 1000):
                send(type="sample", invocation=number, metric="latency", unit="ns", direction="lower",
                     revision=1, values=[value(i) for i in range(first, min(values, first + 1000))])
            send(type="done", invocation=number, samples=values + (1 if mode == "miscounts" else 0))
            sent += values
        elif kind == "bye":
            send(type="bye", invocations=1, samples=sent)
            return


if sys.argv[1:2] == ["list"]:
    print(json.dumps(CATALOGUE))
elif sys.argv[1:2] == ["host-evidence"]:
    reader()
else:
    session()
