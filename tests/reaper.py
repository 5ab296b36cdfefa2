#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a command and, until it ends, reaps every orphan below it at once.

In containers and small machines process 1 may reap late. A QEMU that has ended is then a zombie
for seconds, libvirtd waits for it, and each end of a guest takes that much longer.
"""
import ctypes
import os
import signal
import sys

PR_SET_CHILD_SUBREAPER = 36


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: reaper.py COMMAND [ARGUMENT]...")
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: os.kill(child, number))
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            sys.exit(code if code >= 0 else 128 - code)


main()
