#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""fidelity.py AGENT TOOLS [--only PATTERN] [--rounds N]: the agent's values beside those of lmbench,
sysbench and fio, in turn on the same CPU; see fidelity.sh. Rows: fidelity/pairs.txt."""
import argparse
import itertools
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fidelity")
LIMIT = 180  # seconds a tool may take
EXCEPTIONS_MAX = 5
SAMPLES = 11  # the agent's first run; later ones take the time that the reference takes
SAMPLES_MAX = 200
# lmbench: 20 ms a repetition like the agent's sample, instead of a second-long look for "enough".
LMBENCH = {"ENOUGH": "20000", "TIMING_O": "0", "LOOP_O": "0"}

Pair = namedtuple("Pair", "bench metric cpus command regex factor tolerance")
Exempt = namedtuple("Exempt", "bench metric experiment reason")


def read_table(name, kind):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    rows = [re.split(r"\s+\|\s+", line) for line in lines]
    for line, row in zip(lines, rows):
        if len(row) != len(kind._fields):
            sys.exit(f"{name}: {len(kind._fields)} columns are needed: {line}")
    return [kind(*row) for row in rows]


def parse_reference(pair, text):
    """The reference's value in the agent's unit; None: it printed none."""
    found = re.search(pair.regex, text, re.MULTILINE)
    try:
        value = float(found.group(1)) if found else 0.0
    except ValueError:
        return None
    if value <= 0:
        return None
    return 1e9 / value if pair.factor == "inverse" else value * float(pair.factor)


def parse_agent(text):
    """{(bench, metric): median}, {bench: why there is none}"""
    values, reasons = {}, {}
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) > 2 and words[1] in ("unsupported:", "failed:"):
            reasons[words[0]] = " ".join(words[1:])
        elif len(words) >= 7:
            values[words[0], words[1]] = float(words[3])
    return values, reasons


def end_session(leader):
    """lmbench's servers and children may outlive it, and be in process groups of their own."""
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.getsid(int(entry)) == leader:
                os.kill(int(entry), signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(command, environment):
    """Output and seconds. To a file: who is left behind would keep a pipe open."""
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, env=environment,
                                   start_new_session=True)
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            pass
        finally:
            took = time.monotonic() - began
            end_session(process.pid)
            process.wait()
        output.seek(0)
        return output.read().decode(errors="replace"), took


class Bench:
    def __init__(self, agent, tools, work, rounds):
        self.agent, self.work, self.rounds = agent, work, rounds
        self.cpus = sorted(os.sched_getaffinity(0))[-2:]
        root = os.path.join(tools, "root")
        libraries = {folder for folder, _, files in os.walk(root)
                     if any(".so" in file for file in files)}
        self.environment = dict(os.environ, **LMBENCH)
        if libraries:
            self.environment["LD_LIBRARY_PATH"] = ":".join(sorted(libraries))
        self.places = {"lmbench": os.path.join(tools, "lmbench"), "work": work,
                       "static": os.path.join(tools, "static")}
        for name in ("sysbench", "fio"):
            unpacked = os.path.join(root, "usr/bin", name)
            self.places[name] = unpacked if os.path.exists(unpacked) else name
        listed = subprocess.run([agent, "list"], capture_output=True, text=True, check=True)
        self.known = {line.split()[0] for line in listed.stdout.splitlines()}

    def pin(self, pair):
        cpus = self.cpus[-int(pair.cpus):]
        return ["taskset", "-c", ",".join(map(str, cpus))]

    def run_agent(self, pair, names, samples):
        cpu = ["--cpu", str(self.cpus[-1])] if pair.cpus == "1" else []
        return run(self.pin(pair) + [self.agent, "run", "--samples", str(samples), "--folder",
                                     self.work, *cpu, *names], dict(os.environ))

    def run_reference(self, pair):
        command = pair.command
        for name, place in self.places.items():
            command = command.replace("{" + name + "}", place)
        return run(self.pin(pair) + ["sh", "-c", command], self.environment)

    def group(self, pairs):
        """All rounds of the rows that share a reference command: [(pair, agent, reference, why)]"""
        rows = [(pair, [], []) for pair in pairs if pair.bench in self.known]
        names = sorted({pair.bench for pair, _, _ in rows})
        samples, reasons, text = SAMPLES, {}, ""
        for _ in range(self.rounds if rows else 0):
            ours, ours_took = self.run_agent(pairs[0], names, samples)
            values, reasons = parse_agent(ours)
            text, took = self.run_reference(pairs[0])
            for pair, agent, reference in rows:
                both = values.get((pair.bench, pair.metric)), parse_reference(pair, text)
                if None in both:
                    continue
                agent.append(both[0])
                reference.append(both[1])
            samples = min(max(3, round(samples * took / ours_took)), SAMPLES_MAX)
            if not any(agent for _, agent, _ in rows):
                break  # what fails at once is not waited for again
        done = {pair: (agent, reference) for pair, agent, reference in rows}
        last = (text.strip().splitlines() or ["nothing printed"])[-1]
        for pair in pairs:
            agent, reference = done.get(pair, ([], []))
            why = ""
            if pair.bench not in self.known:
                why = "agent: no such benchmark"
            elif len(agent) < self.rounds and (pair.bench, pair.metric) not in values:
                why = "agent: " + reasons.get(pair.bench, f"no metric {pair.metric}")
            elif len(agent) < self.rounds:
                why = "reference: " + last
            yield pair, agent, reference, why


def spread(values):
    """IQR/median"""
    if len(values) < 2:
        return 0.0
    quarters = statistics.quantiles(values, n=4, method="inclusive")
    return (quarters[2] - quarters[0]) / quarters[1]


class Tally:
    def __init__(self, exempt):
        self.exempt = {(row.bench, row.metric): row for row in exempt}
        self.within = self.excused = self.off = self.absent = self.broken = self.steady = 0

    def judge(self, pair, ratio):
        if abs(ratio - 1) * 100 <= float(pair.tolerance):
            self.within += 1
            return "ok"
        if (pair.bench, pair.metric) in self.exempt:
            self.excused += 1
            return "exempt"
        self.off += 1
        return "OFF"

    def add(self, pair, agent, reference, why):
        name = f"{pair.bench} {pair.metric}"[:38]
        if why:
            self.absent += why == "agent: no such benchmark"
            self.broken += why != "agent: no such benchmark"
            print(f"{name:38} {why[:41]}", flush=True)
            return
        ratio = statistics.median(a / b for a, b in zip(agent, reference))
        ours, theirs = spread(agent), spread(reference)
        self.steady += ours <= theirs
        print(f"{name:38} {ratio:7.3f} {float(pair.tolerance):4.0f}% {ours * 100:8.2f}% "
              f"{theirs * 100:8.2f}% {self.judge(pair, ratio)}", flush=True)

    def end(self):
        for row in self.exempt.values():
            print(f"exempt: {row.bench} {row.metric}: {row.reason}\n    shown by {row.experiment}")
        count = self.within + self.excused + self.off
        share = self.steady / count if count else 0
        good = count > 0 and not self.off and not self.broken and share >= 0.8
        print(f"{count} metrics: {self.within} within, {self.excused} exempt, {self.off} off; "
              f"{self.broken} failed, {self.absent} not\nin the agent; agent as steady as the "
              f"reference in {share:.0%} (80% wanted): {'good' if good else 'NOT GOOD'}")
        return good


def read_exceptions():
    exempt = read_table("exceptions.txt", Exempt)
    if len(exempt) > EXCEPTIONS_MAX:
        sys.exit(f"exceptions.txt: at most {EXCEPTIONS_MAX} rows, not {len(exempt)}")
    for row in exempt:
        if not os.path.exists(os.path.join(HERE, row.experiment)):
            sys.exit(f"exceptions.txt: {row.bench}: there is no experiment {row.experiment}")
    return exempt


def write_files(work):
    for name, size in (("one", 1), ("4m", 4 << 20), ("64m", 64 << 20)):
        with open(os.path.join(work, name), "wb") as file:
            for _ in range(max(1, size >> 20)):
                file.write(os.urandom(min(size, 1 << 20)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("agent")
    parser.add_argument("tools")
    parser.add_argument("--only", default="", help="regular expression of benchmark names")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    pairs = [pair for pair in read_table("pairs.txt", Pair) if re.search(options.only, pair.bench)]
    if not pairs or options.rounds < 1:
        sys.exit("fidelity: --only matches no benchmark of pairs.txt, or --rounds is below 1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the tool and removes the files
    tally = Tally(read_exceptions())
    print(f"{'METRIC':38} {'RATIO':>7} {'TOL':>5} {'IQR AGENT':>9} {'IQR REF':>9}")
    # /var/tmp: direct I/O needs a real file system.
    with tempfile.TemporaryDirectory(prefix="vmatrix-fidelity-", dir="/var/tmp") as work:
        write_files(work)
        bench = Bench(os.path.abspath(options.agent), options.tools, work, options.rounds)
        for _, group in itertools.groupby(pairs, lambda pair: (pair.cpus, pair.command)):
            for row in bench.group(list(group)):
                tally.add(*row)
    sys.exit(0 if tally.end() else 1)


if __name__ == "__main__":
    main()
