#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test-serve.py AGENT: the far side of the benchmarks peer.*, on loopback addresses, in TAP."""
import hashlib
import hmac
import json
import math
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from client import PATIENCE, Agent, equal, run_tests, true, until

AGENT = sys.argv[1]
BENCHES = ("peer.tcp-stream", "peer.tcp-rr", "peer.udp-rr", "peer.connect", "peer.tcp-messages")
CONNECTIONS_MAX = 64


class Serve:
    """A serve; use as a context manager."""

    def __init__(self, *options):
        self.child = subprocess.Popen([AGENT, "serve", *options], stdin=-1, stdout=-1, bufsize=0)
        self.said = json.loads(self.child.stdout.readline())
        self.address, self.port = self.said["address"], self.said["port"]
        self.token = self.said.get("token")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()

    def end(self):
        """By the end of its input; the exit status."""
        self.child.stdin.close()
        return self.child.wait(PATIENCE)

    def connect(self):
        """A connection, and what the peer has drawn for it."""
        link = socket.create_connection((self.address, self.port), PATIENCE)
        return link, receive(link, 32)

    def hello(self, nonce, work, size=0, token=None):
        order = b"vmp1" + work + bytes(3) + struct.pack(">I", size)
        return order + hmac.digest((token or self.token).encode(), nonce + order, hashlib.sha256)

    def order(self, work, size=0):
        """A connection whose order was taken, and its proof."""
        link, nonce = self.connect()
        hello = self.hello(nonce, work, size)
        link.sendall(hello)
        equal(receive(link, 1), b"k")
        return link, hello[-32:]

    def processes(self):
        """Those of its connections."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/stat", encoding="ascii") as stat:
                    state, parent = stat.read().rsplit(")", 1)[1].split()[:2]
            except OSError:
                continue  # it ended meanwhile
            if int(parent) == self.child.pid and state != "Z":
                found.append(int(entry))
        return found


def receive(link, size):
    data = b""
    while len(data) < size:
        got = link.recv(size - len(data))
        if not got:
            break
        data += got
    return data


def closed(link):
    """The other side closes, and says nothing before."""
    with link:
        try:
            equal(link.recv(100), b"")
        except ConnectionResetError:
            pass


def still_serves(serve):
    link, _ = serve.order(b"e", 3)
    with link:
        link.sendall(b"abcdef")
        equal(receive(link, 6), b"abcdef")


def is_gone(process):
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


# --- what it is for ---


def invoke(agent, bench, **members):
    agent.ask(bench, 5, samples=2, sample_ns=1000000, **members)
    message = agent.read("ready", "unsupported", "failed")
    if message["type"] != "ready":
        return message
    agent.send("go", invocation=5)
    agent.read("begin")
    agent.read("end")
    samples, done = agent.collect(5)
    for sample in samples:
        true(all(math.isfinite(value) and value > 0 for value in sample["values"]), sample)
    return {"type": "done", "metrics": len(samples), "samples": done["samples"]}


def test_every_benchmark_of_a_peer():
    with Serve() as serve, Agent([AGENT, "session"]) as agent:
        peer = {"peer": f"{serve.address}:{serve.port}", "peer_token": serve.token}
        for bench in BENCHES:
            metrics = 6 if bench == "peer.tcp-messages" else 1
            equal(invoke(agent, bench, **peer), {"type": "done", "metrics": metrics, "samples": 2 * metrics}, bench)
        equal(invoke(agent, "peer.tcp-rr", copies=2, **peer)["samples"], 4)
        equal(invoke(agent, "peer.connect", threads=2, **peer)["samples"], 4)
        agent.bye()
        until(lambda: not serve.processes(), "connections end with their benchmarks")
        equal(serve.end(), 0)


def test_by_hand_over_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return  # a machine without it
    with Serve("--address", "::1") as serve, tempfile.NamedTemporaryFile("w") as file:
        file.write(serve.token + "\n")
        file.flush()
        out = subprocess.run(
            [AGENT, "run", "--plain", "--samples", "2", "--sample-time", "1ms", "--peer", f"[::1]:{serve.port}",
             "--token-file", file.name, "peer"], stdout=-1, check=True, text=True
        ).stdout  # fmt: skip
        equal({line.split()[0] for line in out.splitlines()[1:]}, set(BENCHES))
        true("failed" not in out and "unsupported" not in out, out)


def test_without_a_peer():
    with Agent([AGENT, "session"]) as agent:
        for bench in BENCHES:
            message = invoke(agent, bench)
            equal(message["type"], "unsupported")
            true("no peer was named" in message["reason"] and "serve" in message["reason"], message)


def test_reasons():
    with Serve() as serve, Agent([AGENT, "session"]) as agent:
        token = {"peer_token": "0123456789abcdef"}
        for peer, word in (
            (f"127.0.0.1:{serve.port}", "token"),
            ("127.0.0.1:1", "refused"),
            ("localhost:1", "numeric"),
            ("127.0.0.1", "numeric"),
            ("127.0.0.1:0", "numeric"),
            ("127.0.0.1:65536", "numeric"),
            ("[127.0.0.1]:5", "numeric"),
            ("::1:5", "numeric"),
            ("", "numeric"),
        ):
            message = invoke(agent, "peer.tcp-rr", peer=peer, **token)
            equal(message["type"], "failed", peer)
            true(word in message["reason"] and peer in message["reason"], message)
        still_serves(serve)


def test_requests_that_are_not_understood():
    for members in (
        {"peer": "127.0.0.1:1"},
        {"peer_token": "0123456789abcdef"},
        {"peer": "127.0.0.1:1", "peer_token": "short"},
        {"peer": "127.0.0.1:1", "peer_token": "with a space in it"},
        {"peer": "1" * 100, "peer_token": "0123456789abcdef"},
        {"peer": 5, "peer_token": "0123456789abcdef"},
    ):
        with Agent([AGENT, "session"]) as agent:
            agent.ask("peer.tcp-rr", **members)
            true("peer" in agent.read("error")["reason"], members)
            equal(agent.end(), 2)


def test_options():
    def run(*arguments):
        return subprocess.run([AGENT, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    for arguments, word in (
        (("serve", "--address", "localhost"), "--address"),
        (("serve", "--address"), "--address"),
        (("serve", "--port", "0"), "--port"),
        (("serve", "--port", "65536"), "--port"),
        (("serve", "--limit", "5"), "--limit"),
        (("serve", "--token-file", "/nowhere/at/all"), "/nowhere/at/all"),
        (("serve", "--token-file", "/dev/null"), "/dev/null"),
        (("serve", "more"), "more"),
        (("run", "--peer", "127.0.0.1:1", "peer.tcp-rr"), "--token-file"),
        (("run", "--peer", "name:1"), "numeric"),
        (("run", "--token-file", "/dev/null", "peer.tcp-rr"), "/dev/null"),
    ):
        done = run(*arguments)
        equal((done.returncode, done.stdout), (2, ""), arguments)
        true(word in done.stderr.splitlines()[0], done.stderr)
    with Serve() as serve:
        done = run("serve", "--port", str(serve.port))
        equal((done.returncode, done.stdout), (1, ""))
        true(str(serve.port) in done.stderr, done.stderr)


# --- whom it serves ---


def test_tokens():
    """Fresh ones are printed; those of a file are not."""
    with Serve() as one, Serve() as other:
        true(re.fullmatch("[0-9a-f]{64}", one.token) and one.token != other.token, one.said)
        equal(sorted(one.said), ["address", "port", "token", "type"])
        equal((one.said["type"], one.address), ("serving", "127.0.0.1"))
    for token in ("x" * 16, "y" * 64, "z" * 65, "~!" * 64):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(token + "\n")
            file.flush()
            with Serve("--token-file", file.name) as serve:
                equal(sorted(serve.said), ["address", "port", "type"])
                serve.token = token
                still_serves(serve)


def test_only_at_its_address():
    with Serve() as serve, socket.socket() as link:
        link.settimeout(PATIENCE)
        true(link.connect_ex(("127.0.0.2", serve.port)) != 0, "another address of the machine")


def test_who_has_no_token_learns_nothing():
    with Serve() as serve:
        good = serve.hello(bytes(32), b"e", 1)
        for index in range(len(good)):
            link, nonce = serve.connect()
            hello = bytearray(serve.hello(nonce, b"e", 1))
            hello[index] ^= 0x10
            link.sendall(hello)
            closed(link)
        link, nonce = serve.connect()
        link.sendall(serve.hello(nonce, b"e", 1, token="f" * 64))
        closed(link)
        still_serves(serve)


def test_a_proof_is_good_once():
    with Serve() as serve:
        link, nonce = serve.connect()
        hello = serve.hello(nonce, b"e", 1)
        link.sendall(hello)
        with link:
            equal(receive(link, 1), b"k")
        other, fresh = serve.connect()
        true(fresh != nonce, "each connection draws its own")
        other.sendall(hello)
        closed(other)


def test_orders_out_of_range():
    with Serve() as serve:
        for work, size in (
            (b"e", 0), (b"e", 65537), (b"e", 2**32 - 1), (b"s", 0), (b"s", 2**30 + 1), (b"c", 1), (b"d", 1), (b"x", 1),
            (b"\0", 0),
        ):  # fmt: skip
            link, nonce = serve.connect()
            link.sendall(serve.hello(nonce, work, size))
            closed(link)
        still_serves(serve)


def test_garbage():
    with Serve() as serve:
        for garbage in (b"GET / HTTP/1.0\r\n\r\n" + bytes(26), bytes(44), b"\xff" * 1000, b"vmp1" * 11):
            link, _ = serve.connect()
            try:
                link.sendall(garbage)
            except (BrokenPipeError, ConnectionResetError):
                pass
            closed(link)
        still_serves(serve)


def test_early_ends():
    """At each point of a connection's life; each leaves no process."""
    with Serve() as serve:
        for _ in range(5):
            socket.create_connection((serve.address, serve.port), PATIENCE).close()
        for length in (0, 1, 12, 43, 44):
            link, nonce = serve.connect()
            link.sendall(serve.hello(nonce, b"e", 65536)[:length])
            link.close()
        for work, size, data in ((b"e", 65536, b"half"), (b"s", 10, b"x" * 1005), (b"c", 0, b""), (b"d", 0, b"")):
            link, _ = serve.order(work, size)
            link.sendall(data)
            link.close()
        until(lambda: not serve.processes(), "all of them have ended")
        still_serves(serve)


def test_slow_and_many_clients():
    """Who says nothing, or a byte now and then, is cut off; more than there may be at once are too."""
    with Serve() as serve:
        begin = time.monotonic()
        silent = [serve.connect()[0] for _ in range(CONNECTIONS_MAX - 1)]
        slow, _ = serve.connect()
        surplus = socket.create_connection((serve.address, serve.port), PATIENCE)
        with surplus:
            got = surplus.recv(32)
            true(got == b"" or time.monotonic() - begin > 4.5, "refused, unless another was cut off meanwhile")
        slow.settimeout(0.2)
        sent = 0
        while sent < 43:
            try:
                slow.sendall(b"v")
                sent += 1
                if slow.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                break
        true(sent < 43, "a slow client was cut off")
        slow.close()
        for link in silent:
            link.settimeout(PATIENCE)
            closed(link)
        still_serves(serve)


# --- what it does ---


def test_stream():
    with Serve() as serve:
        link, _ = serve.order(b"s", 1000)
        with link:
            link.sendall(b"x" * 999)
            link.settimeout(0.2)
            try:
                raise AssertionError(f"too early: {link.recv(1)!r}")
            except TimeoutError:
                pass
            link.settimeout(PATIENCE)
            link.sendall(b"x" * 2002)
            equal(receive(link, 3), b"ttt")


def test_connections():
    with Serve() as serve:
        link, _ = serve.order(b"c")
        with link:
            ports = struct.unpack(">16H", receive(link, 32))
            equal(len(set(ports)), 16)
            for index in range(64):
                socket.create_connection((serve.address, ports[index % 16]), PATIENCE).close()
            equal(receive(link, 2), b"tt")


def test_datagrams():
    """Only who proves the token gets any back."""
    with Serve() as serve:
        link, proof = serve.order(b"d")
        (port,) = struct.unpack(">H", receive(link, 2))
        with link, socket.socket(type=socket.SOCK_DGRAM) as good, socket.socket(type=socket.SOCK_DGRAM) as bad:
            for end in (good, bad):
                end.connect((serve.address, port))
                end.settimeout(PATIENCE)
            for data in (b"", b"hello", bytes(32), proof[:31], proof + b"x"):
                bad.send(data)
            good.send(proof)
            equal(good.recv(100), proof)
            try:
                bad.send(b"hello")
            except ConnectionRefusedError:
                pass  # it talks to the other alone
            for number in range(10):
                good.send(struct.pack(">I", number))
                equal(good.recv(100), struct.pack(">I", number))
            bad.settimeout(0.2)
            try:
                raise AssertionError(f"answered: {bad.recv(100)!r}")
            except (TimeoutError, ConnectionRefusedError):
                pass
        until(lambda: not serve.processes(), "it ends with its link")


# --- how it ends ---


def test_ends_with_all_it_started():
    for end in (
        lambda child: child.stdin.close(),
        lambda child: child.send_signal(signal.SIGTERM),
        lambda child: child.send_signal(signal.SIGINT),
        lambda child: child.kill(),
    ):
        with Serve() as serve:
            links = [serve.order(work, size)[0] for work, size in ((b"e", 1), (b"s", 9), (b"c", 0), (b"d", 0))]
            processes = serve.processes()
            equal(len(processes), 4)
            end(serve.child)
            true(serve.child.wait(PATIENCE) in (0, -signal.SIGKILL), serve.child.returncode)
            until(lambda gone=processes: all(map(is_gone, gone)), "its processes end with it")
            for link in links:
                link.close()


def test_ends_in_time():
    with Serve("--limit", "300ms") as serve:
        equal(serve.child.wait(PATIENCE), 0)
    with Serve("--limit", "3s") as serve:
        try:
            link = serve.order(b"s", 1000)[0]
        except (OSError, AssertionError):
            return  # a machine so slow that it has ended
        equal(serve.child.wait(PATIENCE), 0)
        closed(link)


if __name__ == "__main__":
    sys.exit(run_tests([f for name, f in list(globals().items()) if name.startswith("test_")]))
