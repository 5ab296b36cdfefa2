#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test-environment.py STATIC-AGENT NATIVE-AGENT: every benchmark where little is allowed, and any arguments, in TAP.

Each benchmark gives a figure or a reason, whatever the place; nothing crashes, and nothing is left. What needs root, or
namespaces that this machine does not give, is skipped."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from client import Skip, equal, run_tests, true, until, processes_of

AGENT, NATIVE = map(os.path.abspath, sys.argv[1:3])
NOBODY = 65534
BENCHES = json.loads(subprocess.run([AGENT, "list", "--json"], stdout=-1, check=True).stdout)
NAMES = [bench["name"] for bench in BENCHES if not bench["name"].startswith("test.")]
RUN = ["run", "--plain", "--samples", "1", "--warmup", "0", "--sample-time", "1ms"]


def need_mount_namespace():
    if os.geteuid() != 0:
        raise Skip("needs root")
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "true"]).returncode != 0:
        raise Skip("no mount namespaces here")


def each_has_a_row(command, **options):
    """Of all benchmarks: figures, or a reason in words. Returns the reasons by name."""
    got = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, text=True, **options)
    true(got.returncode in (0, 1), f"ended with {got.returncode}: {got.stderr[-1000:]}")
    reasons, seen = {}, set()
    for line in got.stdout.splitlines()[1:]:
        name, rest = line.split(None, 1)
        seen.add(name)
        if rest.startswith(("unsupported:", "failed:")):
            reasons[name] = rest.split(":", 1)[1].strip()
            true(len(reasons[name]) > 10 and "signal" not in reasons[name], line)
        else:
            true(float(rest.split()[2]) > 0, line)
    equal(sorted(seen), sorted(NAMES), got.stderr[-1000:])
    return reasons


def in_a_small_place(script):
    """All of them with a work folder on a tmpfs of its own, after what script did to it ($1)."""
    need_mount_namespace()
    with tempfile.TemporaryDirectory() as place:
        work = os.path.join(place, "work")
        os.mkdir(work)
        prepare = (
            f'set -e; mount -t tmpfs -o size=32m none "$1"; mkdir "$1/w"; {script}; shift; '
            f'r=0; "$@" || r=$?; test -z "$(ls "{work}/w")" || exit 99; exit $r'
        )
        reasons = each_has_a_row(
            ["unshare", "-m", "sh", "-c", prepare, "sh", work, AGENT, *RUN,
             "--folder", os.path.join(work, "w"), "all"]
        )
    until(lambda: processes_of(AGENT) == [], "the helpers' end")
    return reasons


def test_a_tmpfs():
    reasons = in_a_small_place(":")
    true("tmpfs" in reasons["disk.sync"], reasons)
    true("file.create-delete-10k" not in reasons and "syscalls.stat" not in reasons, reasons)


def test_a_folder_that_is_read_only():
    reasons = in_a_small_place('mount -o remount,ro "$1"')
    for name in ("file.create-delete-0k", "disk.sync", "syscalls.stat"):
        true("writable" in reasons[name] or "read-only" in reasons[name], reasons[name])
    true("ops.int32-add" not in reasons and "net.tcp-latency" not in reasons, reasons)


def test_a_folder_that_is_full():
    reasons = in_a_small_place('dd if=/dev/zero of="$1/fill" bs=4k 2>/dev/null || :')
    for name in ("file.create-delete-10k", "syscalls.stat", "file.copy-4096"):
        true("space" in reasons[name] or "room" in reasons[name], reasons[name])
    true("ops.int32-add" not in reasons, reasons)


def test_no_proc_and_no_sys():
    reasons = in_a_small_place("mount -t tmpfs none /proc; mount -t tmpfs none /sys")
    true("memory.latency-16k" not in reasons and "process.fork-exit" not in reasons, reasons)


def test_nobody():
    if os.geteuid() != 0:
        raise Skip("needs root; the other tests were run by nobody in particular")

    def become_nobody():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        shutil.copy(AGENT, os.path.join(place, "agent"))
        work = os.path.join(place, "work")
        os.mkdir(work)
        os.chown(work, NOBODY, NOBODY)
        each_has_a_row([os.path.join(place, "agent"), *RUN, "--folder", work, "all"],
                       preexec_fn=become_nobody)
        equal(os.listdir(work), [])


WORDS = ["run", "list", "facts", "session", "serve", "digest", "host-evidence", "version", "--json", "--quick", "--human",
         "--plain", "--samples", "--warmup", "--sample-time", "--limit", "--copies", "--threads", "--cpu", "--folder",
         "--peer", "--token-file", "--address", "--port", "--for", "--pid", "--cpus", "--cgroup", "--", "-", "--help",
         "test.noop", "nonsense", "quick.", ".", "", " ", "-1", "0", "1", "2", "0x10", "1e3", "1ms", "1,1", "1,", ",",
         "all", "99999999999999999999", "-99999999999999999999", "%s%n%s", "\t\n", "\u00e4\u00f6", "\udcff\udc80", "/",
         "/nonexistent/\u2028", "127.0.0.1:1", "[::1]:99999", "x" * 5000, "../" * 300]
# What measures for long, in words that a line may hold anyway.
LONG = {"all", "--quick", "run"}


def line_of(rng):
    words = [rng.choice(WORDS) for _ in range(rng.randint(0, 6))]
    if words and words[0] == "run":
        words = [word for word in words if word not in LONG]
        words = ["run", "--samples", "1", "--sample-time", "1us", *words, "test.noop"]
    return words


def test_any_arguments():
    """Done, failed or refused with a reason; never by a signal."""
    rng = random.Random(1)
    for number in range(300):
        words = line_of(rng)
        got = subprocess.run([NATIVE, *words], stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, timeout=120)
        true(0 <= got.returncode <= 2, f"line {number}, {words}: {got.returncode}: {got.stderr[-1500:]!r}")
        true(got.returncode == 0 or got.stderr + got.stdout != b"", f"line {number}, {words}: says nothing")


if __name__ == "__main__":
    sys.exit(run_tests([f for name, f in list(globals().items()) if name.startswith("test_")]))
