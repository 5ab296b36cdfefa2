#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every source file must have, and must not."""
import os
import re
import statistics
import subprocess

import tree

FILE_LINES = 800
FUNCTION_LINES = 60
LONG_FUNCTIONS = 0.02  # share of functions that may be longer

SOURCE = re.compile(r".*\.(c|h|def|py|sh|sql|yaml|xml|scd|in)|(.*/)?meson(\.build|_options\.txt)")
# Test data is what it is: broken on purpose, or as another program wrote it.
DATA = re.compile(r"tests/data/|tests/fuzz/corpus|tests/fuzz/.*/corpus")
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")


def sources():
    return [p for p in tree.files() if not DATA.match(p) and (SOURCE.fullmatch(p) or is_script(p))]


def is_script(path):
    with open(tree.full(path), "rb") as file:
        return file.read(2) == b"#!"


def without_spdx(paths):
    for path in paths:
        head = (tree.read(path) or "").split("\n")[:3]
        if not any("SPDX-License-Identifier: GPL-3.0-or-later" in line for line in head):
            yield f"{path}: no SPDX-License-Identifier in its first lines"


def too_long(paths):
    for path in paths:
        lines = (tree.read(path) or "").count("\n")
        if re.fullmatch(r".*\.(c|h|py|sh)", path) and lines > FILE_LINES:
            yield f"{path}: {lines} lines: split it along a noun"


def functions(text):
    """(name, line, length) of each function, by this project's brace style."""
    start, name = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"[A-Za-z_].*?(\w+)\(", line)
        if match:
            name = match[1]
        if line == "{":
            start = number
        elif line == "}" and start:
            yield name, start, number - start - 1
            start = 0


def function_lengths(paths):
    lengths = [
        (length, f"{path}:{line}: {name}: {length} lines")
        for path in paths
        if re.fullmatch(r"(daemon|agent)/.*\.c", path)
        for name, line, length in functions(tree.read(path))
    ]
    long = [text for length, text in sorted(lengths, reverse=True) if length > FUNCTION_LINES]
    median = statistics.median(length for length, _ in lengths)
    print(f"# {len(lengths)} functions, median {median:.0f} lines, {len(long)} over {FUNCTION_LINES}")
    for text in long:
        print(f"# {text}")
    return long if len(long) > LONG_FUNCTIONS * len(lengths) else []


def unfinished(paths):
    for path in paths:
        for number, line in enumerate((tree.read(path) or "").split("\n"), 1):
            if UNFINISHED.search(line):
                yield f"{path}:{number}: {line.strip()}"


def places_outside(paths):
    """Mentions of the folder of this checkout, and relative links that lead out of the project."""
    for path in paths:
        text = tree.read(path) or ""
        if tree.ROOT + "/" in text:
            yield f"{path}: names {tree.ROOT}, which is only on this machine"
        if not path.endswith(".md"):
            continue
        for target in re.findall(r"\]\(([^)#: ]+)\)|`((?:\.\./)[^` ]+)`", text):
            where = os.path.normpath(os.path.join(os.path.dirname(path), target[0] or target[1]))
            if where.startswith(".."):
                yield f"{path}: {target[0] or target[1]} leads out of the project"
            elif target[0] and not os.path.exists(tree.full(where)):
                yield f"{path}: {target[0]} is not there"


def build_files_in_git():
    git = subprocess.run(
        ["git", "-C", tree.ROOT, "ls-files", "*.o", "*.a", "*.pyc", "build*/*", "*.db"],
        capture_output=True,
        text=True,
    )
    return git.stdout.split()


def main():
    tap = tree.Tap()
    paths = sources()
    tap.check("the length of a function is measured",
              [] if list(functions("int f(void)\n{\n    a;\n    b;\n}\n")) == [("f", 2, 2)] else ["no"])
    tap.check("every source has its SPDX line", list(without_spdx(paths)))
    tap.check(f"no file has more than {FILE_LINES} lines", list(too_long(paths)))
    tap.check("functions are short", function_lengths(paths))
    tap.check("nothing is marked as unfinished", list(unfinished(paths)))
    texts = [p for p in tree.files() if not DATA.match(p)]
    tap.check("nothing points out of the project", list(places_outside(texts)))
    tap.check("no built file is in git", build_files_in_git())
    tap.end()


main()
