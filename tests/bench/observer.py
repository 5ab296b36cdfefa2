# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs "ssh ARGUMENT…" each second, as a shell loop with sleep would, until the process PID has ended, and prints
LABEL, seconds, CPU milliseconds, context switches and bytes written of all the ssh and sleep processes.

usage: observer.py LABEL PID ARGUMENT…
"""
import os
import resource
import subprocess
import sys
import time


def main(label, pid, arguments):
    since = time.monotonic()
    while os.path.exists(f"/proc/{pid}") and open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
        subprocess.run(["ssh", *arguments], stdin=subprocess.DEVNULL, check=False)
        subprocess.run(["sleep", "1"], check=True)
    seconds = time.monotonic() - since
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(label, round(seconds, 3), round((used.ru_utime + used.ru_stime) * 1e3, 3), used.ru_nvcsw + used.ru_nivcsw,
          used.ru_oublock * 512)


main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
