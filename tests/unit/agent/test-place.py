#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test-place.py STATIC-AGENT: places where little is there or allowed, in TAP.

What needs root, or namespaces that this machine does not give, is skipped."""
import os
import shutil
import subprocess
import sys
import tempfile

from client import Agent, Skip, equal, run_tests, true

NOBODY = 65534
FOLDER = tempfile.TemporaryDirectory(prefix="vmatrix-agent-test-")
BINARY = os.path.join(FOLDER.name, "agent")


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def need_network_namespace():
    need_root()
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-n", "true"]).returncode != 0:
        raise Skip("no network namespaces here")


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def test_an_empty_root_directory():
    """No /proc, /sys, /dev, /tmp: as in an initramfs before anything is mounted."""
    need_root()
    with tempfile.TemporaryDirectory() as root:
        shutil.copy(BINARY, os.path.join(root, "agent"))

        def enter():
            os.chroot(root)
            os.chdir("/")

        # Found by its path outside, which is where Popen's child still is when it starts it.
        with Agent(["/agent", "session"], preexec_fn=enter) as agent:
            equal(agent.hello["cpus"], len(os.sched_getaffinity(0)))
            agent.send("facts")
            facts = agent.read("facts")["facts"]
            equal(facts["os.kernel"], os.uname().release)
            true(int(facts["memory.total"]) > 0, "memory")
            true("clock.source" not in facts, "nothing is made up")
            true(not any(key.startswith(("disk.", "net.", "processes.")) for key in facts), facts)
            for number, bench in enumerate(
                ("ops.int64-mul", "process.context-switch", "process.fork-exit", "memory.copy",
                 "file.create-delete-10k", "net.tcp-latency", "net.udp-latency"), 1
            ):  # fmt: skip
                _, done = agent.invoke(bench, number)
                equal(done["samples"], 3, bench)
            for number, bench in enumerate(("scaling.threads", "scaling.copies"), 10):
                samples, _ = agent.invoke(bench, number)
                equal(samples[-1]["metric"], "efficiency", bench)
            _, done = agent.invoke("syscalls.null", 12, threads=2)
            equal(done["samples"], 6)
            agent.bye()
        equal(os.listdir(root), ["agent"])


def test_loopback_is_brought_up():
    need_network_namespace()
    with Agent(["unshare", "-n", BINARY, "session"]) as agent:
        for number, bench in enumerate(("net.tcp-latency", "net.udp-latency"), 1):
            _, done = agent.invoke(bench, number)
            equal(done["samples"], 3)


def test_loopback_that_may_not_be_brought_up():
    need_network_namespace()
    if shutil.which("setpriv") is None:
        raise Skip("no setpriv here")
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    with Agent(["unshare", "-n", *drop, BINARY, "session"]) as agent:
        for number, bench in enumerate(("net.tcp-latency", "net.udp-latency"), 1):
            agent.ask(bench, number)
            reason = agent.read("unsupported")["reason"]
            true("loopback interface is down" in reason and "ip link set lo up" in reason, reason)
        agent.invoke("net.unix-latency", 3)


def test_an_unprivileged_user():
    need_root()
    with Agent([BINARY, "session"], preexec_fn=become_nobody) as agent:
        for number, bench in enumerate(("syscalls.null", "process.fork-exit", "net.tcp-latency"), 1):
            _, done = agent.invoke(bench, number, copies=2)
            equal(done["samples"], 6, bench)


def test_a_folder_that_cannot_be_written():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        options = {"preexec_fn": become_nobody} if os.geteuid() == 0 else {}
        with Agent([BINARY, "session"], **options) as agent:
            for number, (place, why) in enumerate(
                ((folder, "Permission denied"), ("/nonexistent", "No such file"),
                 (BINARY, "Not a directory")), 1
            ):  # fmt: skip
                agent.ask("file.create-delete-0k", number, folder=place)
                reason = agent.read("failed")["reason"]
                true(place in reason and why in reason and "name a writable" in reason, reason)
            agent.invoke("test.noop", 9)


def test_a_read_only_file_system():
    need_root()
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "true"]).returncode != 0:
        raise Skip("no mount namespaces here")
    with tempfile.TemporaryDirectory() as folder:
        script = 'mount -t tmpfs -o ro none "$1" && exec "$2" session'
        with Agent(["unshare", "-m", "sh", "-c", script, "sh", folder, BINARY]) as agent:
            agent.ask("file.create-delete-0k", folder=folder)
            reason = agent.read("failed")["reason"]
            true(folder in reason and "Read-only file system" in reason, reason)


def test_files_in_memory_are_flagged():
    need_root()
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "true"]).returncode != 0:
        raise Skip("no mount namespaces here")
    with tempfile.TemporaryDirectory() as folder:
        script = 'mount -t tmpfs none "$1" && exec "$2" session'
        with Agent(["unshare", "-m", "sh", "-c", script, "sh", folder, BINARY]) as agent:
            _, done = agent.invoke("file.create-delete-0k", folder=folder)
            true("memory-file-system" in done["flags"].split(","), done)


def test_no_memory_left_for_a_benchmark():
    """An address space of 100 MiB cannot hold the chase of 256 MiB: a reason, not a crash."""
    import resource

    def bound():
        resource.setrlimit(resource.RLIMIT_AS, (100 << 20, 100 << 20))

    with Agent([BINARY, "session"], preexec_fn=bound) as agent:
        agent.ask("memory.latency-256m")
        message = agent.read("failed", "unsupported")
        true("memory" in message["reason"], message)
        agent.invoke("memory.latency-16k", 2)


def test_no_more_processes():
    need_root()
    import resource

    def bound():
        # Root is not bound by it; another user with no process yet is.
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        os.setgroups([])
        os.setgid(64999)
        os.setuid(64999)

    with Agent([BINARY, "session"], preexec_fn=bound) as agent:
        agent.ask("test.noop")
        reason = agent.read("failed")["reason"]
        true("cannot start a process" in reason, reason)


if __name__ == "__main__":
    shutil.copy(sys.argv[1], BINARY)
    os.chmod(FOLDER.name, 0o755)
    sys.exit(run_tests([f for name, f in list(globals().items()) if name.startswith("test_")]))
