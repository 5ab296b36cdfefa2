#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""vmatrix host show over trees of files: every fact is in the report, whole, at 80 columns; JSON has all.
Usage: test-host-show.py VMATRIX SOURCE-ROOT"""
import json
import os
import pty
import subprocess
import sys
import tempfile

VMATRIX, SOURCE = sys.argv[1], sys.argv[2]
TREES = ["xeon", "epyc", "board", "container", "intel", "empty"]
# What stands in the report in words of its own.
REWORDED = ("memory.total", "memory.swap", "virtualisation", "memory.ksm", "memory.zswap", "numa.balancing",
            "kvm.nested", "kvm.ept", "kvm.npt", ".memory", ".size")
# Known to the database alone: of no use in a paper.
UNSHOWN = ("host.boot-id", "cpu.vendor")


def show(root, home, *options):
    env = dict(os.environ, VMATRIX_HOST_ROOT=root, HOME=home, XDG_CONFIG_HOME=home, XDG_DATA_HOME=home)
    env.pop("VMATRIX_INVENTORY", None)
    return subprocess.run([VMATRIX, "host", "show", *options], env=env, capture_output=True, text=True, timeout=60)


def judge(tree, home):
    """What is wrong, as a list of lines."""
    root = f"{SOURCE}/tests/data/host/{tree}"
    plain, as_json = show(root, home), show(root, home, "--json")
    wrong = []
    if plain.returncode != 0 or as_json.returncode != 0:
        return [plain.stderr, as_json.stderr]
    facts = {fact["name"]: fact["value"] for fact in json.loads(as_json.stdout)}
    squeezed = "".join(plain.stdout.split())
    for name, value in facts.items():
        if name.endswith(REWORDED) or name in UNSHOWN:
            continue
        if "".join(value.split()) not in squeezed:
            wrong.append(f"the report lacks {name}: {value}")
    wrong += [f"too long: {line}" for line in plain.stdout.splitlines() if len(line) > 80]
    wrong += [f"blank at the end: {line}" for line in plain.stdout.splitlines() if line.endswith(" ")]
    return wrong


def judge_words(home):
    """Whether the reports say what they should of these machines."""
    expected = {
        "xeon": ["  total                 251.5 GiB", "  same-page merging     off", "  nested guests         on",
                 "  node1                 CPUs 2-3,6-7, 125 GiB, distances 20 10",
                 "  runs on               nothing: this is the metal",
                 "  sda                   SEAGATE ST16000NM006J, 14.6 TiB, rotating, scheduler"],
        "epyc": ["  boost (turbo)         off", "  modules               not told by this machine"],
        "board": ["  firmware              device tree", "  governor              not told by this machine"],
        "container": ["  kernel                6.8.0", "  model                 not told by this machine"],
    }
    wrong = []
    for tree, lines in expected.items():
        report = show(f"{SOURCE}/tests/data/host/{tree}", home).stdout.splitlines()
        wrong += [f"{tree} lacks the line \"{line}\"" for line in lines if line not in report]
    return wrong


def judge_narrow(home):
    """On a terminal of 50 columns nothing is cut either."""
    report = show(f"{SOURCE}/tests/data/host/xeon", home).stdout
    master, slave = pty.openpty()
    env = dict(os.environ, VMATRIX_HOST_ROOT=f"{SOURCE}/tests/data/host/xeon", HOME=home, XDG_CONFIG_HOME=home,
               XDG_DATA_HOME=home, COLUMNS="50", NO_COLOR="1")
    env.pop("VMATRIX_INVENTORY", None)
    with subprocess.Popen([VMATRIX, "host", "show"], env=env, stdout=slave, stdin=subprocess.DEVNULL) as process:
        os.close(slave)
        data = b""
        while True:
            try:
                block = os.read(master, 65536)
            except OSError:  # Linux says so at the end
                break
            if not block:
                break
            data += block
        os.close(master)
    narrow = data.decode().replace("\r", "")
    wrong = [f"too long: {line}" for line in narrow.splitlines() if len(line) > 50]
    if process.returncode != 0:
        wrong.append(f"exit status {process.returncode}")
    if "".join(narrow.split()) != "".join(report.split()):
        wrong.append("it has other text than at 80 columns")
    return wrong


def judge_secrets(home):
    wrong = []
    for options in ([], ["--json"], ["--format", "csv"]):
        text = show(f"{SOURCE}/tests/data/host/xeon", home, *options).stdout
        wrong += [f"{options}: {secret}" for secret in ("SECRET", "3c:fd:fe", "0f3cbb5e", "4c4c4544", "fedcba98")
                  if secret in text]
    return wrong


def main():
    with tempfile.TemporaryDirectory() as home:
        results = [(f"tree {tree}", judge(tree, home)) for tree in TREES]
        results.append(("words", judge_words(home)))
        results.append(("narrow", judge_narrow(home)))
        results.append(("secrets", judge_secrets(home)))
    print(f"1..{len(results)}")
    for number, (name, wrong) in enumerate(results, 1):
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
        for line in wrong:
            print("#", line)
    return 1 if any(wrong for _, wrong in results) else 0


sys.exit(main())
