#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test-binary.py NATIVE STATIC: what the compilers made, in TAP.

A benchmark whose work the compiler left out would still give numbers. So its instructions are
looked for: in each function of the native agent, and in the whole of the stripped static one."""
import collections
import os
import platform
import re
import shutil
import struct
import subprocess
import sys

from client import Skip, equal, run_tests, true

NATIVE, STATIC = sys.argv[1:3]
SIZE_MAX = 400 * 1024

# Function: what must stand in it, and how often at least. An operation of the ops is done 64 times
# an iteration.
X86_WORK = {
    "ops_int32_add_run": [(r"addl?\s+.*%e|addl?\s+.*\(%r", 64)],
    "ops_int32_mul_run": [(r"imull?\s", 64)],
    "ops_int32_div_run": [(r"idivl?\s", 64)],
    "ops_int64_add_run": [(r"addq?\s+.*%r|addq\s", 64)],
    "ops_int64_mul_run": [(r"imulq?\s", 64)],
    "ops_int64_div_run": [(r"idivq?\s", 64)],
    "ops_float_add_run": [(r"v?addss\s", 64)],
    "ops_float_mul_run": [(r"v?mulss\s", 64)],
    "ops_float_div_run": [(r"v?divss\s", 64)],
    "ops_double_add_run": [(r"v?addsd\s", 64)],
    "ops_double_mul_run": [(r"v?mulsd\s", 64)],
    "ops_double_div_run": [(r"v?divsd\s", 64)],
    "bench_empty_loop": [(r"j[a-z]+\s", 1)],
}
# In the whole binary: instructions that nothing else has in such numbers.
X86_WHOLE = {
    r"imul\s": 128, r"idivl?\s": 128, r"v?addss\s": 64, r"v?mulss\s": 64, r"v?divss\s": 64,
    r"v?addsd\s": 64, r"v?mulsd\s": 64, r"v?divsd\s": 64,
}  # fmt: skip


def disassemble(binary):
    """Function name ("" without symbols) to its instructions."""
    if platform.machine() != "x86_64":
        raise Skip("the instructions are known for x86_64")
    if shutil.which("objdump") is None:
        raise Skip("no objdump here")
    out = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", binary], stdout=-1, check=True, text=True
    ).stdout
    functions, name = collections.defaultdict(list), ""
    for line in out.splitlines():
        if label := re.fullmatch(r"[0-9a-f]+ <(.+)>:", line):
            name = label[1]
        elif instruction := re.match(r"\s+[0-9a-f]+:\t(.*)", line):
            functions[name].append(instruction[1])
    return functions


def count(instructions, pattern):
    return sum(1 for instruction in instructions if re.match(pattern, instruction))


def test_each_operation_stands_in_its_loop():
    functions = disassemble(NATIVE)
    for name, work in X86_WORK.items():
        true(name in functions, f"no function {name}")
        for pattern, least in work:
            found = count(functions[name], pattern)
            true(found >= least, f"{name}: {pattern} {found} times, wanted {least}")


def test_the_static_agent_has_the_operations_too():
    instructions = [i for function in disassemble(STATIC).values() for i in function]
    for pattern, least in X86_WHOLE.items():
        found = count(instructions, pattern)
        true(found >= least, f"{pattern} {found} times, wanted {least}")


def calls(instructions):
    return {m[1] for i in instructions if (m := re.match(r"call\s+\S+ <([^>@+]+)", i))}


def test_memory_loops_are_no_library_calls():
    functions = disassemble(NATIVE)
    loops = [name for name in functions if re.match(r"(copy_chunk|copy_run|read_run|chase_run)", name)]
    true({"copy_run", "read_run", "chase_run"} <= set(loops), loops)
    for name in loops:
        library = {call for call in calls(functions[name]) if re.search("mem(cpy|move|set)", call)}
        equal(library, set(), f"calls of {name}")
    moves = r"v?mov(dqa|dqu|aps|ups)\s"
    copying = [i for name in loops if name.startswith("copy_") for i in functions[name]]
    true(count(copying, moves + r".*\),%xmm") >= 4, "four loads a cache line")
    true(count(copying, moves + r"%xmm\d+,.*\(") >= 4, "four stores a cache line")
    true(count(functions["read_run"], r"v?p?xor(ps)?\s.*%xmm") >= 4, "four loads are used")


def elf_headers(binary):
    """Types of the program headers, and of the section headers."""
    with open(binary, "rb") as file:
        data = file.read()
    equal(data[:5], b"\x7fELF\x02", "a 64-bit ELF file")
    phoff, shoff = struct.unpack_from("<QQ", data, 32)
    phentsize, phnum, shentsize, shnum = struct.unpack_from("<HHHH", data, 54)
    programs = [struct.unpack_from("<I", data, phoff + i * phentsize)[0] for i in range(phnum)]
    sections = [struct.unpack_from("<I", data, shoff + i * shentsize + 4)[0] for i in range(shnum)]
    return programs, sections


def test_the_static_agent_is_static_stripped_and_small():
    interpreter, symbol_table = 3, 2
    programs, sections = elf_headers(STATIC)
    true(interpreter not in programs, "it needs no dynamic linker")
    true(symbol_table not in sections, "it is stripped")
    true(os.path.getsize(STATIC) <= SIZE_MAX, f"{os.path.getsize(STATIC)} bytes")


if __name__ == "__main__":
    sys.exit(run_tests([f for name, f in list(globals().items()) if name.startswith("test_")]))
