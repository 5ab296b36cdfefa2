#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which folder may include what, and which one file may include each library."""
import os
import re

import tree

# The layers: each may include itself and those named. "" is vmatrixd: what lies in daemon/ itself.
LAYERS = {
    "util": "",
    "model": "util",
    "store": "model util",
    "host": "model util",
    "guest": "model util",
    "workload": "model util",
    "run": "store host guest workload model util",
    "report": "store model util",
    "cli": "run report store workload model util",
    "": "cli run report store workload model util",
}

# Made by the build: the header, and who may include it.
GENERATED = {
    "config.h": "daemon/",
    "schema-resources.h": "daemon/store/",
    "guest-domains.h": "daemon/guest/",
}

# Each library has one gateway: headers, and the files that may include them.
GATEWAYS = {
    r"sqlite3\.h": r"daemon/store/[^/]+\.[ch]",
    r"libvirt/.*": r"daemon/guest/hv-libvirt(-[a-z]+)?\.[ch]",
    r"libssh/.*": r"daemon/guest/ssh(-[a-z]+)?\.[ch]",
    r"yaml\.h": r"daemon/model/yaml\.c",
    r"libxml/.*": r"daemon/guest/domain-xml\.c",
    # Where agent lines and JSON are read or written.
    r"jansson\.h": r"daemon/guest/agent-(evidence|json)\.h|"
    r"daemon/(guest/(agent-(message|link|evidence|json)|overlay)|model/(benchcat|matrix)|"
    r"report/table[a-z-]*|cli/(plan-writer|output|cmd-[a-z]+)|store/[a-z-]+|run/hook)\.c",
    r"gsl/.*": r"daemon/report/stats\.c",
    r"systemd/.*": r"daemon/notify\.c",
    r"libsmartcols\.h": r"daemon/report/table[a-z-]*\.c",
    r"(glib|glib-unix|gmodule)\.h|(glib|gio)/.*": r"daemon/.*",
}

# What the C library, POSIX and the kernel give.
LIBC = re.compile(
    r"(sys|linux|net|netinet|arpa|asm)/.*|"
    r"(assert|cpuid|ctype|dirent|errno|fcntl|float|getopt|glob|grp|ifaddrs|inttypes|limits|locale|"
    r"malloc|math|netdb|poll|pthread|pwd|sched|setjmp|signal|spawn|stdarg|stdatomic|stdbool|"
    r"stddef|stdint|stdio|stdlib|string|strings|syslog|termios|time|unistd|utime|wchar)\.h"
)

# The agent builds on three systems, with what their C libraries and compilers give.
AGENT_SYSTEMS = re.compile(
    r"(windows|winsock2|ws2tcpip|psapi|process|direct|io|bcrypt|intrin|x86intrin|immintrin|"
    r"pthread_np|kvm|libutil|mswsock|afunix|winternl|tlhelp32|powrprof|ntsecapi|"
    r"winioctl|kenv)\.h|machine/.*|vm/.*"
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def judge_agent(path, kind, header):
    if kind == '"':
        name = os.path.normpath(os.path.join(os.path.dirname(path), header))
        return None if name.startswith("agent/") else "the agent includes nothing of the daemon"
    if LIBC.fullmatch(header) or AGENT_SYSTEMS.fullmatch(header):
        return None
    return "the agent uses the C library alone"


def judge_own(path, header):
    """An include in quotes, of the daemon."""
    if header in GENERATED:
        if path.startswith(GENERATED[header]):
            return None
        return f"only {GENERATED[header]} may include it"
    layer = os.path.dirname(path)[len("daemon/"):]
    other = os.path.dirname(header)
    if other == layer or other in LAYERS.get(layer, "").split():
        return None
    return f"{layer or 'vmatrixd'} may include: {layer} {LAYERS.get(layer, '')}"


def judge_library(path, header):
    """An include in angle brackets, of the daemon."""
    for pattern, gateway in GATEWAYS.items():
        if re.fullmatch(pattern, header):
            return None if re.fullmatch(gateway, path) else f"its gateway is {gateway}"
    if LIBC.fullmatch(header):
        return None
    return "unknown: give it a gateway in tests/lint/includes.py"


def judge(path, kind, header):
    """Why path may not include header, or None."""
    if path.startswith("agent/"):
        return judge_agent(path, kind, header)
    if kind == '"':
        return judge_own(path, header)
    return judge_library(path, header)


def findings(path, text):
    for match in INCLUDE.finditer(text):
        reason = judge(path, match[1], match[2])
        if reason:
            line = text.count("\n", 0, match.start(2)) + 1
            yield f"{path}:{line}: {match[2]}: {reason}"


# This test must be able to fail.
FORBIDDEN = [
    ("daemon/util/x.c", '#include "model/plan.h"'),
    ("daemon/util/x.c", '#include "notify.h"'),
    ("daemon/store/x.c", '#include "guest/ssh.h"'),
    ("daemon/guest/x.c", '  # include "store/store.h"'),
    ("daemon/report/x.c", '#include "run/campaign.h"'),
    ("daemon/cli/x.c", '#include "guest/ssh.h"'),
    ("daemon/run/x.c", "#include <sqlite3.h>"),
    ("daemon/guest/x.c", "#include <libvirt/libvirt.h>"),
    ("daemon/model/plan.c", "#include <yaml.h>"),
    ("daemon/host/x.c", "#include <curl/curl.h>"),
    ("agent/x.c", "#include <glib.h>"),
    ("agent/x.c", '#include "../daemon/util/io.h"'),
]
ALLOWED = [
    ("daemon/main.c", '#include "notify.h"'),
    ("daemon/run/x.c", '#include "guest/ssh.h"'),
    ("daemon/store/db.c", "#include <sqlite3.h>"),
    ("daemon/util/x.c", "#include <sys/stat.h>"),
    ("agent/x.c", '#include "bench.h"'),
]


def main():
    tap = tree.Tap()
    missed = [f"{p}: {t}" for p, t in FORBIDDEN if not list(findings(p, t))]
    wrong = [f for p, t in ALLOWED for f in findings(p, t)]
    tap.check("the rules find what is forbidden, and that alone", missed + wrong)
    sources = [p for p in tree.files() if re.match(r"(daemon|agent)/.*\.[ch]$", p)]
    folders = sorted({os.path.dirname(p) for p in sources})
    for folder in folders:
        inside = (p for p in sources if os.path.dirname(p) == folder)
        tap.check(
            f"{folder} includes what it may",
            [f for p in inside for f in findings(p, tree.read(p))],
        )
    tap.end()


main()
