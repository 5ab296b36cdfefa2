# SPDX-License-Identifier: GPL-3.0-or-later
"""A made-up host: the files of /proc, /sys and /dev that host-evidence reads, below a folder."""
import os
import shutil
import tempfile

TICK = 10**9 // os.sysconf("SC_CLK_TCK")
CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"


class Tree:
    """Use as a context manager. Nothing is there at first but init and two idle CPUs."""

    def __enter__(self):
        self.root = tempfile.mkdtemp(prefix="vmatrix-evidence-test-")
        self.process(1, "init", parent=0)
        self.cpus({0: {}, 1: {}})
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root)

    def write(self, path, data):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else str(data).encode())

    def append(self, path, data):
        with open(os.path.join(self.root, path), "ab") as file:
            file.write(data)

    def task(self, folder, number, name, parent, sched=None, ticks=0, involuntary=0, voluntary=0,
             allowed="0-1", start=100, threads=1, children=0, kernel=False, cpu=0):  # fmt: skip
        """One of /proc/PID and /proc/PID/task/TID. Times in ticks, or sched: (ran, waited) in ns."""
        fields = ["S", parent, 0, 0, 0, -1, 0x00200000 if kernel else 0, 0, 0, 0, 0, ticks, 0,
                  children, 0, 20, 0, threads, 0, start, *[0] * 16, cpu, 0]  # fmt: skip
        self.write(f"{folder}/stat", f"{number} ({name}) " + " ".join(map(str, fields)) + "\n")
        self.write(
            f"{folder}/status",
            f"Name:\t{name}\nCpus_allowed_list:\t{allowed}\n"
            f"voluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n",
        )
        if sched:
            self.write(f"{folder}/schedstat", f"{sched[0]} {sched[1]} 7\n")

    def process(self, pid, name, parent=1, tasks=None, cgroup=None, written=None, **members):
        """tasks: number to members, where it has more than one."""
        tasks = tasks or {pid: members}
        self.task(f"proc/{pid}", pid, name, parent, threads=len(tasks), **members)
        for tid, own in tasks.items():
            own = {"name": name, "parent": parent, **own}
            self.task(f"proc/{pid}/task/{tid}", tid, threads=len(tasks), **own)
        if cgroup is not None:
            self.write(f"proc/{pid}/cgroup", cgroup)
        if written is not None:
            self.write(f"proc/{pid}/io", f"rchar: 1\nwchar: 2\nwrite_bytes: {written}\n")

    def end(self, pid):
        shutil.rmtree(os.path.join(self.root, f"proc/{pid}"))

    def cpus(self, cpus):
        """CPU to ticks by name."""
        names = "user nice system idle iowait irq softirq steal guest guest_nice".split()
        lines = ["cpu  0 0 0 0 0 0 0 0 0 0"]
        for cpu, ticks in cpus.items():
            lines.append(f"cpu{cpu} " + " ".join(str(ticks.get(name, 0)) for name in names))
        self.write("proc/stat", "\n".join(lines) + "\nintr 5 0 5\nctxt 99\n")

    def busy(self, ticks, cpus=(0, 1)):
        """Each CPU was busy for so long, and then idle for an hour."""
        idle = 3600 * 10**9 // TICK
        self.cpus({cpu: {"user": ticks, "idle": idle} for cpu in cpus})

    def pressure(self, some, full):
        """In microseconds."""
        for name in ("cpu", "io", "memory"):
            self.write(
                f"proc/pressure/{name}",
                f"some avg10=0.00 avg60=0.00 avg300=0.00 total={some[name]}\n"
                f"full avg10=0.00 avg60=0.00 avg300=0.00 total={full[name]}\n",
            )
