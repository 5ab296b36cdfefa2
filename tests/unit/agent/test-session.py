#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test-session.py AGENT: the protocol over pipes, in TAP."""
import os
import shutil
import signal
import sys
import tempfile
import time

from client import Agent, equal, processes_of, run_tests, true, until

FOLDER = tempfile.TemporaryDirectory(prefix="vmatrix-agent-test-")
BINARY = os.path.join(os.path.realpath(FOLDER.name), "agent")  # no other process runs this file
SECOND = 10**9


class Alone(Agent):
    """Whatever ends it, its workers and helpers are gone before the next test looks for its own."""

    def __exit__(self, *details):
        super().__exit__(*details)
        nothing_is_left()


def agent(**options):
    return Alone([BINARY, "session"], **options)


def nothing_is_left():
    until(lambda: not processes_of(BINARY), "all the agent's processes are gone")



def test_hello():
    with agent() as a:
        hello = a.hello
        equal(hello["protocol"], 1)
        equal((hello["os"], hello["clock"]), ("linux", "CLOCK_MONOTONIC_RAW"))
        equal(hello["arch"], os.uname().machine)
        equal(hello["cpus"], len(os.sched_getaffinity(0)))
        true(isinstance(hello["resolution_ns"], int) and hello["resolution_ns"] >= 1, "resolution")
        true(hello["clock_cost_ns"] > 0, "clock cost")
        equal(a.bye(), {"type": "bye", "invocations": 0, "samples": 0})


def test_pings_are_stamped_by_the_raw_clock():
    with agent() as a:
        for number in (0, 7, -1, 2**63 - 1, -(2**63)):
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            a.send("ping", id=number)
            pong = a.read("pong")
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            equal(pong["id"], number)
            true(before <= pong["t"] <= after, f"{before} <= {pong['t']} <= {after}")


def test_facts():
    with agent() as a:
        a.send("facts")
        facts = a.read("facts")["facts"]
        true(all(isinstance(value, str) and value for value in facts.values()), "strings")
        equal(facts["os.kernel"], os.uname().release)
        equal(facts["os.arch"], os.uname().machine)
        equal(facts["cpu.allowed"], str(len(os.sched_getaffinity(0))))
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        equal(int(facts["memory.total"]), pages)
        equal(facts["agent.folder"], os.path.dirname(BINARY))
        true(facts["agent.folder-fs"] and facts["agent.compiler"], "agent.*")


def test_an_invocation_in_its_order():
    with agent() as a:
        a.ask("ops.int32-add", 5, samples=7, warmup=2)
        equal(a.read("ready")["invocation"], 5)
        a.send("ping", id=1)
        first = a.read("pong")["t"]
        a.send("go", invocation=5)
        begin, end = a.read("begin"), a.read("end")
        equal((begin["invocation"], end["invocation"]), (5, 5))
        a.send("ping", id=2)
        true(first <= begin["t"] < end["t"] <= a.read("pong")["t"], "stamps in their order")
        samples, done = a.collect(5)
        equal(len(samples), 1)
        sample = samples[0]
        equal((sample["metric"], sample["unit"]), ("latency", "ns"))
        equal((sample["direction"], sample["revision"]), ("lower", 1))
        true("copy" not in sample, "only one copy")
        equal(len(sample["values"]), 7)
        equal(sample["iterations"] % 64, 0, "64 additions an iteration")
        work = sum(sample["values"]) * sample["iterations"]
        true(0 < work <= end["t"] - begin["t"], f"{work} ns of samples within begin and end")
        equal(done["samples"], 7)
        a.invoke("ops.int32-mul", 6, samples=2)
        equal(a.bye(), {"type": "bye", "invocations": 2, "samples": 9})


def test_the_guests_own_evidence():
    """The marks lie between its two readings; while a CPU spins it is busy, or stolen."""
    with agent() as a:
        a.send("ping", id=1)
        before = a.read("pong")["t"]
        a.ask("test.spin1s", samples=1)
        begin, end = a.measure()
        a.send("ping", id=2)
        after = a.read("pong")["t"]
        evidence = a.collect()[1]["evidence"]
        true(end["t"] - begin["t"] <= evidence["span_ns"] <= after - before, evidence)
        equal(evidence["cpus"], a.hello["cpus"])
        true(evidence["busy_ns"] + evidence["steal_ns"] >= 9 * SECOND // 10, evidence)
        true(evidence["switches"] >= 1 and evidence["swapped_in_pages"] >= 0, evidence)
        path = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        with open(path, encoding="utf-8") as file:
            equal(evidence["clocksource"], file.read().strip())


def test_silence_while_at_work():
    with agent() as a:
        a.ask("test.spin1s", samples=1)
        a.read("ready")
        a.send("go", invocation=1)
        begin = a.read("begin")
        a.send("ping", id=9)
        end = a.read("end")  # and not the pong
        equal(a.read("pong")["id"], 9)
        true(end["t"] - begin["t"] >= SECOND, "a second of work")
        samples, _ = a.collect()
        true(SECOND <= samples[0]["values"][0] <= end["t"] - begin["t"], "the sample is that second")
        equal(samples[0]["iterations"], 1)


def test_values_come_at_most_1000_a_line():
    with agent() as a:
        samples, done = a.invoke("test.noop", samples=2500, sample_ns=1000)
        equal([len(sample["values"]) for sample in samples], [1000, 1000, 500])
        equal(done["samples"], 2500)


def test_longer_samples_have_more_iterations():
    """A hundred times as long: noise cannot make up for that."""
    with agent() as a:
        short, _ = a.invoke("ops.double-div", 1, sample_ns=200_000, warmup=1)
        long, _ = a.invoke("ops.double-div", 2, sample_ns=20_000_000, warmup=1)
        true(long[0]["iterations"] > 2 * short[0]["iterations"], (short, long))


def test_what_all_samples_took():
    with agent() as a:
        samples, done = a.invoke("syscalls.null", samples=5, sample_ns=2000000, warmup=1)
        totals = samples[0]
        # Five samples, each of many operations, with the loop's own time.
        net = sum(totals["values"]) * totals["iterations"]
        loop = 5 * totals["overhead_ns"] * totals["iterations"]
        true(totals["overhead_ns"] > 0, totals)
        if "overhead-not-subtracted" not in done.get("flags", ""):
            true(0.9 < (net + loop) / totals["time_ns"] < 1.1, totals)
        samples, _ = a.invoke("ops.int32-add", invocation=2)
        true("overhead_ns" not in samples[0] and samples[0]["time_ns"] > 0, samples)


def test_the_time_stamp_counter_is_told_where_it_can_be_read():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        invariant = "nonstop_tsc" in file.read()
    with agent() as a:
        samples, done = a.invoke("test.noop", samples=5, sample_ns=5000000)
        totals = samples[0]
        if os.uname().machine != "x86_64" or not invariant:
            true("tsc_hz" not in totals and "tsc_ns" not in totals, totals)
        elif "tsc-disagrees" not in done.get("flags", ""):
            true(totals["tsc_hz"] > 1e8, totals)
            true(totals["tsc_ns"] > 0, totals)


def test_two_copies():
    with agent() as a:
        samples, done = a.invoke("syscalls.null", samples=4, copies=2)
        equal([(sample["copy"], len(sample["values"])) for sample in samples], [(0, 4), (1, 4)])
        equal(done["samples"], 8)
        exceeds = "copies-exceed-cpus" in done.get("flags", "").split(",")
        equal(exceeds, a.hello["cpus"] < 2)
        equal(a.bye()["samples"], 8)


def cpus_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(line.split()[1] for line in status if line.startswith("Cpus_allowed_list"))


def test_copies_are_pinned_each_to_its_own_cpu():
    cpus = len(os.sched_getaffinity(0))
    with agent() as a:
        a.ask("syscalls.null", copies=2)
        a.read("ready")
        workers = [pid for pid in processes_of(BINARY) if pid != a.child.pid]
        equal(len(workers), 2)
        equal(len({cpus_of(pid) for pid in workers}), min(2, cpus))
        true(all(cpus_of(pid).isdigit() for pid in workers), "one CPU each")


def test_two_threads():
    with agent() as a:
        samples, done = a.invoke("ops.int32-add", samples=4, threads=2)
        equal([(sample["copy"], len(sample["values"])) for sample in samples], [(0, 4), (1, 4)])
        equal(done["samples"], 8)
        exceeds = "copies-exceed-cpus" in done.get("flags", "").split(",")
        equal(exceeds, a.hello["cpus"] < 2)
        equal(a.bye()["samples"], 8)


def test_threads_are_pinned_each_to_its_own_cpu():
    with agent() as a:
        cpus = a.hello["cpus"]
        a.ask("syscalls.null", threads=3)
        a.read("ready")
        workers = [pid for pid in processes_of(BINARY) if pid != a.child.pid]
        equal(len(workers), 1)
        leader = str(workers[0])
        tasks = [f"{leader}/task/{task}" for task in os.listdir(f"/proc/{leader}/task")
                 if task != leader]  # fmt: skip
        equal(len(tasks), 3)
        equal(len({cpus_of(task) for task in tasks}), min(3, cpus))
        true(all(cpus_of(task).isdigit() for task in tasks), "one CPU each")


def test_threads_of_what_needs_folders_and_helpers():
    with tempfile.TemporaryDirectory() as folder, agent() as a:
        for number, bench in enumerate(("file.create-delete-10k", "process.pipe-latency"), 1):
            samples, _ = a.invoke(bench, number, threads=2, folder=folder)
            equal([sample["copy"] for sample in samples], [0, 1], bench)
        equal(os.listdir(folder), [])
        # A helper must not hold what another thread's helper waits for the end of.
        for number in range(3, 6):
            a.invoke("net.tcp-connect", number, threads=4, sample_ns=1000000)
        a.bye()


def test_threads_that_cannot_be():
    with agent() as a:
        a.ask("signal.catch", 1, threads=2)
        true("ask for copies" in a.read("unsupported")["reason"], "the reason")
        a.invoke("signal.catch", 2, copies=2)
        a.ask("file.create-delete-0k", 3, threads=2, folder="/nonexistent")
        true("/nonexistent" in a.read("failed")["reason"], "the reason")
        a.ask("memory.copy", 4, threads=2, limit_ns=1)
        true("gave up after the limit" in a.read("failed")["reason"], "the reason")
        a.invoke("test.noop", 5, threads=2)
        a.bye()


def test_one_of_the_threads_says_why():
    with agent(preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})) as a:
        a.ask("process.pipe-latency-cross", threads=2)
        true("two CPUs" in a.read("unsupported")["reason"], "the reason")
        a.invoke("test.noop", 2, threads=2)


def test_threads_end_with_the_session():
    with agent() as a:
        a.ask("test.spin1s", samples=1000, threads=2)
        a.read("ready")
        a.send("go", invocation=1)
        a.read("begin")
        workers = [pid for pid in processes_of(BINARY) if pid != a.child.pid]
        a.child.stdin.close()
        equal(a.child.wait(60), 0)
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in workers), "they have ended")


def test_one_cpu_only():
    cpu = min(os.sched_getaffinity(0))
    with agent(preexec_fn=lambda: os.sched_setaffinity(0, {cpu})) as a:
        equal(a.hello["cpus"], 1)
        _, done = a.invoke("test.noop", copies=2)
        true("copies-exceed-cpus" in done["flags"].split(","), done)
        _, done = a.invoke("test.noop", 2)
        true("copies-exceed-cpus" not in done.get("flags", ""), done)
        a.ask("process.pipe-latency-cross", 3)
        true("two CPUs" in a.read("unsupported")["reason"], "the reason")
        a.invoke("process.pipe-latency", 4)


def test_an_unknown_benchmark_fails_alone():
    with agent() as a:
        a.ask("ops.int33-add", 4)
        failed = a.read("failed")
        equal(failed["invocation"], 4)
        true("no benchmark" in failed["reason"], failed)
        a.invoke("test.noop", 5)
        equal(a.bye()["invocations"], 2)


def test_the_limit_ends_work():
    with agent() as a:
        a.ask("test.spin1s", samples=1000, limit_ns=SECOND // 2)
        a.read("ready")
        a.send("go", invocation=1)
        a.read("begin")
        reason = a.read("failed")["reason"]
        true("limit of 0.500 s" in reason and "measuring" in reason, reason)
        equal(processes_of(BINARY), [a.child.pid])
        a.invoke("test.noop", 2)


def test_the_limit_ends_preparing():
    with agent() as a:
        a.ask("test.noop", warmup_min_ns=3600 * SECOND, limit_ns=SECOND // 5)
        reason = a.read("failed")["reason"]
        true("limit of 0.200 s" in reason and "preparing" in reason, reason)
        a.invoke("test.noop", 2)


def test_waiting_for_go_is_not_limited():
    with agent() as a:
        a.ask("test.noop", limit_ns=SECOND)
        a.read("ready")
        time.sleep(1.2)
        true(a.silent(), "nothing is said before go")
        a.send("go", invocation=1)
        a.read("begin")
        a.read("end")


def test_warm_up_has_a_floor():
    with agent() as a:
        a.send("ping", id=1)
        before = a.read("pong")["t"]
        a.ask("test.noop", warmup_min_ns=SECOND // 2)
        a.read("ready")
        a.send("ping", id=2)
        true(a.read("pong")["t"] - before >= SECOND // 2, "warmed up for half a second")


def test_pings_and_facts_while_preparing():
    with agent() as a:
        a.ask("test.noop", warmup_min_ns=3600 * SECOND)
        a.send("ping", id=3)
        equal(a.read("pong")["id"], 3)
        a.send("facts")
        a.read("facts")


def worker_of(a):
    until(lambda: len(processes_of(BINARY)) == 2, "one worker")
    return next(pid for pid in processes_of(BINARY) if pid != a.child.pid)


def test_a_dead_worker_is_a_failure_with_its_signal():
    with agent() as a:
        a.ask("test.noop", warmup_min_ns=3600 * SECOND)
        os.kill(worker_of(a), signal.SIGSEGV)
        reason = a.read("failed")["reason"]
        # A sanitizer catches the signal, and ends the process by a status of its own.
        true("signal 11" in reason or "status 1" in reason, reason)
        true("preparing" in reason, reason)
        a.ask("test.spin1s", 2, samples=1000)
        a.read("ready")
        a.send("go", invocation=2)
        a.read("begin")
        os.kill(worker_of(a), signal.SIGKILL)
        reason = a.read("failed")["reason"]
        true("signal 9" in reason and "measuring" in reason, reason)
        a.invoke("test.noop", 3)


def test_a_worker_that_dies_before_go():
    with agent() as a:
        a.ask("test.noop")
        a.read("ready")
        os.kill(worker_of(a), signal.SIGKILL)
        until(lambda: len(processes_of(BINARY)) == 1, "the worker is gone")
        a.send("ping", id=1)
        a.read("pong")
        a.send("go", invocation=1)
        a.read("begin")
        true("signal 9" in a.read("failed")["reason"], "the reason")
        a.invoke("test.noop", 2)


def test_end_of_input_ends_all():
    def idle(a):
        pass

    def preparing(a):
        a.ask("process.pipe-latency", warmup_min_ns=3600 * SECOND, copies=2)
        until(lambda: len(processes_of(BINARY)) == 5, "two workers, two helpers")

    def ready(a):
        a.ask("net.unix-latency")
        a.read("ready")

    def working(a):
        a.ask("process.context-switch", samples=1000, sample_ns=SECOND)
        a.read("ready")
        a.send("go", invocation=1)
        a.read("begin")

    def ended(a):
        a.ask("test.noop")
        a.measure()

    for state in (idle, preparing, ready, working, ended):
        with agent() as a:
            state(a)
            a.close()
            equal(a.end(), 0, f"exit status when {state.__name__}")
            nothing_is_left()


def test_end_of_input_of_a_socket():
    import socket

    ours, theirs = socket.socketpair()
    with ours, theirs:
        with agent(pass_fds=(theirs.fileno(),), preexec_fn=lambda: os.dup2(theirs.fileno(), 0)) as a:
            request = (
                b'{"type":"run","invocation":1,"bench":"test.spin1s","samples":1000,"warmup":0,'
                b'"sample_ns":0,"warmup_min_ns":0,"copies":1,"limit_ns":0}\n'
            )
            ours.sendall(request)
            a.read("ready")
            ours.sendall(b'{"type":"go","invocation":1}\n')
            a.read("begin")
            ours.shutdown(socket.SHUT_WR)  # half closed, as a client that still reads does
            equal(a.end(), 0, "exit status")
            nothing_is_left()


def test_signals_end_all():
    for number, status in ((signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGKILL, -9)):
        with agent() as a:
            a.ask("process.pipe-latency", samples=1000, sample_ns=SECOND)
            a.read("ready")
            a.send("go", invocation=1)
            a.read("begin")
            a.child.send_signal(number)
            equal(a.end(), status, f"exit status by {number!r}")
            nothing_is_left()


def test_no_output_ends_it():
    with agent() as a:
        a.child.stdout.close()
        a.selector.close()
        a.send("ping", id=1)
        equal(a.child.wait(60), 1, "exit status")
        a.child.stdout = open(os.devnull, "rb")


def test_no_file_is_left():
    with tempfile.TemporaryDirectory(dir=FOLDER.name) as folder:
        with agent() as a:
            _, done = a.invoke("file.create-delete-10k", folder=folder, copies=2)
            equal(done["samples"], 6)
            equal(os.listdir(folder), [], "after done")
            a.ask("file.create-delete-10k", 2, folder=folder, samples=1000, sample_ns=SECOND)
            a.read("ready")
            a.send("go", invocation=2)
            a.read("begin")
            equal(len(os.listdir(folder)), 1, "a folder of its own")
            a.close()
            equal(a.end(), 0)
            equal(os.listdir(folder), [], "after the end of input")


def test_bye_in_the_middle():
    with agent() as a:
        a.ask("test.noop", warmup_min_ns=3600 * SECOND)
        equal(a.bye(), {"type": "bye", "invocations": 1, "samples": 0})
        nothing_is_left()


def run_line(**changes):
    """A run request as text; a change to None leaves the member out."""
    members = {
        "type": '"run"', "invocation": "1", "bench": '"test.noop"', "samples": "3", "warmup": "0",
        "sample_ns": "1000", "warmup_min_ns": "0", "copies": "1", "limit_ns": "0", **changes,
    }  # fmt: skip
    text = ",".join(f'"{key}":{value}' for key, value in members.items() if value is not None)
    return f"{{{text}}}".encode()


MALFORMED = [
    b"", b" ", b"ping", b"null", b"[]", b'"ping"', b"{", b"{}", b'{"type"}', b'{"type":}',
    b'{"type":"ping"', b'{"type":"ping","id":1}}', b'{"type":"ping","id":1} x',
    b'{"type":"ping","id":1,}', b'{,"type":"ping","id":1}', b"{'type':'ping','id':1}",
    b'{"type":"ping"}', b'{"type":"ping","id":"1"}', b'{"type":"ping","id":1.0}',
    b'{"type":"ping","id":1e3}', b'{"type":"ping","id":01}', b'{"type":"ping","id":+1}',
    b'{"type":"ping","id":-}', b'{"type":"ping","id":9223372036854775808}',
    b'{"type":"ping","id":-9223372036854775809}', b'{"type":"ping","id":null}',
    b'{"type":"ping","id":1,"id":2}', b'{"type":"ping","id":1\0}', b'{"type":"pi\0ng","id":1}',
    b'{"type":"ping\\u0000","id":1}', b'{"type":"ping","id":1,"x":"\xff"}',
    b'{"type":"ping","id":1,"x":"\xc0\x80"}', b'{"type":"ping","id":1,"x":"\xed\xa0\x80"}',
    b'{"type":"ping","id":1,"x":"\\ud800"}', b'{"type":"ping","id":1,"x":"\\udc00\\ud800"}',
    b'{"type":"ping","id":1,"x":"\\x41"}', b'{"type":"ping","id":1,"x":"\\u12g4"}',
    b'{"type":"ping","id":1,"x":"\t"}', b'{"type":"ping","id":1,"x":tru}',
    b'{"type":"ping","id":1,"x":[1,]}', b'{"type":"ping","id":1,"x":[1}',
    b'{"type":"ping","id":1,"x":{"a"}}', b'{"type":"ping","id":1,"x":' + b"[" * 16 + b"]" * 16 + b"}",
    b'{"type":"ping","id":1,"x":' + b"[" * 50000, b'{"type":"ping","id":1,"x":"' + b"a" * 70000 + b'"}',
    b'{"type":"ping","id":1,' + b",".join(b'"m%d":1' % i for i in range(31)) + b"}",
    b'{"type":1}', b'{"type":"hello"}', b'{"type":"PING","id":1}', b'{"id":1}',
    b'{"type":"go","invocation":1}', b'{"type":"collect","invocation":1}', b'{"type":"go"}',
    run_line(samples="0"), run_line(samples="1000001"), run_line(samples="-1"),
    run_line(samples="3.0"), run_line(samples='"3"'), run_line(samples=None), run_line(bench="7"),
    run_line(bench=None), run_line(warmup="-1"), run_line(warmup=None), run_line(sample_ns="-1"),
    run_line(sample_ns="86400000000001"), run_line(copies="0"), run_line(copies="257"),
    run_line(threads="0"), run_line(threads="257"), run_line(threads='"2"'),
    run_line(threads="2", copies="2"),
    run_line(limit_ns="-1"), run_line(limit_ns=None), run_line(invocation="-1"),
    run_line(invocation=None), run_line(warmup_min_ns="true"), run_line(folder="7"),
    run_line(folder='""'), run_line(folder='"' + "x" * 600 + '"'),
]  # fmt: skip


def test_malformed_requests_end_it_with_an_error():
    for line in MALFORMED:
        with agent() as a:
            try:
                a.send_bytes(line + b"\n")
            except BrokenPipeError:
                pass  # it has read enough
            reason = a.read("error")["reason"]
            true(5 < len(reason) < 400, f"{line[:100]!r}: {reason!r}")
            equal(a.end(), 2, f"exit status for {line[:100]!r}")


def test_a_request_without_end():
    with agent() as a:
        try:
            for _ in range(100):
                a.send_bytes(b"x" * 65536)
        except BrokenPipeError:
            pass
        true("65535 bytes" in a.read("error")["reason"], "the reason")
        equal(a.end(), 2)


def test_requests_out_of_place():
    with agent() as a:
        a.ask("test.noop", 1)
        a.read("ready")
        a.ask("test.noop", 2)
        a.read("error")
        equal(a.end(), 2, "run while one waits for go")
    with agent() as a:
        a.ask("test.noop", 1)
        a.read("ready")
        a.send("go", invocation=2)
        true("invocation 2" in a.read("error")["reason"], "go of another")
        equal(a.end(), 2)
    with agent() as a:
        a.ask("test.noop", 1)
        a.read("ready")
        a.send("collect", invocation=1)
        a.read("error")
        equal(a.end(), 2, "collect before go")


def test_accepted_requests():
    """What is legal JSON is understood: spaces, escapes, unknown members of any kind."""
    with agent() as a:
        for line in (
            b' {\t"type" : "ping" , "id" : 1 } \r',
            b'{"id":1,"type":"\\u0070in\\u0067"}',
            b'{"type":"ping","id":1,"x":{"a":[1,2.5e-3,-0,true,false,null,"\\ud83d\\ude00",{}]}}',
            b'{"type":"ping","id":1,"x":99999999999999999999999999}',
            b'{"type":"ping","id":1,"x":' + b"[" * 15 + b"]" * 15 + b"}",
            b'{"type":"ping","id":1,"\xc3\xa9":"\xf0\x9f\x98\x80"}',
        ):
            a.send_bytes(line + b"\n")
            equal(a.read("pong")["id"], 1, repr(line))
        a.send_bytes(run_line(extra="[{}]") + b"\n")
        a.measure()
        a.collect()
        a.send_bytes(b'{"type":"ping","id":1}\n{"type":"ping","id":2}\n{"type":"bye"}\n')
        equal([a.read("pong")["id"], a.read("pong")["id"]], [1, 2])
        a.read("bye")
        equal(a.end(), 0)


def test_requests_in_pieces():
    with agent() as a:
        for byte in b'{"type":"ping","id":42}\n':
            a.send_bytes(bytes([byte]))
        equal(a.read("pong")["id"], 42)


def test_too_many_values_fail():
    with agent() as a:
        a.ask("test.noop", samples=1000000, copies=256)
        true("4000000" in a.read("failed")["reason"], "the reason")


if __name__ == "__main__":
    shutil.copy(sys.argv[1], BINARY)
    sys.exit(run_tests([f for name, f in list(globals().items()) if name.startswith("test_")]))
