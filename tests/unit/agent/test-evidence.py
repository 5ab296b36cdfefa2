#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test-evidence.py AGENT: `host-evidence` on a made-up host, where each figure is known, in TAP."""
import json
import os
import subprocess
import sys

from client import Agent, equal, run_tests, true
from faketree import CLOCK, TICK, Tree

AGENT = os.path.abspath(sys.argv[1])
MS = 10**6


class Reader(Agent):
    def __init__(self, tree):
        super().__init__([AGENT, "host-evidence", "--root", tree.root])

    def begin(self, number=1, cpus="0-1", pids=(), **members):
        self.send("begin", id=number, cpus=cpus, pids=list(pids), **members)
        equal(self.read("begun"), {"type": "begun", "id": number})

    def finish(self, number=1):
        self.send("end", id=number)
        record = self.read("evidence")
        equal(record["id"], number)
        return record


def between(tree, change, **members):
    """The record of what change() does to the tree."""
    with Reader(tree) as reader:
        reader.begin(**members)
        change()
        return reader.finish()


def named(record):
    return {entry["name"]: entry for entry in record["foreign"]["named"]}


def members(record, group):
    return {key: value for key, value in record[group].items() if not isinstance(value, list)}


def test_nothing_happened():
    with Tree() as tree:
        record = between(tree, lambda: tree.busy(0))
        equal(members(record, "subject"), {"cpu_ns": 0, "processes": 0})
        equal(record["foreign"]["named"], [])
        equal(record["foreign"]["cpu_ns"], 0)
        true(record["span_ns"] > 0 and record["reader"]["begin_ns"] > 0, record)
        for absent in ("psi", "interrupts", "softirqs", "throttle", "frequency", "temperature", "vm",
                       "clocksource", "dmesg"):  # fmt: skip
            true(absent not in record, f"{absent} is absent, not 0")


def test_subject_and_foreign_to_the_nanosecond():
    with Tree() as tree:

        def state(vcpu, io, cron, hog, ticks):
            tasks = {
                40: {"name": "qemu-system-x86", "sched": (5 * MS, MS)},
                41: {"name": "CPU 0/KVM", "sched": (vcpu, vcpu // 10), "involuntary": vcpu // MS},
                42: {"name": "IO 1", "sched": (io, 7)},
            }
            tree.process(40, "qemu-system-x86", tasks=tasks, ticks=(vcpu + io) // TICK)
            tree.process(50, "cron", sched=(cron, 0))
            tree.process(51, "a (b) c", sched=(hog, 0), start=77)
            tree.busy(ticks)

        state(vcpu=2000 * MS, io=30 * MS, cron=3 * MS, hog=900 * MS, ticks=0)
        record = between(
            tree, lambda: state(2900 * MS, 130 * MS, 3 * MS + 1, 1023 * MS, 100), pids=[40]
        )
        equal(record["cpus"], "0-1")
        equal(record["cpu"]["busy_ns"], 200 * TICK)
        equal(record["subject"]["threads"], [
            {"tid": 40, "name": "qemu-system-x86", "cpu_ns": 0, "run_delay_ns": 0, "involuntary": 0},
            {"tid": 41, "name": "CPU 0/KVM", "cpu_ns": 900 * MS, "run_delay_ns": 90 * MS, "involuntary": 900},
            {"tid": 42, "name": "IO 1", "cpu_ns": 100 * MS, "run_delay_ns": 0, "involuntary": 0},
        ])  # fmt: skip
        equal(members(record, "subject"), {
            "cpu_ns": 1000 * MS, "run_delay_ns": 90 * MS, "involuntary": 900, "processes": 1,
        })  # fmt: skip
        equal(record["foreign"]["named"], [
            {"name": "a (b) c", "pid": 51, "cpu_ns": 123 * MS, "processes": 1, "ended": False},
            {"name": "cron", "pid": 50, "cpu_ns": 1, "processes": 1, "ended": False},
        ])  # fmt: skip
        equal(record["foreign"]["cpu_ns"], 123 * MS + 1)
        equal(record["foreign"]["eligible_ns"], 123 * MS + 1)
        equal(record["foreign"]["unexplained_ns"], 200 * TICK - 1123 * MS - 1)
        equal(record["sources"], ["schedstat", "ticks", "children", "affinity"])


def test_what_the_cpus_were_not_busy_for_was_elsewhere():
    with Tree() as tree:
        tree.process(40, "vm", sched=(0, 0), allowed="1")
        tree.process(50, "hog", sched=(0, 0))

        def change():
            tree.process(40, "vm", sched=(600 * MS, 0), allowed="1")
            tree.process(50, "hog", sched=(5000 * MS, 0))
            tree.busy(70)

        record = between(tree, change, cpus="1", pids=[40])
        equal(record["foreign"]["eligible_ns"], 5000 * MS)
        equal(record["foreign"]["cpu_ns"], 70 * TICK - 600 * MS)
        equal(named(record)["hog"]["cpu_ns"], 70 * TICK - 600 * MS)
        equal(record["foreign"]["unexplained_ns"], 0)


def test_what_the_subject_did_elsewhere_hides_nobody():
    """An emulator thread that may run on other CPUs too does not make room on the subject's."""
    with Tree() as tree:

        def state(run, ticks):
            tasks = {40: {"sched": (run, 0), "allowed": "0-1"}, 41: {"sched": (run, 0), "allowed": "1"}}
            tree.process(40, "vm", tasks=tasks, ticks=2 * run // TICK)
            tree.process(50, "hog", sched=(run, 0))
            tree.busy(ticks)

        state(0, 0)
        record = between(tree, lambda: state(400 * MS, 80), cpus="1", pids=[40])
        equal(record["foreign"]["cpu_ns"], 80 * TICK - 400 * MS)


def test_a_task_of_other_cpus_is_not_foreign():
    with Tree() as tree:

        def state(run):
            tree.process(50, "here", sched=(run, 0), allowed="1-2")
            tree.process(51, "there", sched=(run, 0), allowed="0,2-9")
            tree.process(52, "kworker/0:1", sched=(run, 0), allowed="0", kernel=True)
            tree.process(53, "kworker/1:1", sched=(run, 0), allowed="1", kernel=True)
            mixed = {54: {"sched": (run, 0), "allowed": "0"}, 55: {"sched": (run // 4, 0), "allowed": "1"}}
            tree.process(54, "mixed", tasks=mixed, ticks=run * 5 // 4 // TICK, allowed="0")
            tree.busy(run // TICK * 5)

        state(0)
        record = between(tree, lambda: state(100 * MS), cpus="1")
        equal({name: entry["cpu_ns"] for name, entry in named(record).items()}, {
            "here": 100 * MS, "kworker/1:1": 100 * MS, "mixed": 25 * MS,
        })  # fmt: skip
        equal(record["foreign"]["cpu_ns"], 225 * MS)
        equal(record["foreign"]["kernel_ns"], 100 * MS)
        equal([e["name"] for e in record["foreign"]["named"] if e.get("kernel")], ["kworker/1:1"])


def test_a_kernel_that_counts_in_ticks_only():
    with Tree() as tree:

        def state(ticks):
            tree.process(40, "vm", ticks=ticks * 3)
            tree.process(50, "hog", ticks=ticks)
            tree.write("proc/50/schedstat", "0 0 0\n")  # there, and never counted
            tree.busy(ticks * 2)

        state(5)
        record = between(tree, lambda: state(105), pids=[40])
        equal(record["subject"]["cpu_ns"], 300 * TICK)
        equal(record["subject"]["threads"][0]["cpu_ns"], 300 * TICK)
        true("run_delay_ns" not in record["subject"], "nobody counts it")
        equal(record["foreign"]["cpu_ns"], 100 * TICK)
        equal(record["sources"], ["ticks", "children", "affinity"])


def test_a_number_that_is_used_again():
    with Tree() as tree:
        tree.process(40, "vm", sched=(10 * MS, 0))
        tree.process(50, "old", sched=(9000 * MS, 0), start=100)
        tree.process(51, "child", parent=40, sched=(MS, 0), start=100)

        def change():
            tree.process(50, "new", sched=(20 * MS, 0), start=101)
            tree.process(40, "other", sched=(30 * MS, 0), start=101)
            tree.process(51, "child", parent=1, sched=(5 * MS, 0), start=100)
            tree.busy(100)

        record = between(tree, change, pids=[40])
        equal(named(record)["new"]["cpu_ns"], 20 * MS)
        equal(named(record)["other"]["cpu_ns"], 30 * MS)
        true("old" not in named(record), "it did nothing that is known")
        equal(record["subject"]["gone"], True)
        equal(record["subject"]["cpu_ns"], 4 * MS)  # its child lives, and is still its own


def test_a_bare_subject_with_its_descendants():
    with Tree() as tree:

        def state(run):
            tree.process(30, "sshd", sched=(run, 0))
            tree.process(40, "agent", parent=30, sched=(run, 0))
            tree.process(41, "worker", parent=40, sched=(run, 0))
            tree.process(42, "helper", parent=41, sched=(run, 0), children=80 if run else 0)
            tree.busy(run // TICK * 4)

        state(0)
        tree.process(43, "ends", parent=42, sched=(200 * MS, 0), ticks=20, children=10)

        def change():
            state(500 * MS)  # 42 reaped 43 too, which had run for 30 of its ticks before
            tree.process(44, "young", parent=42, sched=(7 * MS, 0))
            tree.end(43)

        record = between(tree, change, pids=[40])
        equal(record["subject"]["processes"], 4)
        equal(record["subject"]["cpu_ns"], 3 * 500 * MS + 7 * MS + 50 * TICK)
        equal(list(named(record)), ["sshd"])


def test_children_of_others_that_ended():
    with Tree() as tree:
        unit = "0::/system.slice/cron.service\n"
        tree.process(50, "cron", children=10, cgroup=unit)
        tree.process(51, "sh", parent=50, ticks=30, children=5)
        tree.process(52, "bound", children=0, allowed="3")

        def change():
            tree.end(51)  # 100 ticks of it and its children; 35 were before
            tree.process(50, "cron", children=110, cgroup=unit)
            tree.process(52, "bound", children=50, allowed="3")
            tree.busy(100)

        record = between(tree, change)
        equal(record["foreign"]["named"], [
            {"name": "children of cron", "unit": "cron.service", "cpu_ns": 65 * TICK, "processes": 1,
             "ended": True},
        ])  # fmt: skip
        equal(record["foreign"]["ended_ns"], 65 * TICK)


def test_kernel_threads_that_serve_the_subject():
    with Tree() as tree:

        def state(run):
            tree.process(2, "kthreadd", parent=0, kernel=True)
            tree.process(40, "vm", sched=(run, 0))
            tree.process(60, "vhost-40", parent=2, kernel=True, sched=(run, 0))
            tree.process(61, "kvm-pit/40", parent=2, kernel=True, sched=(run, 0))
            tree.process(62, "kvm-nx-lpage-recovery-40", parent=2, kernel=True, sched=(run, 0))
            tree.process(63, "vhost-4", parent=2, kernel=True, sched=(run, 0))
            tree.process(64, "vhost-40", parent=1, sched=(run, 0))  # a program that says so
            tree.busy(run // TICK * 3)

        state(0)
        record = between(tree, lambda: state(100 * MS), pids=[40])
        equal(record["subject"]["cpu_ns"], 400 * MS)
        equal(set(named(record)), {"vhost-4", "vhost-40"})


def test_threads_of_the_kernel_are_shared_out():
    """Of what they wrote back, the subject did 300 of 400; md0_resync has work of its own."""
    with Tree() as tree:

        def state(run):
            tree.process(40, "vm", sched=(300 * run, 0))
            tree.process(50, "dd", sched=(40 * run, 0))
            tree.process(60, "kworker/u8:0", parent=2, kernel=True, sched=(80 * run, 0))
            tree.process(61, "md0_resync", parent=2, kernel=True, sched=(60 * run, 0))
            tree.process(62, "kworker/fake", sched=(0, 0))
            tree.busy(run // MS * 100)

        state(0)
        record = between(tree, lambda: state(MS), pids=[40])
        foreign = members(record, "foreign")
        foreign.pop("unexplained_ns")
        equal(foreign, {
            "cpu_ns": 120 * MS, "eligible_ns": 180 * MS, "ended_ns": 0, "kernel_ns": 140 * MS, "served_ns": 60 * MS,
        })  # fmt: skip
        equal([(e["name"], e["cpu_ns"]) for e in record["foreign"]["named"]],
              [("md0_resync", 60 * MS), ("dd", 40 * MS), ("kworker/u8:0", 20 * MS)])  # fmt: skip


def grow(tree, cgroup_of=lambda pid: None):
    """Three processes that did something."""

    def change(run=100 * MS):
        for pid in (40, 41, 42):
            tree.process(pid, f"p{pid}", sched=(run, 0), cgroup=cgroup_of(pid))
        tree.busy(run // TICK * 2)

    change(0)
    return change


def test_cgroups_of_either_version_and_none():
    for mount in ("", "unified/", "cpuset/", "cpu,cpuacct/"):
        with Tree() as tree:
            change = grow(tree)
            folder = f"sys/fs/cgroup/{mount}machine.slice/machine-qemu.scope"
            tree.write(f"{folder}/cgroup.procs", "40\n")
            tree.write(f"{folder}/libvirt/vcpu0/cgroup.procs", "41\n99999\n")
            record = between(tree, change, cgroup="/machine.slice/machine-qemu.scope")
            equal(record["subject"]["cpu_ns"], 200 * MS, mount)
            equal(list(named(record)), ["p42"], mount)
            true("cgroup" in record["sources"], record["sources"])
    with Tree() as tree:
        change = grow(tree)
        record = between(tree, change, cgroup="/nobody/has/it", pids=[42])
        equal(record["subject"]["cpu_ns"], 100 * MS)
        true("cgroup" not in record["sources"], record["sources"])
    with Tree() as tree:
        equal(between(tree, grow(tree), cgroup=None)["subject"]["processes"], 0)


def test_units():
    lines = {
        40: "0::/system.slice/apt-daily.service/inner\n",
        41: "9:name=systemd:/user.slice/user-0.slice/session-2.scope\n1:cpu:/x.service\n0::/\n",
        42: "3:cpu:/\n",
    }
    with Tree() as tree:
        record = between(tree, grow(tree, lines.get))
        units = {name: entry.get("unit") for name, entry in named(record).items()}
        equal(units, {"p40": "apt-daily.service", "p41": "session-2.scope", "p42": None})


def test_who_was_seen_on_other_cpus_comes_after_who_was_not():
    with Tree() as tree:

        def state(run, cpu):
            tree.process(50, "far", sched=(9 * run, 0), cpu=0)
            tree.process(51, "left", sched=(2 * run, 0), cpu=1 - cpu)
            tree.process(52, "came", sched=(3 * run, 0), cpu=cpu)
            tree.process(53, "near", sched=(run, 0), cpu=1)
            threads = {54: {"sched": (run, 0), "cpu": 0}, 55: {"sched": (3 * run, 0), "cpu": 1}}
            tree.process(54, "thread", tasks=threads, ticks=4 * run // TICK, cpu=0)
            tree.busy(run // TICK * 20)

        state(0, 0)
        record = between(tree, lambda: state(100 * MS, 1), cpus="1")
        equal([entry["name"] for entry in record["foreign"]["named"]], ["thread", "came", "left", "near", "far"])


def test_one_name_and_unit_is_one_entry():
    with Tree() as tree:

        def change():
            for pid in range(100, 140):
                tree.process(pid, f"job{pid % 10}", sched=(pid * MS, 0))
            tree.busy(1000)

        record = between(tree, change)
        equal([entry["name"] for entry in record["foreign"]["named"]], [f"job{i}" for i in range(9, 1, -1)])
        equal(record["foreign"]["named"][0], {
            "name": "job9", "pid": 139, "cpu_ns": (109 + 119 + 129 + 139) * MS, "processes": 4, "ended": False,
        })  # fmt: skip
        equal(record["foreign"]["eligible_ns"], sum(range(100, 140)) * MS)


def test_the_observer_is_not_foreign():
    with Tree() as tree:

        def state(run, count):
            tree.process(30, "vmatrixd", sched=(run, 0), written=run, voluntary=count, involuntary=2 * count)
            tree.process(31, "ssh", parent=30, sched=(run, 0))
            tree.process(40, "vm", parent=30, sched=(run, 0))  # its child, and not it
            tree.process(50, "hog", sched=(run, 0))
            tree.busy(run // TICK * 2)

        state(0, 0)
        record = between(tree, lambda: state(100 * MS, 5), pids=[40], observer=[30])
        equal(record["observer"], {"cpu_ns": 200 * MS, "switches": 15, "written_bytes": 100 * MS})
        equal(record["subject"]["cpu_ns"], 100 * MS)
        equal(list(named(record)), ["hog"])
        equal(record["foreign"]["cpu_ns"], 4 * (100 * MS // TICK) * TICK - 300 * MS)


def host(tree, factor):
    """Counters of which each grew by a figure of its own times factor."""
    step = dict(zip(("cpu", "io", "memory"), (3, 5, 7)))
    tree.pressure({k: v * factor for k, v in step.items()}, {k: 10 * v * factor for k, v in step.items()})
    tree.write("proc/interrupts", (
        "           CPU0       CPU1       CPU3\n"
        f"  0:    {11 * factor}   {100 * factor}   {1000 * factor}   IO-APIC 2-edge timer\n"
        f"LOC:    {13 * factor}   {200 * factor}   {2000 * factor}   Local timer interrupts\n"
        f"ERR:    {17 * factor}\n"
    ))  # fmt: skip
    tree.write("proc/softirqs", f"   CPU0   CPU1  CPU3\n  HI: {factor} {2 * factor} {3 * factor}\n")
    tree.write("proc/vmstat", (
        f"nr_free_pages 5\npgpgin {19 * factor}\npgpgout {23 * factor}\npswpin {29 * factor}\n"
        f"pswpout {31 * factor}\npgmajfault {37 * factor}\n"
    ))  # fmt: skip
    for cpu in (0, 1, 3):
        folder = f"sys/devices/system/cpu/cpu{cpu}"
        tree.write(f"{folder}/thermal_throttle/core_throttle_count", cpu * factor)
        tree.write(f"{folder}/thermal_throttle/package_throttle_count", 10 * factor)
        tree.write(f"{folder}/cpufreq/scaling_cur_freq", 1000 * (factor + cpu))
    tree.write("sys/class/thermal/thermal_zone0/temp", 41000 - factor)
    tree.write("sys/class/thermal/thermal_zone1/temp", 38000 + factor)
    tree.write("sys/class/thermal/cooling_device0/temp", 99000)
    tree.write(CLOCK, "tsc\n" if factor == 1 else "acpi_pm\n")


def test_counters_of_the_host():
    with Tree() as tree:

        def change():
            host(tree, 3)
            tree.cpus({
                cpu: {"irq": 1 + cpu, "softirq": 10 + cpu, "steal": 100 + cpu, "idle": 10**7, "system": 50}
                for cpu in (0, 1, 3)
            })  # fmt: skip

        tree.cpus({0: {}, 1: {}, 3: {}})
        host(tree, 1)
        record = between(tree, change, cpus="1,3-7")
        equal(record["cpus"], "1,3")
        equal(record["cpu"], {
            "busy_ns": (2 * 50 + 2 + 4 + 11 + 13) * TICK, "steal_ns": 204 * TICK,
            "irq_ns": 6 * TICK, "softirq_ns": 24 * TICK,
        })  # fmt: skip
        equal(record["psi"], {
            "cpu_some_ns": 6000, "io_some_ns": 10000, "io_full_ns": 100000,
            "memory_some_ns": 14000, "memory_full_ns": 140000,
        })  # fmt: skip
        equal(record["interrupts"], 2 * 3300)
        equal(record["softirqs"], 10)
        equal(record["throttle"], 2 * (1 + 3) + 20)
        equal(record["frequency"], {"min_khz": 2000, "max_khz": 6000})
        equal(record["temperature"], {"max_mc": 40999})
        equal(record["vm"], {"pgpgin": 38, "pgpgout": 46, "pswpin": 58, "pswpout": 62, "pgmajfault": 74})
        equal((record["clocksource"], record["clocksource_before"]), ("acpi_pm", "tsc"))


def test_other_places_of_heat_and_frequency():
    with Tree() as tree:
        tree.write("proc/cpuinfo", (
            "processor\t: 0\ncpu MHz\t\t: 2445.406\n\nprocessor\t: 1\ncpu MHz\t\t: 800.000\nflags\t: fpu\n"
        ))  # fmt: skip
        tree.write("sys/class/hwmon/hwmon0/name", "nvme\n")
        tree.write("sys/class/hwmon/hwmon0/temp1_input", "77000\n")
        tree.write("sys/class/hwmon/hwmon1/name", "k10temp\n")
        tree.write("sys/class/hwmon/hwmon1/temp1_input", "51000\n")
        tree.write("sys/class/hwmon/hwmon1/temp3_input", "52000\n")
        record = between(tree, lambda: None, cpus="0")
        equal(record["frequency"], {"min_khz": 2445406, "max_khz": 2445406})
        equal(record["temperature"], {"max_mc": 52000})


def test_counters_that_wrap_or_step_back():
    with Tree() as tree:

        def state(timer, soft, pages, some):
            tree.write("proc/interrupts", f"     CPU0\n  0:   {timer}  {timer} timer\n  1:   7000  x\n")
            tree.write("proc/softirqs", f"     CPU0\n  HI:   {soft}\n")
            tree.write("proc/vmstat", f"pswpin {pages}\n")
            tree.pressure({k: some for k in ("cpu", "io", "memory")}, {k: 5 for k in ("cpu", "io", "memory")})
            tree.process(50, "back", ticks=some)
            tree.busy(some)

        state(2**32 - 10, 1000, 500, 50)
        record = between(tree, lambda: state(15, 999, 499, 40), cpus="0")
        equal(record["interrupts"], 25)
        true("softirqs" not in record, "it stepped back: nobody knows")
        true("vm" not in record, record.get("vm"))
        equal(record["psi"], {"io_full_ns": 0, "memory_full_ns": 0})
        equal(record["foreign"]["cpu_ns"], 0)


def kmsg(text, priority=4):
    return b"%d,100,5000,-;%s\n SUBSYSTEM=clocksource\n" % (priority, text)


def test_lines_of_concern():
    with Tree() as tree:
        tree.write("dev/kmsg", kmsg(b"mce: [Hardware Error]: long before"))

        def change():
            for text in (b"Clocksource: 'tsc' as unstable", b"eth0: link up", b"INFO: task x blocked for more than 120 s"):
                tree.append("dev/kmsg", kmsg(text))
            tree.append("dev/kmsg", kmsg(b"a user's clocksource", priority=12))
            tree.append("dev/kmsg", kmsg(b'Out of memory: "\\\xff\x1b[2J\xc3\xa9' + b"x" * 300))

        record = between(tree, change)
        equal(record["dmesg"][:2], ["Clocksource: 'tsc' as unstable", "INFO: task x blocked for more than 120 s"])
        equal(len(record["dmesg"]), 3)
        true(record["dmesg"][2].startswith('Out of memory: "\\\ufffd\x1b[2J\u00e9xxx'), record["dmesg"][2])
        equal(len(record["dmesg"][2].encode()), 200 + 2)  # U+FFFD has two bytes more than what it is for
        true("kmsg" in record["sources"] and "dmesg_left_out" not in record, record)


def test_many_lines_of_concern():
    with Tree() as tree:
        tree.write("dev/kmsg", b"")

        def change():
            tree.append("dev/kmsg", b"".join(kmsg(b"CPU%d: Core throttled" % i) for i in range(3000)))

        record = between(tree, change)
        equal(record["dmesg"], [f"CPU{i}: Core throttled" for i in range(8)])
        equal(record["dmesg_left_out"], 2992)


def test_names_with_any_bytes():
    with Tree() as tree:

        def change():
            tree.process(50, "x", sched=(MS, 0))
            tree.write("proc/50/stat", b"50 (\xff\x01\"\\) S 1) S 1 0 0 0 -1 0 0 0 0 0 9 0 0 0 20 0 1 0 100" + b" 0" * 18 + b"\n")
            tree.busy(5)

        equal([*named(between(tree, change))], ["\ufffd\x01\"\\) S 1"])


def test_hundreds_of_threads_and_processes():
    with Tree() as tree:

        def state(run):
            tasks = {1000 + i: {"sched": (run + i, 0), "name": f"T{i}"} for i in range(300)}
            tree.process(1000, "big", tasks=tasks, ticks=300 * run // TICK)
            for pid in range(2000, 2300):
                tree.process(pid, "small", sched=(run, 0))
            tree.busy(run // MS * 100)

        state(0)
        record = between(tree, lambda: state(10 * MS), pids=[1000])
        equal([thread["name"] for thread in record["subject"]["threads"]], [f"T{i}" for i in range(256)])
        equal(record["subject"]["cpu_ns"], 3000 * MS)
        equal(named(record)["small"]["processes"], 300)
        equal(record["foreign"]["cpu_ns"], 3000 * MS)
        true(len(json.dumps(record)) < 256 * 1024, "one line")


def test_a_view_that_is_limited():
    """Where not even init can be seen, what is not explained is by those who are not seen."""
    with Tree() as tree:
        tree.process(40, "vm", sched=(0, 0))
        tree.end(1)

        def change():
            tree.process(40, "vm", sched=(100 * MS, 0))
            tree.busy(20)

        record = between(tree, change, pids=[40])
        equal(record["foreign"]["cpu_ns"], 40 * TICK - 100 * MS)
        equal([*named(record)], ["processes that cannot be seen"])
        true("limited-view" in record["sources"], record["sources"])


def test_a_cpu_that_goes_away():
    with Tree() as tree:
        record = between(tree, lambda: tree.busy(10, cpus=(1,)))
        equal((record["cpus"], record["cpu"]["busy_ns"]), ("1", 10 * TICK))


def test_several_in_a_row_and_one_that_fails():
    with Tree() as tree, Reader(tree) as reader:
        reader.send("ping", id=5)
        equal(reader.read("pong")["id"], 5)
        reader.send("begin", id=1, cpus="0", pids=[77])
        reason = reader.read("failed")["reason"]
        true("77" in reason, reason)
        for number in (2, 3):
            reader.begin(number, cpus="0")
            equal(reader.finish(number)["cpus"], "0")
        reader.send("bye")
        equal(reader.read("bye"), {"type": "bye"})
        equal(reader.end(), 0)


def test_the_end_of_input_ends_it():
    with Tree() as tree:
        for begun in (False, True):
            with Reader(tree) as reader:
                if begun:
                    reader.begin()
                reader.close()
                equal(reader.end(), 0)


BEGIN = b'{"type":"begin","id":1,"cpus":"0","pids":[1]'
MALFORMED = [
    b"x", b"{}", b'{"type":7}', b'{"type":"run"}', b'{"type":"begin"}', b'{"type":"end","id":1}',
    b'{"type":"begin","id":-1,"cpus":"0"}', b'{"type":"begin","id":1}', b'{"type":"begin","id":1,"cpus":0}',
    *[b'{"type":"begin","id":1,"cpus":"' + cpus + b'"}' for cpus in
      (b"", b",", b"0,", b"1-0", b"-1", b"0-", b"4096", b"0-99999999999999999999", b"a", b"0 1")],
    *[b'{"type":"begin","id":1,"cpus":"0","pids":' + pids + b"}" for pids in
      (b"1", b'"1"', b"[0]", b"[-1]", b"[1.5]", b"[1e3]", b'["1"]', b"[[1]]", b"[1,null]", b"[2147483648]",
       b"[99999999999999999999]", b"[" + b",".join([b"1"] * 257) + b"]", b"{}", b"null")],
    BEGIN + b',"observer":[0]}', BEGIN + b',"observer":[' + b",".join([b"1"] * 256) + b"]}",
    *[BEGIN + b',"cgroup":"' + path + b'"}' for path in
      (b"", b"/", b"x", b"/a/../b", b"/" + b"x" * 2000)],
    BEGIN + b',"reports":2}', BEGIN + b',"reports":false}', BEGIN + b',"cgroup":7}', b'{"type":"ping"}',
]  # fmt: skip


def test_malformed_requests_end_it_with_an_error():
    with Tree() as tree:
        for line in MALFORMED:
            with Reader(tree) as reader:
                reader.send_bytes(line + b"\n")
                true(b'"error"' in (answer := reader.line()), f"{line[:100]!r}: {answer!r}")
                reason = json.loads(answer)["reason"]
                true(5 < len(reason) < 400, f"{line[:100]!r}: {reason!r}")
                equal(reader.end(), 2, f"exit status for {line[:100]!r}")


def test_requests_out_of_place():
    with Tree() as tree:
        for line in (b'{"type":"begin","id":2,"cpus":"0"}', b'{"type":"end","id":2}'):
            with Reader(tree) as reader:
                reader.begin()
                reader.send_bytes(line + b"\n")
                true("not expected" in reader.read("error")["reason"], line)
                equal(reader.end(), 2)


def test_accepted_requests():
    with Tree() as tree:
        for line in (
            b'{ "id" : 1, "pids" : [ 1 , 7 ] , "cpus" : "0,1" , "type":"begin", "x":[{"y":[1]}] }',
            b'{"type":"begin","id":1,"cpus":"0","pids":[ ],"cgroup":null}',
            b'{"type":"begin","id":1,"cpus":"0","pids":[1],"observer":[' + b",".join([b"1"] * 255) + b"]}",
        ):
            with Reader(tree) as reader:
                reader.send_bytes(line + b"\n")
                reader.read("begun")
                reader.finish()


def by_hand(*arguments):
    done = subprocess.run([AGENT, "host-evidence", *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_by_hand():
    with Tree() as tree:
        tree.process(40, "vm", sched=(0, 0))
        status, out, err = by_hand("--root", tree.root, "--for", "1", "--pid", "40", "--pid", "41")
        equal((status, err), (0, b""))
        record = json.loads(out)
        equal((record["cpus"], record["subject"]["processes"]), ("0-1", 1))
        true(record["span_ns"] >= 10**9, record["span_ns"])
        status, out, err = by_hand("--root", tree.root, "--for", "1", "--pid", "41")
        equal((status, out), (1, b""))
        true(b"41" in err, err)
    for wrong in (["--for"], ["--for", "0"], ["--for", "1.5"], ["--pid", "1"], ["--for", "1", "--cpus", ""],
                  ["--for", "1", "--cgroup", "/"], ["--root", "x"], ["--what", "1"], ["5"]):  # fmt: skip
        status, out, err = by_hand(*wrong)
        equal((status, out), (2, b""), wrong)
        true(b"host-evidence: " in err and b"usage:" in err, err)
    status, out, err = by_hand("--help")
    equal((status, err), (0, b""))
    true(b"host-evidence --for SECONDS" in out, out)


if __name__ == "__main__":
    sys.exit(run_tests([f for name, f in list(globals().items()) if name.startswith("test_")]))
