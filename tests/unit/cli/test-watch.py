#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""vmatrix watch on a terminal of the test's own: what it draws, when, and how it leaves it.
Usage: test-watch.py VMATRIX DUMP (a database of any version, as SQL)"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time

VMATRIX = os.path.abspath(sys.argv[1])
ENTER, LEAVE = "\033[?1049h", "\033[?1049l"
PICTURE = "\033[H"
count = 0


def check(what, good, detail=""):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {what}", flush=True)
    if not good:
        print("# " + repr(detail)[:3000])
        sys.exit(1)


class Terminal:
    """A program on a terminal of so many columns and rows."""

    def __init__(self, columns, rows, *arguments):
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        self.slave = slave
        self.before = termios.tcgetattr(slave)
        self.text = ""
        self.process = subprocess.Popen(
            [VMATRIX, *arguments], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**os.environ, "TERM": "xterm"})

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """What is written until nothing came for so long."""
        while select.select([self.master], [], [], seconds)[0]:
            self.text += os.read(self.master, 65536).decode()

    def until(self, pattern, seconds=60):
        """Read until the last picture matches."""
        end = time.monotonic() + seconds
        while not re.search(pattern, "\n".join(self.screen())) and time.monotonic() < end:
            self.read(0.1)
        return re.search(pattern, "\n".join(self.screen())) is not None

    def screen(self):
        """The rows of the last picture."""
        last = self.text.split(PICTURE)[-1] if PICTURE in self.text else ""
        last = last.split("\033[?7h")[0]
        return re.sub(r"\033\[[0-9;?]*[A-Za-z]|\r", "", last).split("\n")

    def switches(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M)[1])

    def end(self, key=None, number=None):
        if key:
            os.write(self.master, key)
        if number:
            os.kill(self.process.pid, number)
        code = self.process.wait(60)
        self.read(0.1)
        return code


def change(sql):
    database = sqlite3.connect("test.db", timeout=60)
    database.executescript(sql)
    database.close()


def event(number):
    change("INSERT INTO event (campaign_id, at_ns, level, message)"
           f" VALUES (3, 1700000000000000000, 'warning', 'event {number} \033[2J')")


def test_screen():
    watch = Terminal(80, 24, "watch")
    check("it draws the queue", watch.until(r"(?s) 3 before +paused .*q ends this"), watch.text)
    check("on the alternate screen", watch.text.startswith(ENTER), watch.text[:80])
    check("24 rows of at most 80 columns",
          len(watch.screen()) == 24 and max(map(len, watch.screen())) == 80, watch.screen())
    check("the time stands at the right edge",
          re.fullmatch(r"vmatrix: .*/test\.db +\d\d:\d\d:\d\d", watch.screen()[0]), watch.screen())
    check("the last row says how to end it", watch.screen()[-1].startswith("q ends"), watch.screen())

    watch.read(0.3)
    before, pictures = watch.switches(), watch.text.count(PICTURE)
    time.sleep(2)
    check("it sleeps while nothing changes", watch.switches() == before)
    subprocess.run([VMATRIX, "resume", "3"], check=True, stdout=subprocess.DEVNULL)
    check("it draws what has changed", watch.until(r" 3 before +queued "), watch.text)
    check("in place", watch.text.count(ENTER) == 1 and watch.text.count(PICTURE) > pictures)

    watch.read(1.2)
    pictures, begin = watch.text.count(PICTURE), time.monotonic()
    for number in range(20):
        event(number)
        time.sleep(0.1)
    check("another program's last write is drawn too", watch.until(r"event 19 "), watch.text)
    watch.read(0.1)
    drawn, seconds = watch.text.count(PICTURE) - pictures, time.monotonic() - begin
    check("at most once a second", 1 < drawn <= seconds + 1, (drawn, seconds))
    check("what a message says of the terminal is shown", "\\x1b[2J" in "\n".join(watch.screen()),
          watch.screen())

    watch.resize(200, 50)
    os.kill(watch.process.pid, signal.SIGWINCH)
    check("it fills a larger terminal",
          watch.until(r"(?s)skipped.*q ends") and len(watch.screen()) == 50
          and len(watch.screen()[0]) == 200, watch.screen())
    watch.resize(40, 5)
    os.kill(watch.process.pid, signal.SIGWINCH)
    end = time.monotonic() + 30
    while len(watch.screen()) != 5 and time.monotonic() < end:
        watch.read(0.2)
    check("and is cut to a smaller one",
          len(watch.screen()) == 5 and max(map(len, watch.screen())) <= 40, watch.screen())
    check("q ends it", watch.end(key=b"q") == 0)
    check("the terminal is as it was", termios.tcgetattr(watch.slave) == watch.before)
    check("and shows what it showed", watch.text.endswith(LEAVE), watch.text[-80:])


def test_ends():
    for name, end in {"Ctrl-C": {"number": signal.SIGINT}, "SIGTERM": {"number": signal.SIGTERM},
                      "Ctrl-D": {"key": b"\004"}}.items():
        watch = Terminal(80, 24, "watch")
        check(f"{name}: drawn", watch.until("q ends"), watch.text)
        check(f"{name} ends it", watch.end(**end) == 0)
        check(f"{name}: the terminal is given back",
              termios.tcgetattr(watch.slave) == watch.before and watch.text.endswith(LEAVE))


def test_lines():
    watch = subprocess.Popen([VMATRIX, "watch", "--json"], stdout=subprocess.PIPE, text=True)
    first = json.loads(watch.stdout.readline())
    check("a line of JSON at once", [c["campaign"] for c in first] == [1, 2, 3], first)
    subprocess.run([VMATRIX, "pause", "3"], check=True, stdout=subprocess.DEVNULL)
    second = json.loads(watch.stdout.readline())
    check("and one when something changed", second[2]["status"] == "paused", second)
    watch.send_signal(signal.SIGTERM)
    check("until a signal", watch.wait(60) == 0)
    watch = subprocess.Popen([VMATRIX, "watch", "--json"], stdout=subprocess.PIPE, text=True)
    watch.stdout.readline()
    watch.stdout.close()
    check("or until nobody reads", watch.wait(60) == 0)
    result = subprocess.run([VMATRIX, "watch"], capture_output=True, text=True)
    check("without a terminal it says what to do instead",
          result.returncode == 2 and "vmatrix status" in result.stderr, result)


def main():
    with open(sys.argv[2]) as file:
        dump = file.read()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ.update(VMATRIX_DB=os.path.join(folder, "test.db"), TZ="UTC",
                          VMATRIX_HOST_LOCK=f"vmatrix-test-watch-{os.getpid()}")
        os.environ.pop("COLUMNS", None)
        change(dump)
        subprocess.run([VMATRIX, "pause", "3"], check=True, stdout=subprocess.DEVNULL)
        test_screen()
        test_ends()
        test_lines()
        os.chdir("/")
    print(f"1..{count}")


main()
