# SPDX-License-Identifier: GPL-3.0-or-later
"""For the lint tests: the project's files, and TAP."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def files():
    """Paths relative to the root: what git tracks; without git all but build folders."""
    git = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True)
    if git.returncode == 0 and git.stdout:
        paths = git.stdout.split("\0")
    else:
        paths = [
            os.path.relpath(os.path.join(folder, name), ROOT)
            for folder, _, names in os.walk(ROOT)
            for name in names
        ]
    hidden = ("build", ".git/")
    return sorted(p for p in paths if p and not p.startswith(hidden) and os.path.isfile(full(p)))


def full(path):
    return os.path.join(ROOT, path)


def read(path):
    """The text of a file, or None where it is not text."""
    try:
        with open(full(path), encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


class Tap:
    """One line a check; findings are listed under the line that failed."""

    def __init__(self):
        self.count = 0

    def check(self, what, findings):
        self.count += 1
        print(f"{'not ok' if findings else 'ok'} {self.count} - {what}")
        for finding in findings:
            print(f"# {finding}")

    def skip(self, what, reason):
        self.count += 1
        print(f"ok {self.count} - {what} # SKIP {reason}")

    def end(self):
        print(f"1..{self.count}")
        sys.exit(0)
