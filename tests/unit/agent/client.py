# SPDX-License-Identifier: GPL-3.0-or-later
"""The host's side of the agent protocol over pipes, and TAP. Deadlines are far beyond what is
needed: they only keep a broken agent from holding up the tests."""
import json
import os
import selectors
import subprocess
import time
import traceback

PATIENCE = 120  # seconds


class Skip(Exception):
    """The machine does not allow this test; the text says why."""


def run_tests(tests):
    """Run functions of no arguments; a TAP line each. Returns the exit status."""
    failed = 0
    print(f"1..{len(tests)}", flush=True)
    for number, test in enumerate(tests, 1):
        name = test.__name__.removeprefix("test_").replace("_", " ")
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except Skip as why:
            print(f"ok {number} - {name} # SKIP {why}", flush=True)
        except Exception:
            failed += 1
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            print(f"not ok {number} - {name}", flush=True)
    return 1 if failed else 0


def equal(got, wanted, what=""):
    if got != wanted:
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


def true(condition, what):
    if not condition:
        raise AssertionError(what)


def until(condition, what):
    """Wait for something that another process does."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.01)


def processes_of(binary):
    """Numbers of the processes that run this file and have not ended."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.readlink(f"/proc/{entry}/exe") == binary:
                found.append(int(entry))
        except OSError:
            pass  # it ended meanwhile, or is a zombie
    return found


class Agent:
    """One `session`. Use as a context manager: it leaves no process behind."""

    def __init__(self, command, **options):
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, **options
        )
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.child.stdout, selectors.EVENT_READ)
        self.pending = b""
        self.hello = None

    def __enter__(self):
        self.hello = self.read("hello")
        return self

    def __exit__(self, *_):
        self.selector.close()
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.child.stdout.close()
        if not self.child.stdin.closed:
            self.child.stdin.close()

    def send(self, type_, **members):
        self.send_bytes(json.dumps({"type": type_, **members}).encode() + b"\n")

    def send_bytes(self, data):
        self.child.stdin.write(data)

    def line(self, seconds=PATIENCE):
        """The next line; None: end of file. No line in time is a failure."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0 or not self.selector.select(left):
                raise AssertionError(f"no line within {seconds} s")
            data = os.read(self.child.stdout.fileno(), 65536)
            if not data:
                equal(self.pending, b"", "a cut line")
                return None
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        return line

    def read(self, *types):
        """The next message, which must be of one of these types."""
        line = self.line()
        true(line is not None, f"the agent ended, wanted {types}")
        message = json.loads(line)
        true(message["type"] in types, f"got {line[:300]!r}, wanted {types}")
        return message

    def silent(self):
        """Nothing can be read now."""
        return not self.pending and not self.selector.select(0)

    def ask(self, bench, invocation=1, **members):
        request = {
            "samples": 3, "warmup": 0, "sample_ns": 20000, "warmup_min_ns": 0, "copies": 1,
            "limit_ns": 100 * 10**9, **members,
        }  # fmt: skip
        self.send("run", invocation=invocation, bench=bench, **request)

    def measure(self, invocation=1):
        """From ready to end."""
        self.read("ready")
        self.send("go", invocation=invocation)
        return self.read("begin"), self.read("end")

    def collect(self, invocation=1):
        """The sample messages, and done."""
        self.send("collect", invocation=invocation)
        samples = []
        while True:
            message = self.read("sample", "done")
            equal(message["invocation"], invocation, "invocation")
            if message["type"] == "done":
                return samples, message
            samples.append(message)

    def invoke(self, bench, invocation=1, **members):
        self.ask(bench, invocation, **members)
        self.measure(invocation)
        return self.collect(invocation)

    def end(self):
        """Exit status after the end of its output."""
        equal(self.line(), None, "after its last message")
        return self.child.wait(PATIENCE)

    def bye(self):
        self.send("bye")
        message = self.read("bye")
        equal(self.end(), 0, "exit status")
        return message

    def close(self):
        self.child.stdin.close()
