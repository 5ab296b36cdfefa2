#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test-cli.py AGENT VERSION: the other commands and their arguments, in TAP."""
import glob
import hashlib
import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from client import equal, run_tests, true

AGENT, VERSION = sys.argv[1:3]


def run(*arguments, **options):
    """Exit status, standard output and standard error, as bytes."""
    done = subprocess.run(
        [AGENT, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, **options
    )
    return done.returncode, done.stdout, done.stderr


def test_version():
    equal(run("version"), (0, f"vmatrix-agent {VERSION}, protocol 1\n".encode(), b""))


def test_digest():
    random.seed(7)
    with tempfile.TemporaryDirectory() as folder:
        for size in (0, 1, 3, 55, 56, 57, 63, 64, 65, 119, 120, 128, 65535, 65536, 1000003):
            data = random.randbytes(size)
            path = os.path.join(folder, "file")
            with open(path, "wb") as file:
                file.write(data)
            wanted = hashlib.sha256(data).hexdigest().encode() + b"\n"
            equal(run("digest", path), (0, wanted, b""), f"{size} bytes")


def test_digest_of_what_cannot_be_read():
    for path in ("/nonexistent/file", "/", ""):
        status, out, err = run("digest", path)
        equal((status, out), (1, b""), path)
        true(b"cannot read" in err, err)


def test_list():
    status, out, _ = run("list")
    names = [line.split()[0] for line in out.decode().splitlines()]
    equal(status, 0)
    _, out, _ = run("list", "--json")
    equal(names, [bench["name"] for bench in json.loads(out)])


def test_facts_in_both_forms():
    status, out, _ = run("facts", "--json")
    facts = json.loads(out)
    equal(status, 0)
    equal(facts["agent.version"], VERSION)
    equal(facts["os.kernel"], os.uname().release)
    _, out, _ = run("facts")
    lines = dict(line.split(": ", 1) for line in out.decode().splitlines())
    equal(set(lines), set(facts))


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def agent_facts():
    return json.loads(run("facts", "--json")[1])


def test_facts_are_what_the_host_takes():
    for key, value in agent_facts().items():
        true(re.fullmatch("[a-z0-9._-]{1,64}", key) and value, (key, value))


def test_facts_of_disks_and_interfaces():
    facts = agent_facts()
    for path in glob.glob("/sys/block/[sv]d[a-d]/size"):
        name, size = path.split("/")[3], 512 * int(read(path))
        if size > 0:
            equal(facts.get(f"disk.{name}.size"), str(size))
            wanted = read(f"/sys/block/{name}/queue/rotational")
            equal(facts.get(f"disk.{name}.rotational", ""), wanted)
    for path in glob.glob("/sys/class/net/eth[0-3]/mtu"):
        name = path.split("/")[4]
        equal(facts.get(f"net.{name}.mtu"), read(path))
        driver = os.path.basename(os.path.realpath(f"/sys/class/net/{name}/device/driver"))
        if os.path.exists(f"/sys/class/net/{name}/device/driver"):
            equal(facts.get(f"net.{name}.driver"), driver)
    true(not any(key.startswith(("disk.loop", "net.lo.")) for key in facts), facts)


def test_facts_of_the_processor():
    facts = agent_facts()
    cache = "/sys/devices/system/cpu/cpu0/cache/index0/"
    if read(cache + "type") == "Data":
        equal(facts.get("cpu.cache.l1d"), read(cache + "size"))
    true(24 <= int(facts["clock.timer-hz"]) <= 10000, facts["clock.timer-hz"])
    flags = facts.get("cpu.flags", "").split()
    if os.uname().machine == "x86_64" and flags:
        equal(facts["clock.tsc-invariant"] == "yes", "nonstop_tsc" in flags)
        equal(facts["cpu.hypervisor"] == "yes", "hypervisor" in flags)
        true(facts["cpu.hypervisor"] == "yes" or "cpu.hypervisor-kind" not in facts, facts)


def test_facts_of_other_processes():
    with subprocess.Popen([AGENT, "run", "--samples", "1000000", "ops.int32-add"],
                          stdout=subprocess.DEVNULL) as other:  # fmt: skip
        try:
            facts = agent_facts()
        finally:
            other.terminate()
    true(int(facts["processes.others"]) >= 2, facts)  # it and us
    for part in facts.get("processes.cpu-seconds", "").split("=")[1:]:
        true(re.match(r"[0-9]+\.[0-9]{2}( |$)", part), facts["processes.cpu-seconds"])


def test_run_prints_a_table():
    status, out, err = run("run", "--samples", "3", "ops.int32-add", "test.noop")
    lines = out.decode().splitlines()
    equal((status, err, len(lines)), (0, b"", 3))
    row = lines[1].split()
    equal(row[:3], ["ops.int32-add", "latency", "ns"])
    median, least, most = map(float, row[3:6])
    true(0 < least <= median <= most, row)
    equal(row[6], "3")
    equal(lines[2].split()[0], "test.noop")


def test_run_for_people():
    _, out, _ = run("run", "--human", "--samples", "1", "process.fork-exit", "memory.read")
    text = out.decode()
    for name, units in (("process.fork-exit", "us|ms"), ("memory.read", "MB/s|GB/s")):
        row = rf"(?m)^{re.escape(name)} \w+\s+([0-9.]+ ({units})\s+){{3}}1"
        true(re.search(row, text) or f"{name}: unsupported" in text, text)
    true(re.search(r"(?m)^CLOCK_MONOTONIC_RAW: steps of [0-9]+ ns, [0-9.e+]+ ns a reading$", text), text)
    equal("TSC beside it: " in text, agent_facts().get("clock.tsc-invariant") == "yes", text)


def test_the_table_for_people_fits_80_columns():
    _, out, _ = run("run", "--human", "--samples", "1", "--sample-time", "10us", "--copies", "1,2",
                    "--folder", "/nonexistent/" + "very-long-name/" * 5, "syscalls", "file",
                    "process.pipe-latency-cross")  # fmt: skip
    for line in out.decode().splitlines():
        true(len(line) <= 80 or "/nonexistent" in line, line)
        equal(line, line.rstrip())


def test_the_table_on_a_terminal_is_for_people():
    for options, wanted in (([], b"LOOP\r\n"), (["--plain"], b"FLAGS\r\n")):
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", buffering=0) as screen:
            command = [AGENT, "run", *options, "--samples", "1", "--sample-time", "1us", "test.noop"]
            subprocess.run(command, stdout=theirs, stdin=subprocess.DEVNULL, check=True, timeout=120)
            os.close(theirs)
            true(screen.read(65536).split(b"\n")[0].endswith(wanted[:-1]), options)


def rows(*arguments):
    status, out, _ = run("run", *arguments)
    equal(status, 0)
    return [line.split() for line in out.decode().splitlines()[1:]]


def test_run_with_copies_and_a_cpu():
    cpu = str(min(os.sched_getaffinity(0)))
    row = rows("--copies", "2", "--samples", "4", "--cpu", cpu, "test.noop")[0]
    equal((row[6], row[8]), ("8", "2"))


def test_run_with_several_counts_of_copies():
    first, second, third = rows("--copies", "1,3,2", "--samples", "4", "ops.int32-add")
    equal([row[6] for row in (first, second, third)], ["4", "12", "8"])
    equal([row[8] for row in (first, second, third)], ["1", "3", "2"])
    equal(first[9], "-")
    for row in (second, third):  # what each copy does of what the first did
        near = float(first[3]) / float(row[3])
        true(abs(float(row[9]) / near - 1) < 0.001, (first, row))
    cpus = len(os.sched_getaffinity(0))
    for row, copies in ((first, 1), (second, 3), (third, 2)):
        exceeds = len(row) > 10 and "copies-exceed-cpus" in row[10].split(",")
        equal(exceeds, copies > cpus)


def test_run_with_threads():
    first, second = rows("--threads", "1,2", "--samples", "4", "ops.int32-add")
    equal([(row[6], row[8]) for row in (first, second)], [("4", "1"), ("8", "2")])
    _, out, _ = run("run", "--human", "--threads", "2", "--samples", "1", "test.noop")
    true(b"\n    2 threads" in out, out)


def test_run_with_as_many_copies_as_there_are_cpus():
    counts = [int(row[8]) for row in rows("--copies", "all", "--samples", "1", "test.noop")]
    equal((counts[0], counts[-1]), (1, len(os.sched_getaffinity(0))))
    equal(counts, sorted(set(counts)))


def test_the_loop_s_own_time_is_told():
    with_loop, without = rows("--samples", "1", "syscalls.null", "ops.int32-add")[::-1]
    true(float(with_loop[7]) > 0, with_loop)
    equal(without[7], "-")


def test_a_limit_ends_a_benchmark():
    status, out, _ = run("run", "--limit", "100ms", "--samples", "5", "test.spin1s")
    equal(status, 1)
    true(b"gave up after the limit of 0.100 s" in out, out)


def test_the_quick_set_has_five_samples():
    status, out, _ = run("run", "--quick", "--sample-time", "1us", "ops.int32-add")
    equal((status, out.decode().splitlines()[1].split()[6]), (0, "5"))


def test_a_cpu_that_is_not_there_fails():
    status, out, _ = run("run", "--cpu", "999999", "test.noop")
    equal(status, 1)
    true(b"failed: CPU 999999 is not one of" in out, out)


def test_a_folder_that_is_not_there_fails():
    status, out, _ = run("run", "--folder", "/nonexistent/a\033[2J", "file.create-delete-0k")
    equal(status, 1)
    true(b"cannot make a folder in '/nonexistent/a\\u001b[2J'" in out, out)


HOSTILE = [
    [], [""], ["frobnicate"], ["--json"], ["\033[2J"], [b"\xff\xfe"], ["session", "now"],
    ["list", "--yaml"], ["list", "--json", "--json"], ["facts", ""], ["digest"],
    ["digest", "a", "b"], ["run", ""], ["run", "no.such"], ["run", "ops.int32-add", "x"],
    ["run", "ops."], ["run", ".int32-add"], ["run", "%s%n"], ["run", "a" * 100000],
    ["run", "--samples"], ["run", "--samples", "0", "test.noop"],
    ["run", "--samples", "-1", "test.noop"], ["run", "--samples", "1e3", "test.noop"],
    ["run", "--samples", "99999999999999999999", "test.noop"],
    ["run", "--samples", "0x10", "test.noop"], ["run", "--samples", " 1", "test.noop"],
    ["run", "--samples", "", "test.noop"], ["run", "--copies", "257", "test.noop"],
    ["run", "--copies", "0", "test.noop"], ["run", "--cpu", "-1", "test.noop"],
    ["run", "--cpu", "x", "test.noop"], ["run", "--folder", "", "test.noop"],
    ["run", "--folder", "/" * 5000, "test.noop"], ["run", "--", "test.noop"],
    ["run", "--limit", "5", "test.noop"], ["run", "--limit", "0s", "test.noop"],
    ["run", "--limit", "99999999999999m", "test.noop"], ["run", "--limit", "1h", "test.noop"],
    ["run", "--limit", "-1s", "test.noop"], ["run", "--sample-time", "ms", "test.noop"],
    ["run", "--sample-time", "1.5ms", "test.noop"], ["run", "--sample-time", "", "test.noop"],
    ["run", "--warmup", "-1", "test.noop"], ["run", "--warmup", "1000001", "test.noop"],
    ["run", "--copies", "1,", "test.noop"], ["run", "--copies", ",1", "test.noop"],
    ["run", "--copies", "1,,2", "test.noop"], ["run", "--copies", "ALL", "test.noop"],
    ["run", "--copies", ",".join(["1"] * 17), "test.noop"], ["run", "--quick", "no.such"],
    ["run", "--threads", "0", "test.noop"], ["run", "--threads", "257", "test.noop"],
    ["run", "-h"], ["run", "--\033]0;x\007", "1", "test.noop"],
]  # fmt: skip


def test_hostile_arguments():
    for arguments in HOSTILE:
        status, out, err = run(*arguments)
        equal((status, out), (2, b""), f"{arguments!r:.100}")
        true(err.startswith(b"vmatrix-agent: ") and b"usage:" in err, err)
        text = err.decode()  # and it is UTF-8
        true(all(byte >= " " or byte == "\n" for byte in text), f"control bytes in {err[:200]!r}")


def test_ctrl_c_ends_a_run():
    command = [AGENT, "run", "--samples", "1000", "test.spin1s"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        time.sleep(0.2)  # well inside it, most often; it must end whenever
        child.send_signal(signal.SIGINT)
        equal(child.wait(120), 130)


def test_output_that_cannot_be_written():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([AGENT, "list"], stdout=full, check=False)
    equal(done.returncode, 1)


if __name__ == "__main__":
    sys.exit(run_tests([f for name, f in list(globals().items()) if name.startswith("test_")]))
