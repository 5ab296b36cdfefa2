#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every file of tests/data/invalid is refused by "vmatrix check" with exit code 2, at the place and
with the reason that EXPECTED names, in less than 1 s of CPU and 64 MiB; valid files pass."""
import os
import subprocess
import sys

SOURCE = os.environ["VMATRIX_SOURCE"]
VMATRIX = os.path.join(os.environ["VMATRIX_BUILD"], "daemon/cli/vmatrix")
INVALID = os.path.join(SOURCE, "tests/data/invalid")
VALID = os.path.join(SOURCE, "tests/data/valid")
CPU_S = 1.0
MEMORY_KIB = 64 * 1024


def expectations():
    """(file, place, part of the message) of each line of EXPECTED."""
    with open(os.path.join(INVALID, "EXPECTED"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, place, _, message = line.rstrip("\n").split(None, 3)
                yield name, place, message


def run_check(path):
    """(exit code, standard error, seconds of CPU, peak memory in KiB)"""
    command = [VMATRIX, "check", path]
    if os.path.basename(path).startswith("plan-"):
        command[1:1] = ["--inventory", os.path.join(VALID, "inventory.yaml")]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    errors = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    return process.returncode, errors, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def complaints(name, place, message):
    path = os.path.join(INVALID, name)
    code, errors, cpu, memory = run_check(path)
    if code != 2:
        yield f"exit code {code}, not 2"
    if f"{path}:{place}: " not in errors:
        yield f"does not name the place {place}"
    if message not in errors:
        yield f"does not say: {message}"
    if errors.count("\n") > 1:
        yield "says more than one line"
    if cpu >= CPU_S:
        yield f"took {cpu:.2f} s of CPU"
    if memory >= MEMORY_KIB:
        yield f"took {memory} KiB"
    if len(errors) > 2000:
        yield f"a message of {len(errors)} bytes"
    yield f"said: {errors[:500]}"


def main():
    count = 0
    named = set()
    for name, place, message in expectations():
        count += 1
        named.add(name)
        *found, said = complaints(name, place, message)
        print(f"{'not ok' if found else 'ok'} {count} - {name} is refused at {place}")
        for line in found + [said] if found else []:
            print("# " + line.rstrip().replace("\n", "\n# "))
    present = {name for name in os.listdir(INVALID) if name != "EXPECTED"}
    count += 1
    print(f"{'ok' if present == named else 'not ok'} {count} - EXPECTED names every file")
    for name in sorted(present ^ named):
        print(f"# {name}")
    for name in sorted(os.listdir(VALID)):
        count += 1
        code, errors, _, _ = run_check(os.path.join(VALID, name))
        print(f"{'not ok' if code else 'ok'} {count} - {name} is accepted")
        if code:
            print(f"# {errors}")
    print(f"1..{count}")
    sys.exit(0)


main()
