#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""vmatrixd and a stand-in for the service manager: what it is told, and how long it must be patient.

test-notify.py VMATRIX VMATRIXD SOURCE
"""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

PLAN = """version: 1
plan: notify
axes:
  hypervisor: [bare]
workloads: [fake.one]
repeat: {boots: 1, invocations: 2, samples: 3}
idle: off
evidence: {verdict: flag}
limits: {invocation: 7m}
"""

vmatrix, vmatrixd, source = sys.argv[1:]
count = 0


def check(what, good, detail=""):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {what}")
    if not good:
        print(f"# {detail}")


class Manager:
    """The service manager's socket; every message is kept."""

    def __init__(self, path):
        self.messages = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)

    def wait(self, pattern, since=0, seconds=60):
        """Index of the first message from since on that matches, or None."""
        end = time.monotonic() + seconds
        while True:
            for index in range(since, len(self.messages)):
                if re.search(pattern, self.messages[index], re.M):
                    return index
            left = end - time.monotonic()
            if left <= 0:
                return None
            self.socket.settimeout(left)
            try:
                self.messages.append(self.socket.recv(4096).decode())
            except socket.timeout:
                pass


def patience(message):
    return int(re.search(r"^WATCHDOG_USEC=(\d+)$", message, re.M)[1]) / 1e6


def main(folder):
    database = os.path.join(folder, "test.db")
    for name, text in ("plan.yaml", PLAN), ("inventory.yaml", "version: 1\n"):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    env = dict(
        os.environ,
        VMATRIX_AGENT=os.path.join(source, "tests/unit/run/fake-agent.py"),
        VMATRIX_HOST_LOCK=f"vmatrix-test-{os.getpid()}",
        FAKE_AGENT="good",
        FAKE_AGENT_COUNT=os.path.join(folder, "sessions"),
    )
    manager = Manager(os.path.join(folder, "notify"))
    daemon = subprocess.Popen(
        [vmatrixd, "--db", database],
        env=dict(env, NOTIFY_SOCKET=os.path.join(folder, "notify"), WATCHDOG_USEC="1000000"),
        stderr=subprocess.DEVNULL,
    )
    try:
        ready = manager.wait("^READY=1$")
        if ready is None and not any(manager.messages):
            print("1..0 # SKIP built without libsystemd")
            return
        check("it says that it is ready", ready is not None, manager.messages)
        check("then that it is idle", manager.wait("^STATUS=idle", ready) is not None, manager.messages)
        first = manager.wait("^WATCHDOG=1$", ready)
        second = manager.wait("^WATCHDOG=1$", first + 1)
        check("idle, it gives signs of life", second is not None, manager.messages)
        check("long before it is given up", patience(manager.messages[first]) >= 2, manager.messages[first])

        since = len(manager.messages)
        subprocess.run(
            [vmatrix, "--db", database, "--inventory", os.path.join(folder, "inventory.yaml"), "submit",
             os.path.join(folder, "plan.yaml")],
            env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        running = manager.wait("^STATUS=running campaign 1$", since)
        check("it says what it runs", running is not None, manager.messages[since:])
        idle = manager.wait("^STATUS=idle", running)
        check("and when it has ended", idle is not None, manager.messages[since:])
        spans = [patience(m) for m in manager.messages[running:idle] if "WATCHDOG=1" in m]
        # Silent while it measures: the manager must wait for both invocations at their limit.
        check("before the invocations it asks for as much patience as they may take",
              spans and max(spans) >= 2 * 7 * 60, spans)
        after = manager.wait("^WATCHDOG=1$", idle)
        check("afterwards for little again", patience(manager.messages[after]) < 120, manager.messages[after])

        since = len(manager.messages)
        daemon.send_signal(signal.SIGHUP)
        again = manager.wait("^RELOADING=1$", since)
        check("SIGHUP: reloading", again is not None, manager.messages[since:])
        check("with the time", "MONOTONIC_USEC=" in manager.messages[again], manager.messages[again])
        check("and ready again", manager.wait("^READY=1$", again) is not None, manager.messages[again:])

        daemon.terminate()
        check("SIGTERM: stopping", manager.wait("^STOPPING=1$", again) is not None, manager.messages[again:])
        check("exit status 0", daemon.wait(60) == 0, daemon.returncode)
    finally:
        daemon.kill()
        daemon.wait()
    print(f"1..{count}")


with tempfile.TemporaryDirectory(prefix="vmatrix-notify-") as temporary:
    main(temporary)
