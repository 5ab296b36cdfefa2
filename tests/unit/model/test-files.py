#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test-files.py CHECK-FILE SOURCE-ROOT: the validators over whole files, in TAP.

Every file of tests/data/invalid is refused at the place and for the reason that its table EXPECTED
states, with exit status 2, in under 1 s and 64 MiB; every file of tests/data/valid and of configs
is accepted.
"""
import os
import pathlib
import subprocess
import sys

SECONDS_MAX = 1.0
KIB_MAX = 64 * 1024
# Sanitizers map far more than they use; their builds say so.
BOUNDED = os.environ.get("VMATRIX_TEST_SANITIZED", "no") == "no"


def read_table(path):
    """(file, place, judge, reason) for each line that is no comment."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split(maxsplit=3) for line in lines if line and not line.startswith("#")]


def run(check, arguments, folder):
    """Exit status, standard error, CPU seconds and peak KiB of one check."""
    child = subprocess.Popen([check, *arguments], cwd=folder, stderr=subprocess.PIPE)
    text = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stderr.close()
    return child.returncode, text.decode(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def arguments_for(name, site):
    return ["inventory", name] if name.startswith("inventory") else ["plan", name, site]


def judge_invalid(check, folder, row):
    """What is wrong with how this file was refused, or None."""
    name, place, _, reason = row
    status, text, seconds, kib = run(check, arguments_for(name, "../valid/inventory.yaml"), folder)
    if status != 2:
        return f"exit status {status}, not 2"
    if not text.startswith(f"{name}:{place}: ") or reason not in text:
        return f"said: {text.strip()}"
    if text.count("\n") != 1:
        return "more than one line"
    if BOUNDED and (seconds > SECONDS_MAX or kib > KIB_MAX):
        return f"{seconds:.2f} s, {kib} KiB"
    return None


def judge_valid(check, path, site):
    kind = "inventory" if path.name.startswith("inventory") or site is None else "plan"
    status, text, _, _ = run(check, [kind, str(path)] + ([str(site)] if kind == "plan" else []),
                             path.parent)
    return None if status == 0 and text == "" else f"exit status {status}: {text.strip()}"


def main():
    check, root = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    invalid, valid, configs = root / "tests/data/invalid", root / "tests/data/valid", root / "configs"
    table = read_table(invalid / "EXPECTED")
    results = [(row[0], judge_invalid(check, invalid, row)) for row in table]

    listed, there = {row[0] for row in table}, {path.name for path in invalid.glob("*.yaml")}
    results.append(("the table lists every file", " ".join(sorted(listed ^ there)) or None))
    results.append(("at least 40 files", None if len(table) >= 40 else str(len(table))))

    for path in sorted(valid.glob("*.yaml")):
        results.append((f"valid/{path.name}", judge_valid(check, path, valid / "inventory.yaml")))
    sites = {"quickstart.yaml": valid / "inventory-quickstart.yaml"}
    for path in sorted((configs / "plans").glob("*.yaml")):
        site = sites.get(path.name, configs / "inventory/example.yaml")
        results.append((f"configs/plans/{path.name}", judge_valid(check, path, site)))
    for path in sorted((configs / "inventory").glob("*.yaml")):
        results.append((f"configs/inventory/{path.name}", judge_valid(check, path, None)))

    print(f"1..{len(results)}")
    for number, (name, problem) in enumerate(results, 1):
        print(f"{'ok' if problem is None else 'not ok'} {number} - {name}")
        if problem is not None:
            print(f"# {problem}")
    return any(problem is not None for _, problem in results)


if __name__ == "__main__":
    sys.exit(main())
