# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of overhead.sh: medians, paired ratios, own time by phase."""
import collections
import csv
import statistics
import sys

# Phases that are the machine's own time.
FLOOR = ("create", "shutdown")


def read_times(path):
    """By label: start, end and when the guest was ready, in s."""
    times = collections.defaultdict(list)
    for line in open(path):
        label, *moments = line.split()
        times[label].append([int(moment) / 1e9 for moment in moments])
    return times


def read_phases(path):
    """By phase and run: start and duration in s. Later ones of a name are added to the first."""
    phases = collections.defaultdict(dict)
    for run, name, start, duration in csv.reader(open(path)):
        first, sofar = phases[name].get(run, (int(start) / 1e9, 0.0))
        phases[name][run] = (first, sofar + int(duration) / 1e9)
    return phases


def boots(times, phases, greeting):
    """Create to banner, by label: the script's create call is the first thing that it does."""
    begins = {"vmatrix": [start for start, _ in phases["create"].values()]}
    return {
        label: [
            ready - begin + greeting
            for (start, _, ready), begin in zip(rows, begins.get(label) or [row[0] for row in rows])
        ]
        for label, rows in times.items()
    }


def main(times_path, phases_path, invocations_path, greetings_path):
    times, phases = read_times(times_path), read_phases(phases_path)
    median = statistics.median
    totals = {label: [end - start for start, end, _ in rows] for label, rows in times.items()}
    ratio, naive = (
        median(a / b for a, b in zip(totals["vmatrix"], totals[other])) for other in ("script", "naive")
    )
    work = median((int(p) + int(h)) / 1e9 for _, p, h in csv.reader(open(invocations_path)))
    greeting = median(int(line) / 1e6 for line in open(greetings_path))
    destroy = median(duration for _, duration in phases["shutdown"].values())
    banner = boots(times, phases, greeting)
    own = {
        label: median(total - boot - work - destroy for total, boot in zip(totals[label], banner[label]))
        for label in totals
    }

    print(f"pairs {len(totals['vmatrix'])}")
    for label in ("vmatrix", "script", "naive"):
        print(f"{label:8} median {median(totals[label]):7.3f} s  min {min(totals[label]):7.3f}"
              f"  max {max(totals[label]):7.3f}  create to banner {median(banner[label]):7.3f} s"
              f"  own {own[label]:6.3f} s")
    print("phases of vmatrix, median:")
    for name, runs in phases.items():
        print(f"  {name:18} {median(duration for _, duration in runs.values()):8.4f} s"
              + ("  (floor)" if name in FLOOR else ""))
    print(f"  {'agent work':18} {work:8.4f} s  (floor)")
    print(f"  {'greeting':18} {greeting:8.4f} s  (floor)")
    print(f"ratio vmatrix/script        {ratio:.3f}   (wanted: at most 0.95)")
    print(f"ratio vmatrix/naive         {naive:.3f}")
    print(f"ratio own vmatrix/script    {own['vmatrix'] / own['script']:.3f}   (wanted: at most 0.50)")


main(*sys.argv[1:])
