#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""hog.py CPU PERCENT: take that share of one CPU, in slices of a tenth of a second, until it is killed."""
import os
import sys
import time

SLICE = 0.1
cpu, share = int(sys.argv[1]), float(sys.argv[2]) / 100
os.sched_setaffinity(0, {cpu})
with open("/proc/self/comm", "w") as f:
    f.write("test-hog")
begin = time.monotonic()
while True:
    # By its own CPU time, so that it takes its share also where it has to wait for the CPU.
    owed = (time.monotonic() - begin) * share
    while time.process_time() < owed:
        pass
    time.sleep(SLICE)
