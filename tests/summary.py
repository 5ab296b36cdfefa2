#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds up the tests of several builds: summary.py LABEL=meson-logs/testlog.json…

Counts the single tests inside each TAP program. Prints what failed with its output, what was
skipped with the reason, and last "N passed, N failed[, N skipped]". Exits 1 when any failed.
"""
import json
import os
import re
import sys

LINE = re.compile(r"^(not )?ok\b\s*\d*\s*(?:- )?(.*?)(?:\s*#\s*(SKIP)\b\s*(.*))?$", re.IGNORECASE)
ALL_SKIPPED = re.compile(r"^1\.\.0\s*#\s*SKIP\b\s*(.*)", re.IGNORECASE)
OUTPUT_LINES = 120


class Totals:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []


def count_tap(name, output, totals):
    """Add the single tests of one TAP program; nested ones, which are indented, are left out."""
    found = 0
    for line in output.splitlines():
        match = ALL_SKIPPED.match(line)
        if match:
            totals.skipped.append(f"{name}: {match[1]}")
            found += 1
            continue
        match = LINE.match(line)
        if not match:
            continue
        found += 1
        if (match[3] or "").upper() == "SKIP":
            totals.skipped.append(f"{name}: {match[2]}: {match[4]}")
        elif match[1]:
            totals.failed.append(f"{name}: {match[2]}")
        else:
            totals.passed += 1
    return found


def count_plain(name, result, totals):
    if result == "OK":
        totals.passed += 1
    elif result == "SKIP":
        totals.skipped.append(name)
    else:
        totals.failed.append(f"{name}: {result}")


def show(name, entry):
    print(f"---- {name}: {entry['result']} after {entry['duration']:.0f} s")
    for stream in ("stdout", "stderr"):
        lines = (entry.get(stream) or "").splitlines()
        if len(lines) > OUTPUT_LINES:
            print(f"({len(lines) - OUTPUT_LINES} lines left out)")
        for line in lines[-OUTPUT_LINES:]:
            print("    " + line)


def count_entry(label, entry, totals):
    name = f"{label}: {entry['name'].split(' / ')[-1]}"
    output = entry.get("stdout") or ""
    before = len(totals.failed)
    if not re.search(r"^1\.\.\d+|^(not )?ok\b", output, re.MULTILINE):
        count_plain(name, entry["result"], totals)
    else:
        count_tap(name, output, totals)
        # Crashed, timed out, or ran fewer tests than it had planned.
        if entry["result"] not in ("OK", "SKIP", "EXPECTEDFAIL") and len(totals.failed) == before:
            totals.failed.append(f"{name}: {entry['result']}")
    if len(totals.failed) > before:
        show(name, entry)


def main():
    totals = Totals()
    for argument in sys.argv[1:]:
        label, path = argument.split("=", 1)
        if not os.path.exists(path):
            totals.failed.append(f"{label}: no results in {path}")
            continue
        with open(path, encoding="utf-8") as file:
            for line in file:
                count_entry(label, json.loads(line), totals)
    for text in totals.skipped:
        print(f"skipped: {text}")
    for text in totals.failed:
        print(f"failed: {text}")
    skipped = f", {len(totals.skipped)} skipped" if totals.skipped else ""
    print(f"{totals.passed} passed, {len(totals.failed)} failed{skipped}")
    sys.exit(1 if totals.failed else 0)


main()
