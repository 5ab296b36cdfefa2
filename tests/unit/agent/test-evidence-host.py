#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test-evidence-host.py AGENT: `host-evidence` on this host, in TAP. What it says of a process is
compared with what the process says of itself, which no load of the host can change."""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from client import Agent, Skip, equal, run_tests, true, until

AGENT = os.path.abspath(sys.argv[1])
CPUS = sorted(os.sched_getaffinity(0))
SECOND = 10**9
# Others run this test at the same time: its processes have names of their own.
HOG, SUBJECT, SEEN, UNSEEN, CHILD, DAEMON = (
    f"{tag}-{os.getpid()}" for tag in ("hog", "subj", "seen", "unse", "child", "daem")
)
# What a process does between its two looks at its own clock and those of the reader, with room.
SLACK = SECOND // 20


class Reader(Agent):
    def __init__(self):
        super().__init__([AGENT, "host-evidence"])

    def begin(self, cpus, pids=(), **members):
        self.send("begin", id=1, cpus=cpus, pids=list(pids), **members)
        self.read("begun")

    def finish(self):
        self.send("end", id=1)
        return self.read("evidence")


BURN = """
import os, resource, sys, time
def own():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
with open("/proc/self/comm", "w") as comm:
    comm.write(sys.argv[2])
os.sched_setaffinity(0, {int(sys.argv[3])})
try:
    os.nice(-20)  # on a loaded host it is the greediest even so
except OSError:
    pass
print("there", own(), flush=True)
sys.stdin.readline()
until = time.process_time() + float(sys.argv[1])
while time.process_time() < until:
    pass
print("burnt", own(), flush=True)
if len(sys.argv) == 4:
    sys.stdin.readline()
"""


class Burner:
    """A process that uses so much CPU time when it is told to. stays: it ends when told to."""

    def __init__(self, name, cpu, seconds=0.4, stays=True, shell=False):
        command = [sys.executable, "-c", BURN, str(seconds), name, str(cpu)] + ([] if stays else ["ends"])
        if shell:
            command = ["sh", "-c", '"$@"; :', "sh", *command]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.before = self.said("there")
        self.used_ns = None

    def said(self, word):
        got = self.child.stdout.readline().split()
        equal(got[:1], [word])
        return float(got[1])

    def burn(self):
        self.child.stdin.write("go\n")
        self.child.stdin.flush()
        self.used_ns = int((self.said("burnt") - self.before) * SECOND)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()


def entry(record, name):
    return next((e for e in record["foreign"]["named"] if e["name"] == name), None)


def near(got, wanted, what):
    true(abs(got - wanted) <= SLACK, f"{what}: {got} ns, and it says {wanted} ns itself")


def has(record, word):
    return word in record["sources"]


def needs_two_cpus():
    if len(CPUS) < 2:
        raise Skip("two CPUs are needed")


def test_a_process_is_named_with_its_own_time():
    with Reader() as reader, Burner(HOG, CPUS[0]) as hog:
        reader.begin(str(CPUS[0]))
        hog.burn()
        record = reader.finish()
        found = entry(record, HOG)
        true(found is not None, record["foreign"])
        near(found["cpu_ns"], hog.used_ns, HOG)
        equal((found["pid"], found["ended"], found["processes"]), (hog.child.pid, False, 1))
        true(record["foreign"]["cpu_ns"] >= found["cpu_ns"], record["foreign"])
        true(record["cpu"]["busy_ns"] + record["cpu"]["steal_ns"] >= hog.used_ns - SLACK, record["cpu"])


def test_the_subject_is_not_foreign():
    with Reader() as reader, Burner(SUBJECT, CPUS[0]) as subject:
        reader.begin(str(CPUS[0]), [subject.child.pid])
        subject.burn()
        record = reader.finish()
        near(record["subject"]["cpu_ns"], subject.used_ns, "the subject")
        equal(entry(record, SUBJECT), None)
        equal([t["name"] for t in record["subject"]["threads"]], [SUBJECT])
        if has(record, "schedstat"):
            near(record["subject"]["threads"][0]["cpu_ns"], subject.used_ns, "its thread")
            true(record["subject"]["run_delay_ns"] >= 0, record["subject"])


def test_another_cpu_is_not_the_subjects():
    needs_two_cpus()
    with Reader() as reader, Burner(HOG, CPUS[1]) as hog:
        reader.begin(str(CPUS[0]))
        hog.burn()
        equal(entry(reader.finish(), HOG), None)


def test_one_that_ended_is_named():
    with Reader() as reader:
        with Burner(SEEN, CPUS[0], stays=False) as seen:
            reader.begin(str(CPUS[0]))
            with Burner(UNSEEN, CPUS[0], stays=False) as unseen:
                unseen.burn()
            seen.burn()
        record = reader.finish()
        if not has(record, "taskstats") or has(record, "taskstats-lost"):
            raise Skip("the kernel does not report to us which tasks end")
        for name, hog, known in ((SEEN, seen, 0), (UNSEEN, unseen, unseen.before)):
            found = entry(record, name)
            true(found is not None, record["foreign"])
            equal((found["pid"], found["ended"]), (hog.child.pid, True))
            true(found["cpu_ns"] >= hog.used_ns + known * SECOND - SLACK, (found, hog.used_ns))
        true(record["foreign"]["ended_ns"] >= seen.used_ns + unseen.used_ns - SLACK, record["foreign"])


def test_what_the_subject_started_and_ended_is_its_own():
    with Reader() as reader, Burner(CHILD, CPUS[0], stays=False, shell=True) as child:
        # The burner is the shell's child: it ends in between, the shell waits for it to be reaped.
        reader.begin(str(CPUS[0]), [child.child.pid])
        child.burn()
        child.child.wait()
        record = reader.finish()
        equal(record["subject"].get("gone"), True)
        equal(entry(record, CHILD), None)
        if not has(record, "taskstats"):
            raise Skip("without reports the time of a subject that is gone is nobody's")
        true(record["subject"]["cpu_ns"] >= child.used_ns - SLACK, (record["subject"], child.used_ns))


def test_children_of_a_bare_subject():
    """sh lives on, and has reaped the child that used the time."""
    script = '"$@" </dev/fd/3; echo reaped; read line'
    command = [sys.executable, "-c", BURN, "0.4", CHILD, str(CPUS[0]), "ends"]
    ours, theirs = os.pipe()
    with subprocess.Popen(["sh", "-c", f"exec 3<&{ours}; {script}", "sh", *command], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, pass_fds=(ours,)) as shell, Reader() as reader:
        os.close(ours)
        before = float(shell.stdout.readline().split()[1])
        reader.begin(str(CPUS[0]), [shell.pid])
        os.write(theirs, b"go\n")
        used = int((float(shell.stdout.readline().split()[1]) - before) * SECOND)
        equal(shell.stdout.readline(), "reaped\n")
        record = reader.finish()
        shell.stdin.close()
        os.close(theirs)
        true("gone" not in record["subject"], record["subject"])
        equal((record["subject"]["processes"], entry(record, CHILD)), (1, None))
        true(record["subject"]["cpu_ns"] >= used - SLACK, (record["subject"], used))


def test_a_thousand_short_ones():
    """Each ends before the kernel has looked at it once; together they are what their parent reaped."""
    with Reader() as reader:
        reader.begin(",".join(map(str, CPUS)), [os.getpid()])
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(1000):
            if (pid := os.fork()) == 0:
                os._exit(0)
            os.waitpid(pid, 0)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        record = reader.finish()
    used = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * SECOND
    own = sum(t["cpu_ns"] for t in record["subject"]["threads"] if t["tid"] == os.getpid())
    near(record["subject"]["cpu_ns"] - own, used, "short children")


def test_no_reports_where_none_are_wanted():
    with Reader() as reader:
        for number, wanted in ((1, False), (2, True), (3, False)):
            reader.send("begin", id=number, cpus=str(CPUS[0]), pids=[], reports=int(wanted))
            reader.read("begun")
            reader.send("end", id=number)
            sources = reader.read("evidence")["sources"]
            if wanted and "taskstats" not in sources:
                raise Skip("the kernel does not report to us which tasks end")
            equal("taskstats" in sources, wanted, number)
            true(wanted or "children" in sources, sources)


def test_the_observer_is_told_apart():
    with Reader() as reader, Burner(DAEMON, CPUS[0]) as daemon:
        reader.begin(str(CPUS[0]), observer=[daemon.child.pid])
        daemon.burn()
        record = reader.finish()
        true(record["observer"]["cpu_ns"] >= daemon.used_ns - SLACK, record["observer"])
        true(record["observer"]["switches"] >= 1, record["observer"])
        equal(entry(record, DAEMON), None)
        true(record["reader"]["cpu_ns"] > 0 and record["reader"]["begin_ns"] > 0, record["reader"])


def test_every_thread_of_the_subject():
    names = [f"vmx-t{i}" for i in range(3)]
    stop = threading.Event()

    def work(name):
        with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w", encoding="ascii") as comm:
            comm.write(name)
        stop.wait()

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    with Reader() as reader:
        for thread in threads:
            thread.start()
        reader.begin(str(CPUS[0]), [os.getpid()])
        record = reader.finish()
        stop.set()
        for thread in threads:
            thread.join()
        told = {t["tid"]: t["name"] for t in record["subject"]["threads"]}
        # The reader is its child, and an observer even so.
        true(reader.child.pid not in told, told)
        equal({t.native_id: told.get(t.native_id) for t in threads}, dict(zip((t.native_id for t in threads), names)))


def test_silence_between():
    """Not one system call between begun and end."""
    if shutil.which("strace") is None:
        raise Skip("no strace here")
    with tempfile.TemporaryDirectory() as folder, Reader() as reader:
        trace = os.path.join(folder, "trace")
        reader.begin(str(CPUS[0]))
        tracer = subprocess.Popen(["strace", "-f", "-o", trace, "-p", str(reader.child.pid)], stderr=subprocess.PIPE, text=True)
        try:
            line = tracer.stderr.readline()
            if "attached" not in line:
                raise Skip(f"strace cannot look: {line.strip()}")
            with Burner(HOG, CPUS[0]) as hog:  # the reader has something to be woken by
                hog.burn()
            with open(trace, encoding="utf-8") as file:
                seen = file.read()
            equal(seen.count("\n"), 0, f"calls: {seen}")
            true("poll" in seen, f"it waits: {seen}")
            reader.finish()
            until(lambda: os.path.getsize(trace) > len(seen), "calls after end")
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait()
            tracer.stderr.close()


def test_without_privileges():
    """What nobody may read is absent; the rest is there."""
    if os.getuid() != 0:
        raise Skip("this is for root, who can become somebody else")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = shutil.copy(AGENT, folder)
        done = subprocess.run([copy, "host-evidence", "--for", "1", "--pid", str(os.getpid())],
                              user=65534, group=65534, extra_groups=[], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    record = json.loads(done.stdout)
    true(not has(record, "taskstats") and has(record, "children"), record["sources"])
    equal(record["subject"]["processes"] >= 1, True)
    true(has(record, "cpu-clock"), record["sources"])


def test_the_host_is_read():
    with Reader() as reader:
        reader.begin(",".join(map(str, CPUS)))
        record = reader.finish()
    equal(record["cpus"].replace("-", ",").split(",")[0], str(CPUS[0]))
    true(0 < record["cpu"]["busy_ns"] <= record["span_ns"] * len(CPUS), record["cpu"])
    true(record["foreign"]["cpu_ns"] <= record["span_ns"] * len(CPUS), record["foreign"])
    equal("psi" in record, os.path.exists("/proc/pressure/cpu"))
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        told = "cpu MHz" in file.read()
    steered = os.path.exists(f"/sys/devices/system/cpu/cpu{CPUS[0]}/cpufreq/scaling_cur_freq")
    equal("frequency" in record, told or steered)
    true(record["interrupts"] >= 0 and record["softirqs"] >= 0 and record["vm"]["pgpgin"] >= 0, record)


if __name__ == "__main__":
    sys.exit(run_tests([f for name, f in list(globals().items()) if name.startswith("test_")]))
