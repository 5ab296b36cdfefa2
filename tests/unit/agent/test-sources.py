#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test-sources.py AGENT-FOLDER COMPILER: what the agent's sources promise, in TAP."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from client import equal, run_tests, true

SOURCES, COMPILER = sys.argv[1:3]
VERSION = '-DVMATRIX_AGENT_VERSION="0"'
# What FreeBSD shows beside POSIX.1-2008 and the sources use; where they use Linux's, they say so.
BESIDE_POSIX = """
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#ifndef MAP_ANON
#define MAP_ANON 0x1000
#endif
int ppoll(struct pollfd *, nfds_t, const struct timespec *restrict, const sigset_t *restrict);
"""
OTHERS = re.compile(r".*(linux|windows|freebsd).*\.c")


def sources():
    return sorted(name for name in os.listdir(SOURCES) if name.endswith(".c"))


def compiles(folder, output):
    names = [name for name in os.listdir(folder) if name.endswith(".c")]
    got = subprocess.run([COMPILER, "-std=gnu11", "-static", VERSION, "-o", output, *names],
                         cwd=folder, stderr=-1, text=True, check=False)
    equal(got.returncode, 0, got.stderr[-2000:])


def listed(agent):
    out = subprocess.run([agent, "list", "--json"], stdout=-1, check=True).stdout
    return [bench["name"] for bench in json.loads(out)]


def test_a_copy_of_the_skeleton_is_a_benchmark():
    """One file, one line."""
    with tempfile.TemporaryDirectory() as work:
        folder, agent = os.path.join(work, "agent"), os.path.join(work, "vmatrix-agent")
        shutil.copytree(SOURCES, folder)
        with open(os.path.join(folder, "bench-skeleton.c"), encoding="utf-8") as skeleton:
            text = skeleton.read().replace("skeleton", "added")
        with open(os.path.join(folder, "bench-added.c"), "w", encoding="utf-8") as added:
            added.write(text)
        with open(os.path.join(folder, "benches.def"), "a", encoding="utf-8") as table:
            table.write("BENCH(added_sum)\n")
        compiles(folder, agent)
        equal(listed(agent)[-1], "added.sum")
        out = subprocess.run([agent, "run", "--plain", "--samples", "3", "added"],
                             stdout=-1, check=True, text=True).stdout.splitlines()
        equal(len(out), 2, out)
        row = out[1].split()
        equal(row[:3], ["added.sum", "latency", "ns"])
        true(0 < float(row[3]) < 1e6, row)


def test_the_rest_is_posix():
    """What is of one system alone has that system's name."""
    with tempfile.TemporaryDirectory() as folder:
        beside = os.path.join(folder, "beside.h")
        with open(beside, "w", encoding="utf-8") as text:
            text.write(BESIDE_POSIX)
        names = [name for name in sources() if not OTHERS.fullmatch(name)]
        true(len(names) > 30 and "os-posix.c" in names, names)
        for name in names:
            got = subprocess.run(
                [COMPILER, "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-U__linux__", "-Ulinux",
                 "-U__gnu_linux__", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", VERSION,
                 "-include", beside, name],
                cwd=SOURCES, stderr=-1, text=True, check=False)
            equal(got.returncode, 0, got.stderr[:2000])


def test_headers_of_linux():
    """Only in files that bear its name."""
    headers = r"#\s*include\s+<(linux/[^>]*|sys/(?:prctl|syscall|epoll|eventfd|vfs|sysinfo)\.h)>"
    for name in sources():
        if not OTHERS.fullmatch(name):
            with open(os.path.join(SOURCES, name), encoding="utf-8") as text:
                equal(re.findall(headers, text.read()), [], name)


if __name__ == "__main__":
    sys.exit(run_tests([f for name, f in list(globals().items()) if name.startswith("test_")]))
