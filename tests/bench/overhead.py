# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of overhead.sh: medians, paired ratios, own time by phase."""
import collections
import csv
import statistics
import sys

# Phases that hold the machine's own time: in each, only what is beyond the floor is vmatrix's.
FLOOR = ("create", "shutdown")


def read_times(path):
    times = collections.defaultdict(list)
    for line in open(path):
        label, microseconds = line.split()
        times[label].append(int(microseconds) / 1e6)
    return times


def read_phases(path):
    phases = collections.defaultdict(lambda: collections.defaultdict(float))
    for run, name, ns in csv.reader(open(path)):
        phases[name][run] += int(ns) / 1e9
    return phases


def main(times_path, phases_path, invocations_path, banner_path):
    times, phases = read_times(times_path), read_phases(phases_path)
    median = statistics.median
    ratio = median(a / b for a, b in zip(times["vmatrix"], times["script"]))
    naive = median(a / b for a, b in zip(times["vmatrix"], times["naive"]))
    works = [(int(p) + int(h)) / 1e9 for _, p, h in csv.reader(open(invocations_path))]
    banners = [int(line) / 1e3 for line in open(banner_path)]
    # Pair by pair: their guests boot differently long.
    floors = [sum(parts) for parts in zip(works, banners, *(phases[name].values() for name in FLOOR))]
    work, banner, floor = median(works), median(banners), median(floors)

    print(f"pairs {len(times['vmatrix'])}")
    for label in ("vmatrix", "script", "naive"):
        print(f"{label:8} median {median(times[label]):7.3f} s  min {min(times[label]):7.3f}"
              f"  max {max(times[label]):7.3f}")
    print("phases of vmatrix, median:")
    for name in phases:
        print(f"  {name:18} {median(phases[name].values()):8.4f} s"
              + ("  (floor)" if name in FLOOR else ""))
    print(f"  {'agent work':18} {work:8.4f} s  (floor)")
    print(f"  {'create to banner':18} {banner:8.4f} s  (floor, by banner.py)")
    own, script = (median(total - least for total, least in zip(times[label], floors))
                   for label in ("vmatrix", "script"))
    print(f"floor {floor:.3f} s; own time: vmatrix {own:.3f} s, script {script:.3f} s")
    print(f"ratio vmatrix/script        {ratio:.3f}   (wanted: at most 0.95)")
    print(f"ratio vmatrix/naive         {naive:.3f}")
    print(f"ratio own vmatrix/script    {own / script:.3f}   (wanted: at most 0.50)")


main(*sys.argv[1:])
